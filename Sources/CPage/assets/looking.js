// @ts-check
/** Asks the server which files it has already, so that these are not sent. */

import { BLOCK, isComparable, sha256 } from "./digest.js";
import { bytesOf, digestOfFile, Trouble } from "./tus.js";

/**
 * @typedef {import("./row.js").Row} Row
 * @typedef {{known: string, size: number | null, digest: string | null}} Known
 */

/** Characters of one list. The server takes 2 MiB, and a character has up to three bytes. */
const MOST_TEXT = 600_000;

/** @param {string} path */
const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);

export class Looker {
    /** @param {import("./queue.js").Queue} queue */
    constructor(queue) {
        this.queue = queue;
        this.mayAsk = queue.tools.mayRead;
    }

    /** Opens files for the first time, and asks for them by size and time. @param {Row[]} rows */
    async look(rows) {
        const opened = [];
        for (const [at, row] of rows.entries()) {
            if (at % 25 === 24) await this.queue.breathe();
            if (!row.isWanted) continue;
            try {
                const file = await this.queue.open(row);
                await this.#adopt(row, file);
                if (row.isWanted) this.queue.set(row, "looking");
                opened.push(row);
            } catch (error) {
                await this.queue.mayGoOn([row], error);
            }
        }
        await this.#sort(opened, false);
    }

    /** Computes digests of files that the server may have, and asks for them. @param {Row[]} rows */
    async compare(rows) {
        const read = [];
        for (const row of rows) {
            if (!row.isWanted) continue;
            this.queue.set(row, "reading");
            row.stop = new AbortController();
            try {
                const file = await this.queue.open(row);
                row.digest ??= await digestOfFile(file, row.stop.signal);
                read.push(row);
            } catch (error) {
                await this.queue.mayGoOn([row], error);
            }
        }
        await this.#sort(read, true);
    }

    /** @param {Row[]} rows @param {boolean} isCompared whether the digests are known */
    async #sort(rows, isCompared) {
        let answers;
        try {
            answers = rows.length && this.mayAsk ? await this.#ask(rows) : [];
        } catch (error) {
            await this.queue.mayGoOn(rows, error);
            return;
        }
        for (const [at, row] of rows.entries()) {
            if (at % 250 === 249) await this.queue.breathe();
            if (!row.isWanted) continue;
            this.queue.set(row, "waiting");
            row.isLooked = true;
            row.mustCompare = false;
            if (answers[at]) this.#judge(row, answers[at], isCompared);
        }
    }

    /** @param {Row[]} rows @returns {Promise<Known[]>} in their order; empty if the server does not answer this */
    async #ask(rows) {
        const items = rows.map(({ full, size, modified, digest }) => ({
            path: full,
            size,
            ...(modified > 0 ? { modified: modified / 1000 } : {}),
            ...(digest ? { digest } : {}),
        }));
        const body = JSON.stringify(items);
        if (body.length > MOST_TEXT && rows.length > 1) {
            const half = rows.length >> 1;
            const [first, second] = [await this.#ask(rows.slice(0, half)), await this.#ask(rows.slice(half))];
            return first.length && second.length ? [...first, ...second] : [];
        }
        const headers = { "Content-Type": "application/json" };
        for (let tries = 0;; tries++) {
            try {
                const { text } = await this.queue.tools.send({
                    method: "POST",
                    url: "/.transfer/known",
                    headers,
                    body,
                });
                const lines = text.trim().split("\n").map((line) => JSON.parse(line));
                return lines.length === rows.length ? lines : [];
            } catch (error) {
                if (!(error instanceof Trouble)) return [];
                if (error.kind === "signedOut") throw error;
                if ([403, 404, 405].includes(error.status)) this.mayAsk = false;
                if (error.kind !== "lost") return [];
                this.queue.lost();
                for (const row of rows) if (row.isWanted) this.queue.set(row, "looking", { key: "lost" });
                await this.queue.sleep(tries, error.after);
            }
        }
    }

    /** @param {Row} row @param {Known} answer @param {boolean} isCompared */
    #judge(row, { known, size, digest }, isCompared) {
        const { queue } = this;
        row.theirs = digest;
        if (known === "same") {
            row.stored = row.full;
            // If the answer to the content was lost, this one acknowledges it.
            if (row.tries === 0) return queue.set(row, "same");
            queue.set(row, "checked");
            queue.tools.onStored(row.stored);
        } else if (known === "invalid") queue.fail(row, { result: "invalidPath" });
        // An upload that has begun is never given up for a file that only looks the same.
        else if (row.job || known === "missing") return;
        else if (!isCompared && size === row.size && isComparable(digest)) row.mustCompare = true;
        else if (known === "probablySame") {
            // What this page has sent itself is sent again: only then does an answer say that it is stored.
            if (row.tries === 0) queue.set(row, "likely");
        } else if (row.policy !== "overwrite") this.resolve(row);
    }

    /** Applies the user's decision to a row whose name is taken; without one, the row waits for it. @param {Row} row */
    resolve(row) {
        const { policy } = row.batch;
        // What the user has decided to replace is this content and no later one.
        row.seen = row.theirs;
        if (!policy) return this.queue.set(row, "conflict");
        row.policy = policy;
        this.queue.set(row, policy === "skip" ? "skipped" : "waiting");
    }

    /**
     * Lets a row go on with the upload of an earlier page, if that was of the same file.
     * @param {Row} row @param {File} file
     */
    async #adopt(row, file) {
        const { orphans, rows } = this.queue;
        const sized = [...orphans].filter(({ size }) => size === file.size);
        const { isAgain } = row.batch;
        let found = sized.find((orphan) =>
            orphan.modified === file.lastModified &&
            (isAgain ? nameOf(orphan.path) === nameOf(row.path) : orphan.full === row.full)
        );
        if (!found && isAgain && sized.length) {
            // Phones give a file another name and time whenever it is chosen: the first block tells.
            const first = await sha256(await bytesOf(file, 0, Math.min(BLOCK, file.size)));
            found = sized.find(({ job }) => job?.known[0]?.every((byte, at) => byte === first[at]));
        }
        // Nothing was sent of a file that waited for its turn, so its place is enough. There are two of one if the page
        // was left again before this.
        const waited = [...orphans].filter((orphan) => orphan !== found && !orphan.job && orphan.full === row.full);
        found ??= waited.pop();
        for (const one of waited) this.queue.remove(one);
        if (!found) return;
        const { job, folder, path, policy, record } = found;
        // The earlier record stays, with what is known of the blocks.
        this.queue.tools.forget(row);
        row.given = { folder: row.folder, path: row.path, policy: row.policy };
        Object.assign(row, { job, folder, path, policy, record });
        row.sent = row.mark = job?.offset ?? 0;
        orphans.delete(found);
        rows.splice(rows.indexOf(found), 1);
    }
}
