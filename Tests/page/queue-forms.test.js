// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { form } from "../../Sources/CPage/assets/batch.js";
import { add, content, digestOf, file, once, queueOf, Server, settle } from "./fakes.js";

test("Small files share forms of up to 32 files and 4 MiB", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    add(
        queue,
        Array.from(
            { length: 100 },
            (_, n) => file(`sub "dir"/ä${n}.txt`.replaceAll('"', ""), content(100, n)),
        ),
        "a b",
    );
    await settle(queue);
    assert.ok(queue.rows.every(({ state }) => state === "checked"));
    const forms = server.log.filter(({ url }) => url.startsWith("/a%20b/?"));
    assert.equal(forms.length, 4);
    assert.ok(server.files.has("a b/sub dir/ä99.txt"));
});

test("A name that a form would change travels by tus", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const [row] = add(queue, [file('a "b".txt', content(10))]);
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(row.stored, 'a "b".txt');
});

test("A form has the time of each file, and escapes names as browsers do", () => {
    const bytes = new TextEncoder().encode("x");
    const text = new TextDecoder().decode(
        form([{ path: 'a"b\r\n.txt', modified: 1_700_000_000_250, bytes }], "b"),
    );
    assert.equal(
        text,
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a%22b%0D%0A.txt"\r\n' +
            "Content-Type: application/octet-stream\r\nTransfer-Modified: 1700000000.25\r\n\r\nx\r\n--b--\r\n",
    );
});

test("In a form of which some files fail, each has its own result", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    server.formFault = (name) =>
        name === "b" ? { result: "quotaExceeded", message: "The quota is used up." } : undefined;
    const rows = add(
        queue,
        ["a", "b", "c"].map((name, n) => file(name, content(10, n))),
    );
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), [
        "checked",
        "failed",
        "checked",
    ]);
    assert.equal(rows[1].note?.key, "quotaExceeded");
});

test("Of a form that broke off, acknowledged files are not sent again", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    server.breaksAfter = 2;
    const names = [];
    const store = server.store.bind(server);
    server.store = (path, ...rest) => (names.push(path), store(path, ...rest));
    const rows = add(
        queue,
        ["a", "b", "c", "d"].map((name, n) => file(name, content(10, n))),
    );
    await settle(queue);
    assert.ok(rows.every(({ state }) => state === "checked"));
    assert.deepEqual(names.filter((name) => name === "a" || name === "b"), [
        "a",
        "b",
    ]);
    assert.equal(server.log.filter(({ url }) => url.startsWith("/?")).length, 1);
});

test("After a lost answer to a form, its stored files are acknowledged by their digests", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    once(server, ({ url }) => url.startsWith("/?"), "lostAnswer");
    const rows = add(
        queue,
        ["a", "b"].map((name, n) => file(name, content(10, n))),
    );
    await settle(queue);
    assert.ok(rows.every(({ state }) => state === "checked"));
    assert.equal(server.log.filter(({ url }) => url.startsWith("/?")).length, 1);
});

test("A form whose request a browser aborts by itself is sent again", async () => {
    const server = new Server();
    const { queue, log } = queueOf(server);
    once(server, ({ url }) => url.startsWith("/?"), "abort");
    const rows = add(queue, [file("a", content(10))]);
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), ["checked"]);
    assert.equal(server.log.filter(({ url }) => url.startsWith("/?")).length, 2);
    assert.equal(log.waits.length, 1);
});

test("A file that cannot be read is left out of its form, and the others are sent", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const lost = file("b", content(10, 2));
    lost.arrayBuffer = () => Promise.reject(new DOMException("", "NotReadableError"));
    const rows = add(queue, [file("a", content(10)), lost, file("c", content(10, 3))]);
    await settle(queue);
    assert.deepEqual(rows.map(({ state, note }) => note?.key ?? state), ["checked", "unreadable", "checked"]);
    queue.replace(rows[1], file("b", content(10, 2), 7));
    await settle(queue);
    assert.equal(rows[1].state, "checked");
});

test("While a question about digests has no answer, the row says so", async () => {
    const server = new Server();
    const said = [];
    const { queue } = queueOf(server, {
        later: (f, milliseconds) => {
            if (milliseconds) said.push(...queue.rows.map(({ state, note }) => `${state} ${note?.key}`));
            setImmediate(f);
        },
    });
    const bytes = content(10);
    server.files.set("a", { bytes, digest: digestOf(bytes) });
    once(server, ({ url, body }) => url === "/.transfer/known" && body.includes("digest"), "lost");
    const [row] = add(queue, [file("a", bytes)]);
    await settle(queue);
    assert.deepEqual(said, ["looking lost"]);
    assert.equal(row.state, "same");
});

test("After a lost answer to a form, what only looks the same on the server is sent again", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    once(server, ({ url }) => url.startsWith("/?"), "lostAnswer");
    // A server that was killed may know another digest than the one it was asked for.
    server.known = (items) => ({
        status: 200,
        text: items.map(({ path, size }) =>
            JSON.stringify({
                known: server.files.has(path) ? "probablySame" : "missing",
                size: server.files.has(path) ? size : null,
                digest: server.files.has(path) ? "xxh128:0" : null,
            })
        ).join("\n"),
    });
    const rows = add(queue, [file("a", content(10))]);
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), ["checked"]);
    assert.equal(server.files.size, 1);
});
