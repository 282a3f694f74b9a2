// @ts-check
/**
 * One resumable upload by tus 1.0.0 (https://tus.io/protocols/resumable-upload), and the way in which all uploads send
 * requests.
 */

import { BLOCK, Tree } from "./digest.js";

/**
 * Milliseconds without progress after which a request counts as lost: while it is sent, and while the server stores the
 * content.
 */
const STALL = 20_000, STORING = 120_000;

/** Files of up to this many bytes travel in one request. */
export const WHOLE = 2 * BLOCK;

/**
 * Why a request, or the reading of a file, did not succeed.
 *
 * - `lost`: no answer, or one that says that the same request may succeed later.
 * - `refused`: the server does not want it. `status`, `result` and `detail` say why.
 * - `signedOut`: the session is over.
 * - `stopped`: the page itself stopped it.
 * - `changed`, `unreadable`: the file is no longer what was chosen, or cannot be read.
 */
export class Trouble extends Error {
    /**
     * @param {"lost" | "refused" | "signedOut" | "stopped" | "changed" | "unreadable"} kind
     * @param {{status?: number, result?: string, detail?: string, after?: number, offset?: number | null,
     *     files?: import("./batch.js").Outcome[]}} [more] after: seconds to wait. offset: where the server wants to go
     * on. files: of a
     *     form that broke off
     */
    constructor(kind, { status = 0, result = "", detail = "", after = 0, offset = null, files = [] } = {}) {
        super(detail || kind);
        this.kind = kind;
        this.status = status;
        this.result = result;
        this.detail = detail;
        this.after = after;
        this.offset = offset;
        this.files = files;
    }
}

/** @typedef {{status: number, header: (name: string) => string | null, text: string}} Answer */

/**
 * Sends a request by `XMLHttpRequest`, because no other interface shows the progress of an upload in every browser. The
 * content must be
 * bytes: Safari 26 never ends a request whose body is a slice of a file.
 *
 * @param {{method: string, url: string, headers?: Record<string, string>, body?: Uint8Array<ArrayBuffer> | string |
 *     null,
 *     signal?: AbortSignal, sent?: (bytes: number) => void}} request
 * @returns {Promise<Answer>}
 * @throws {Trouble} unless the status is 2xx
 */
export function send({ method, url, headers = {}, body = null, signal, sent }) {
    return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(new Trouble("stopped"));
        const xhr = new XMLHttpRequest();
        let last = Date.now(), patience = body ? STALL : STORING;
        // A machine that wakes from sleep finds its clock far ahead, and gives the dead connection up at once.
        const watchdog = setInterval(() => Date.now() - last > patience && xhr.abort(), 1000);
        const stop = () => xhr.abort();
        const end = () => {
            clearInterval(watchdog);
            signal?.removeEventListener("abort", stop);
        };
        // Safari reports a lost connection as an abort: it is a stop only if the page asked for it.
        xhr.onerror = xhr.onabort = xhr.ontimeout = () => {
            end();
            reject(new Trouble(signal?.aborted ? "stopped" : "lost"));
        };
        xhr.onload = () => {
            end();
            const answer = {
                status: xhr.status,
                header: (/** @type {string} */ name) => xhr.getResponseHeader(name),
                text: xhr.responseText,
            };
            if (answer.status >= 200 && answer.status < 300) resolve(answer);
            else reject(refusal(answer));
        };
        xhr.upload.onprogress = ({ loaded }) => {
            last = Date.now();
            sent?.(loaded);
        };
        xhr.upload.onload = () => {
            last = Date.now();
            patience = STORING;
        };
        signal?.addEventListener("abort", stop);
        xhr.open(method, url);
        for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
        xhr.send(body);
    });
}

/** Statuses after which the same request may succeed. */
const passing = [408, 423, 425, 429, 502, 503, 504];

/** @param {Answer} answer */
function refusal({ status, header, text }) {
    let problem;
    try {
        problem = JSON.parse(text);
    } catch {
        problem = {};
    }
    const kind = status === 401 ? "signedOut" : passing.includes(status) ? "lost" : "refused";
    const { result, detail, files } = problem ?? {};
    const after = Number(header("Retry-After")) || 0;
    const offset = status === 409 && header("Upload-Offset") ? Number(header("Upload-Offset")) : null;
    return new Trouble(kind, { status, result, detail, after, offset, files });
}

/** What an upload needs to go on, also after a reload. */
export class Job {
    /** Address of the upload on the server; empty before it is created. */
    address = "";
    /** Bytes that the server keeps, by its own word. */
    offset = 0;
    /** Whether a request had no answer, so that the server has to be asked for the offset. */
    isUnsure = false;
    /** Whether to create the upload without content: an early refusal then has an answer that the browser can read. */
    isBare = false;
    /** Whether the server has forgotten the upload once, and it began anew. */
    isAnew = false;
    /** Digests of blocks that an earlier page has read; the file must still have them. @type {Uint8Array[]} */
    known = [];
    /** Entity tag of the stored content that the upload may replace; empty for any. */
    condition = "";
    tree = new Tree();
    /** Bytes of the next piece. */
    piece = BLOCK;

