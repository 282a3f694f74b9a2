// @ts-check
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { form } from "../../Sources/CPage/assets/batch.js";
import { Row } from "../../Sources/CPage/assets/row.js";
import { Job, send, Trouble } from "../../Sources/CPage/assets/tus.js";
import { add, BLOCK, content, digestOf, file, install, queueOf, Server, settle } from "./fakes.js";

const large = (size = 20 << 20, seed = 1) => file("large.bin", content(size, seed));
const isPiece = ({ method, url }) => method === "PATCH" || method === "POST" && url.startsWith("/.transfer/tus/");

/** Lets something happen to the n-th request that matches. */
function once(server, matches, fault, n = 1) {
    server.fault = (request) => matches(request) && --n === 0 ? fault : undefined;
}

test("A file above 8 MiB travels in pieces of whole blocks, and is checked", async () => {
    const server = new Server();
    const { queue, log } = queueOf(server);
    const [row] = add(queue, [large(30 << 20)], "photos/2026");
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(row.digest, digestOf(content(30 << 20)));
    assert.equal(row.stored, "photos/2026/large.bin");
    assert.deepEqual(log.stored, ["photos/2026/large.bin"]);
    const pieces = server.log.filter(isPiece);
    assert.deepEqual(pieces.map(({ size }) => size).slice(0, 2), [BLOCK, BLOCK]);
    assert.ok(pieces.length < 6, "pieces grow while they are fast");
    assert.ok(pieces.slice(0, -1).every(({ size }) => size % BLOCK === 0));
    assert.match(
        pieces[0].url,
        /^\/\.transfer\/tus\/photos\/2026\/\?digest=sha256&on-conflict=keep-both$/,
    );
    assert.match(
        pieces[0].headers["Upload-Metadata"],
        new RegExp(`mtime ${btoa("1700000000.123")}`),
    );
});

test("A file of up to 8 MiB takes one request", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const [row] = add(queue, [large(8 << 20)]);
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(server.log.filter(isPiece).length, 1);
});

test("A lost answer to the last byte is found again by HEAD", async () => {
    const server = new Server();
    const { queue, log } = queueOf(server);
    server.fault = ({ method, headers, size }) =>
        method === "PATCH" && Number(headers["Upload-Offset"]) + size === 20 << 20 ? "lostAnswer" : undefined;
    const [row] = add(queue, [large()]);
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(server.log.at(-1).method, "HEAD");
    assert.equal(
        server.log.filter(isPiece).reduce((sum, { size }) => sum + size, 0),
        20 << 20,
        "nothing is sent twice",
    );
    assert.equal(
        log.waits.filter((wait) => wait >= 750 && wait <= 1250).length,
        1,
    );
});

for (
    const fault of ["lost", "lostAnswer", "abort", {
        status: 503,
        headers: { "Retry-After": "7" },
    }]
) {
    test(`After ${JSON.stringify(fault)} in the middle the upload goes on at the offset of the server`, async () => {
        const server = new Server();
        const { queue, log } = queueOf(server);
        once(server, isPiece, fault, 3);
        const [row] = add(queue, [large()]);
        await settle(queue);
        assert.equal(row.state, "checked");
        assert.equal(server.uploads.size, 1);
        assert.equal(
            server.log.filter(({ method }) => method === "DELETE").length,
            0,
        );
        if (typeof fault === "object") {
            assert.ok(log.waits.some((wait) => wait === 7000));
        }
    });
}

test("A server that keeps less than was sent gets the rest from its offset, also inside a block", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    let cut = false;
    server.fault = ({ method, url }) => {
        if (method !== "PATCH" || cut) return;
        cut = true;
        const upload = server.uploads.get(url.split("/").pop());
        upload.bytes = upload.bytes.subarray(0, 1_000_001);
    };
    const [row] = add(queue, [large()]);
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.deepEqual(server.files.get("large.bin").bytes.length, 20 << 20);
    assert.equal(
        server.log.filter(({ method }) => method === "HEAD").length,
        0,
        "the 409 itself names the offset",
    );
});

