import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { shown } from "../../Sources/CPage/assets/dom.js";
import { duration, rate, size, time } from "../../Sources/CPage/assets/format.js";
import de from "../../Sources/CPage/assets/words-de.js";
import en from "../../Sources/CPage/assets/words-en.js";
import zh from "../../Sources/CPage/assets/words-zh.js";
import { define, dictionary, say } from "../../Sources/CPage/assets/words.js";

// The page loads the words of its own language only.
define({ en, zh, de });

const assets = new URL("../../Sources/CPage/assets/", import.meta.url);
const stem = (key) => key.replace(/\.(one|other)$/, "");

test("each language has the words of the others, with the same values", () => {
    const values = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort().join();
    const english = Object.keys(dictionary.en);
    for (const name of ["zh", "de"]) {
        const words = dictionary[name];
        assert.deepEqual([...new Set(Object.keys(words).map(stem))], [
            ...new Set(english.map(stem)),
        ], name);
        for (const [key, text] of Object.entries(words)) {
            if (!key.endsWith(".one")) {
                assert.equal(
                    values(text),
                    values(dictionary.en[key]),
                    `${name} ${key}`,
                );
            }
        }
    }
    assert.deepEqual(Object.keys(dictionary.de), english);
});

test("each word that the page says is there, and each that is there is said", () => {
    const own = Object.keys(dictionary.en);
    const source = readdirSync(assets)
        .filter((name) => name.endsWith(".js") && !name.startsWith("words"))
        .map((name) => readFileSync(new URL(name, assets), "utf8")).join("\n");
    const said = [...source.matchAll(/say\(\s*"([\w.]+)"/g)].map(([, key]) => key);
    assert.ok(said.length > 60);
    const stems = new Set(own.map(stem));
    const missing = said.filter((key) => !stems.has(key));
    // The words of uploads are defined, and tested, beside them.
    const uploads = readdirSync(assets).includes("words-upload.js")
        ? readFileSync(new URL("words-upload.js", assets), "utf8")
        : "";
    assert.deepEqual(missing.filter((key) => !uploads.includes(key)), []);
    const patterns = [
        /^by\./,
        /^sort\./,
        /^theme\./,
        /^may\./,
        /^error\./,
        /^result\./,
    ];
    const unused = [...stems].filter((key) => !source.includes(`"${key}"`) && !patterns.some((one) => one.test(key)));
    assert.deepEqual(unused, []);
});

test("values and plurals are put in, and a missing text falls back", () => {
    define({
        en: {
            "t.one": "{n} hit in {place}",
            "t.other": "{n} hits in {place}",
            only: "English",
        },
        de: {},
    });
    assert.equal(say("t", { n: 1, place: "{n}" }), "1 hit in {n}");
    assert.equal(say("t", { n: 1234, place: "$&" }), "1,234 hits in $&");
    assert.equal(say("only"), "English");
    assert.equal(say("no.such.key"), "no.such.key");
    assert.equal(say(["no.such.key", "only"]), "English");
    assert.equal(say(["no.such.key"]), "");
    assert.equal(say("constructor"), "constructor");
});

test("characters that would change the display of a name are escaped", () => {
    assert.equal(shown("invoice\u202Efdp.exe"), "invoice\\u{202E}fdp.exe");
    assert.equal(
        shown("a\0b\u200Bc\u2066d\uFEFF\u0085\u{E0041}"),
        "a\\u{0}b\\u{200B}c\\u{2066}d\\u{FEFF}\\u{85}\\u{E0041}",
    );
    assert.equal(shown("a\u200Db"), "a\\u{200D}b");
    assert.equal(shown("\u3164\u2028"), "\\u{3164}\\u{2028}");
    assert.equal(shown("lone \uD800"), "lone \\u{D800}");
    for (
        const plain of [
            "假期 2026.jpg",
            "👩‍👩‍👧‍👦.jpg",
            "👩🏽‍🚒",
            "❤️‍🔥",
            "مرحبا.txt",
            "<img src=x>",
            "naïve  .txt",
        ]
    ) {
        assert.equal(shown(plain), plain);
    }
});

test("sizes have three digits and never a thousand of a unit", () => {
    const plain = (text) => text.replace("\u00A0", " ");
    assert.deepEqual(
        [0, 999, 999.4, 1000, 1499, 999_499, 999_500, 4_194_304, 1e12].map((
            bytes,
        ) => plain(size(bytes))),
        [
            "0 B",
            "999 B",
            "999 B",
            "1 kB",
            "1.5 kB",
            "999 kB",
            "1 MB",
            "4.19 MB",
            "1 TB",
        ],
    );
    assert.equal(plain(rate(1e6)), "1 MB/s");
    assert.equal(time(new Date(NaN)), "");
    assert.deepEqual(
        [-1, 59.4, 60, 3599, 3600, 90_000].map((seconds) => duration(seconds).replace(/\u00A0/g, " ")),
        [
            "0 s",
            "59 s",
            "1 min 0 s",
            "59 min 59 s",
            "1 h 0 min",
            "25 h 0 min",
        ],
    );
});
