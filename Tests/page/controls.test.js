// @ts-check
/** What the page makes of elements: how it shows a PDF, asks for files, and offers downloads. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { entryOf } from "../../Sources/CPage/assets/server.js";
import { install } from "./document.js";

const body = install({ rights: "read write remove", name: "ann" });
// A phone has fingers only.
globalThis.matchMedia = /** @type {any} */ ((/** @type {string} */ query) => ({ matches: query.includes("coarse") }));
// The page listens to other tabs and looks at its uploads for ever.
globalThis.BroadcastChannel = /** @type {any} */ (undefined);
globalThis.setInterval = /** @type {any} */ (() => 0);
/** @type {any} */
const browser = { wakeLock: undefined, pdfViewerEnabled: true };
Object.defineProperty(globalThis, "navigator", { value: browser, configurable: true });

const entry = (path) => entryOf({ path, type: "file", size: 1000, modified: "2026-01-31T10:00:00Z" });

test("a PDF is shown in a frame without a sandbox, beside a link to it", async () => {
    const { List } = await import("../../Sources/CPage/assets/list.js");
    const { Viewer } = await import("../../Sources/CPage/assets/viewer.js");
    const list = new List({ key: "name", down: false });
    list.add([entry("f/plan.PDF")]);
    const shows = () => {
        const viewer = new Viewer(list, { go: () => {}, leave: () => {}, left: () => {} });
        viewer.show("f/plan.PDF");
        const dialog = /** @type {import("./document.js").Element} */ (body.children.at(-1));
        const links = dialog.all("a").filter((link) => link.getAttribute("target") === "_blank");
        assert.deepEqual(links.map((link) => link.getAttribute("href")), ["/f/plan.PDF"]);
        return dialog.all("iframe");
    };
    const [frame, ...others] = shows();
    assert.deepEqual(others, []);
    assert.equal(frame.getAttribute("src"), "/f/plan.PDF");
    assert.equal(frame.hasAttribute("sandbox"), false, "it would keep the browser's viewer from showing it");
    // Without a viewer, a frame would be empty or begin a download.
    browser.pdfViewerEnabled = false;
    assert.deepEqual(shows(), []);
});

test("a phone is asked for any files, so that it gives the originals, and only the camera for pictures", async () => {
    const { startUploads } = await import("../../Sources/CPage/assets/upload.js");
    const { fileButton, folderButton, cameraButton } = startUploads({
        folder: () => "",
        rights: "read write",
        announce: () => {},
        onStored: () => {},
    });
    const asked = [fileButton, folderButton, cameraButton].map((button) => {
        button.click();
        const input = /** @type {import("./document.js").Element} */ (body.children.at(-1));
        assert.deepEqual([input.name, input.getAttribute("type")], ["input", "file"]);
        return [input.getAttribute("accept"), input.getAttribute("capture")];
    });
    assert.deepEqual(asked, [[null, null], [null, null], ["image/*", "environment"]]);
});

test("several files are not downloaded by one click: browsers end after some", async () => {
    const { List } = await import("../../Sources/CPage/assets/list.js");
    const { chosenTools } = await import("../../Sources/CPage/assets/shell.js");
    const list = new List({ key: "name", down: false });
    list.add(["a", "b", "c"].map(entry));
    const downloads = () =>
        chosenTools(list, () => {}).filter((tool) => tool.getAttribute("download") !== null)
            .map((link) => link.getAttribute("href"));
    list.select(0);
    assert.deepEqual(downloads(), ["/a"]);
    list.select(1, { on: true });
    assert.deepEqual(downloads(), []);
    list.selectAll(true);
    assert.deepEqual(downloads(), []);
});
