// @ts-check
/** Finds the files in what the user chooses, drops or pastes. */

/** @typedef {{path: string, source: import("./row.js").Source}} Item */

/** @param {Iterable<File>} files of an input; those of a chosen folder have a path @returns {Item[]} */
export function fromInput(files) {
    return Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, source: { file } }));
}

/**
 * Reads a drop. What the event offers has to be taken before it returns, so the first step is not asynchronous.
 * @param {DataTransfer} transfer
 * @returns {AsyncGenerator<Item[]>}
 */
export function fromDrop(transfer) {
    const tops = Array.from(transfer.items).filter(({ kind }) => kind === "file").map((item) => ({
        entry: item.webkitGetAsEntry?.() ?? null,
        file: item.getAsFile(),
        // A handle can be kept for the time after a reload; only Chromium has it.
        handle: /** @type {any} */ (item).getAsFileSystemHandle?.().catch(() => null),
    }));
    return (async function* () {
        for (const { entry, file, handle } of tops) {
            if (entry?.isDirectory) yield* below(/** @type {FileSystemDirectoryEntry} */ (entry), entry.name);
            else if (file) yield [{ path: file.name, source: { file, handle: await handle ?? undefined } }];
        }
    })();
}

/**
 * All files below a folder, and the folders that are empty.
 * @param {FileSystemDirectoryEntry} folder @param {string} path
 * @returns {AsyncGenerator<Item[]>}
 */
export async function* below(folder, path) {
    const reader = folder.createReader();
    let isEmpty = true;
    try {
        for (;;) {
            // Chromium gives 100 entries at a time: only an empty answer is the end.
            /** @type {FileSystemEntry[]} */
            const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
            if (!entries.length) break;
            isEmpty = false;
            const files = entries.filter(({ isFile }) => isFile);
            yield files.map((entry) => ({
                path: `${path}/${entry.name}`,
                source: { entry: /** @type {FileSystemFileEntry} */ (entry) },
            }));
            for (const entry of entries) {
                if (entry.isDirectory) {
                    yield* below(/** @type {FileSystemDirectoryEntry} */ (entry), `${path}/${entry.name}`);
                }
            }
        }
        if (isEmpty) yield [{ path, source: { isFolder: true } }];
    } catch (error) {
        // The folder becomes a row that fails, so that it is not missed silently.
        yield [{ path, source: { handle: { getFile: () => Promise.reject(error) } } }];
    }
}

/**
 * @param {DataTransfer} clipboard @param {Date} now
 * @param {string} word by which pasted content without a name is called
 * @param {boolean} isField whether the user pastes into a field, which keeps its text
 * @returns {Item[]}
 */
export function fromClipboard(clipboard, now, word, isField) {
    const files = Array.from(clipboard.files);
    const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
    const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join("-");
    const name = `${word} ${day} ${[now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join(".")}`;
    const text = clipboard.getData("text/plain");
    if (!files.length && text && !isField) {
        return [{ path: `${name}.txt`, source: { file: new File([text], `${name}.txt`) } }];
    }
    return files.map((file, at) => {
        // Browsers call each picture of the clipboard the same.
        const match = /^image(\.\w+)$/i.exec(file.name);
        return { path: match ? `${name}${at ? ` ${at + 1}` : ""}${match[1]}` : file.name, source: { file } };
    });
}
