// @ts-check
/** What can be shown of an entry, and by which address. Nothing here touches the page. */

import { address, request } from "./server.js";

/** @typedef {import('./types.d.ts').Entry} Entry */

/**
 * What the server has read in a picture. It comes from the file, so nothing is taken as it is.
 * @typedef {object} Picture
 * @property {string} format
 * @property {number} width - in pixels, as the picture is shown; 0 if it is not known
 * @property {number} height
 * @property {string} taken - local time at the camera, or ''
 * @property {number | null} offset - minutes that this clock was ahead of UTC
 * @property {string} camera
 * @property {boolean} location - whether the file says where the picture was taken
 * @property {boolean} animated
 * @property {boolean | null} decoded - false if the picture is cut off or damaged, null if it was not tried
 * @property {string} colour - '#rrggbb' or ''
 */

/** @typedef {'picture' | 'video' | 'audio' | 'text' | 'pdf' | 'other'} Showing */

/** Longest sides, in pixels, that the server scales pictures to. */
export const small = 320, large = 1280;
/** Drawings up to this size are shown as they are; a larger one could keep the browser busy for long. */
const largestDrawing = 256 << 10;
/** Pictures without a thumbnail that are small enough to be their own. */
const largestOwn = 2 << 20;
/** Originals that the viewer loads. */
const largestOriginal = 40 << 20;

/** Names of pictures that the server makes thumbnails of; of the last two only where it has a library for them. */
const scaled = /\.(jpe?g|jpe|jfif|png|webp|gif|hei[cf]|avif)$/;
const avif = /\.avif$/;
const drawing = /\.svg$/;
const video = /\.(mp4|mov|m4v|webm|mkv|ogv)$/;
const audio = /\.(mp3|m4a|aac|ogg|oga|opus|wav|flac)$/;
const text =
    /\.(txt|md|csv|tsv|log|json|xml|ya?ml|toml|ini|conf|css|html?|js|ts|py|sh|c|h|cpp|swift|rs|go|java|sql|srt|vtt|gpx|kml|geojson)$/;

/** How the viewer shows an entry. The name decides first, because most contents have no kind.
 * @param {Entry} entry
 * @returns {Showing}
 */
export function showing({ lower, kind }) {
    if ([scaled, drawing].some((names) => names.test(lower))) return "picture";
    if (video.test(lower)) return "video";
    if (audio.test(lower)) return "audio";
    if (/\.pdf$/.test(lower)) return "pdf";
    if (text.test(lower)) return "text";
    if (kind === "location") return "text";
    return kind === "picture" || kind === "audio" || kind === "text" ? kind : "other";
}

/** The address of a thumbnail, or '' if the server makes none of such a file. It changes with the content.
 * @param {Entry} entry
 * @param {number} side
 */
export function thumbnail(entry, side) {
    if (entry.type !== "file" || !scaled.test(entry.lower)) return "";
    const tag = entry.digest ?? `${entry.size}-${entry.modified}`;
    return `/.transfer/thumb${address(entry.path)}?s=${side}&v=${encodeURIComponent(tag)}`;
}

/**
 * Where the picture of a tile comes from: `scaled` by the server, the file itself as an `image`, a `drawing` that needs
 * its type, or a frame of a `video`.
 * @typedef {{by: 'scaled' | 'image' | 'drawing' | 'video', url: string}} Face
 *
 * @param {Entry} entry
 * @returns {Face | null} null if the tile has only an icon
 */
export function faceOf(entry) {
    const { lower, size } = entry;
    if (entry.type !== "file" || !size) return null;
    if (avif.test(lower) && size <= largestOwn) return { by: "image", url: address(entry.path) };
    const url = thumbnail(entry, small);
    if (url) return { by: "scaled", url };
    if (drawing.test(lower) && size <= largestDrawing) return { by: "drawing", url: address(entry.path) };
    return video.test(lower) ? { by: "video", url: `${address(entry.path)}#t=0.5` } : null;
}

/** Whether the viewer may show the file itself, and whether it has to because there is nothing smaller.
 * @param {Entry} entry
 */
export function originalOf(entry) {
    const { lower, size } = entry;
    const isDrawing = drawing.test(lower);
    const fits = (size ?? 0) <= (isDrawing ? largestDrawing : largestOriginal);
    // Only the file itself is animated.
    return {
        fits,
        isDrawing,
        isOnly: !scaled.test(lower) || pictureOf(entry)?.animated === true || /\.gif$/.test(lower),
    };
}

/** Whether the original shows more than the scaled picture does.
 * @param {{width: number, height: number}} screen - of the viewer, in CSS pixels
 * @param {number} density - device pixels for each of them
 * @param {number} scale - of the zoom
 */
export function wantsOriginal({ width, height }, density, scale) {
    return scale > 1.05 || Math.max(width, height) * density > large;
}

/** @param {unknown} value */
const number = (value) => typeof value === "number" && Number.isFinite(value) ? value : null;
/** @param {unknown} value */
const line = (value) => typeof value === "string" ? value.slice(0, 200) : "";

/** What the server has read in a picture, or null.
 * @param {{picture?: unknown}} entry
 * @returns {Picture | null}
 */
export function pictureOf({ picture }) {
    if (typeof picture !== "object" || !picture) return null;
    const { format, width, height, taken, offset, camera, location, animated, decoded, colour } =
        /** @type {Record<string, unknown>} */ (picture);
    return {
        format: line(format),
        width: Math.max(0, number(width) ?? 0),
        height: Math.max(0, number(height) ?? 0),
        taken: line(taken),
        offset: Math.abs(number(offset) ?? Infinity) <= 24 * 60 ? number(offset) : null,
        camera: line(camera),
        location: location === true,
        animated: animated === true,
        decoded: typeof decoded === "boolean" ? decoded : null,
        colour: /^#[0-9a-f]{6}$/i.test(line(colour)) ? line(colour) : "",
    };
}

/** Whether the server has found that a picture is cut off or damaged.
 * @param {{picture?: unknown}} entry
 */
export function isDamaged(entry) {
    return pictureOf(entry)?.decoded === false;
}

/** Whether the server decodes such a picture, and it is not known here whether all of it could be decoded.
 * @param {Entry} entry
 */
export function isUntried(entry) {
    return thumbnail(entry, small) !== "" && pictureOf(entry)?.decoded == null;
}

/** Everything that the server knows about a file.
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {Promise<Record<string, unknown>>}
 */
export async function detailsOf(path, signal) {
    const answer = await request(`/.transfer/details${address(path)}`, {
        headers: { Accept: "application/json" },
        signal,
    });
    return answer.json();
}

/** An address of a drawing for `img`, in which nothing of it can run; the caller revokes it.
 * @param {string} url
 * @param {AbortSignal} signal
 */
export async function drawingURL(url, signal) {
    const response = await fetch(url, { signal });
    if (!response.ok) throw new Error(String(response.status));
    return URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "image/svg+xml" }));
}