    /**
     * @param {string} url where the upload is created
     * @param {string} path below the folder of that address
     */
    constructor(url, path) {
        this.url = url;
        this.path = path;
    }
}

/**
 * Makes one attempt to send what the server lacks of a file. After a failure, another call with the same job goes on.
 *
 * @param {Job} job
 * @param {File} file
 * @param {{signal: AbortSignal, limit: () => number, sent: (bytes: number) => void, keep: () =>
 *     unknown, saved: () => void, send?: typeof send}} tools
 *     limit: most bytes of a piece. sent: bytes of the whole that have left. keep: keeps the job, before what it has
 *     read leaves. saved: the server has acknowledged more, which should be kept.
 * @returns {Promise<Answer>} the answer that says what is stored
 * @throws {Trouble}
 */
export async function upload(job, file, tools) {
    const ask = tools.send ?? send;
    const { signal } = tools;
    try {
        if (job.isUnsure && job.address) {
            const answer = await ask(question(job, signal));
            const offset = offsetIn(answer);
            // What is stored already was sent whole by an earlier page.
            if (answer.header("Transfer-Result") === null) goTo(job, offset);
            else job.offset = offset;
            job.isUnsure = false;
            await catchUp(job, file, signal);
            if (isEnd(answer, job, file)) return answer;
        }
        await catchUp(job, file, signal);
        if (!job.address && job.isBare) {
            job.address = addressIn(
                await ask({ method: "POST", url: job.url, headers: creation(job, file), signal }),
                job,
            );
            tools.saved();
        }
        return await sendRest(job, file, tools, ask);
    } catch (error) {
        if (!(error instanceof Trouble)) throw error;
        const isGone = job.address !== "" && (error.status === 404 || error.status === 410);
        if (!isGone || job.isAnew) throw error;
        Object.assign(job, { address: "", offset: 0, isUnsure: false, isAnew: true });
        return upload(job, file, tools);
    }
}

/**
 * @param {Job} job
 * @param {File} file
 * @param {Parameters<typeof upload>[2]} tools
 * @param {typeof send} ask
 * @returns {Promise<Answer>}
 */
async function sendRest(job, file, tools, ask) {
    let kept = job.known.length;
    const keep = async () => {
        const { length } = job.tree.blocks;
        if (!job.address || length <= kept) return;
        await tools.keep();
        kept = length;
    };
    const readAhead = async (/** @type {number} */ offset) => {
        const bytes = await read(job, file, tools.limit(), offset);
        await keep();
        return bytes;
    };
    let next = readAhead(job.offset);
    try {
        for (let corrections = 0;;) {
            const bytes = await next;
            const end = job.offset + bytes.length;
            // Otherwise a page after a reload could not tell whether what the server got was of the same content.
            if (kept * BLOCK < end) await keep();
            // The next piece is read while this one travels.
            if (end < file.size) next = readAhead(end);
            next.catch(() => {});
            const began = Date.now();
            job.isUnsure = true;
            try {
                const answer = await ask(request(job, file, bytes, tools));
                job.address ||= addressIn(answer, job);
                job.offset = offsetIn(answer);
                if (isEnd(answer, job, file)) return answer;
            } catch (error) {
                const offset = error instanceof Trouble ? error.offset : null;
                if (offset === null || ++corrections > 8) throw error;
                goTo(job, offset);
            }
            // All is there, but this answer does not say what is stored.
            if (job.offset >= file.size) return await ask(question(job, tools.signal));
            job.isUnsure = false;
            adapt(job, Date.now() - began, tools.limit());
            tools.saved();
            if (job.offset !== end) {
                await next.catch(() => {});
                await catchUp(job, file, tools.signal);
                next = readAhead(job.offset);
            }
        }
    } finally {
        // Another attempt must not read at the same time: blocks are taken in their order.
        await next.catch(() => {});
    }
}

/** @param {Job} job @param {number} milliseconds that the last piece took @param {number} limit */
function adapt(job, milliseconds, limit) {
    if (milliseconds < 1000) job.piece *= 2;
    if (milliseconds > 4000) job.piece /= 2;
    job.piece = Math.max(BLOCK, Math.min(job.piece, limit));
}

/** @param {Job} job @param {AbortSignal} signal */
const question = ({ address }, signal) => ({ method: "HEAD", url: address, headers: version, signal });

/**
 * @param {Job} job
 * @param {File} file
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {Parameters<typeof upload>[2]} tools
 */
