// @ts-check
/** Numbers and times in the page's language. */

import { language } from "./words.js";

const units = ["B", "kB", "MB", "GB", "TB", "PB"];
const whole = new Intl.NumberFormat(language);
const short = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
const local = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });

/** @param {number} n */
export function count(n) {
    return whole.format(n);
}

/**
 * A size in decimal units, as disks and browsers count them.
 * @param {number} bytes
 */
export function size(bytes) {
    let unit = 0;
    // 999.5 would be rounded to 1,000 of its unit.
    for (; bytes >= 999.5 && unit < units.length - 1; unit++) bytes /= 1000;
    return `${unit === 0 ? whole.format(Math.round(bytes)) : short.format(bytes)}\u00A0${units[unit]}`;
}

/** @param {number} bytesPerSecond */
export function rate(bytesPerSecond) {
    return `${size(bytesPerSecond)}/s`;
}

/** @param {Date} date */
export function time(date) {
    return Number.isNaN(date.getTime()) ? "" : local.format(date);
}

/** @param {number} seconds */
export function duration(seconds) {
    seconds = Math.max(0, Math.round(seconds));
    if (seconds < 60) return `${seconds}\u00A0s`;
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return `${minutes}\u00A0min ${seconds % 60}\u00A0s`;
    return `${Math.floor(minutes / 60)}\u00A0h ${minutes % 60}\u00A0min`;
}