test("An upload that the server has forgotten begins anew once, and then fails", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    once(server, ({ method }) => method === "PATCH", { status: 404 });
    let [row] = add(queue, [large()]);
    await settle(queue);
    assert.equal(row.state, "checked");
    server.fault = ({ method }) => method === "PATCH" ? { status: 410 } : undefined;
    [row] = add(queue, [file("other.bin", content(20 << 20, 7))]);
    await settle(queue);
    assert.equal(row.state, "failed");
    assert.equal(
        server.log.filter(({ method, url }) => method === "POST" && url.startsWith("/.transfer/tus/")).length,
        4,
    );
});

test("A lost answer to the only request is resolved by the digest, without a second copy", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    once(server, isPiece, "lostAnswer");
    const [row] = add(queue, [large(3 << 20)]);
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(server.files.size, 1);
    assert.equal(server.log.filter(isPiece).length, 1);
});

test("After a lost creation, the next one has no content, so that a refusal can be read", async () => {
    const server = new Server();
    const { queue } = queueOf(server, { mayRead: false });
    once(server, isPiece, "lost");
    const [row] = add(queue, [large()]);
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.deepEqual(
        server.log.filter(({ method }) => method === "POST").map(({ size }) => size > 0),
        [true, false],
    );
});

test("A request without progress is given up after 20 seconds, and the upload goes on", async () => {
    mock.timers.enable({ apis: ["setInterval", "Date"] });
    try {
        const server = new Server();
        install(server);
        server.fault = () => "hang";
        const lost = send({ method: "PATCH", url: "/x", body: new Uint8Array(9) });
        mock.timers.tick(19_000);
        assert.equal(server.now, 1);
        mock.timers.tick(3_000);
        await assert.rejects(
            lost,
            (error) => error instanceof Trouble && error.kind === "lost",
        );
    } finally {
        mock.timers.reset();
    }
});

for (const size of [1000, 1 << 20, 20 << 20]) {
    test(`Other content on the server is red and never checked: ${size} bytes`, async () => {
        const server = new Server();
        server.damages = true;
        const { queue } = queueOf(server);
        const [row] = add(queue, [large(size)]);
        const states = new Set();
        queue.tools.changed = () => states.add(row.state);
        await settle(queue);
        assert.equal(row.state, "wrong");
        assert.ok(!states.has("checked"));
        server.damages = false;
        queue.retry(row);
        await settle(queue);
        assert.equal(row.state, "checked");
        assert.equal(server.files.size, 1, "the damaged file is replaced");
    });

    test(`An acknowledgement without a digest is stored, not checked: ${size} bytes`, async () => {
        const server = new Server();
        server.namesDigests = false;
        const { queue } = queueOf(server);
        const [row] = add(queue, [large(size)]);
        await settle(queue);
        assert.equal(row.state, "stored");
    });
}

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

test("20,000 files go through, at most three uploads and one question at once", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(50);
    const items = Array.from({ length: 20_000 }, (_, n) => ({
        path: `${n % 10}/${n}.txt`,
        source: {
            entry: {
                file: (/** @type {(f: File) => void} */ resolve) => resolve(file(`${n}.txt`, bytes)),
            },
        },
    }));
    queue.add(/** @type {any} */ (items), "", { policy: "" });
    await settle(queue, 100_000);
    assert.ok(queue.rows.every(({ state }) => state === "checked"));
    assert.equal(server.files.size, 20_000);
    assert.ok(server.most <= 4, String(server.most));
    assert.equal(
        server.log.filter(({ url }) => url === "/.transfer/known").length,
        20,
    );
    assert.ok(
        queue.rows.every(({ source, job }) => !source && !job),
        "finished rows keep no file",
    );
});

test("What the server has is not sent; what only looks the same is said so, and can be sent", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const [same, similar, other] = [
        content(300),
        content(300, 2),
        content(300, 3),
    ];
    server.store("same", same, "");
    server.files.set("similar", {
        bytes: similar,
        digest: "xxh128:00",
        isSimilar: true,
    });
    server.store("other", other, "");
    const rows = add(queue, [
        file("same", same),
        file("similar", similar),
        file("other", content(300, 4)),
        file("new", same),
    ]);
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), [
        "same",
        "likely",
        "conflict",
        "checked",
    ]);
    queue.retry(rows[1]);
    await settle(queue);
    assert.equal(rows[1].state, "checked");
});

