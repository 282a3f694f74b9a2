// @ts-check
/** Sends rows of the queue, and compares what the server acknowledges with what the page has read. */

import { boundary, form, outcomes } from "./batch.js";
import { BLOCK, digestOf, isComparable, Tree } from "./digest.js";
import { bytesOf, Job, Trouble, upload, WHOLE } from "./tus.js";

/**
 * @typedef {import("./row.js").Row} Row
 * @typedef {import("./batch.js").Outcome} Outcome
 */

export class Sender {
    /** @type {Set<AbortController>} */
    #forms = new Set();

    /** @param {import("./queue.js").Queue} queue */
    constructor(queue) {
        this.queue = queue;
    }

    stopForms() {
        for (const stop of this.#forms) stop.abort();
    }

    /** Sends a file by itself. @param {Row} row @param {() => number} running how many files travel so */
    async sendOne(row, running) {
        const { queue } = this;
        const { send, keep } = queue.tools;
        row.stop = new AbortController();
        const sent = (/** @type {number} */ bytes) => {
            row.sent = bytes;
            if (row.isWanted) queue.set(row, bytes >= row.size ? "storing" : "sending");
        };
        const saved = () => {
            row.tries = 0;
            keep(row);
        };
        const tools = {
            signal: row.stop.signal,
            limit: () => this.#pieceLimit(running()),
            sent,
            keep: () => keep(row),
            saved,
            send,
        };
        for (;;) {
            try {
                queue.set(row, "reading");
                const file = await queue.open(row);
                const job = row.job ??= new Job(`/.transfer/tus/${query(row.folder, row.policy)}`, row.path);
                if (row.policy === "overwrite" && row.seen) job.condition = `"${row.seen.replace(":", "-")}"`;
                const answer = await upload(job, file, tools);
                row.digest = await job.tree.text();
                return this.#acknowledge(row, outcomeOf(answer, job));
            } catch (error) {
                const { job } = row;
                if (job?.isUnsure && !job.address) {
                    // The answer with the address was lost. If all was in that request, only the digest tells whether
                    // it is stored.
                    [job.isBare, job.isUnsure] = [true, false];
                    row.mustCompare = row.size <= WHOLE;
                }
                if (!await queue.mayGoOn([row], error) || row.mustCompare) return;
            }
        }
    }

    /** Most bytes of a piece: of each file, two are in memory. @param {number} running */
    #pieceLimit(running) {
        const [all, most] = this.queue.tools.isPhone ? [16 << 20, 8 << 20] : [64 << 20, 32 << 20];
        const share = Math.floor(all / 2 / running / BLOCK) * BLOCK;
        return Math.max(BLOCK, Math.min(share, most));
    }

    /** Sends small files of one folder together. @param {Row[]} rows */
    async sendForm(rows) {
        const { queue } = this;
        const files = await this.#read(rows);
        if (!files.length) return;
        const sending = files.map(({ row }) => row);
        const mark = boundary();
        const body = form(files, mark);
        const stop = new AbortController();
        this.#forms.add(stop);
        const sent = (/** @type {number} */ bytes) => {
            for (const row of sending) {
                row.sent = Math.floor(row.size * Math.min(1, bytes / body.length));
                if (row.isWanted) queue.set(row, bytes >= body.length ? "storing" : "sending");
            }
        };
        const url = `/${query(sending[0].folder, sending[0].policy)}`;
        const headers = { "Content-Type": `multipart/form-data; boundary=${mark}`, Accept: "application/json" };
        sent(0);
        try {
            const { text } = await queue.tools.send({ method: "POST", url, headers, body, signal: stop.signal, sent });
            await this.#take(sending, outcomes(text));
        } catch (error) {
            await this.#takeRefusal(sending, error);
        }
        this.#forms.delete(stop);
    }

