// @ts-check
/** Live Photos: which pictures and movies belong together. Nothing here touches the page. */

/** @typedef {import('./types.d.ts').Entry} Entry */
/** What is read of an entry. @typedef {Pick<Entry, 'path' | 'name' | 'type' | 'size'>} File */

/**
 * Stills, the ones that win first: a camera that also stores a JPEG makes it of the HEIC. A dot at the beginning of a
 * name begins no extension. Without `u`, these ignore the case of ASCII letters only.
 */
const stills = [/[^]\.hei[cf]$/i, /[^]\.jpe?g$/i];
/**
 * iPhones give no other movie. An MP4 beside a picture is often a film with its poster, or a clip with the picture that
 * a downloader stores, and would be hidden behind it.
 */
const movie = /[^]\.mov$/i;
/** Most bytes of a movie: it has three seconds. A larger one is a film with its poster. */
const largestMovie = 32 << 20;

/** The path without the extension, as the server has it: another form of a letter makes another name.
 * @param {File} file
 */
const stemOf = ({ path }) => path.slice(0, path.lastIndexOf("."));

/** The single file of each stem. Of several no one can tell which is meant, so the stem has null.
 * @template {File} T
 * @param {T[]} files
 * @param {(file: T) => boolean} counts
 */
function singles(files, counts) {
    /** @type {Map<string, T | null>} */
    const found = new Map();
    for (const file of files) {
        if (!counts(file)) continue;
        const stem = stemOf(file);
        found.set(stem, found.has(stem) ? null : file);
    }
    return found;
}

/** The movies of Live Photos by the paths of their pictures, both of which are among the files.
 * @template {File} T
 * @param {T[]} files
 */
export function pairsOf(files) {
    /** @type {Map<string, T>} */
    const pairs = new Map();
    const movies = singles(
        files,
        ({ name, type, size }) => movie.test(name) && type === "file" && size !== null && size <= largestMovie,
    );
    for (const names of stills) {
        if (!movies.size) break;
        const pictures = singles(
            files,
            (file) => file.type === "file" && names.test(file.name) && movies.has(stemOf(file)),
        );
        for (const [stem, picture] of pictures) {
            const found = movies.get(stem);
            movies.delete(stem);
            if (picture && found) pairs.set(picture.path, found);
        }
    }
    return pairs;
}