for (
    const [policy, state, count] of /** @type {const} */ ([["keep-both", "checked", 4], [
        "overwrite",
        "checked",
        2,
    ], ["skip", "skipped", 2]])
) {
    test(`A conflict is asked once for all that was added together: ${policy}`, async () => {
        const server = new Server();
        const { queue } = queueOf(server);
        server.store("a", content(300, 8), "");
        server.store("b", content(300, 9), "");
        const batch = { policy: "" };
        const rows = add(queue, [file("a", content(300))], "", batch);
        await settle(queue);
        assert.equal(rows[0].state, "conflict");
        queue.decide(policy);
        rows.push(...add(queue, [file("b", content(300))], "", batch));
        await settle(queue);
        assert.deepEqual(rows.map((row) => row.state), [state, state]);
        assert.equal(server.files.size, count);
    });
}

test("Clients that may not read do not ask, and keep both", async () => {
    const server = new Server();
    const { queue } = queueOf(server, { mayRead: false });
    server.store("a", content(300, 8), "");
    const [row] = add(queue, [file("a", content(300))]);
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(row.stored, "a (1)");
    assert.ok(!server.log.some(({ url }) => url === "/.transfer/known"));
});

test("After the end of the session the list stays, and goes on later", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    let isOver = true;
    server.fault = ({ method }) => isOver && method === "PATCH" ? { status: 401 } : undefined;
    const rows = add(queue, [large(), file("small", content(10))]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(queue.isSignedOut, true);
    assert.equal(rows[0].state, "waiting");
    isOver = false;
    queue.goOn();
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), ["checked", "checked"]);
    assert.equal(server.uploads.size, 1);
});

for (
    const [status, key] of /** @type {const} */ ([
        [413, "uploadTooLarge"],
        [507, "insufficientStorage"],
        [403, "forbidden"],
        [
            500,
            "refused",
        ],
    ])
) {
    test(`Status ${status} fails that file with words, and others go on`, async () => {
        const server = new Server();
        const { queue } = queueOf(server);
        server.fault = (request) => isPiece(request) ? { status, text: '{"detail":"Why."}' } : undefined;
        const rows = add(queue, [large(), file("small", content(10))]);
        await settle(queue);
        assert.deepEqual(rows.map(({ state }) => state), ["failed", "checked"]);
        assert.equal(rows[0].note?.key, key);
    });
}

test("A file that cannot be read fails alone, and can be chosen again", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const broken = {
        arrayBuffer: () => Promise.reject(new Error("NotReadableError")),
        slice() {
            return this;
        },
        size: 20 << 20,
        lastModified: 5,
        name: "gone",
    };
    const rows = queue.add(
        [{ path: "gone", source: { file: /** @type {any} */ (broken) } }],
        "",
        { policy: "" },
    )
        .concat(add(queue, [file("a", content(10))]));
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), ["failed", "checked"]);
    assert.equal(rows[0].note?.key, "unreadable");
    queue.replace(rows[0], large());
    await settle(queue);
    assert.equal(rows[0].state, "checked");
});

test("Pausing stops requests without deleting; removing deletes", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    server.fault = ({ method, headers }) =>
        method === "PATCH" && headers["Upload-Offset"] !== String(BLOCK) ? "hang" : undefined;
    const [row] = add(queue, [large()]);
    while (server.log.filter(({ method }) => method === "PATCH").length < 2) {
        await new Promise(setImmediate);
    }
    queue.pause(row);
    queue.goOn();
    queue.pauseAll();
    queue.goOn();
    server.fault = () => undefined;
    queue.pause(row);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(row.state, "paused");
    queue.goOn();
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(
        server.log.filter(({ method }) => method === "DELETE").length,
        0,
    );
    assert.equal(server.uploads.size, 1);

    server.fault = ({ method }) => method === "PATCH" ? "hang" : undefined;
    const [gone] = add(queue, [file("gone.bin", content(20 << 20, 3))]);
    while (!gone.job?.address) await new Promise(setImmediate);
    queue.remove(gone);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(
        server.log.filter(({ method }) => method === "DELETE").length,
        1,
    );
});

