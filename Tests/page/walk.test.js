// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { below, fromClipboard, fromDrop } from "../../Sources/CPage/assets/walk.js";

const fileEntry = (name) => ({
    isFile: true,
    isDirectory: false,
    name,
    file: (resolve) => resolve(new File([name], name)),
});

/** A folder whose reader gives up to 100 entries at a time, as in Chromium. */
function folderEntry(name, entries) {
    return {
        isFile: false,
        isDirectory: true,
        name,
        createReader() {
            let at = 0;
            return {
                readEntries: (resolve) => setImmediate(() => resolve(entries.slice(at, at += 100))),
            };
        },
    };
}

async function all(items) {
    const found = [];
    for await (const some of items) found.push(...some);
    return found;
}

for (const count of [1, 100, 101, 20_000]) {
    test(`A dropped folder with ${count} files loses none`, async () => {
        const entries = Array.from(
            { length: count },
            (_, n) => fileEntry(`${n}.txt`),
        );
        const found = await all(below(folderEntry("photos", entries), "photos"));
        assert.equal(found.length, count);
        assert.equal(new Set(found.map(({ path }) => path)).size, count);
        assert.equal(found.at(-1).path, `photos/${count - 1}.txt`);
    });
}

test("Empty folders are found, and folders that cannot be read do not vanish", async () => {
    const broken = {
        ...folderEntry("broken", []),
        createReader: () => ({
            readEntries: (_, reject) => reject(new Error("no")),
        }),
    };
    const found = await all(
        below(
            folderEntry("top", [folderEntry("empty", []), broken, fileEntry("a")]),
            "top",
        ),
    );
    assert.deepEqual(found.map(({ path }) => path), [
        "top/a",
        "top/empty",
        "top/broken",
    ]);
    assert.equal(found[1].source.isFolder, true);
    await assert.rejects(found[2].source.handle.getFile());
});

test("A drop is taken before the event ends, with handles where there are any", async () => {
    let isOver = false;
    const item = (entry, file, handle) => ({
        kind: "file",
        webkitGetAsEntry: () => isOver ? null : entry,
        getAsFile: () => isOver ? null : file,
        ...(handle ? { getAsFileSystemHandle: () => Promise.resolve(handle) } : {}),
    });
    const handle = {};
    const items = fromDrop(
        /** @type {any} */ ({
            items: [
                item(fileEntry("a"), new File(["a"], "a"), handle),
                item(folderEntry("b", [fileEntry("c")]), null),
                { kind: "string" },
            ],
        }),
    );
    isOver = true;
    const found = await all(items);
    assert.deepEqual(found.map(({ path }) => path), ["a", "b/c"]);
    assert.equal(found[0].source.handle, handle);
});

test("Pasted pictures are named by the time, text becomes a file only outside of fields", () => {
    const now = new Date(2026, 10, 6, 9, 5, 3);
    const clipboard = (files, text) => /** @type {any} */ ({
        files,
        getData: () => text,
    });
    const paths = (items) => items.map(({ path }) => path);
    const picture = new File(["x"], "image.png");
    assert.deepEqual(
        paths(
            fromClipboard(clipboard([picture, picture], ""), now, "Pasted", false),
        ),
        [
            "Pasted 2026-11-06 09.05.03.png",
            "Pasted 2026-11-06 09.05.03 2.png",
        ],
    );
    assert.deepEqual(
        paths(
            fromClipboard(
                clipboard([new File(["x"], "plan.pdf")], "plan.pdf"),
                now,
                "Pasted",
                false,
            ),
        ),
        [
            "plan.pdf",
        ],
    );
    assert.deepEqual(
        paths(fromClipboard(clipboard([], "hello"), now, "Pasted", false)),
        [
            "Pasted 2026-11-06 09.05.03.txt",
        ],
    );
    assert.deepEqual(
        paths(fromClipboard(clipboard([], "hello"), now, "Pasted", true)),
        [],
    );
});
