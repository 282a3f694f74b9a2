// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { Row } from "../../Sources/CPage/assets/row.js";
import { Job } from "../../Sources/CPage/assets/tus.js";
import { add, BLOCK, content, digestOf, file, isPiece, large, queueOf, Server, settle } from "./fakes.js";

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