/** An upload of an earlier page, of which the server has 12 MiB. */
function orphan(server, bytes, path = "folder/large.bin") {
    server.uploads.set("old", {
        path,
        policy: "keep-both",
        total: bytes.length,
        bytes: bytes.subarray(0, 12 << 20),
        stored: null,
    });
    const slash = path.lastIndexOf("/");
    const row = new Row(path.slice(0, slash), path.slice(slash + 1), null, {
        policy: "",
    });
    row.job = Object.assign(new Job("/.transfer/tus/folder/?", row.path), {
        address: "/.transfer/tus/old",
        isUnsure: true,
        offset: 12 << 20,
    });
    row.job.known = [0, 1, 2].map((n) =>
        Buffer.from(
            digestOf(bytes.subarray(n * BLOCK, (n + 1) * BLOCK)).slice(7),
            "hex",
        )
    );
    Object.assign(row, { size: bytes.length, modified: 1_700_000_000_123 });
    return row;
}

test("After a reload, the same file goes on where the server stands, also under another name", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(20 << 20);
    queue.restore(orphan(server, bytes));
    const [row] = add(queue, [file("image.jpg", bytes, 5)], "elsewhere", {
        policy: "",
        isAgain: true,
    });
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(row.stored, "folder/large.bin");
    assert.equal(queue.rows.length, 1);
    assert.equal(
        server.log.filter(isPiece).reduce((sum, { size }) => sum + size, 0),
        8 << 20,
    );
});

test("After a reload, a file that has changed is found, and not joined with its earlier part", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(20 << 20);
    queue.restore(orphan(server, bytes));
    const changed = bytes.slice();
    changed[5 << 20] ^= 1;
    const [row] = add(queue, [file("large.bin", changed)], "folder");
    await settle(queue);
    assert.equal(row.state, "failed");
    assert.equal(row.note?.key, "changed");
    assert.equal(server.log.filter(isPiece).length, 0);
    queue.retry(row);
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.equal(row.digest, digestOf(changed));
});

test("A file that is added elsewhere does not go on with an upload of an earlier page", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(20 << 20);
    const left = orphan(server, bytes);
    queue.restore(left);
    // The beginning is the same, as in disk images, and even name and time may be.
    const other = bytes.slice();
    other[19 << 20] ^= 1;
    const rows = add(
        queue,
        [file("other.img", other), file("large.bin", bytes)],
        "elsewhere",
    );
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), ["checked", "checked"]);
    assert.deepEqual(rows.map(({ stored }) => stored), [
        "elsewhere/other.img",
        "elsewhere/large.bin",
    ]);
    assert.ok(queue.orphans.has(left) && !server.files.has("folder/large.bin"));
});

test("After a reload, a file that is added again goes on, although the browser has kept its handle", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(20 << 20);
    const left = orphan(server, bytes);
    left.source = { handle: { getFile: () => Promise.resolve(file("large.bin", bytes)) } };
    queue.restore(left);
    queue.restore(
        new Row("folder", "waited.bin", { handle: { getFile: () => Promise.resolve(file("waited.bin", bytes)) } }, {
            policy: "",
        }),
    );
    for (const name of ["large.bin", "waited.bin"]) queue.restore(new Row("folder", name, left.source, { policy: "" }));
    add(queue, [file("large.bin", bytes), file("waited.bin", content(1000))], "folder");
    await settle(queue);
    assert.deepEqual(queue.rows.map(({ path, state }) => `${path} ${state}`), [
        "large.bin checked",
        "waited.bin checked",
    ]);
    const pieces = server.log.filter(isPiece);
    assert.equal(pieces.reduce((sum, { size }) => sum + size, 0), 8 << 20);
});

test("An upload that goes on is no earlier one any more: an equal file has its own upload", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(20 << 20);
    const left = orphan(server, bytes);
    queue.restore(left);
    queue.replace(left, file("large.bin", bytes));
    add(queue, [file("large.bin", bytes)], "folder");
    await settle(queue);
    assert.ok(queue.rows.includes(left));
    assert.equal(left.state, "checked");
});

test("An upload of which the server has more than an earlier page has kept begins anew", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(20 << 20);
    const left = orphan(server, bytes);
    left.job.known.pop();
    queue.restore(left);
    const changed = bytes.slice();
    changed[9 << 20] ^= 1;
    const [row] = add(queue, [file("large.bin", changed)], "folder");
    await settle(queue);
    assert.equal(row.state, "checked");
    assert.deepEqual([...server.files.values()].map(({ digest }) => digest), [digestOf(changed)]);
});

test("A file that goes on has one record, the earlier one", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(20 << 20);
    const left = orphan(server, bytes);
    left.record = "earlier";
    queue.restore(left);
    const [row] = add(queue, [file("large.bin", bytes)], "folder");
    row.record = "of a handle";
    const forgotten = [];
    queue.tools.forget = ({ record }) => forgotten.push(record);
    await settle(queue);
    assert.deepEqual([...new Set(forgotten)], ["of a handle", "earlier"]);
});

