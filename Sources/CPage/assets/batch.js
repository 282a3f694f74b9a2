// @ts-check
/** Small files together in one form (RFC 7578), which saves most of their round trips. */

/** Bytes up to which a file travels in a form; most files and bytes of a form. */
export const SMALL = 256 << 10, MOST_FILES = 32, MOST_BYTES = 4 << 20;

/**
 * Makes the body by hand, because the browser's `FormData` gives a part no field for the time of the file.
 *
 * @param {{path: string, modified: number, bytes: Uint8Array}[]} files path: below the folder of the request. modified:
 *     milliseconds
 * @param {string} boundary
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function form(files, boundary) {
    const encoder = new TextEncoder();
    /** @type {Uint8Array[]} */
    const parts = [];
    for (const { path, modified, bytes } of files) {
        const time = modified > 0 ? `Transfer-Modified: ${modified / 1000}\r\n` : "";
        const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${escaped(path)}"\r\n` +
            `Content-Type: application/octet-stream\r\n${time}\r\n`;
        parts.push(encoder.encode(head), bytes, encoder.encode("\r\n"));
    }
    parts.push(encoder.encode(`--${boundary}--\r\n`));
    const body = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        body.set(part, at);
        at += part.length;
    }
    return body;
}

/** As browsers do (WHATWG HTML, multipart/form-data encoding algorithm). @param {string} path */
const escaped = (path) => path.replace(/["\r\n]/g, (c) => c === '"' ? "%22" : c === "\r" ? "%0D" : "%0A");

/** A boundary that no file contains but by a chance of 1 to 2^128. */
export function boundary() {
    const random = crypto.getRandomValues(new Uint8Array(16));
    return `transfer-${Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * What the server says of a stored file, in the words of `transfer.upload/1`.
 * @typedef {{result: string, storedPath: string | null, digest: string | null, durable: boolean, message: string, uploadID: string}} Outcome
 */

/**
 * @param {string} text the answer to a form
 * @returns {Outcome[]} one for each file, in their order; shorter if the form broke off, empty if the answer cannot be
 *     read
 */
export function outcomes(text) {
    try {
        const all = JSON.parse(text);
        return Array.isArray(all) ? all : all.files ?? [];
    } catch {
        return [];
    }
}
