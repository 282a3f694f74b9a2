// @ts-check
/**
 * The queue of uploads: which file's turn it is, what the user does with it, and what follows a failure. It touches no
 * document.
 */

import { MOST_BYTES, MOST_FILES, SMALL } from "./batch.js";
import { Tree } from "./digest.js";
import { Looker } from "./looking.js";
import { Row } from "./row.js";
import { Sender } from "./sending.js";
import { Trouble } from "./tus.js";

/**
 * @typedef {object} Tools what the queue needs of the page; tests have others
 * @property {typeof import("./tus.js").send} send
 * @property {(f: () => void, milliseconds: number) => void} later
 * @property {() => void} changed a row or the queue has another state
 * @property {(path: string) => void} onStored
 * @property {(row: Row) => unknown} keep a begun upload, for the time after a reload; may be waited for
 * @property {(row: Row) => void} forget
 * @property {boolean} isPhone
 * @property {boolean} mayRead
 *
 * @typedef {"fresh" | "compare" | "folders" | "small" | "large"} Line rows with the same next step
 */

/** Rows that are looked up, or folders that are made, by one request. */
const LIST = 1000;

/** Bytes that are read at once to compare digests. */
const COMPARE = 64 << 20;

/** Results that have words of their own, and statuses that mean the same when a proxy answers. */
const results = ["quotaExceeded", "insufficientStorage", "invalidPath", "forbidden", "uploadTooLarge", "pathConflict"];
const statuses = new Map([
    [403, "forbidden"],
    [412, "pathConflict"],
    [413, "uploadTooLarge"],
    [507, "insufficientStorage"],
]);

export class Queue {
    /** @type {Row[]} */
    rows = [];
    isPaused = false;
    isSignedOut = false;
    /** Bytes a second. */
    rate = 0;
    /** Uploads of an earlier page that wait: the same file, added again, goes on with one. @type {Set<Row>} */
    orphans = new Set();

    /** @type {Record<Line, Row[]>} */
    #lines = { fresh: [], compare: [], folders: [], small: [], large: [] };
    /** Pieces of work that are under way. @type {Record<Line, number>} */
    #running = { fresh: 0, compare: 0, folders: 0, small: 0, large: 0 };
    /** @type {Set<() => void>} */
    #sleepers = new Set();
    #looker;
    #sender;
    /** Whether a connection was lost since bytes have travelled. */
    #hasLost = false;
    /** Whether nothing travels because connections were lost, as of the last `tick`. */
    isCut = false;

    /** @param {Tools} tools */
    constructor(tools) {
        this.tools = tools;
        this.#looker = new Looker(this);
        this.#sender = new Sender(this);
    }

    /**
     * @param {{path: string, source: import("./row.js").Source}[]} items
     * @param {string} folder
     * @param {{policy: string, isAgain?: boolean}} batch
     */
    add(items, folder, batch) {
        const added = items.map(({ path, source }) => new Row(folder, path, source, batch));
        for (const row of added) {
            this.rows.push(row);
            this.#place(row);
        }
        this.pump();
        return added;
    }

    /** Shows an upload of an earlier page, which waits for the user. @param {Row} row */
    restore(row) {
        row.state = "choose";
        this.rows.push(row);
        this.orphans.add(row);
    }

    /**
     * @param {"keep-both" | "overwrite" | "skip"} policy for all rows whose names are taken, and for those added with
     * them
     */
    decide(policy) {
        for (const row of this.rows) {
            if (row.state !== "conflict") continue;
            row.batch.policy = policy;
            this.#looker.resolve(row);
            this.#place(row);
        }
        this.pump();
    }

