// @ts-check
/** A document in memory, with as much as the modules of the page ask for: a tree of elements, and no layout. */

class Style {
    setProperty() {}
    removeProperty() {}
}

export class Element extends EventTarget {
    /** @type {Map<string, string>} */
    attributes = new Map();
    /** @type {(Element | string)[]} */
    children = [];
    dataset = {};
    style = new Style();
    classList = { add: () => {}, remove: () => {}, toggle: () => {}, contains: () => false };
    isConnected = true;
    open = false;

    /** @param {string} name */
    constructor(name) {
        super();
        this.name = name;
    }
    setAttribute(name, value) {
        this.attributes.set(name, value);
    }
    getAttribute(name) {
        return this.attributes.get(name) ?? null;
    }
    hasAttribute(name) {
        return this.attributes.has(name);
    }
    removeAttribute(name) {
        this.attributes.delete(name);
    }
    append(...children) {
        this.children.push(...children);
    }
    replaceChildren(...children) {
        this.children = children;
    }
    remove() {}
    focus() {}
    contains() {
        return false;
    }
    querySelector() {
        return null;
    }
    querySelectorAll() {
        return [];
    }
    showModal() {
        this.open = true;
    }
    close() {
        this.open = false;
        this.dispatchEvent(new Event("close"));
    }
    click() {
        this.dispatchEvent(new Event("click"));
    }
    get childElementCount() {
        return this.children.length;
    }
    get firstElementChild() {
        return this.children[0];
    }
    /** All elements with this name below this one. @param {string} name @returns {Element[]} */
    all(name) {
        return this.children.filter((child) => child instanceof Element)
            .flatMap((child) => [...(child.name === name ? [child] : []), ...child.all(name)]);
    }
}

/** Installs the document, and gives its body. @param {Record<string, string>} data of its root element */
export function install(data = {}) {
    const body = new Element("body");
    const root = Object.assign(new Element("html"), { dataset: data, lang: "en" });
    globalThis.document = /** @type {any} */ (Object.assign(new Element("document"), {
        body,
        head: new Element("head"),
        documentElement: root,
        createElement: (/** @type {string} */ name) => new Element(name),
        createElementNS: (_, name) => new Element(name),
        // Each style sheet is there already.
        querySelector: () => root,
    }));
    const own = new EventTarget();
    globalThis.addEventListener = /** @type {any} */ (own.addEventListener.bind(own));
    globalThis.dispatchEvent = own.dispatchEvent.bind(own);
    globalThis.ResizeObserver = /** @type {any} */ (class {
        observe() {}
    });
    globalThis.HTMLElement = globalThis.Element = /** @type {any} */ (Element);
    return body;
}
