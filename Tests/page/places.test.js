import assert from "node:assert/strict";
import { test } from "node:test";

import { hashOf, Places, viewOf } from "../../Sources/CPage/assets/places.js";

test("an address names a folder, a search below it, or the trash", () => {
    const view = (pathname, hash = "") => viewOf({ pathname, hash });
    assert.deepEqual(view("/"), { folder: "", find: "", file: "", trash: false });
    assert.deepEqual(view("/a%20b/%E5%81%87/"), {
        folder: "a b/假",
        find: "",
        file: "",
        trash: false,
    });
    assert.deepEqual(view("/a/", "#find=100%25%20%26%2B"), {
        folder: "a",
        find: "100% &+",
        file: "",
        trash: false,
    });
    assert.deepEqual(view("/a/", "#trash"), {
        folder: "a",
        find: "",
        file: "",
        trash: true,
    });
    assert.deepEqual(view("/a/", "#other"), {
        folder: "a",
        find: "",
        file: "",
        trash: false,
    });
    assert.deepEqual(view("/%FF/"), { folder: "", find: "", file: "", trash: false });
});

test("the address of a file that is looked at gives it back", () => {
    for (const file of ["a.jpg", "100%.jpg", "a#b?c&d=e+f.jpg", "ä/👩‍👩‍👧.jpg", "line\nbreak", " "]) {
        for (const find of ["", "x & y"]) {
            const view = viewOf({ pathname: "/f/", hash: hashOf(find, file) });
            assert.deepEqual(view, { folder: "f", find, file, trash: false });
        }
    }
    assert.equal(hashOf(""), "");
    assert.equal(hashOf("", "a b"), "#view=a%20b");
});

/** A history of a page at `/f/`, with what else of a browser `Places` touches. */
function browse(hash = "", state = null) {
    const steps = [{ url: `/f/${hash}`, state }];
    let at = 0;
    const listeners = {};
    globalThis.location = {
        get pathname() {
            return steps[at].url.split("#")[0];
        },
        get hash() {
            const [, hash] = steps[at].url.split("#");
            return hash ? `#${hash}` : "";
        },
    };
    const step = (by) => {
        at += by;
        listeners.popstate({ state: steps[at].state });
    };
    globalThis.history = {
        get state() {
            return steps[at].state;
        },
        pushState(state, _, url) {
            steps.splice(++at, Infinity, { state, url });
        },
        replaceState(state, _, url = steps[at].url) {
            steps[at] = { state, url };
        },
        back: () => step(-1),
        forward: () => step(1),
    };
    globalThis.addEventListener = (name, listener) => listeners[name] = listener;
    globalThis.document = { addEventListener() {} };
    const seen = [];
    const places = new Places(() => seen.push(viewOf(location).file));
    return { places, seen, steps: () => [steps.map(({ url }) => url), at] };
}

test("going back from a file, or closing it, leads to the list, however many were looked at", () => {
    const { places, seen, steps } = browse();
    places.look(hashOf("", "a"));
    places.look(hashOf("", "b"));
    assert.deepEqual(steps(), [["/f/", "/f/#view=b"], 1]);
    history.back();
    history.forward();
    assert.deepEqual(seen, ["a", "b", "", "b"]);
    places.leave("");
    assert.deepEqual(steps(), [["/f/", "/f/#view=b"], 0]);
    assert.equal(seen.at(-1), "");
});

test("a page that began with a file stays when the file is closed, and one that was loaded again goes back", () => {
    const linked = browse("#view=a");
    linked.places.look(hashOf("", "b"));
    linked.places.leave("");
    assert.deepEqual(linked.steps(), [["/f/"], 0]);
    assert.deepEqual(linked.seen, ["b", ""]);
    const first = browse();
    first.places.look(hashOf("", "a"));
    const { state } = history;
    const again = browse("#view=a", state);
    assert.equal(history.state.looks, true);
    assert.equal(history.state.number, state.number);
    assert.deepEqual(again.seen, []);
});
