import assert from "node:assert/strict";
import { test } from "node:test";

import { Glance } from "../../Sources/CPage/assets/glance.js";
import { describe } from "../../Sources/CPage/assets/panel.js";
import { Row, totals } from "../../Sources/CPage/assets/row.js";
import { add, content, file, queueOf, Server, settle } from "./fakes.js";

/** A row whose file is stored and checked. */
function stored(name, values = {}) {
    const row = new Row("", name, null, { policy: "" });
    return Object.assign(row, { state: "checked", stored: name, size: 1000, theirs: `sha256:${name}` }, values);
}

const picture = { format: "jpeg", width: 4032, height: 3024, taken: "2026-01-31T18:30:05", decoded: true };

/**
 * A glance at rows, whose pauses end when the test says so. `answers` has a status, an error, a promise, or what the
 * details say for the path of a picture.
 */
function glanceAt(rows, { mayRead = true, visible = [], answers = {} } = {}) {
    const log = { urls: [], pauses: [], changes: 0, now: 0, most: 0 };
    const page = { isFree: true };
    globalThis.fetch = async (url, { signal }) => {
        log.urls.push(url);
        log.most = Math.max(log.most, ++log.now);
        try {
            const [, what, path] = /^\/\.transfer\/(thumb|details)\/([^?]*)/.exec(url);
            const name = decodeURIComponent(path);
            let answer = answers[name] ?? {};
            if (typeof answer === "function") answer = answer(what, signal);
            answer = await answer;
            if (answer instanceof Error) throw answer;
            if (typeof answer === "number") {
                return new Response("{}", { status: answer, headers: { "Retry-After": "7" } });
            }
            if (what === "thumb") return new Response("RIFF");
            return new Response(JSON.stringify({ digest: `sha256:${name}`, picture, ...answer }));
        } finally {
            log.now--;
        }
    };
    const glance = new Glance({
        mayRead,
        isFree: () => page.isFree,
        visible: () => visible,
        rows: () => rows,
        changed: () => log.changes++,
        later: (act, milliseconds) => log.pauses.push({ act, milliseconds }),
    });
    /** Ends the pauses, and waits for what follows. */
    const pass = async () => {
        for (const { act } of log.pauses.splice(0)) act();
        for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    };
    return { glance, log, page, pass };
}
const thumbs = ({ urls }) =>
    urls.filter((url) => url.includes("/thumb/")).map((url) => url.slice(17).replace(/\?.*/, ""));

test("a stored picture is asked for by its thumbnail and then its details, one at a time, the visible ones first", async () => {
    const rows = ["a b.jpg", "b.PNG", "c.webp"].map((name) => stored(name));
    const { glance, log, pass } = glanceAt(rows, { visible: [rows[2]] });
    glance.changed();
    glance.changed();
    assert.deepEqual(log.urls, []);
    await pass();
    assert.deepEqual(log.urls.slice(0, 4), [
        "/.transfer/thumb/c.webp?s=320&v=sha256%3Ac.webp",
        "/.transfer/details/c.webp",
        "/.transfer/thumb/a%20b.jpg?s=320&v=sha256%3Aa%20b.jpg",
        "/.transfer/details/a%20b.jpg",
    ]);
    assert.equal(log.urls.length, 6);
    assert.equal(log.most, 1);
    assert.equal(log.changes, 3);
    assert.ok(rows.every((row) => row.state === "checked" && row.picture.width === 4032 && row.image.size === 4));
    // Nothing is asked for twice, and nothing waits.
    glance.changed();
    await pass();
    assert.equal(log.urls.length, 6);
    assert.deepEqual(log.pauses, []);
});

test("only checked files with the name of a picture are asked for", async () => {
    const states = ["stored", "same", "likely", "wrong", "failed", "sending", "skipped", "choose"];
    const rows = [
        ...states.map((state) => stored(`${state}.jpg`, { state })),
        ...["a.mov", "a.txt", "jpg", "a.svg"].map((name) => stored(name)),
    ];
    const { glance, log, pass } = glanceAt(rows);
    glance.changed();
    await pass();
    assert.deepEqual(log.urls, []);
    rows[5].state = "checked";
    glance.changed();
    await pass();
    assert.deepEqual(thumbs(log), ["sending.jpg"]);
});

test("a client that may not read asks for nothing", async () => {
    const { glance, log, pass } = glanceAt([stored("a.jpg")], { mayRead: false });
    glance.changed();
    assert.deepEqual(log.pauses, []);
    await pass();
    assert.deepEqual(log.urls, []);
});

test("nothing is asked for while something is sent, and what is under way is dropped for it", async () => {
    const rows = [stored("a.jpg"), stored("b.jpg")];
    let dropped = 0;
    const hang = (_, signal) =>
        new Promise((_, fail) => signal.addEventListener("abort", () => (dropped++, fail(signal.reason))));
    const answers = { "a.jpg": hang };
    const { glance, log, page, pass } = glanceAt(rows, { answers });
    page.isFree = false;
    glance.changed();
    await pass();
    assert.deepEqual(log.urls, []);
    page.isFree = true;
    glance.changed();
    await pass();
    assert.deepEqual(thumbs(log), ["a.jpg"]);
    page.isFree = false;
    glance.changed();
    await pass();
    assert.equal(dropped, 1);
    assert.deepEqual(thumbs(log), ["a.jpg"]);
    delete answers["a.jpg"];
    page.isFree = true;
    glance.changed();
    await pass();
    assert.deepEqual(thumbs(log), ["a.jpg", "a.jpg", "b.jpg"]);
    assert.ok(rows.every(({ picture }) => picture));
});

