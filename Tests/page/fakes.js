// @ts-check
/** A server in memory, behind a fake of `XMLHttpRequest`, that can lose answers, forget uploads and store other content than it got. */

import { createHash } from "node:crypto";
import { Queue } from "../../Sources/CPage/assets/queue.js";
import { send } from "../../Sources/CPage/assets/tus.js";

export const BLOCK = 4 << 20;

/** @param {Uint8Array} bytes */
export function digestOf(bytes) {
    const hash = (part) => createHash("sha256").update(part).digest();
    if (bytes.length <= BLOCK) return `sha256:${hash(bytes).toString("hex")}`;
    const blocks = [];
    for (let at = 0; at < bytes.length; at += BLOCK) {
        blocks.push(hash(bytes.subarray(at, at + BLOCK)));
    }
    return `sha256-tree-4m:${hash(Buffer.concat(blocks)).toString("hex")}`;
}

/** Content that differs from block to block. */
export function content(size, seed = 1) {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; at += 997) bytes[at] = (at / 997 + seed) % 251;
    return bytes;
}

export const file = (name, bytes, lastModified = 1_700_000_000_123) => new File([bytes], name, { lastModified });

export class Server {
    /** @type {Map<string, {bytes: Uint8Array, digest: string}>} */
    files = new Map();
    uploads = new Map();
    /** @type {{method: string, url: string, headers: Record<string, string>, size: number}[]} */
    log = [];
    /** Called before each request; may return what happens in its place, or after it: "lost", "lostAnswer", "hang", "abort", an answer. */
    fault = (_request) => undefined;
    largest = 0;
    now = 0;
    most = 0;
    namesDigests = true;
    damages = false;
    count = 0;

    answer(request) {
        const { method, url, headers, body } = request;
        const { pathname, searchParams } = new URL(url, "http://page/");
        if (pathname === "/.transfer/known") return this.known(JSON.parse(body));
        if (pathname === "/.transfer/changes") {
            return {
                status: 200,
                text: JSON.parse(body).map((c) => JSON.stringify({ ...c, result: "completed" })).join("\n"),
            };
        }
        if (pathname.startsWith("/.transfer/tus/")) {
            return this.tus(request, decodeURI(pathname.slice(15)), searchParams);
        }
        if (method === "POST") {
            return this.form(
                decodeURI(pathname).slice(1),
                headers,
                body,
                searchParams,
            );
        }
        return { status: 404 };
    }

    known(items) {
        const lines = items.map(({ path, size, digest }) => {
            const stored = this.files.get(path);
            let known = "missing";
            if (stored) {
                known = stored.digest === digest ? "same" : stored.isSimilar && !digest ? "probablySame" : "other";
            }
            return JSON.stringify({
                path,
                known,
                size: stored?.bytes.length ?? null,
                digest: stored?.digest ?? null,
                asked: size,
            });
        });
        return { status: 200, text: lines.join("\n") + "\n" };
    }

    store(path, bytes, policy) {
        const digest = digestOf(bytes);
        let name = path, result = "committed";
        for (
            let n = 1;
            policy === "keep-both" && this.files.has(name) &&
            this.files.get(name).digest !== digest;
            n++
        ) {
            name = `${path} (${n})`;
        }
        if (this.files.get(name)?.digest === digest) result = "alreadyStored";
        const stored = this.damages ? content(bytes.length, 99) : bytes;
        this.files.set(name, { bytes: stored, digest: digestOf(stored) });
        return {
            result,
            storedPath: name,
            digest: this.namesDigests ? digestOf(stored) : null,
            durable: true,
            message: "",
            uploadID: `form${++this.count}`,
        };
    }

