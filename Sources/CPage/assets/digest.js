// @ts-check
/**
 * The digests by which the page compares what it has read with what the server acknowledges: SHA-256, plain or as a
 * tree.
 */

/**
 * Bytes of a block. Content of up to one block has the plain digest, longer content the digest of its blocks' digests.
 */
export const BLOCK = 4 << 20;

/** @type {Promise<Worker> | undefined} */
let worker;
/** @type {Map<number, {resolve: (digest: Uint8Array) => void, reject: (error: Error) => void}>} */
const waiting = new Map();
let asked = 0;

/** @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<Uint8Array>} */
export async function sha256(bytes) {
    if (globalThis.crypto?.subtle) return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const begun = await (worker ??= begin());
    const id = ++asked;
    return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        begun.postMessage({ id, bytes });
    });
}

async function begin() {
    // Few pages need it, and the tests have no document, which it asks for.
    const { scriptURL } = await import("./trust.js");
    const made = new Worker(scriptURL("hash-worker.js"), { type: "module" });
    made.onmessage = ({ data }) => {
        waiting.get(data.id)?.resolve(data.digest);
        waiting.delete(data.id);
    };
    made.onerror = () => {
        for (const { reject } of waiting.values()) reject(new Error("The worker for digests has ended."));
        waiting.clear();
        worker = undefined;
    };
    return made;
}

/** Takes the blocks of a file in their order, and keeps the digest of each. */
export class Tree {
    /** @type {Uint8Array[]} */
    blocks = [];

    /** @param {Uint8Array<ArrayBuffer>} block of 4 MiB, the last one shorter. */
    async add(block) {
        this.blocks.push(await sha256(block));
    }

    /** @returns {Promise<string>} the digest in the form of the server's JSON. */
    async text() {
        if (this.blocks.length === 0) return `sha256:${hex(await sha256(new Uint8Array()))}`;
        if (this.blocks.length === 1) return `sha256:${hex(this.blocks[0])}`;
        return `sha256-tree-4m:${hex(await sha256(joined(this.blocks)))}`;
    }
}

/** @param {Uint8Array[]} blocks */
export function joined(blocks) {
    const all = new Uint8Array(32 * blocks.length);
    blocks.forEach((block, at) => all.set(block, 32 * at));
    return all;
}

/** @param {Uint8Array} digests joined @returns {Uint8Array[]} */
export const parted = (digests) =>
    Array.from({ length: digests.length / 32 }, (_, at) => digests.slice(32 * at, 32 * at + 32));

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string | null} tag the field `ETag` of a stored file, such as `"sha256-HEX"` @returns {string | null} */
export function digestOf(tag) {
    const match = /^"([a-z0-9-]+)-([0-9a-f]+)"$/.exec(tag ?? "");
    return match && `${match[1]}:${match[2]}`;
}

/**
 * Whether the digest is of the function that the page computes; others cannot be compared.
 * @param {string | null} digest
 */
export const isComparable = (digest) => /^sha256(-tree-4m)?:/.test(digest ?? "");
