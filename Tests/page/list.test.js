import assert from "node:assert/strict";
import { test } from "node:test";

import { comparison, kindOf, List, merge, needsPictures } from "../../Sources/CPage/assets/list.js";
import { entryOf } from "../../Sources/CPage/assets/server.js";

const file = (path, values = {}) =>
    entryOf({
        path,
        type: "file",
        size: 1,
        modified: "2026-11-26T10:00:00.5Z",
        ...values,
    });
const folder = (path) => entryOf({ path, type: "directory" });
const names = (list) => list.rows.map((entry) => entry.name);
const listOf = (entries, sorting = { key: "name", down: false }) => {
    const list = new List(sorting);
    list.add(entries);
    return list;
};

/** Numbers that look random and are the same in each run. */
function* numbers(seed = 1) {
    for (;;) yield seed = (seed * 48271) % 2147483647;
}

test("names are sorted as people read numbers, folders first in both directions", () => {
    const list = listOf([
        file("IMG_10.jpg"),
        file("IMG_9.jpg"),
        folder("z"),
        folder("b"),
        file("a.txt"),
    ]);
    assert.deepEqual(names(list), ["b", "z", "a.txt", "IMG_9.jpg", "IMG_10.jpg"]);
    list.sort({ key: "name", down: true });
    assert.deepEqual(names(list), ["z", "b", "IMG_10.jpg", "IMG_9.jpg", "a.txt"]);
});

test("sizes and times are sorted with the name for equal ones, and a missing time is the oldest", () => {
    const list = listOf([
        file("c", { size: 5 }),
        file("a", { size: 5 }),
        file("b", { size: 7, modified: null }),
    ]);
    list.sort({ key: "size", down: false });
    assert.deepEqual(names(list), ["a", "c", "b"]);
    list.sort({ key: "at", down: true });
    assert.equal(names(list).at(-1), "b");
});

test("batches that arrive in any order give what sorting them at once gives", () => {
    const compare = comparison({ key: "name", down: false });
    const random = numbers();
    const list = new List({ key: "name", down: false });
    const all = [];
    for (let batch = 0; batch < 40; batch++) {
        const entries = Array.from(
            { length: 50 },
            () => file(`f${random.next().value % 100000}`),
        );
        all.push(...entries);
        list.add(entries);
    }
    const expected = [
        ...new Map(all.map((entry) => [entry.path, entry])).values(),
    ].sort(compare);
    assert.deepEqual(names(list), expected.map((entry) => entry.name));
    assert.deepEqual(merge([], all.slice(0, 1), compare), all.slice(0, 1));
});

test("an entry whose path is there replaces the old one", () => {
    const list = listOf([file("a", { size: 1 }), file("b")]);
    list.add([file("a", { size: 9 }), file("a", { size: 10 })]);
    assert.deepEqual(list.rows.map((entry) => entry.size), [10, 1]);
    assert.deepEqual(list.counts, { folders: 0, files: 2, size: 11 });
});

test("the filter ignores case, and hidden entries are counted", () => {
    const list = listOf([file("Photo.JPG"), file("note.txt"), folder("photos")]);
    list.find("PHOTO");
    assert.deepEqual(names(list), ["photos", "Photo.JPG"]);
    assert.deepEqual(list.counts, { folders: 1, files: 2, size: 2 });
    list.add([file("photo2.jpg"), file("other")]);
    assert.equal(list.rows.length, 3);
});

test("ranges begin at the last entry that was selected", () => {
    const list = listOf(["a", "b", "c", "d", "e"].map((name) => file(name)));
    list.select(3);
    list.select(1, { range: true });
    assert.deepEqual([...list.selection].sort(), ["b", "c", "d"]);
    list.select(2);
    assert.deepEqual([...list.selection].sort(), ["b", "d"]);
    list.remove(["b"]);
    assert.deepEqual(list.selected().map((entry) => entry.path), ["d"]);
    list.selectAll(true);
    assert.equal(list.selection.size, 4);
});

test("a list that is read again keeps the selection of what is still there", () => {
    const list = listOf([file("a"), file("b")]);
    list.selectAll(true);
    list.replace(listOf([file("b"), file("d")]), [file("c")]);
    assert.deepEqual([...list.selection], ["b"]);
    assert.deepEqual(names(list), ["b", "c", "d"]);
    list.replace(listOf([file("x"), file("y")], { key: "name", down: true }));
    assert.deepEqual(names(list), ["x", "y"]);
});

test("50,000 entries in batches are sorted without a long task", () => {
    const list = new List({ key: "name", down: false });
    let longest = 0;
    for (let start = 0; start < 50_000; start += 2000) {
        const batch = Array.from(
            { length: 2000 },
            (_, index) => file(`IMG_${(start + index) * 7919 % 50_000}.jpg`),
        );
        const begin = performance.now();
        list.add(batch);
        longest = Math.max(longest, performance.now() - begin);
    }
    assert.equal(list.rows.length, 50_000);
    assert.equal(list.rows[49_999].name, "IMG_49999.jpg");
    // A generous limit for a busy machine: sorting all at once takes longer.
    assert.ok(longest < 400, `the longest batch took ${longest} ms`);
});

test("the kind comes from the server, or else from the name", () => {
    assert.equal(kindOf(file("a.MP4", { kind: "file" })), "video");
    assert.equal(kindOf(file("a.JPEG", { kind: "file" })), "picture");
    assert.equal(kindOf(file("a.opus")), "audio");
    assert.equal(kindOf(file("a.mp4.txt", { kind: "text" })), "text");
    assert.equal(kindOf(folder("a.mp4")), "folder");
    assert.equal(kindOf(file("a")), "file");
});

test("a list tells what pictures say only where the order needs it", () => {
    const here = { find: "", file: "" };
    const needs = (key, view, cards) => needsPictures({ key, down: true }, { ...here, ...view }, cards);
    assert.equal(needs("taken", {}, true), true);
    assert.equal(needs("taken", {}, false), false);
    // The viewer goes through the list in its order.
    assert.equal(needs("taken", { file: "a.jpg" }, false), true);
    for (const key of ["name", "at", "size", "kind"]) assert.equal(needs(key, { file: "a.jpg" }, true), false, key);
    // A search looks at no pictures.
    assert.equal(needs("taken", { find: "a" }, true), false);
});

test("a list lacks descriptions as long as the server may find some", () => {
    const lacks = (...entries) => listOf(entries).isUndescribed;
    for (const name of ["a.jpg", "a.JFIF", "a.jpe", "a.heic", "a.AVIF", "a.mov", "a.m4v"]) {
        assert.equal(lacks(file(name), file("b.jpg", { picture: {} })), true, name);
    }
    for (const name of ["a.txt", "a.svg", "jpg", "a.webm", "a.jpg.zip"]) assert.equal(lacks(file(name)), false, name);
    assert.equal(lacks(folder("a.jpg"), file("b.jpg", { picture: {} })), false);
    assert.equal(lacks(), false);
});