test("a visit asks for at most 500 pictures", async () => {
    const rows = Array.from({ length: 600 }, (_, n) => stored(`${n}.jpg`));
    const { glance, log, pass } = glanceAt(rows);
    glance.changed();
    for (let turn = 0; turn < 200; turn++) await pass();
    assert.equal(thumbs(log).length, 500);
    glance.changed();
    await pass();
    assert.equal(log.urls.length, 1000);
});

test("a busy server, or one that cannot be reached, is asked again a few times, and the row shows nothing", async () => {
    for (const [answer, wait] of [[503, 7000], [new TypeError("offline"), 10_000]]) {
        const rows = [stored("a.jpg"), stored("b.jpg")];
        const { glance, log, pass } = glanceAt(rows, { answers: { "a.jpg": answer } });
        glance.changed();
        await pass();
        for (let tries = 1; tries <= 3; tries++) {
            assert.equal(thumbs(log).length, tries);
            assert.deepEqual(log.pauses.map(({ milliseconds }) => milliseconds), [wait]);
            // Meanwhile nothing else is asked for.
            glance.changed();
            log.pauses.pop().act();
            assert.equal(thumbs(log).length, tries);
            await pass();
            await pass();
        }
        assert.deepEqual(thumbs(log), ["a.jpg", "a.jpg", "a.jpg", "b.jpg"]);
        assert.deepEqual([rows[0].state, rows[0].picture, rows[0].note], ["checked", null, null]);
        assert.ok(rows[1].picture);
    }
});

test("what the server cannot show is asked for once, and a server that shows nothing a few times", async () => {
    const rows = Array.from({ length: 30 }, (_, n) => stored(`${n}.jpg`));
    const none = Object.fromEntries(rows.map(({ stored }) => [stored, 404]));
    const first = glanceAt(rows, { answers: none });
    first.glance.changed();
    await first.pass();
    assert.equal(first.log.urls.length, 8);
    first.glance.changed();
    await first.pass();
    assert.equal(first.log.urls.length, 8);
    assert.equal(first.log.changes, 0);
    // One that shows some goes on.
    const second = glanceAt(rows, { answers: { ...none, "0.jpg": {} } });
    second.glance.changed();
    await second.pass();
    await second.pass();
    assert.equal(thumbs(second.log).length, 30);
});

test("after the end of the session nothing is asked for", async () => {
    const { glance, log, pass } = glanceAt([stored("a.jpg"), stored("b.jpg")], { answers: { "a.jpg": 401 } });
    glance.changed();
    await pass();
    glance.changed();
    await pass();
    assert.equal(log.urls.length, 1);
});

test("a row says nothing of other content under its name", async () => {
    const row = stored("a.jpg");
    const other = { digest: "sha256:other", picture: { ...picture, decoded: false } };
    const { glance, log, pass } = glanceAt([row], { answers: { "a.jpg": other } });
    glance.changed();
    await pass();
    assert.equal(row.picture, null);
    assert.equal(log.changes, 0);
});

test("a row tells pixels and date taken, or that the picture is cut off, and stays checked", () => {
    const plain = (values, more = {}) =>
        describe(stored("a.jpg", { picture: { ...picture, ...values }, ...more })).replace(/[\u00A0\u202F]/g, " ");
    const fine = "Checked, stored as a.jpg · 4,032 × 3,024, taken January 31, 2026";
    assert.equal(plain({}), fine);
    assert.equal(plain({ decoded: null }), fine);
    for (const taken of ["", "2026", "2026-02-30T10:00:00"]) {
        assert.equal(plain({ taken }), "Checked, stored as a.jpg · 4,032 × 3,024", taken);
    }
    assert.equal(plain({ width: 0 }), "Checked, stored as a.jpg");
    assert.equal(describe(stored("a.jpg")), "Checked, stored as a.jpg");
    const damaged =
        "Stored and checked, but the picture is cut off or damaged: look at the original before you remove it.";
    assert.equal(plain({ decoded: false }), damaged);
    const note = { note: { key: "notDurable" } };
    assert.equal(plain({ decoded: false }, note), `${damaged} The server does not say that it is safe on disk.`);
    assert.equal(plain({}, note), `${fine} The server does not say that it is safe on disk.`);
    const rows = [false, true, null].map((decoded) => stored("a.jpg", { picture: { ...picture, decoded } }));
    const all = totals(rows);
    assert.deepEqual([all.damaged, all.checked, all.finished, all.failed, all.wrong], [1, 3, 3, 0, 0]);
});

test("the queue is idle once all is stored, unless the user holds it back", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    assert.equal(queue.isIdle, true);
    const [row] = add(queue, [file("a.jpg", content(100))]);
    assert.equal(queue.isIdle, false);
    await settle(queue);
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    assert.equal(row.state, "checked");
    assert.equal(queue.isIdle, true);
    queue.pauseAll();
    assert.equal(queue.isIdle, false);
    queue.goOn();
    assert.equal(queue.isIdle, true);
    queue.isSignedOut = true;
    assert.equal(queue.isIdle, false);
});

test("a picture of which nothing can be decoded is told, and one without a thumbnail for another reason is not", async () => {
    const rows = ["bad.jpg", "odd.jpg"].map((name) => stored(name));
    const details = (decoded) => (what) => what === "thumb" ? 404 : { picture: { ...picture, decoded } };
    const { glance, pass } = glanceAt(rows, { answers: { "bad.jpg": details(false), "odd.jpg": details(null) } });
    glance.changed();
    await pass();
    assert.equal(rows[0].picture.decoded, false);
    assert.equal(rows[0].image, null);
    assert.equal(rows[1].picture ?? null, null);
});