    form(folder, headers, body, query) {
        const boundary = /boundary=(.*)$/.exec(headers["Content-Type"])[1];
        const text = Buffer.from(body).toString("latin1");
        const parts = text.split(`--${boundary}`).slice(1, -1);
        const all = parts.map((part) => {
            const [head] = part.split("\r\n\r\n", 1);
            const name = Buffer.from(/filename="([^"]*)"/.exec(head)[1], "latin1")
                .toString();
            const bytes = new Uint8Array(
                Buffer.from(part.slice(head.length + 4, -2), "latin1"),
            );
            return this.formFault?.(name) ??
                this.store(folder + name, bytes, query.get("on-conflict"));
        });
        const isWhole = all.every(({ result }) => result === "committed" || result === "alreadyStored");
        if (this.breaksAfter !== undefined) {
            const { breaksAfter } = this;
            this.breaksAfter = undefined;
            return {
                status: 400,
                text: JSON.stringify({
                    result: "malformedFrame",
                    files: all.slice(0, breaksAfter).concat({ result: "aborted" }),
                }),
            };
        }
        return { status: isWhole ? 201 : 207, text: JSON.stringify(all) };
    }

    tus({ method, headers, body }, rest, query) {
        if (method === "POST") {
            const metadata = Object.fromEntries(
                headers["Upload-Metadata"].split(",").map((pair) => pair.split(" ")),
            );
            const id = `u${++this.count}`;
            const path = rest +
                Buffer.from(metadata.relativePath, "base64").toString();
            this.uploads.set(id, {
                path,
                policy: query.get("on-conflict"),
                total: Number(headers["Upload-Length"]),
                bytes: new Uint8Array(),
                stored: null,
            });
            return this.append(id, body ?? new Uint8Array(), 201);
        }
        const upload = this.uploads.get(rest);
        if (!upload) return { status: 404, text: '{"result":"notFound"}' };
        if (method === "DELETE") {
            this.uploads.delete(rest);
            return { status: 204 };
        }
        if (method === "HEAD") return { status: 200, headers: this.state(rest) };
        if (Number(headers["Upload-Offset"]) !== upload.bytes.length) {
            return {
                status: 409,
                headers: { "Upload-Offset": String(upload.bytes.length) },
            };
        }
        return this.append(rest, body, 204);
    }

    append(id, body, status) {
        const upload = this.uploads.get(id);
        upload.bytes = Buffer.concat([upload.bytes, body]);
        if (upload.bytes.length === upload.total) {
            upload.stored ??= this.store(
                upload.path,
                new Uint8Array(upload.bytes),
                upload.policy,
            );
        }
        return {
            status,
            headers: { ...this.state(id), Location: `/.transfer/tus/${id}` },
        };
    }

    state(id) {
        const { bytes, stored, total } = this.uploads.get(id);
        const headers = {
            "Upload-Offset": String(bytes.length),
            "Upload-Length": String(total),
        };
        if (!stored) return headers;
        const tag = stored.digest ? { ETag: `"${stored.digest.replace(":", "-")}"` } : {};
        return {
            ...headers,
            ...tag,
            "Transfer-Result": stored.result,
            "Content-Location": `/${encodeURI(stored.storedPath)}`,
        };
    }
}

/** Installs the fake of `XMLHttpRequest` for a server. @param {Server} server */
export function install(server) {
    globalThis.XMLHttpRequest = class {
        upload = {};
        headers = {};
        #isOver = false;

        open(method, url) {
            Object.assign(this, { method, url });
        }
        setRequestHeader(name, value) {
            this.headers[name] = value;
        }
        getResponseHeader(name) {
            return this.answer.headers?.[name] ?? null;
        }
        abort() {
            if (this.#isOver) return;
            this.#isOver = true;
            server.now--;
            this.onabort();
        }
        send(body) {
            const request = {
                method: this.method,
                url: this.url,
                headers: this.headers,
                body,
                size: body?.length ?? 0,
            };
            server.log.push(request);
            server.most = Math.max(server.most, ++server.now);
            const end = (event) => {
                if (this.#isOver) return;
                this.#isOver = true;
                server.now--;
                event();
            };
            const fault = server.fault(request);
            setImmediate(() => {
                if (fault === "hang" || this.#isOver) return;
                if (fault === "lost") return end(() => this.onerror());
                if (fault === "abort") return end(() => this.onabort());
                this.upload.onprogress?.({ loaded: request.size });
                this.upload.onload?.();
                this.answer = typeof fault === "object" ? fault : server.answer(request);
                Object.assign(this, {
                    status: this.answer.status,
                    responseText: this.answer.text ?? "",
                });
                end(() => fault === "lostAnswer" ? this.onerror() : this.onload());
            });
        }
    };
}

/** A queue whose pauses take no time. */
export function queueOf(server, tools = {}) {
    install(server);
    const log = { stored: [], waits: [], kept: [], forgotten: [] };
    const queue = new Queue({
        send,
        later: (f, milliseconds) => {
            if (milliseconds) log.waits.push(milliseconds);
            setImmediate(f);
        },
        changed: () => {},
        onStored: (path) => log.stored.push(path),
        keep: (row) => log.kept.push({ path: row.full, offset: row.job.offset }),
        forget: (row) => log.forgotten.push(row.full),
        isPhone: false,
        mayRead: true,
        ...tools,
    });
    return { queue, log };
}

/** Adds files, whose paths are their names. */
export function add(queue, files, folder = "", batch = { policy: "" }) {
    return queue.add(
        files.map((file) => ({ path: file.name, source: { file } })),
        folder,
        batch,
    );
}

/** Waits until nothing moves by itself. */
export async function settle(queue, most = 20_000) {
    for (let turn = 0; queue.rows.some((row) => !row.isSettled); turn++) {
        if (turn > most) {
            throw new Error(
                `The queue does not end: ${queue.rows.find((row) => !row.isSettled).state}`,
            );
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
    }
}

/** A file that travels in pieces. */
export const large = (size = 20 << 20, seed = 1) => file("large.bin", content(size, seed));
/** Whether a request carries a piece of an upload. */
export const isPiece = ({ method, url }) =>
    method === "PATCH" || method === "POST" && url.startsWith("/.transfer/tus/");

/** Lets something happen to the n-th request that matches. */
export function once(server, matches, fault, n = 1) {
    server.fault = (request) => matches(request) && --n === 0 ? fault : undefined;
}
