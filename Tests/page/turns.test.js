import assert from "node:assert/strict";
import { test } from "node:test";

import { Readings } from "../../Sources/CPage/assets/readings.js";
import { Turns } from "../../Sources/CPage/assets/turns.js";

/** Turns whose work is written down, and whose pauses end when the test says so. */
function turnsOf(atOnce = 4) {
    const log = { begun: [], dropped: [], pauses: [] };
    const answers = new Map();
    const turns = new Turns(atOnce, {
        begin: (url) => log.begun.push(url),
        drop: (url) => log.dropped.push(url),
        ask: (url) => Promise.resolve(answers.get(url) ?? { status: 404, wait: 0 }),
        later: (act, milliseconds) => log.pauses.push({ act, milliseconds }),
    });
    return { turns, log, answers };
}
const urls = (from, to) => Array.from({ length: to - from }, (_, n) => `p${from + n}`);

test("a few pictures are fetched at once, the most important ones first", () => {
    const { turns, log } = turnsOf();
    turns.want(urls(0, 10));
    assert.deepEqual(log.begun, ["p0", "p1", "p2", "p3"]);
    turns.shown("p2");
    assert.deepEqual(log.begun.slice(4), ["p4"]);
    turns.want(["p8", ...urls(0, 2), ...urls(3, 8)]);
    turns.shown("p0");
    assert.deepEqual(log.begun.slice(5), ["p8"]);
    assert.deepEqual(log.dropped, []);
});

test("what has left the screen is dropped, and fetched when it comes back", () => {
    const { turns, log } = turnsOf();
    turns.want(urls(0, 6));
    turns.want(urls(3, 9));
    assert.deepEqual(log.dropped, ["p0", "p1", "p2"]);
    assert.deepEqual(log.begun, [...urls(0, 4), ...urls(4, 7)]);
    turns.want(urls(0, 3));
    assert.deepEqual(log.dropped.slice(3), ["p3", "p4", "p5", "p6"]);
    assert.deepEqual(log.begun.slice(-3), ["p0", "p1", "p2"]);
    turns.want([]);
    assert.equal(log.begun.length, 10);
});

test("what the server does not have is asked for once", async () => {
    const { turns, log } = turnsOf(1);
    turns.want(["a", "b"]);
    await turns.failed("a");
    assert.deepEqual(log.begun, ["a", "b"]);
    assert.ok(turns.isMissing("a"));
    turns.shown("b");
    turns.want(["a", "b", "c"]);
    assert.deepEqual(log.begun, ["a", "b", "b"]);
    turns.shown("b");
    assert.deepEqual(log.begun.slice(3), ["c"]);
    assert.deepEqual(log.pauses, []);
});

test("a busy server is asked again when it says, a few times", async () => {
    const { turns, log, answers } = turnsOf(2);
    answers.set("a", { status: 503, wait: 7 });
    turns.want(["a", "b", "c"]);
    for (let tries = 1; tries < 5; tries++) {
        await turns.failed("a");
        assert.equal(log.pauses.length, tries);
        assert.equal(log.pauses.at(-1).milliseconds, 7000);
        assert.equal(turns.isMissing("a"), false);
        // Meanwhile others have their turn.
        if (tries === 1) assert.deepEqual(log.begun, ["a", "b", "c"]);
        turns.shown("b");
        log.pauses.at(-1).act();
        assert.equal(log.begun.at(-1), "a");
    }
    await turns.failed("a");
    assert.ok(turns.isMissing("a"));
    assert.equal(log.pauses.length, 4);
});

test("a lost connection is no reason to give a picture up", async () => {
    const { turns, log, answers } = turnsOf(1);
    answers.set("a", { status: 0, wait: 0 });
    turns.want(["a"]);
    await turns.failed("a");
    assert.equal(turns.isMissing("a"), false);
    assert.ok(log.pauses[0].milliseconds >= 1000);
    log.pauses[0].act();
    assert.deepEqual(log.begun, ["a", "a"]);
    turns.shown("a");
    // One that has left the screen meanwhile is not fetched.
    turns.want(["a"]);
    await turns.failed("a");
    turns.want([]);
    log.pauses[1].act();
    assert.equal(log.begun.length, 3);
});

test("a failure of what was dropped counts nothing", async () => {
    const { turns, log } = turnsOf(1);
    turns.want(["a"]);
    const failed = turns.failed("a");
    turns.want(["b"]);
    await failed;
    assert.equal(turns.isMissing("a"), false);
    assert.deepEqual(log.begun, ["a", "b"]);
    await turns.failed("a");
    assert.equal(turns.isMissing("a"), false);
});

test("a folder is read again with growing pauses, and not for ever", () => {
    const pauses = [];
    let read = 0;
    const readings = new Readings(() => read++, (act, milliseconds) => pauses.push({ act, milliseconds }));
    for (let count = 0; count < 10; count++) {
        readings.need();
        readings.need();
        if (pauses.length > count) pauses[count].act();
    }
    assert.equal(read, 5);
    assert.deepEqual(pauses.map(({ milliseconds }) => milliseconds), [2000, 4000, 8000, 16_000, 32_000]);
    // A pause that began in another folder reads nothing.
    readings.reset();
    readings.need();
    readings.reset();
    pauses.at(-1).act();
    assert.equal(read, 5);
    readings.need();
    pauses.at(-1).act();
    assert.equal(read, 6);
});
