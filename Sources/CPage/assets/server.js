// @ts-check
/** Requests to the server. Each failure is a `Failure` that `explain` turns into a sentence. */

import { say } from "./words.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {import('./types.d.ts').Change} Change */
/** @typedef {import('./types.d.ts').Changed} Changed */

/** A server that says nothing for so long is taken for lost; its own limit for silence is 30 seconds. */
const silence = 40_000;
/** Changes that one request may carry. */
const changesAtOnce = 1000;

export class Failure extends Error {
    /**
     * @param {number} status - HTTP status, or 0 if there was no answer
     * @param {string} result - the server's code, or `offline`, `silent`, `broken`
     * @param {string} detail - the server's sentence
     * @param {number} wait - seconds after which the server wants to be asked again
     */
    constructor(status, result, detail = "", wait = 0) {
        super(detail || result);
        this.status = status;
        this.result = result;
        this.detail = detail;
        this.wait = wait;
    }
}

/**
 * What happened and what to do, in the page's language.
 * @param {unknown} error
 */
export function explain(error) {
    if (!(error instanceof Failure)) return say("error.page", { message: String(error) });
    if (!error.status) return say(`error.${error.result}`);
    return say([`error.${error.status}`, `result.${error.result}`], { wait: error.wait }) ||
        error.detail || say("error.status", { status: String(error.status) });
}

/**
 * The sentence for one change that did not complete.
 * @param {{result: string, message: string}} changed
 */
