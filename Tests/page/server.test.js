import assert from "node:assert/strict";
import { test } from "node:test";

import {
    address,
    below,
    entries,
    etag,
    explain,
    Failure,
    listAddress,
    request,
    send,
} from "../../Sources/CPage/assets/server.js";

/** Answers each request with the next of the given answers, which may be errors. */
function answering(...answers) {
    const requests = [];
    globalThis.fetch = (url, options) => {
        requests.push({ url, ...options });
        const answer = answers.shift();
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    return requests;
}

/** A body that arrives in the given pieces, and may break off. */
function body(pieces, end = "close") {
    const bytes = pieces.map((piece) => typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
    return new ReadableStream({
        pull(controller) {
            const next = bytes.shift();
            if (next) controller.enqueue(next);
            else if (end === "close") controller.close();
            else controller.error(new TypeError("network error"));
        },
    });
}

const problem = (status, values, headers = {}) => new Response(JSON.stringify(values), { status, headers });

async function all(url, signal) {
    const found = [];
    for await (const batch of entries(url, signal)) found.push(...batch);
    return found;
}

test("a search ends with how complete it was", async () => {
    const entry =
        '{"schema":"transfer.entry/1","path":"a/b","type":"file","size":1,"modified":"2026-01-01T00:00:00Z"}\n';
    const end = (complete) => `{"schema":"transfer.found/1","entries":1,"complete":${complete}}\n`;
    answering(
        new Response(body([entry, "\n", end(true)])),
        new Response(body([entry, end(false)])),
    );
    assert.deepEqual((await all("/?find=b")).map(({ name }) => name), ["b"]);
    await assert.rejects(
        all("/?find=b"),
        ({ result }) => result === "incomplete",
    );
});

test("a list of changes fits into what the server takes", async () => {
    const path = "x".repeat(2000);
    const changes = Array.from(
        { length: 700 },
        () => ({ change: "mkdir", path }),
    );
    const requests = answering(
        ...Array.from({ length: 9 }, () => new Response(body([]))),
    );
    assert.equal((await send(changes)).length, 700);
    assert.ok(
        requests.length > 1 && requests.every(({ body }) => body.length < 600_000),
    );
    assert.equal(
        requests.reduce((sum, { body }) => sum + JSON.parse(body).length, 0),
        700,
    );
});

test("paths become addresses segment by segment", () => {
    assert.equal(address(""), "/");
    assert.equal(address("", true), "/");
    assert.equal(address("a b/100% #1?.txt"), "/a%20b/100%25%20%231%3F.txt");
    assert.equal(address("假期", true), "/%E5%81%87%E6%9C%9F/");
    assert.equal(address("//evil.example//x", true), "/evil.example/x/");
    assert.equal(address("a\uD800"), "/a%EF%BF%BD");
    assert.equal(below("a/b/c", "a"), "b/c");
    assert.equal(below("a/b", ""), "a/b");
    assert.equal(
        etag({ digest: "sha256-tree-4m:00ff" }),
        '"sha256-tree-4m-00ff"',
    );
    assert.equal(etag({ digest: null }), undefined);
});

test("the address of a list asks for pictures only if they are wanted, and a search never", () => {
    assert.equal(listAddress({ folder: "", find: "" }, false), "/");
    assert.equal(listAddress({ folder: "", find: "" }, true), "/?pictures");
    assert.equal(listAddress({ folder: "a b", find: "" }, true), "/a%20b/?pictures");
    assert.equal(listAddress({ folder: "a", find: "b&c" }, true), "/a/?find=b%26c");
});

test("lines are read whole, wherever the network cuts them", async () => {
    const text = ["假期.jpg", "b"].map((path) => `${JSON.stringify({ path: `x/${path}`, type: "file" })}\n`).join("");
    const bytes = new TextEncoder().encode(text);
    for (let cut = 1; cut < bytes.length; cut++) {
        answering(new Response(body([bytes.slice(0, cut), bytes.slice(cut)])));
        assert.deepEqual((await all("/x/")).map((entry) => entry.name), [
            "假期.jpg",
            "b",
        ]);
    }
    answering(new Response(body(['{"path":"last","type":"file"}'])));
    assert.equal((await all("/")).length, 1);
});

test("a list that breaks off keeps what came, and says that the network was lost", async () => {
    answering(new Response(body(['{"path":"a","type":"file"}\n'], "error")));
    const found = [];
    await assert.rejects(async () => {
        for await (const batch of entries("/")) found.push(...batch);
    }, (error) => error instanceof Failure && error.result === "offline");
    assert.equal(found.length, 1);
    answering(new Response(body(['{"path":'])));
    await assert.rejects(all("/"), (error) => error.result === "broken");
});

test("failures are sentences of the page, or else of the server, and never JSON", async () => {
    const told = async (answer) => {
        answering(answer);
        return explain(await request("/").catch((error) => error));
    };
    assert.match(await told(problem(401, {})), /sign in/);
    assert.match(await told(problem(403, { detail: "x" })), /may not/);
    assert.match(await told(problem(507, { result: "quotaExceeded" })), /quota/);
    assert.match(await told(new TypeError("Failed to fetch")), /network/);
    assert.equal(
        await told(problem(418, { detail: "I am a teapot." })),
        "I am a teapot.",
    );
    assert.match(
        await told(new Response("<html>", { status: 502 })),
        /status 502/,
    );
    answering(problem(503, {}, { "Retry-After": "7" }));
    assert.equal((await request("/").catch((error) => error)).wait, 7);
});

test("an abort of our own stays an abort, and one that nobody asked for is a lost connection", async () => {
    const controller = new AbortController();
    const abort = new DOMException("aborted", "AbortError");
    answering(abort);
    await assert.rejects(
        request("/", { signal: controller.signal }),
        (error) => error.result === "offline",
    );
    controller.abort();
    answering(abort);
    await assert.rejects(request("/", { signal: controller.signal }), {
        name: "AbortError",
    });
});

const changes = (count) =>
    Array.from(
        { length: count },
        (_, index) => ({ change: "remove", path: `f${index}` }),
    );
const lines = (some) =>
    body(
        some.map(({ path }) => `${JSON.stringify({ path, result: "completed" })}\n`),
    );

test("changes are sent a thousand at a time, with one result for each in order", async () => {
    const list = changes(2500);
    const parts = [list.slice(0, 1000), list.slice(1000, 2000), list.slice(2000)];
    const requests = answering(...parts.map((part) => new Response(lines(part))));
    const results = await send(list);
    assert.deepEqual(requests.map(({ body }) => JSON.parse(body).length), [
        1000,
        1000,
        500,
    ]);
    assert.deepEqual(
        results.map(({ path }) => path),
        list.map(({ path }) => path),
    );
});

test("what the server did not acknowledge is never completed", async () => {
    const list = changes(4);
    const line = '{"path":"f0","result":"completed"}\n';
    answering(new Response(body([line], "error")));
    assert.deepEqual((await send(list)).map(({ result }) => result), [
        "completed",
        ...Array(3).fill("unanswered"),
    ]);
    answering(new Response(body([line])));
    assert.deepEqual((await send(list)).map(({ result }) => result), [
        "completed",
        ...Array(3).fill("unanswered"),
    ]);
    answering(new TypeError("offline"));
    assert.deepEqual(
        (await send(list)).map(({ result }) => result),
        Array(4).fill("unanswered"),
    );
    answering(problem(403, { result: "forbidden" }));
    assert.deepEqual(
        (await send(list)).map(({ result }) => result),
        Array(4).fill("forbidden"),
    );
});
