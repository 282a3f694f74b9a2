import assert from "node:assert/strict";
import { test } from "node:test";

import { List } from "../../Sources/CPage/assets/list.js";
import { pairsOf } from "../../Sources/CPage/assets/pairs.js";
import { entryOf } from "../../Sources/CPage/assets/server.js";

const file = (path, values = {}) =>
    entryOf({ path, type: "file", size: 1, modified: "2026-11-26T10:00:00Z", ...values });
const files = (...paths) => paths.map((path) => file(path));
const pairs = (...paths) => [...pairsOf(files(...paths))].map(([path, movie]) => [path, movie.path]);
/** A list that shows pairs as one row, with what a test names. */
const listOf = (...paths) => {
    const list = new List({ key: "name", down: false });
    list.join(pairsOf);
    list.add(files(...paths));
    return list;
};
const rows = (list) => list.rows.map((entry) => list.files(entry).map(({ path }) => path).join("+"));
const selected = (list) => list.selected().map(({ path }) => path);

test("a picture and a movie with the same stem in the same folder are a pair", () => {
    for (const still of ["HEIC", "heic", "HEIF", "JPG", "jpg", "Jpeg"]) {
        for (const movie of ["MOV", "mov", "Mov"]) {
            assert.deepEqual(pairs(`f/a.${movie}`, `f/a.${still}`), [[`f/a.${still}`, `f/a.${movie}`]], still + movie);
        }
    }
    assert.deepEqual(pairs("a.b.jpg", "a.b.mov", "a.mov"), [["a.b.jpg", "a.b.mov"]]);
    assert.deepEqual(pairs("a\n.jpg", "a\n.mov"), [["a\n.jpg", "a\n.mov"]]);
});

test("other files are no pair", () => {
    for (
        const others of [
            ["f/a.HEIC", "g/a.MOV"],
            ["a.HEIC", "b.MOV"],
            ["a.HEIC", "A.MOV"],
            // The same letter in two forms is two names for the server.
            ["\u00E9.HEIC", "e\u0301.MOV"],
            ["a .HEIC", "a.MOV"],
            ["a.HEIC", "a.HEIC.MOV"],
            // Films have posters, and clips the pictures that were loaded with them.
            ["a.jpg", "a.mp4"],
            ["a.jpg", "a.m4v"],
            ["a.png", "a.mov"],
            [".heic", ".mov"],
            ["f/.heic", "f/.mov"],
            ["heic", "mov"],
            ["a.heic", "a.mov.txt"],
            ["a.HEIC", "a.JPG"],
        ]
    ) assert.deepEqual(pairs(...others), [], others.join());
    assert.equal(pairsOf([file("a.jpg"), file("a.mov", { size: 33 << 20 })]).size, 0);
    assert.equal(pairsOf([file("a.jpg"), file("a.mov", { size: 32 << 20 })]).size, 1);
    assert.equal(pairsOf([entryOf({ path: "a.jpg", type: "directory" }), file("a.mov")]).size, 0);
    assert.equal(pairsOf([file("a.jpg"), entryOf({ path: "a.mov", type: "directory" })]).size, 0);
});

test("a movie has one picture, the HEIC of several, and none if that does not tell", () => {
    assert.deepEqual(pairs("a.JPG", "a.HEIC", "a.MOV"), [["a.HEIC", "a.MOV"]]);
    assert.deepEqual(pairs("a.HEIC", "a.MOV", "a.jpg", "a.JPG"), [["a.HEIC", "a.MOV"]]);
    assert.deepEqual(pairs("a.HEIC", "a.heic", "a.MOV", "a.JPG"), []);
    assert.deepEqual(pairs("a.jpg", "a.jpeg", "a.MOV"), []);
    assert.deepEqual(pairs("a.HEIC", "a.MOV", "a.mov"), []);
    assert.deepEqual(pairs("a.HEIC", "a.MOV", "b.MOV", "b.jpeg"), [["a.HEIC", "a.MOV"], ["b.jpeg", "b.MOV"]]);
});

test("a pair is one row with both files, in a list of rows two", () => {
    const list = listOf("a.HEIC", "a.JPG", "a.MOV", "b.MOV", "c.txt");
    assert.deepEqual(rows(list), ["a.HEIC+a.MOV", "a.JPG", "b.MOV", "c.txt"]);
    assert.deepEqual([list.shown, list.counts.files], [5, 5]);
    assert.deepEqual(["a.HEIC", "a.MOV", "b.MOV", "x"].map((path) => list.rowOf(path)), [0, 0, 2, -1]);
    list.join(undefined);
    assert.deepEqual(rows(list), ["a.HEIC", "a.JPG", "a.MOV", "b.MOV", "c.txt"]);
    assert.deepEqual([list.shown, list.joined.size], [5, 0]);
});

test("what the filter hides is in no row", () => {
    const list = listOf("a.HEIC", "a.MOV", "b.MOV");
    list.selectAll(true);
    list.find("mov");
    assert.deepEqual(rows(list), ["a.MOV", "b.MOV"]);
    assert.deepEqual(selected(list), ["a.MOV", "b.MOV"]);
    list.find("a.");
    assert.deepEqual(rows(list), ["a.HEIC+a.MOV"]);
    assert.deepEqual(selected(list), ["a.MOV"]);
    list.selectAll(true);
    assert.deepEqual(selected(list), ["a.HEIC", "a.MOV"]);
});

test("selecting a row selects both of its files", () => {
    const list = listOf("a.HEIC", "a.MOV", "b.txt", "c.jpg", "c.mov");
    list.select(0);
    assert.deepEqual(selected(list), ["a.HEIC", "a.MOV"]);
    assert.equal(list.only(list.selected())?.path, "a.HEIC");
    list.select(2, { range: true });
    assert.equal(list.selection.size, 5);
    assert.equal(list.only(list.selected()), undefined);
    list.select(0);
    assert.deepEqual(selected(list), ["b.txt", "c.jpg", "c.mov"]);
    list.select(2);
    assert.equal(list.only(list.selected())?.path, "b.txt");
    assert.equal(list.only([]), undefined);
});

test("a file that joins a selected one is not selected by that, and one that stays alone is still selected", () => {
    const list = listOf("a.HEIC", "b.txt");
    list.select(0);
    list.add(files("a.MOV"));
    assert.deepEqual(rows(list), ["a.HEIC+a.MOV", "b.txt"]);
    assert.deepEqual(selected(list), ["a.HEIC"]);
    // Once more selects the rest of the row, and then nothing of it.
    list.select(0);
    assert.deepEqual(selected(list), ["a.HEIC", "a.MOV"]);
    list.remove(["a.HEIC"]);
    assert.deepEqual(rows(list), ["a.MOV", "b.txt"]);
    assert.deepEqual(selected(list), ["a.MOV"]);
    list.add(files("a.HEIC"));
    list.select(1, { range: true });
    assert.deepEqual(selected(list), ["a.HEIC", "a.MOV", "b.txt"]);
});

test("50,000 entries are joined within a moment", () => {
    const list = new List({ key: "name", down: false });
    list.join(pairsOf);
    const all = Array.from({ length: 25_000 }, (_, n) => files(`IMG_${n}.HEIC`, `IMG_${n}.MOV`)).flat();
    const began = performance.now();
    for (let start = 0; start < all.length; start += 2000) list.add(all.slice(start, start + 2000));
    assert.equal(list.rows.length, 25_000);
    assert.ok(performance.now() - began < 5000);
});