    /** @param {Row[]} rows */
    async #read(rows) {
        const files = [];
        for (const row of rows) {
            if (!row.isWanted) continue;
            this.queue.set(row, "reading");
            try {
                const bytes = await bytesOf(await this.queue.open(row));
                const tree = new Tree();
                if (bytes.length) await tree.add(bytes);
                row.digest = await tree.text();
                files.push({ row, path: row.path, modified: row.modified, bytes });
            } catch (error) {
                await this.queue.mayGoOn([row], error);
            }
        }
        return files;
    }

    /** @param {Row[]} rows @param {Outcome[]} outcomes shorter if the form broke off: the rest is sent file by file */
    async #take(rows, outcomes) {
        let isBusy = false;
        for (const [at, row] of rows.entries()) {
            const outcome = outcomes[at];
            if (row.isGone) continue;
            if (outcome && passing.includes(outcome.result)) isBusy = true;
            else if (outcome && outcome.result !== "aborted") {
                this.#acknowledge(row, outcome);
                continue;
            } else row.isAlone = true;
            if (row.isWanted) this.queue.set(row, "waiting");
        }
        if (isBusy) await this.queue.sleep(Math.max(...rows.map((row) => row.tries++)));
    }

    /** @param {Row[]} rows @param {unknown} error */
    async #takeRefusal(rows, error) {
        if (error instanceof Trouble && error.kind === "refused" && ![403, 507].includes(error.status)) {
            // One file may have caused it, or the form broke off: what is acknowledged is not sent again.
            return this.#take(rows, error.files);
        }
        // Some may be stored although the answer is missing.
        if (error instanceof Trouble && error.kind !== "refused") { for (const row of rows) row.mustCompare = true; }
        await this.queue.mayGoOn(rows, error);
    }

    /** @param {Row} row @param {Outcome} outcome */
    #acknowledge(row, { result, storedPath, digest, durable, message, uploadID }) {
        if (result !== "committed" && result !== "alreadyStored") {
            return this.queue.fail(row, { result, detail: message || result });
        }
        [row.stored, row.uploadID, row.theirs, row.sent] = [storedPath ?? row.full, uploadID, digest, row.size];
        const state = !isComparable(digest) ? "stored" : digest === row.digest ? "checked" : "wrong";
        this.queue.set(row, state, durable === false ? { key: "notDurable" } : null);
        this.queue.tools.forget(row);
        this.queue.tools.onStored(row.stored);
    }

    /** Makes empty folders. @param {Row[]} rows */
    async makeFolders(rows) {
        const { queue } = this;
        const body = JSON.stringify(rows.map(({ full }) => ({ change: "mkdir", path: full })));
        const headers = { "Content-Type": "application/json" };
        try {
            for (const row of rows) queue.set(row, "sending");
            const { text } = await queue.tools.send({ method: "POST", url: "/.transfer/changes", headers, body });
            for (const [at, line] of text.trim().split("\n").entries()) {
                const { result, message } = JSON.parse(line);
                const row = rows[at];
                [row.size, row.stored] = [0, row.full];
                if (result !== "completed") {
                    queue.fail(row, { result, detail: message });
                    continue;
                }
                queue.set(row, "made");
                queue.tools.onStored(row.full);
            }
        } catch (error) {
            await queue.mayGoOn(rows, error);
        }
    }
}

/** Results after which the same file may be stored. */
const passing = ["busy", "shuttingDown", "timedOut"];

/** The folder of a request, with its query. @param {string} folder @param {string} policy */
function query(folder, policy) {
    const path = folder.split("/").filter(Boolean).map((name) => `${encodeURIComponent(name)}/`).join("");
    return `${path}?digest=sha256&on-conflict=${policy}`;
}

/** @param {import("./tus.js").Answer} answer @param {Job} job @returns {Outcome} */
function outcomeOf({ header }, { address }) {
    const path = header("Content-Location");
    const result = header("Transfer-Result");
    return {
        result: result ?? "unacknowledged",
        storedPath: path && decodeURIComponent(path).slice(1),
        digest: digestOf(header("ETag")),
        durable: header("Transfer-Durable") !== "?0",
        message: "",
        uploadID: address.split("/").pop() ?? "",
    };
}
