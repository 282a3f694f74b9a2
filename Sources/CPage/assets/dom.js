// @ts-check
/** Elements, icons and the safe display of names. Untrusted text is only ever inserted as text. */

/** @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Property */
/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Makes an element. Functions named `on…` become listeners; true makes an empty attribute; false and null make none.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, Property>} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (typeof value === "function") element.addEventListener(name.slice(2), value);
        else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(.../** @type {(Node | string)[]} */ (children.filter((child) => child != null && child !== false)));
    return element;
}

/** Adds a style sheet of the page; done when it is there.
 * @param {string} name
 * @returns {Promise<void>}
 */
export function style(name) {
    const href = new URL(name, import.meta.url).pathname;
    if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
    return new Promise((done, fail) => {
        const refuse = () => (link.remove(), fail(new Error(name)));
        const link = h("link", { rel: "stylesheet", href, onload: () => done(), onerror: refuse });
        document.head.append(link);
    });
}

/** Strokes of 24 by 24 units; parts of the page that are loaded later add theirs. @type {Record<string, string>} */
export const strokes = {
    folder:
        "M3 6.5a1.5 1.5 0 0 1 1.5-1.5H9l2 2.5h8.5A1.5 1.5 0 0 1 21 9v9a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 18z",
    file: "M6 3h8l4 4v14H6zM14 3v4h4",
    text: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
    picture: "M3 5h18v14H3zM3 16l5-5 4 4 3-3 6 5M15.5 9.5h.01",
    video: "M3 5h18v14H3zM10 9l5 3-5 3z",
    audio: "M9 18V5l10-2v13M9 18a3 2.5 0 1 1-6 0 3 2.5 0 0 1 6 0zM19 16a3 2.5 0 1 1-6 0 3 2.5 0 0 1 6 0z",
    location: "M12 21s-7-6-7-11a7 7 0 0 1 14 0c0 5-7 11-7 11zM12 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
    camera: "M4 8h4l1.5-2.5h5L16 8h4v11H4zM12 16.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
    list: "M4 6h16M4 12h16M4 18h16",
    grid: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z",
    search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L21 21",
    close: "M6 6l12 12M18 6L6 18",
    trash: "M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6",
    move: "M3 6h6l2 2h10v11H3zM9 13.5h6M12.5 11l2.5 2.5-2.5 2.5",
    copy: "M8 8h12v12H8zM4 16V4h12",
    rename: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
    undo: "M9 6L4 11l5 5M4 11h10a5 5 0 0 1 0 10h-3",
    download: "M12 4v11M7 11l5 5 5-5M4 20h16",
    newFolder: "M3 6h6l2 2h10v11H3zM12 11v5M9.5 13.5h5",
    user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-4 4-5 8-5s7 1 8 5",
    up: "M12 19V6M6 11l6-6 6 6",
    info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5.5M12 7.5h.01",
    home: "M4 11l8-7 8 7v9h-5v-6H9v6H4z",
};

/**
 * An icon that assistive technology skips: the words beside it name the thing.
 * @param {string} name
 */
export function icon(name) {
    const space = "http://www.w3.org/2000/svg";
    const drawing = document.createElementNS(space, "svg");
    drawing.setAttribute("viewBox", "0 0 24 24");
    drawing.setAttribute("aria-hidden", "true");
    drawing.append(document.createElementNS(space, "path"));
    setIcon(drawing, name);
    return drawing;
}

/**
 * Changes the drawing of an icon in place, which is cheaper than a new one in a row that is used again.
 * @param {SVGElement} drawing
 * @param {string} name
 */
export function setIcon(drawing, name) {
    drawing.setAttribute("class", `icon icon-${name}`);
    drawing.firstElementChild?.setAttribute("d", strokes[name] ?? strokes.file);
}

/** Controls, format characters and invisible letters. */
const disguises = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]/gu;

/**
 * The name with each character that would hide or reorder text written as `\u{202E}`. A joiner between two pictographs
 * stays, because it makes one emoji. Alternatives are written out, because a class of these properties does not match at
 * the end of a text in Firefox and WebKit.
 * @param {string} name
 */
export function shown(name) {
    return name.replace(disguises, (character, offset) => {
        const joins = character === "\u200D" &&
            /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)$/u.test(name.slice(0, offset)) &&
            /^\p{Extended_Pictographic}/u.test(name.slice(offset + 1));
        const code = /** @type {number} */ (character.codePointAt(0));
        return joins ? character : `\\u{${code.toString(16).toUpperCase()}}`;
    });
}