    /** @param {Row} row */
    pause(row) {
        if (row.isSettled) return;
        this.set(row, "paused");
        for (const line of Object.values(this.#lines)) if (line.includes(row)) line.splice(line.indexOf(row), 1);
        row.stop?.abort();
    }

    pauseAll() {
        this.isPaused = true;
        for (const row of this.rows) row.stop?.abort();
        this.#sender.stopForms();
        this.wake();
    }

    goOn() {
        this.isPaused = this.isSignedOut = false;
        for (const row of this.rows) if (row.state === "paused") this.#again(row);
        this.pump();
    }

    /** Sends a row that waits for the user. @param {Row} row */
    retry(row) {
        this.orphans.delete(row);
        if (row.state === "wrong") {
            // The file with other content may have got a new name: only that one must be replaced.
            const slash = row.stored.lastIndexOf("/");
            [row.folder, row.path] = [row.stored.slice(0, Math.max(slash, 0)), row.stored.slice(slash + 1)];
            [row.policy, row.seen] = ["overwrite", row.theirs];
            row.job = null;
        }
        if (row.state === "failed") {
            if (row.note?.key === "changed") {
                [row.job, row.size] = [null, -1];
                // It is another file than that of the earlier page, and belongs where the user has put it.
                if (row.given) Object.assign(row, row.given, { given: null });
            }
            if (row.job) row.job.isUnsure = true;
            row.isLooked = row.job !== null;
            row.digest = null;
        }
        row.sent = row.mark = row.job?.offset ?? 0;
        this.#again(row);
        this.pump();
    }

    /**
     * @param {Row} row
     * @param {File} file the same one, chosen again. Its name and time may differ, so the blocks are compared
     */
    replace(row, file) {
        row.source = { file };
        if (file.size === row.size) row.size = -1;
        if (row.job) {
            row.job.known = [...row.job.tree.blocks, ...row.job.known.slice(row.job.tree.blocks.length)];
            row.job.tree = new Tree();
        }
        this.retry(row);
    }

    /** @param {Row} row */
    remove(row) {
        row.isGone = true;
        row.stop?.abort();
        this.rows.splice(this.rows.indexOf(row), 1);
        this.orphans.delete(row);
        for (const line of Object.values(this.#lines)) if (line.includes(row)) line.splice(line.indexOf(row), 1);
        if (row.job?.address && !row.isFinished) {
            // If this does not arrive, the server deletes the unfinished upload in a week.
            const headers = { "Tus-Resumable": "1.0.0" };
            this.tools.send({ method: "DELETE", url: row.job.address, headers }).catch(() => {});
        }
        this.tools.forget(row);
        this.pump();
    }

    removeFinished() {
        this.rows = this.rows.filter((row) => !row.isFinished && row.state !== "skipped");
        this.tools.changed();
    }

    /** Whether closing the page would break something off. */
    get isBusy() {
        return this.rows.some((row) => !row.isSettled || row.state === "paused" || row.state === "conflict");
    }

    get isSending() {
        return !this.isPaused && !this.isSignedOut && this.rows.some((row) => !row.isSettled);
    }

    /** Whether nothing is being sent or prepared, and nothing is held back. */
    get isIdle() {
        return !this.isPaused && !this.isSignedOut && this.rows.every((row) => row.isSettled && !row.isActive);
    }

    /** Measures rates. @param {number} seconds since the last call */
    tick(seconds) {
        let moved = 0;
        for (const row of this.rows) {
            if (row.sent === row.mark && row.rate < 1) continue;
            const bytes = Math.max(0, row.sent - row.mark);
            row.rate = row.rate ? 0.7 * row.rate + 0.3 * bytes / seconds : bytes / seconds;
            row.mark = row.sent;
            moved += bytes;
        }
        if (moved) this.#hasLost = false;
        this.isCut = this.#hasLost && this.isSending;
        this.rate = this.rate ? 0.7 * this.rate + 0.3 * moved / seconds : moved / seconds;
    }

    // MARK: For the steps

    /** @param {Row} row @param {import("./row.js").State} state @param {Row["note"]} [note] */
    set(row, state, note = null) {
        row.state = state;
        row.note = note;
        if (row.isFinished) row.source = row.job = null;
        if (row.isOver) this.tools.forget(row);
        this.tools.changed();
    }

    /** @param {Row} row @param {{kind?: string, status?: number, result?: string, detail?: string}} why */
    fail(row, { kind = "refused", status = 0, result = "", detail = "" }) {
        if (result === "skipped") return this.set(row, "skipped");
        const key = kind !== "refused" ? kind : results.includes(result) ? result : statuses.get(status) ?? "refused";
        this.set(row, "failed", { key, values: { detail: detail || (status ? `HTTP ${status}` : "") } });
    }

    /**
     * Deals with a failure of rows.
     * @param {Row[]} rows @param {unknown} error
     * @returns {Promise<boolean>} whether to try again now. If not, the rows have failed, or wait in their lines
     */
    async mayGoOn(rows, error) {
        const trouble = error instanceof Trouble ? error : new Trouble("refused", { detail: String(error) });
        const { kind } = trouble;
        if (kind === "signedOut") this.isSignedOut = true;
        if (kind === "lost") {
            this.lost();
            for (const row of rows) {
                row.sent = row.mark = row.job?.offset ?? 0;
                if (row.isWanted) this.set(row, "waiting", { key: "lost" });
            }
            await this.sleep(Math.max(...rows.map((row) => row.tries++)), trouble.after);
            return !this.isPaused && !this.isSignedOut && rows.some((row) => row.isWanted);
        }
        for (const row of rows) {
            if (!row.isWanted) continue;
            if (kind === "stopped" || kind === "signedOut") this.set(row, "waiting");
            else this.fail(row, trouble);
        }
        return false;
    }

    /** @param {Row} row @returns {Promise<File>} @throws {Trouble} */
    async open(row) {
        const { file, entry, handle } = row.source ?? {};
        /** @type {File} */
        let opened;
        try {
            opened = file ??
                await (handle?.getFile() ??
                    new Promise((resolve, reject) => entry ? entry.file(resolve, reject) : reject()));
        } catch {
            throw new Trouble("unreadable");
        }
        if (row.size >= 0 && (opened.size !== row.size || opened.lastModified !== row.modified)) {
            if (row.job?.offset) throw new Trouble("changed");
            row.digest = row.job = null;
        }
        [row.size, row.modified] = [opened.size, opened.lastModified];
        return opened;
    }

    /** Lets the page draw and answer the user between two pieces of work. */
    breathe() {
        return new Promise((resolve) => this.tools.later(() => resolve(undefined), 0));
    }

    /** Notes that a connection was lost. */
    lost() {
        this.#hasLost = true;
    }

    /**
     * Waits 1, 2, 4 … 30 s, or as long as the server says, or until `wake`.
     * @param {number} tries
     * @param {number} [after]
     */
    sleep(tries, after = 0) {
        const seconds = Math.max(after, Math.min(30, 2 ** tries) * (0.75 + Math.random() / 2));
        return /** @type {Promise<void>} */ (new Promise((resolve) => {
            const wake = () => {
                this.#sleepers.delete(wake);
                resolve();
            };
            this.#sleepers.add(wake);
            this.tools.later(wake, 1000 * seconds);
        }));
    }

    /** Ends the pauses after lost connections, because the network or the page is back. */
    wake() {
        for (const wake of [...this.#sleepers]) wake();
        this.tools.changed();
    }

    // MARK: The order of work

    /** @param {Row} row */
    #again(row) {
        row.tries = 0;
        this.set(row, "waiting");
        this.#place(row);
    }

    /** @param {Row} row */
    #place(row) {
        if (row.state !== "waiting" || row.isActive || row.isGone) return;
        // Forms cannot carry these characters: browsers write them as `%22` and so on, which may also be meant so.
        const isSmall = row.size <= SMALL && !row.isAlone && !row.job && !row.seen && !/["\r\n]/.test(row.path);
        const line = row.source?.isFolder
            ? "folders"
            : !row.isLooked
            ? "fresh"
            : row.mustCompare && this.#looker.mayAsk
            ? "compare"
            : isSmall
            ? "small"
            : "large";
        this.#lines[line].push(row);
    }

    /** Begins what can begin. */
    pump() {
        this.tools.changed();
        if (this.isPaused || this.isSignedOut) return;
        const { fresh, compare, folders, small, large } = this.#lines;
        const running = this.#running;
        if (fresh.length && !running.fresh) this.#run("fresh", LIST, (rows) => this.#looker.look(rows));
        if (compare.length && !running.compare) {
            this.#run("compare", leading(compare, LIST, COMPARE), (rows) => this.#looker.compare(rows));
        }
        if (folders.length && !running.folders) this.#run("folders", LIST, (rows) => this.#sender.makeFolders(rows));
        while (running.small + running.large < (this.tools.isPhone ? 2 : 3) && small.length + large.length) {
            // Forms and single files take turns, so that neither waits for the end of all others.
            if (small.length && (!large.length || running.small <= running.large)) {
                const { folder, policy } = small[0];
                const other = small.findIndex((row) => row.folder !== folder || row.policy !== policy);
                const most = Math.min(MOST_FILES, other < 0 ? Infinity : other);
                this.#run("small", leading(small, most, MOST_BYTES), (rows) => this.#sender.sendForm(rows));
            } else this.#run("large", 1, ([row]) => this.#sender.sendOne(row, () => running.large));
        }
    }

    /**
     * Takes rows out of a line, works on them, and puts those that still wait into their next line.
     * @param {Line} line @param {number} most @param {(rows: Row[]) => Promise<void>} work
     */
    async #run(line, most, work) {
        const rows = this.#lines[line].splice(0, most);
        this.#running[line]++;
        for (const row of rows) row.isActive = true;
        try {
            await work(rows);
        } catch (error) {
            for (const row of rows) if (!row.isSettled) this.fail(row, { detail: String(error) });
        }
        this.#running[line]--;
        for (const row of rows) {
            row.isActive = false;
            row.stop = null;
            this.#place(row);
        }
        this.pump();
    }
}

/**
 * How many rows at the beginning of a line are within the limits; at least one.
 * @param {Row[]} rows @param {number} most @param {number} bytes
 */
function leading(rows, most, bytes) {
    let count = 0;
    while (count < Math.min(rows.length, most) && (bytes -= rows[count].size) >= 0) count++;
    return Math.max(count, 1);
}
