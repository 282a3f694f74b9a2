// @ts-check
/** One line of the queue: a file, or an empty folder, and how far it has come. */

/**
 * ```
 * waiting ─► looking ─► waiting ─► reading ─► sending ─► storing ─► checked, stored, wrong, skipped
 *    ▲          └► same, likely, conflict        └──────────┴─► waiting: the connection was lost
 *    └── paused, failed, choose: only the user moves these
 * ```
 * @typedef {"waiting" | "looking" | "reading" | "sending" | "storing" | "checked" | "stored" | "made" | "same" | "likely" | "skipped" |
 *     "conflict" | "paused" | "failed" | "wrong" | "choose"} State
 *
 * Where the content comes from. Files of entries and handles are opened when their turn comes, so that a long queue
 * stays small.
 * @typedef {{file?: File, entry?: FileSystemFileEntry, handle?: {getFile: () => Promise<File>}, isFolder?: boolean}} Source
 */

/** States that end by themselves. @type {ReadonlySet<State>} */
const open = new Set(["waiting", "looking", "reading", "sending", "storing"]);

/** States in which the server has the content. @type {ReadonlySet<State>} */
const finished = new Set(["checked", "stored", "made", "same"]);

let count = 0;

export class Row {
    id = ++count;
    /** @type {State} */
    state = "waiting";
    /**
     * Key and values of the sentence that says more.
     * @type {{key: string, values?: Record<string, string | number>} | null}
     */
    note = null;
    /** Bytes; -1 until the file has been opened. */
    size = -1;
    /** Milliseconds since 1970. */
    modified = 0;
    sent = 0;
    /** Bytes a second, and `sent` at the last measurement. */
    rate = 0;
    mark = 0;
    /** Attempts since the server last acknowledged something. */
    tries = 0;
    /** The digest that the page has computed. @type {string | null} */
    digest = null;
    /** The digest that the server has acknowledged. @type {string | null} */
    theirs = null;
    stored = "";
    /** What the server has read in the stored picture. @type {import("./pictures.js").Picture | null} */
    picture = null;
    /** The thumbnail of the stored picture. @type {Blob | null} */
    image = null;
    uploadID = "";
    policy = "keep-both";
    /** The digest of the stored content that the user has decided to replace, if it is known. @type {string | null} */
    seen = null;
    /**
     * Where the user has put the file, if it goes on with the upload of an earlier page.
     * @type {{folder: string, path: string, policy: string} | null}
     */
    given = null;
    /** @type {import("./tus.js").Job | null} */
    job = null;
    isLooked = false;
    /**
     * Whether the digest has to be compared with the server's: it may have the content, by itself or after a lost
     * answer.
     */
    mustCompare = false;
    /** Whether the file must not travel in a form, because one with it was refused. */
    isAlone = false;
    /** Whether work on the row is under way; only its end moves the row to another line. */
    isActive = false;
    isGone = false;
    /** Key of the record for the time after a reload. */
    record = "";
    /** @type {AbortController | null} */
    stop = null;

    /**
     * @param {string} folder @param {string} path below it @param {Source | null} source
     * @param {{policy: string, isAgain?: boolean}} batch what was added together; `isAgain` if the user has chosen the files of an earlier
     * page again
     */
    constructor(folder, path, source, batch) {
        this.folder = folder;
        this.path = path;
        this.source = source;
        this.batch = batch;
    }

    get full() {
        return this.folder ? `${this.folder}/${this.path}` : this.path;
    }

    get isSettled() {
        return !open.has(this.state);
    }

    get isFinished() {
        return finished.has(this.state);
    }

    /** Whether there is nothing to offer again after a reload. */
    get isOver() {
        return this.isGone || this.isFinished || this.state === "likely" || this.state === "skipped";
    }

    /** Whether it is stored, and its picture cut off or damaged. */
    get isDamaged() {
        return this.state === "checked" && this.picture?.decoded === false;
    }

    /** Whether work on the row may go on. */
    get isWanted() {
        return !this.isGone && this.state !== "paused";
    }
}

/** Sums over all rows. @param {Row[]} rows */
export function totals(rows) {
    const all = {
        files: 0,
        bytes: 0,
        sent: 0,
        unknown: 0,
        finished: 0,
        checked: 0,
        failed: 0,
        wrong: 0,
        damaged: 0,
        conflict: 0,
        likely: 0,
        paused: 0,
        open: 0,
    };
    for (const { state, size, sent, isFinished, isSettled, isDamaged } of rows) {
        all.files++;
        if (
            state === "checked" || state === "wrong" || state === "conflict" || state === "likely" || state === "paused"
        ) all[state]++;
        if (state === "failed" || state === "wrong") all.failed++;
        if (isFinished) all.finished++;
        // The server has compared the digest.
        if (state === "same") all.checked++;
        if (isDamaged) all.damaged++;
        if (!isSettled) all.open++;
        if (state === "same" || state === "likely" || state === "skipped" || state === "choose") continue;
        // The size of a file that has not been opened is not known, so the sum is a lower bound.
        if (size < 0) all.unknown++;
        all.bytes += Math.max(size, 0);
        all.sent += isFinished ? Math.max(size, 0) : Math.min(sent, Math.max(size, 0));
    }
    return all;
}
