// @ts-check
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { send, Trouble } from "../../Sources/CPage/assets/tus.js";
import { fromClipboard, fromDrop, fromInput } from "../../Sources/CPage/assets/walk.js";
import {
    add,
    BLOCK,
    content,
    digestOf,
    file,
    install,
    isPiece,
    large,
    once,
    queueOf,
    Server,
    settle,
} from "./fakes.js";

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

test("The queue is cut from a lost connection until bytes travel again", async () => {
    const server = new Server();
    let isDown = true;
    server.fault = ({ method }) => isDown && method !== "POST" ? "lost" : undefined;
    const waits = [];
    const { queue } = queueOf(server, {
        later: (f, milliseconds) => milliseconds ? waits.push(f) : setImmediate(f),
    });
    const rows = add(queue, [large(), large()]);
    queue.tick(1);
    assert.ok(!queue.isCut);
    for (let turn = 0; turn < 20_000 && waits.length < 2; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 1));
    }
    queue.tick(1);
    assert.ok(queue.isCut);
    isDown = false;
    queue.wake();
    queue.tick(1);
    assert.ok(queue.isCut, "a new attempt is not known to succeed");
    for (let turn = 0; turn < 20_000 && rows[0].sent === rows[0].mark; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 1));
    }
    queue.tick(1);
    assert.ok(!queue.isCut);
    await settle(queue);
    assert.ok(rows.every(({ state }) => state === "checked"));
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
    while (!queue.isSignedOut) await new Promise(setImmediate);
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

test("A file that becomes unreadable in the middle goes on when it is chosen again, under any time", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const lost = large();
    const slice = lost.slice.bind(lost);
    // Phones end the right to read a file that was chosen.
    lost.slice = (start, end) =>
        Number(end) <= 12 << 20
            ? slice(start, end)
            : /** @type {any} */ ({ arrayBuffer: () => Promise.reject(new DOMException("", "NotReadableError")) });
    const rows = add(queue, [lost, file("a.bin", content(9 << 20, 2)), file("b", content(10))]);
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), ["failed", "checked", "checked"]);
    assert.deepEqual([rows[0].note?.key, rows[0].full], ["unreadable", "large.bin"]);
    const before = server.log.length;
    queue.replace(rows[0], file("image.jpg", content(20 << 20), 7));
    await settle(queue);
    assert.equal(rows[0].state, "checked");
    assert.equal(rows[0].stored, "large.bin");
    const again = server.log.slice(before).filter(isPiece);
    assert.ok(again.reduce((sum, { size }) => sum + size, 0) < 20 << 20, "what the server has is not sent again");
    assert.ok(server.log.every(({ method }) => method !== "DELETE"));

    // The same again, but another file was chosen: nothing of it is joined with the first part.
    server.files.clear();
    const [other] = add(queue, [lost], "other");
    await settle(queue);
    queue.replace(other, large(20 << 20, 9));
    await settle(queue);
    assert.deepEqual([other.state, other.note?.key], ["failed", "changed"]);
    assert.equal(server.files.size, 0);
});

test("The page sends bytes and never a part of a file, whose request some browsers do not end", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const rows = add(queue, [large(), file("one.bin", content(5 << 20, 2)), file("small", content(10))]);
    await settle(queue);
    assert.ok(rows.every(({ state }) => state === "checked"));
    const sent = server.log.filter(({ body }) => body !== null && typeof body !== "string");
    assert.ok(sent.length >= 5);
    assert.ok(sent.every(({ body }) => body instanceof Uint8Array));
});

test("The next piece is read while one travels", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const read = [];
    const piecewise = large();
    const slice = piecewise.slice.bind(piecewise);
    piecewise.slice = (start, end) => (read.push(Number(start)), slice(start, end));
    server.fault = ({ method }) => method === "PATCH" ? "hang" : undefined;
    const [row] = add(queue, [piecewise]);
    while (!server.log.some(({ method }) => method === "PATCH")) await new Promise(setImmediate);
    await new Promise((resolve) => setTimeout(resolve, 20));
    queue.remove(row);
    const { headers, size } = server.log.find(({ method }) => method === "PATCH");
    assert.equal(read.at(-1), Number(headers["Upload-Offset"]) + size);
});

test("The type that a browser gives a file is never asked for, and its name may be in capitals", async () => {
    const server = new Server();
    const { queue } = queueOf(server);
    const files = [
        file("IMG_1.HEIC", content(10)),
        file("IMG_2.HEIC", content(9 << 20)),
        file("image.png", content(20)),
    ];
    for (const one of files) Object.defineProperty(one, "type", { get: () => assert.fail("the type is asked for") });
    const entry = (/** @type {File} */ file) => ({ name: file.name, file: (/** @type {any} */ give) => give(file) });
    const drop = {
        items: [{ kind: "file", webkitGetAsEntry: () => entry(files[1]), getAsFile: () => files[1] }],
    };
    const items = [...fromInput([files[0]])];
    for await (const some of fromDrop(/** @type {any} */ (drop))) items.push(...some);
    const clipboard = /** @type {any} */ ({ files: [files[2]], getData: () => "" });
    items.push(...fromClipboard(clipboard, new Date(), "Pasted", false));
    const rows = queue.add(items, "", { policy: "" });
    await settle(queue);
    assert.deepEqual(rows.map(({ state }) => state), ["checked", "checked", "checked"]);
    assert.deepEqual(rows.slice(0, 2).map(({ stored }) => stored), ["IMG_1.HEIC", "IMG_2.HEIC"]);
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