export function reason({ result, message }) {
    return say([`result.${result}`]) || message || result;
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function unlessSilent(promise) {
    /** @type {number} */
    let timer;
    const late = new Promise((_, refuse) => {
        timer = setTimeout(() => refuse(new Failure(0, "silent")), silence);
    });
    return Promise.race([promise, /** @type {Promise<T>} */ (late)]).finally(() => clearTimeout(timer));
}

/** @param {string} path */
export function parentOf(path) {
    return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** @param {string} folder @param {string} name */
export function join(folder, name) {
    return folder ? `${folder}/${name}` : name;
}

/** A path without the folder that it lies below.
 * @param {string} path
 * @param {string} folder
 */
export function below(path, folder) {
    return folder ? path.slice(folder.length + 1) : path;
}

/** The address of a path, with a slash at the end for a folder. It never begins with two, which would name a host.
 * @param {string} path
 * @param {boolean} [folder]
 */
export function address(path, folder = false) {
    const segments = path.replace(/\p{Cs}/gu, "\uFFFD").split("/").filter(Boolean).map(encodeURIComponent);
    return `/${segments.join("/")}${folder && path ? "/" : ""}`;
}

/** The address of the list of a folder, or of what is found below it.
 * @param {{folder: string, find: string}} view
 * @param {boolean} pictures - whether the server shall look at pictures that it does not know
 */
export function listAddress({ folder, find }, pictures) {
    const query = find ? `?find=${encodeURIComponent(find)}` : pictures ? "?pictures" : "";
    return address(folder, true) + query;
}

/** The entity tag of a file, or undefined if the server knows no digest.
 * @param {Entry} entry
 */
export function etag({ digest }) {
    return digest ? `"${digest.replace(":", "-")}"` : undefined;
}

/**
 * Sends a request and returns a successful answer.
 * @param {string} url
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function request(url, options = {}) {
    let response;
    try {
        response = await unlessSilent(fetch(url, options));
    } catch (error) {
        throw asFailure(error, options.signal);
    }
    if (response.ok) return response;
    let problem = /** @type {Record<string, unknown>} */ ({});
    try {
        problem = await unlessSilent(response.json());
    } catch {
        // An answer of a proxy in between is no problem document: its status has to do.
    }
    const wait = Number(response.headers.get("Retry-After")) || 0;
    throw new Failure(
        response.status,
        String(problem.result ?? ""),
        String(problem.detail ?? problem.title ?? ""),
        wait,
    );
}

/**
 * @param {unknown} error
 * @param {AbortSignal | null | undefined} signal
 */
function asFailure(error, signal) {
    // Safari reports a lost connection as an abort, so only our own signal tells an abort that the user wanted.
    if (error instanceof Failure || signal?.aborted) return error;
    return new Failure(0, "offline");
}

/**
 * Reads NDJSON as it arrives, as arrays of the objects that came together.
 * @param {Response} response
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<any[]>}
 */
export async function* lines(response, signal) {
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    const decoder = new TextDecoder();
    let rest = "";
    try {
        for (;;) {
            const { done, value } = await unlessSilent(reader.read());
            const parts = (rest + decoder.decode(value, { stream: !done })).split("\n");
            rest = done ? "" : /** @type {string} */ (parts.pop());
            const objects = parts.filter(Boolean).map((line) => JSON.parse(line));
            if (objects.length) yield objects;
            if (done) return;
        }
    } catch (error) {
        throw error instanceof SyntaxError ? new Failure(0, "broken") : asFailure(error, signal);
    } finally {
        reader.cancel().catch(() => {});
    }
}

/** When a picture was taken, on the clock of its place, or else when the file was modified, on ours.
 * @param {unknown} taken - as the file says it
 * @param {number} at
 */
function clock(taken, at) {
    const text = typeof taken === "string" ? taken.slice(0, 19) : "";
    const time = text.length < 19 ? NaN : Date.parse(`${text}Z`);
    // Engines disagree about 30 February.
    if (time && new Date(time).toISOString().startsWith(text)) return time;
    return Number.isNaN(at) ? -Infinity : at - new Date(at).getTimezoneOffset() * 60_000;
}

/** Adds what the page derives from an entry.
 * @param {any} entry
 * @returns {Entry}
 */
export function entryOf(entry) {
    const name = entry.path.slice(entry.path.lastIndexOf("/") + 1);
    const at = Date.parse(entry.modified);
    return {
        path: entry.path,
        type: entry.type,
        size: entry.size ?? null,
        modified: entry.modified ?? null,
        kind: entry.kind ?? null,
        digest: entry.digest ?? null,
        name,
        lower: name.toLowerCase(),
        at,
        picture: entry.picture ?? null,
        taken: clock(entry.picture?.taken, at),
    };
}

/**
 * The entries at an address, in batches that do not keep the browser from drawing.
 * @param {string} url
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Entry[]>}
 */
export async function* entries(url, signal) {
    const response = await request(url, { headers: { Accept: "application/x-ndjson" }, signal });
    /** @type {Entry[]} */
    let batch = [];
    let last = -Infinity;
    /** @type {Failure | undefined} */
    let incomplete;
    for await (const objects of lines(response, signal)) {
        for (const object of objects) {
            if (object.schema !== "transfer.found/1") batch.push(entryOf(object));
            else if (!object.complete) incomplete = new Failure(0, "incomplete");
        }
        // The first rows are shown at once, later ones ten times a second.
        if (batch.length < 2000 && performance.now() - last < 100) continue;
        yield batch;
        batch = [];
        await new Promise((go) => setTimeout(go));
        last = performance.now();
    }
    if (batch.length) yield batch;
    if (incomplete) throw incomplete;
}

/** The end of the next list that the server takes: 1,000 changes and 2 MiB, and a character has up to three bytes.
 * @param {Change[]} changes
 * @param {number} start
 */
function fitting(changes, start) {
    let [end, length] = [start, 0];
    while (end < changes.length && end - start < changesAtOnce && (end === start || length < 500_000)) {
        length += JSON.stringify(changes[end++]).length;
    }
    return end;
}

/**
 * Sends changes and returns one result for each. A change whose result does not arrive is `unanswered`: it may have
 * been made or not.
 * @param {Change[]} changes
 * @returns {Promise<Changed[]>}
 */
export async function send(changes) {
    /** @type {Changed[]} */
    const results = [];
    for (let start = 0, end; start < changes.length; start = end) {
        end = fitting(changes, start);
        const slice = changes.slice(start, end);
        try {
            const response = await request("/.transfer/changes", {
                method: "POST",
                headers: { "Content-Type": "application/json", Accept: "application/x-ndjson" },
                body: JSON.stringify(slice),
            });
            for await (const objects of lines(response)) results.push(...objects);
        } catch (error) {
            const whole = error instanceof Failure && error.status > 0;
            for (const { path } of changes.slice(results.length)) {
                results.push(failed(path, whole ? error.result || "refused" : "unanswered", explain(error)));
            }
            return results;
        }
        while (results.length < end) {
            results.push(failed(changes[results.length].path, "unanswered", ""));
        }
    }
    return results;
}

/**
 * @param {string} path
 * @param {string} result
 * @param {string} message
 * @returns {Changed}
 */
export function failed(path, result, message) {
    return { path, target: null, result, durable: false, message, trash: null };
}
