import assert from "node:assert/strict";
import { test } from "node:test";

import {
    faceOf,
    isDamaged,
    isUntried,
    originalOf,
    pictureOf,
    showing,
    thumbnail,
    wantsOriginal,
} from "../../Sources/CPage/assets/pictures.js";
import { entryOf } from "../../Sources/CPage/assets/server.js";

const file = (path, values = {}) =>
    entryOf({ path, type: "file", size: 1000, modified: "2026-01-31T10:00:00Z", ...values });

test("the server makes thumbnails of what it decodes", () => {
    for (const name of ["a.jpg", "a.JPEG", "a.jpe", "a.jfif", "a.Png", "a.webp", "a.gif", "a.heic", "a.HEIF"]) {
        assert.equal(faceOf(file(name))?.by, "scaled", name);
    }
    for (const name of ["jpg", "a.jpg.txt", "a.zip", "a.mp3", "a.pdf"]) {
        assert.equal(faceOf(file(name)), null, name);
    }
    assert.equal(faceOf(entryOf({ path: "a.jpg", type: "directory" })), null);
    assert.equal(thumbnail(entryOf({ path: "a.jpg", type: "directory" }), 320), "");
});

test("others show the file itself, if it is small, or a frame", () => {
    assert.deepEqual(faceOf(file("d/a.avif")), { by: "image", url: "/d/a.avif" });
    assert.equal(faceOf(file("a.avif", { size: 3 << 20 }))?.by, "scaled");
    assert.deepEqual(faceOf(file("a.svg")), { by: "drawing", url: "/a.svg" });
    assert.equal(faceOf(file("a.svg", { size: 257 << 10 })), null);
    assert.deepEqual(faceOf(file("a b.MP4")), { by: "video", url: "/a%20b.MP4#t=0.5" });
    assert.equal(faceOf(file("a.webm", { size: 0 })), null);
    assert.equal(faceOf(file("a.svg", { size: null })), null);
});

test("the address of a thumbnail names the path and the content", () => {
    const address = (name) => new URL(thumbnail(file(`f/${name}`, { digest: "sha256:ab" }), 320), "http://page/");
    for (
        const name of [
            "100%.jpg",
            "%41.jpg",
            "a#b?c&d=e.jpg",
            "äöü.jpg",
            "👩‍👩‍👧.jpg",
            "line\nbreak.jpg",
            "+ .jpg",
            "a\\b.jpg",
        ]
    ) {
        const { pathname, search, hash } = address(name);
        assert.equal(decodeURIComponent(pathname), `/.transfer/thumb/f/${name}`);
        assert.equal(search, "?s=320&v=sha256%3Aab");
        assert.equal(hash, "");
    }
    const undigested = thumbnail(file("a.jpg"), 1280);
    assert.equal(undigested, "/.transfer/thumb/a.jpg?s=1280&v=1000-2026-01-31T10%3A00%3A00Z");
    assert.notEqual(undigested, thumbnail(file("a.jpg", { size: 1001 }), 1280));
    assert.equal(thumbnail(file("\uD800.jpg"), 320), thumbnail(file("\uFFFD.jpg"), 320));
});

test("what a picture says is taken with care", () => {
    const picture = pictureOf({
        picture: {
            format: "jpeg",
            width: 4032,
            height: "x",
            taken: 5,
            offset: 1e9,
            camera: "c".repeat(1000),
            location: "yes",
            colour: "red; x",
        },
    });
    assert.equal(picture.width, 4032);
    assert.equal(picture.height, 0);
    assert.equal(picture.taken, "");
    assert.equal(picture.offset, null);
    assert.equal(picture.camera.length, 200);
    assert.equal(picture.location, false);
    assert.equal(picture.colour, "");
    assert.equal(pictureOf({ picture: { colour: "#A1b2c3", offset: -90 } }).colour, "#A1b2c3");
    assert.equal(pictureOf({ picture: { offset: -90 } }).offset, -90);
    for (const odd of [null, undefined, "x", 5]) assert.equal(pictureOf({ picture: odd }), null);
});

test("a picture is damaged only if the server says so, and untried until it says anything", () => {
    const cases = [[false, true, false], [true, false, false], [null, false, true], ["false", false, true]];
    for (const [decoded, damaged, untried] of cases) {
        const entry = file("a.jpg", { picture: { decoded } });
        assert.equal(pictureOf(entry).decoded, typeof decoded === "boolean" ? decoded : null);
        assert.equal(isDamaged(entry), damaged, String(decoded));
        assert.equal(isUntried(entry), untried, String(decoded));
    }
    assert.equal(isDamaged(file("a.jpg")), false);
    assert.equal(isUntried(file("a.jpg")), true);
    // The server does not decode these.
    for (const name of ["a.mov", "a.txt"]) assert.equal(isUntried(file(name)), false, name);
});

test("the name tells how a file is shown, and then its kind", () => {
    const cases = {
        "a.heic": "picture",
        "a.svg": "picture",
        "a.MOV": "video",
        "a.opus": "audio",
        "a.pdf": "pdf",
        "a.swift": "text",
        "a.zip": "other",
        "txt": "other",
    };
    for (const [name, what] of Object.entries(cases)) assert.equal(showing(file(name)), what, name);
    assert.equal(showing(file("note", { kind: "text" })), "text");
    assert.equal(showing(file("here", { kind: "location" })), "text");
    assert.equal(showing(file("scan", { kind: "picture" })), "picture");
    assert.equal(showing(file("a.zip", { kind: "file" })), "other");
});

test("the original is loaded where it shows more", () => {
    assert.deepEqual(originalOf(file("a.jpg")), { fits: true, isDrawing: false, isOnly: false });
    assert.equal(originalOf(file("a.jpg", { size: 41 << 20 })).fits, false);
    assert.equal(originalOf(file("a.gif")).isOnly, true);
    assert.equal(originalOf(file("a.webp", { picture: { animated: true } })).isOnly, true);
    assert.equal(originalOf(file("a.svg", { size: 300 << 10 })).fits, false);
    assert.equal(wantsOriginal({ width: 800, height: 600 }, 1, 1), false);
    assert.equal(wantsOriginal({ width: 800, height: 600 }, 2, 1), true);
    assert.equal(wantsOriginal({ width: 800, height: 600 }, 1, 2), true);
    assert.equal(wantsOriginal({ width: 600, height: 1600 }, 1, 1), true);
});
