/** A file or folder of a list, as `transfer.entry/1` says it, with what the page derives from it. */
export interface Entry {
    path: string;
    type: "file" | "directory";
    size: number | null;
    modified: string | null;
    kind: string | null;
    digest: string | null;
    /** Last segment of the path. */
    name: string;
    /** Name in lower case, for the filter. */
    lower: string;
    /** Milliseconds since 1970, or NaN. */
    at: number;
    /** What the server has read in a picture, as it says it; `pictureOf` makes sense of it. */
    picture: unknown;
    /** Milliseconds since 1970 on the clock where a picture was taken, or else the file modified; -Infinity if neither is known. */
    taken: number;
    /** Size of all files below a folder, once it has been asked for. */
    total?: { files: number; folders: number; size: number } | "counting";
}

export interface Change {
    change: "mkdir" | "move" | "copy" | "remove" | "restore";
    path: string;
    target?: string;
    replace?: boolean;
    recursive?: boolean;
    etag?: string;
    trash?: string;
}

/** One line of `transfer.change/1`, or `unanswered` if the server acknowledged nothing. */
export interface Changed {
    path: string;
    target: string | null;
    result: string;
    durable: boolean;
    message: string;
    trash: string | null;
}

export interface Sorting {
    key: "name" | "size" | "at" | "taken" | "kind";
    down: boolean;
}

declare global {
    interface TrustedScriptURL {
        toString(): string;
    }
    interface TrustedTypePolicy {
        createScriptURL(address: string): TrustedScriptURL;
    }
    var trustedTypes: {
        createPolicy(name: string, rules: { createScriptURL(address: string): string }): TrustedTypePolicy;
    } | undefined;
}
