// @ts-check
/** Parts of the page around the list: the account, the path, the appearance, and what this browser remembers. */

import { toast } from "./dialog.js";
import { h, icon, shown } from "./dom.js";
import { address, explain, parentOf, request } from "./server.js";
import { language, say } from "./words.js";

const root = document.documentElement;
const { name: client = "" } = root.dataset;

/** What the client may do: any of `read`, `write` and `remove`. */
export const rights = new Set((root.dataset.rights ?? "").split(" ").filter(Boolean));

/** A preference of this browser. Storage may be missing or forbidden; then it lasts as long as the page.
 * @param {string} key
 * @param {string} [value] - the new value
 */
export function preference(key, value) {
    try {
        if (value !== undefined) localStorage.setItem(`transfer.${key}`, value);
        return localStorage.getItem(`transfer.${key}`) ?? "";
    } catch {
        return value ?? "";
    }
}

/** @param {string} choice - `light`, `dark` or '' for what the system says */
function setTheme(choice) {
    if (choice) root.dataset.theme = choice;
    else delete root.dataset.theme;
}
setTheme(preference("theme"));

/** A button with an icon and words.
 * @param {string} name
 * @param {string} words
 * @param {() => void} act
 */
export function tool(name, words, act) {
    return h("button", { type: "button", onclick: act }, icon(name), h("span", {}, words));
}

/**
 * What can be done with the selected entries.
 * @param {import('./list.js').List} list
 * @param {(what: 'rename' | 'remove' | 'move' | 'copy' | 'details' | 'none') => void} act
 */
export function chosenTools(list, act) {
    const n = list.selection.size;
    const files = n > 2 ? [] : list.selected();
    const one = list.only(files);
    // To move something is to remove it from its place.
    const move = rights.has("write") && rights.has("remove");
    /** @type {(HTMLElement | undefined | false)[]} */
    const tools = [
        h(
            "button",
            { type: "button", class: "plain", "aria-label": say("selectNone"), onclick: () => act("none") },
            icon("close"),
        ),
        h("strong", {}, say("selected", { n })),
        // Browsers may refuse the second of two downloads that one click begins.
        ...(one?.type === "file" ? files : []).map(({ path, name }) =>
            h(
                "a",
                {
                    class: "button",
                    href: address(path),
                    download: name,
                    "aria-label": n > 1 && say("downloadOne", { name: shown(name) }),
                },
                icon("download"),
                h("span", {}, n > 1 ? name.slice(name.lastIndexOf(".") + 1) : say("download")),
            )
        ),
        one?.type === "file" && tool("info", say("details"), () => act("details")),
        move && one && tool("rename", say("rename"), () => act("rename")),
        move && tool("move", say("moveDots"), () => act("move")),
        rights.has("write") && tool("copy", say("copyDots"), () => act("copy")),
        rights.has("remove") && tool("trash", say("remove"), () => act("remove")),
    ];
    return /** @type {HTMLElement[]} */ (tools.filter(Boolean));
}

/** The menu with the client's name and rights, the appearance, the trash, and the way out. */
export function account() {
    const theme = h(
        "select",
        { onchange: () => (preference("theme", theme.value), setTheme(theme.value)) },
        ...["", "light", "dark"].map((choice) => h("option", { value: choice }, say(`theme.${choice || "system"}`))),
    );
    theme.value = root.dataset.theme ?? "";
    const may = ["read", "write", "remove"].filter((right) => rights.has(right)).map((right) => say(`may.${right}`));
    const menu = h(
        "details",
        {
            class: "account",
            onfocusout: (/** @type {FocusEvent} */ event) => {
                if (event.relatedTarget && !menu.contains(/** @type {Node} */ (event.relatedTarget))) menu.open = false;
            },
            onkeydown: (/** @type {KeyboardEvent} */ event) => {
                if (event.key === "Escape") menu.open = false;
            },
        },
        h(
            "summary",
            {},
            icon("user"),
            h("span", { class: client ? "" : "quiet" }, client ? shown(client) : say("account")),
        ),
        h(
            "div",
            { class: "menu" },
            h("p", {}, client ? say("signedIn", { name: shown(client) }) : say("guest")),
            h("p", { class: "dim" }, say("may", { what: new Intl.ListFormat(language).format(may) })),
            h("label", {}, say("theme"), theme),
            rights.has("remove") && h("a", { href: "#trash", class: "button plain" }, icon("trash"), say("trash")),
            "session" in root.dataset && h("button", { type: "button", onclick: signOut }, say("signOut")),
        ),
    );
    document.addEventListener("pointerdown", ({ target }) => {
        if (!menu.contains(/** @type {Node} */ (target))) menu.open = false;
    });
    return menu;
}

async function signOut() {
    try {
        const { clearUploads } = await import("./upload.js");
        // While the server cannot be reached, the session goes on, and may need what is kept.
        await request("/healthz", { cache: "no-store" });
        await clearUploads();
    } catch (error) {
        return toast(explain(error), { failure: true });
    }
    // The answer is a page. If this one were loaded again, the browser would ask for a password.
    const form = h("form", { method: "post", action: "/.transfer/out" });
    document.body.append(form);
    form.submit();
}

/**
 * The path of a folder as links, and the name that it ends with.
 * @param {string} folder
 * @param {boolean} trash - whether the trash is shown
 */
export function crumbs(folder, trash) {
    const names = folder.split("/").filter(Boolean);
    const steps = names.map((name, index) => ({ name: shown(name), path: names.slice(0, index + 1).join("/") }));
    if (trash) steps.splice(0, steps.length, { name: say("trash"), path: "" });
    else if (!steps.length) steps.push({ name: say("top"), path: "" });
    const links = steps.map(({ name, path }) =>
        h(
            "li",
            {},
            h("a", { href: address(path, true), "aria-current": path === folder && "page" }, h("bdi", {}, name)),
        )
    );
    // Narrow screens show this step in place of all but the last.
    const up = h("a", { href: address(parentOf(folder), true), "aria-label": say("up") }, "…");
    const element = h("ol", {}, steps.length > 1 && h("li", { class: "up" }, up), ...links);
    return { element, last: steps[steps.length - 1].name };
}
