// @ts-check
/** The arithmetic of the viewer: zooming, swiping, and what comes next. No DOM. */

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {{width: number, height: number}} Extent */
/** Shift of the middle of a picture from the middle of the stage, in pixels. @typedef {{x: number, y: number}} Point */
/** @typedef {Point & {scale: number}} Zoom a scale of 1 shows all of the picture */

/** @type {Zoom} */
export const whole = Object.freeze({ scale: 1, x: 0, y: 0 });

/** Largest scale for a picture without more pixels than the stage shows, and for any picture. */
const leastLimit = 4, mostLimit = 32;

/** The extent of a picture that is shown as a whole. A small one is not enlarged.
 * @param {Extent} stage
 * @param {Extent} picture
 * @param {boolean} grows - whether there are more pixels than the picture has
 * @returns {Extent}
 */
export function fit(stage, picture, grows) {
    if (!(picture.width > 0 && picture.height > 0)) return { width: 0, height: 0 };
    const ratio = Math.min(stage.width / picture.width, stage.height / picture.height, grows ? Infinity : 1);
    return { width: picture.width * ratio, height: picture.height * ratio };
}

/** The largest scale: two screen pixels for each of the original.
 * @param {Extent} box
 * @param {number} pixels - width of the original
 */
export function limit(box, pixels) {
    return box.width > 0 ? Math.min(mostLimit, Math.max(leastLimit, 2 * pixels / box.width)) : 1;
}

/** Keeps the stage covered as far as the picture reaches.
 * @param {Zoom} zoom
 * @param {Extent} box
 * @param {Extent} stage
 * @returns {Zoom}
 */
export function clamp({ scale, x, y }, box, stage) {
    const [right, down] = [box.width * scale - stage.width, box.height * scale - stage.height]
        .map((rest) => Math.max(0, rest / 2));
    return { scale, x: Math.min(right, Math.max(-right, x)), y: Math.min(down, Math.max(-down, y)) };
}

/** Zooms by a factor so that what is at a point stays there.
 * @param {Zoom} zoom
 * @param {number} factor
 * @param {Point} point - from the middle of the stage
 * @param {number} most
 * @returns {Zoom}
 */
export function zoomAt(zoom, factor, point, most) {
    const scale = Math.min(most, Math.max(1, zoom.scale * factor));
    const ratio = scale / zoom.scale;
    return { scale, x: point.x - (point.x - zoom.x) * ratio, y: point.y - (point.y - zoom.y) * ratio };
}

/** What a pinch does between two positions of two fingers.
 * @param {[Point, Point]} before
 * @param {[Point, Point]} after
 */
export function pinch(before, after) {
    const [old, fresh] = [before, after].map(([a, b]) => ({
        distance: Math.hypot(a.x - b.x, a.y - b.y),
        x: (a.x + b.x) / 2,
        y: (a.y + b.y) / 2,
    }));
    const factor = old.distance > 0 && fresh.distance > 0 ? fresh.distance / old.distance : 1;
    return { factor, point: { x: fresh.x, y: fresh.y }, shift: { x: fresh.x - old.x, y: fresh.y - old.y } };
}

/** Shares of the width, and pixels and pixels for each millisecond, that make a movement a swipe. */
const farShare = 0.25, leastPixels = 30, leastSpeed = 0.4;

/** Where a movement of one finger leads: 1 to the next, -1 to the previous, or 0.
 * @param {{x: number, y: number, milliseconds: number, width: number}} movement
 */
export function swipe({ x, y, milliseconds, width }) {
    const distance = Math.abs(x);
    if (distance < leastPixels || distance < 1.5 * Math.abs(y)) return 0;
    const isFast = distance / Math.max(1, milliseconds) >= leastSpeed;
    return isFast || distance >= width * farShare ? (x < 0 ? 1 : -1) : 0;
}

/** The file before or behind an entry. One that is gone has had the index `at`.
 * @param {Entry[]} rows
 * @param {string} path
 * @param {number} at
 * @param {1 | -1} direction
 * @returns {Entry | undefined}
 */
export function neighbour(rows, path, at, direction) {
    const found = rows[at]?.path === path ? at : rows.findIndex((entry) => entry.path === path);
    // The next one has moved up to the place of an entry that is gone.
    let index = found >= 0 ? found + direction : direction > 0 ? at : at - 1;
    while (rows[index]?.type === "directory") index += direction;
    return rows[index];
}

/** The number of a file among the files, and how many there are.
 * @param {Entry[]} rows
 * @param {string} path
 */
export function position(rows, path) {
    let [n, all] = [0, 0];
    for (const entry of rows) {
        if (entry.type === "directory") continue;
        all++;
        if (entry.path === path) n = all;
    }
    return { n, all };
}
