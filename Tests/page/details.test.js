import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { factsOf, receiptOf, takenAt } from "../../Sources/CPage/assets/details.js";
import "../../Sources/CPage/assets/words-look.js";
import { dictionary } from "../../Sources/CPage/assets/words.js";

const plain = (text) => text.replace(/[\u00A0\u202F]/g, " ");

test("the date taken is on the clock of the camera, with its zone", () => {
    const at = (taken, offset) => plain(takenAt({ taken, offset }));
    assert.equal(at("2026-01-31T18:30:05", 60), "Jan 31, 2026, 6:30 PM (UTC+1)");
    assert.equal(at("2026-01-31T18:30:05", -210), "Jan 31, 2026, 6:30 PM (UTC−3:30)");
    assert.equal(at("2026-01-31T18:30:05", 0), "Jan 31, 2026, 6:30 PM (UTC+0)");
    assert.equal(at("2026-01-31T18:30:05", null), "Jan 31, 2026, 6:30 PM (time zone unknown)");
    for (const odd of ["", "2026", "2026-99-31T18:30:05"]) assert.equal(at(odd, null), "");
});

test("details say what is known, and nothing of what is not", () => {
    assert.deepEqual(factsOf({}), []);
    const facts = Object.fromEntries(factsOf({
        path: "a/\u202Eb.jpg",
        size: 1234567,
        modified: "2026-01-31T18:30:05Z",
        stored: null,
        digest: "sha256:ab",
        sender: "an\u202Ena",
        picture: { format: "jpeg", width: 4032, height: 3024, taken: null, location: true, camera: "<b>\u2066" },
    }));
    assert.equal(facts.path, "/a/\\u{202E}b.jpg");
    assert.equal(plain(facts.size), "1.23 MB (1,234,567 bytes)");
    assert.equal(facts.pixels, "4,032 × 3,024");
    assert.equal(facts.location, "The file says where it was taken.");
    assert.equal(facts.sender, "an\\u{202E}na");
    assert.equal(facts.camera, "<b>\\u{2066}");
    assert.equal(facts.digest, "sha256:ab");
    assert.deepEqual(["stored", "taken"].filter((key) => key in facts), []);
    assert.deepEqual(factsOf({ size: "5", modified: 7, picture: "x", digest: {}, sender: [] }), []);
});

test("details say in words that a picture is cut off or damaged", () => {
    const decoded = (value) => Object.fromEntries(factsOf({ picture: { decoded: value } })).decoded;
    assert.equal(decoded(false), "No: the picture is cut off or damaged.");
    for (const value of [true, null, undefined, "false", 0]) assert.equal(decoded(value), undefined, String(value));
});

test("a receipt is one of this server", () => {
    assert.equal(receiptOf("/.transfer/receipt/0af-x_1"), "/.transfer/receipt/0af-x_1");
    for (
        const odd of [
            null,
            "",
            "https://elsewhere/",
            "//e/.transfer/receipt/a",
            "/.transfer/receipt/../out",
            "javascript:1",
        ]
    ) {
        assert.equal(receiptOf(odd), "", String(odd));
    }
});

test("the grid and the viewer have their words in each language, and no others", () => {
    const assets = new URL("../../Sources/CPage/assets/", import.meta.url);
    const source = readdirSync(assets).filter((name) => /^(grid|viewer|motion|stage|details|together)\.js$/.test(name))
        .map((name) => readFileSync(new URL(name, assets), "utf8")).join("\n");
    const keys = Object.keys(dictionary.en).filter((key) => key.startsWith("look.")).map((key) => key.slice(5));
    for (const name of ["de", "zh"]) {
        assert.deepEqual(
            Object.keys(dictionary[name]).filter((key) => key.startsWith("look.")),
            keys.map((key) => `look.${key}`),
        );
    }
    const said = [...source.matchAll(/(?:word|button|note|refuse|failed)\(\s*"([\w.]+)"/g)].map(([, key]) => key);
    assert.deepEqual(said.filter((key) => !keys.includes(key)), []);
    const stem = (key) => key.startsWith("fact.") ? key.slice(5) : key;
    assert.deepEqual(keys.filter((key) => !source.includes(`"${stem(key)}"`) && key !== "fact.receipt"), []);
});