test("What is stored already, only looks so or is skipped, is no upload to go on with", async () => {
    const server = new Server();
    const { queue, log } = queueOf(server);
    const [same, likely, taken] = [1, 2, 3].map((seed) => content(1000, seed));
    server.files.set("same", { bytes: same, digest: digestOf(same) });
    server.files.set("likely", { bytes: likely, digest: "xxh128:0", isSimilar: true });
    server.files.set("taken", { bytes: likely, digest: digestOf(likely) });
    add(queue, [file("same", same), file("likely", likely), file("taken", taken)]);
    await settle(queue);
    assert.deepEqual(log.forgotten.sort(), ["likely", "same"]);
    queue.decide("skip");
    assert.deepEqual(log.forgotten.sort(), ["likely", "same", "taken"]);
});

test("The digests of a piece are kept before it leaves", async () => {
    const server = new Server();
    let kept = 0;
    const turns = async () => {
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    const { queue } = queueOf(server, {
        keep: async ({ job: { tree: { blocks: { length } } } }) => {
            await turns();
            kept = Math.max(kept, length * BLOCK);
        },
    });
    const unkept = [];
    server.fault = ({ method, headers, size }) => {
        const end = Number(headers["Upload-Offset"]) + size;
        if (method === "PATCH" && kept < end) unkept.push(end);
    };
    const slow = large();
    const slice = slow.slice.bind(slow);
    // A piece is read for longer than the one before it travels.
    slow.slice = (start, end) => ({
        arrayBuffer: async () => {
            await turns();
            return slice(start, end).arrayBuffer();
        },
    });
    add(queue, [slow]);
    await settle(queue);
    assert.deepEqual(unkept, []);
});

test("A file that was chosen again and is another one is stored where it was put", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const bytes = content(20 << 20);
    const left = orphan(server, bytes);
    left.policy = "overwrite";
    queue.restore(left);
    const other = bytes.slice();
    other[9 << 20] ^= 1;
    const [row] = add(queue, [file("other.img", other, 5)], "elsewhere", {
        policy: "",
        isAgain: true,
    });
    await settle(queue);
    assert.equal(row.note?.key, "changed");
    queue.retry(row);
    await settle(queue);
    assert.equal(row.stored, "elsewhere/other.img");
    assert.equal(row.policy, "keep-both");
    assert.ok(!server.files.has("folder/large.bin"));
});

for (const size of [1000, 20 << 20]) {
    test(`What the user decides to replace is what was there when he was asked: ${size} bytes`, async () => {
        const server = new Server();
        server.files.set("a.bin", {
            digest: "sha256:" + "0".repeat(64),
            bytes: content(size),
        });
        const { queue } = queueOf(server);
        const [row] = add(queue, [
            file("a.bin", content(size).map((byte) => byte ^ 1)),
        ]);
        await settle(queue);
        assert.equal(row.state, "conflict");
        queue.decide("overwrite");
        await settle(queue);
        const created = server.log.find(({ method, url }) =>
            method === "POST" && url.includes("on-conflict=overwrite")
        );
        assert.equal(created?.headers["If-Match"], `"sha256-${"0".repeat(64)}"`);
    });
}

test("An answer without a result acknowledges nothing", async () => {
    const server = new Server();
    const state = server.state.bind(server);
    server.state = (id) => {
        const { "Transfer-Result": _, ...headers } = state(id);
        return headers;
    };
    const { queue } = queueOf(server);
    const [row] = add(queue, [large()]);
    await settle(queue);
    assert.equal(row.state, "failed");
});

test("Progress is kept after each piece, and forgotten at the end", async () => {
    const server = new Server();
    const { queue, log } = queueOf(server);
    add(queue, [large()]);
    await settle(queue);
    assert.equal(log.kept[0].offset, BLOCK);
    assert.ok(log.forgotten.includes("large.bin"));
});

test("Empty folders are made by one request", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const [row] = queue.add(
        [{ path: "a/b", source: { isFolder: true } }],
        "top",
        { policy: "" },
    );
    await settle(queue);
    assert.equal(row.state, "made");
    assert.equal(server.log.length, 1);
});
