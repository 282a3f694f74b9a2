// @ts-check
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { digestOf, hex, Tree } from "../../Sources/CPage/assets/digest.js";
import { sha256 } from "../../Sources/CPage/assets/hash-worker.js";
import { digestOfFile } from "../../Sources/CPage/assets/tus.js";

test("The plain SHA-256 gives the digests of FIPS 180-4", () => {
    const vectors = [
        ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
        ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
        [
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ],
        [
            "a".repeat(1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        ],
    ];
    for (const [text, digest] of vectors) {
        assert.equal(hex(sha256(new TextEncoder().encode(text))), digest);
    }
});

test("The plain SHA-256 agrees with another implementation at every length around a block", () => {
    const bytes = randomBytes(300);
    for (let length = 0; length <= 300; length++) {
        const part = new Uint8Array(bytes).subarray(0, length);
        assert.equal(
            hex(sha256(part)),
            createHash("sha256").update(part).digest("hex"),
        );
    }
});

test("Content above one block has the tree digest of the protocol", async () => {
    const zeros = new File([new Uint8Array(4_194_305)], "zeros");
    assert.equal(
        await digestOfFile(zeros),
        "sha256-tree-4m:14a4d47f23a30177885d9820122f17d2d3a55fe63f7f5c27b95f689e0b2accd6",
    );
    assert.match(
        await digestOfFile(new File([new Uint8Array(4_194_304)], "zeros")),
        /^sha256:/,
    );
    assert.equal(
        await new Tree().text(),
        `sha256:${createHash("sha256").digest("hex")}`,
    );
});

test("Without WebCrypto a worker gives the same digests, and another one begins after its end", async () => {
    const bytes = new Uint8Array(4_194_305).fill(7);
    const expected = await digestOfFile(new File([bytes], "a"));
    /** @type {any[]} */
    const workers = [];
    const { Worker, document } = globalThis;
    const web = Object.getOwnPropertyDescriptor(globalThis, "crypto");
    Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
    globalThis.document = /** @type {any} */ ({ documentElement: { dataset: { page: "/page/" } } });
    globalThis.Worker = /** @type {any} */ (class {
        onmessage = (_) => {};
        onerror = () => {};
        constructor(address) {
            this.address = address;
            workers.push(this);
        }
        postMessage({ id, bytes }) {
            if (this.ends) return setImmediate(() => this.onerror());
            setImmediate(() => this.onmessage({ data: { id, digest: sha256(bytes) } }));
        }
    });
    try {
        assert.equal(await digestOfFile(new File([bytes], "a")), expected);
        assert.deepEqual(workers.map(({ address }) => address), ["/page/hash-worker.js"]);
        workers[0].ends = true;
        await assert.rejects(new Tree().add(bytes.subarray(0, 10)));
        assert.equal(await digestOfFile(new File([bytes], "a")), expected);
        assert.equal(workers.length, 2);
    } finally {
        Object.defineProperty(globalThis, "crypto", /** @type {any} */ (web));
        Object.assign(globalThis, { Worker, document });
    }
});

test("An entity tag names function and digest", () => {
    assert.equal(digestOf('"sha256-tree-4m-00ff"'), "sha256-tree-4m:00ff");
    assert.equal(digestOf('W/"abc"'), null);
    assert.equal(digestOf(null), null);
});