function request(job, file, bytes, { signal, sent }) {
    const offset = job.offset;
    const type = { "Content-Type": "application/offset+octet-stream" };
    return {
        method: job.address ? "PATCH" : "POST",
        url: job.address || job.url,
        headers: job.address
            ? { ...version, ...type, "Upload-Offset": String(offset) }
            : { ...creation(job, file), ...type },
        body: bytes,
        signal,
        sent: (/** @type {number} */ loaded) => sent(offset + Math.min(loaded, bytes.length)),
    };
}

const version = { "Tus-Resumable": "1.0.0" };

/** @param {Job} job @param {File} file */
function creation(job, file) {
    const modified = file.lastModified > 0 ? `,mtime ${base64(String(file.lastModified / 1000))}` : "";
    const metadata = `relativePath ${base64(job.path)}${modified}`;
    /** @type {Record<string, string>} */
    const headers = { ...version, "Upload-Length": String(file.size), "Upload-Metadata": metadata };
    if (job.condition) headers["If-Match"] = job.condition;
    return headers;
}

/** @param {string} text */
const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** @param {Answer} answer @param {Job} job */
function addressIn(answer, job) {
    const location = answer.header("Location");
    if (!location) throw new Trouble("refused", { detail: "The server has named no address for the upload." });
    // A proxy may have changed scheme and host of an absolute address; the page's own are right.
    return new URL(location, new URL(job.url, "http://page/")).pathname;
}

/** @param {Answer} answer */
function offsetIn(answer) {
    const text = answer.header("Upload-Offset");
    if (text === null) throw new Trouble("lost");
    return Number(text);
}

/**
 * Takes the offset that the server names. Before it may be bytes of an earlier page that could not keep their digests:
 * the file may have changed since then, so the upload counts as gone.
 * @param {Job} job @param {number} offset @throws {Trouble}
 */
function goTo(job, offset) {
    if (offset > BLOCK * Math.max(job.tree.blocks.length, job.known.length)) {
        throw new Trouble("refused", { status: 410, detail: "The server has more than this page has read." });
    }
    job.offset = offset;
}

/** @param {Answer} answer @param {Job} job @param {File} file */
function isEnd(answer, job, file) {
    if (job.offset > file.size) throw new Trouble("changed");
    return job.offset === file.size && answer.header("Transfer-Result") !== null;
}

/**
 * Takes the digests of blocks before the offset that this page has not read. If an earlier page has found another
 * digest, the file has
 * changed since then.
 * @param {Job} job @param {File} file @param {AbortSignal} signal
 */
async function catchUp(job, file, signal) {
    const { blocks } = job.tree;
    const count = job.offset >= file.size ? Math.ceil(file.size / BLOCK) : Math.floor(job.offset / BLOCK);
    while (blocks.length < count) {
        if (signal.aborted) throw new Trouble("stopped");
        const start = blocks.length * BLOCK;
        await take(job, await bytesOf(file, start, Math.min(start + BLOCK, file.size)));
    }
}

/**
 * Reads the piece at an offset, and takes the digests of its blocks.
 * @param {Job} job @param {File} file @param {number} limit
 */
async function read(job, file, limit, offset = job.offset) {
    const room = file.size <= WHOLE ? WHOLE : Math.min(job.piece, limit);
    const end = Math.min(file.size, Math.floor((offset + room) / BLOCK) * BLOCK);
    // If the server has only a part of the first block, the rest is sent, but the digest needs the whole block.
    const start = Math.min(offset, job.tree.blocks.length * BLOCK);
    const bytes = await bytesOf(file, start, end);
    for (let at = job.tree.blocks.length * BLOCK; at < end; at += BLOCK) {
        await take(job, bytes.subarray(at - start, at - start + BLOCK));
    }
    return bytes.subarray(offset - start);
}

/** @param {Job} job @param {Uint8Array<ArrayBuffer>} block */
async function take({ tree, known }, block) {
    await tree.add(block);
    const at = tree.blocks.length - 1;
    if (known[at]?.some((byte, i) => byte !== tree.blocks[at][i])) throw new Trouble("changed");
}

/** @param {Blob} file @param {number} start @param {number} end @throws {Trouble} */
export async function bytesOf(file, start = 0, end = file.size) {
    let bytes;
    try {
        // Slicing costs half a millisecond, which matters for thousands of small files.
        const part = end - start === file.size ? file : file.slice(start, end);
        bytes = new Uint8Array(await part.arrayBuffer());
    } catch {
        throw new Trouble("unreadable");
    }
    if (bytes.length !== end - start) throw new Trouble("changed");
    return bytes;
}

/** @param {File} file @param {AbortSignal} [signal] @returns {Promise<string>} */
export async function digestOfFile(file, signal) {
    const tree = new Tree();
    for (let at = 0; at < file.size; at += BLOCK) {
        if (signal?.aborted) throw new Trouble("stopped");
        await tree.add(await bytesOf(file, at, Math.min(at + BLOCK, file.size)));
    }
    return tree.text();
}
