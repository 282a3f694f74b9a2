import assert from "node:assert/strict";
import { test } from "node:test";

import { follow } from "../../Sources/CPage/assets/live.js";

/** A browser with several tabs: one set of locks, one channel, and the streams that are open. */
class Browser {
    streams = [];
    channels = [];
    #holder = null;
    #waiting = [];

    request(signal, work) {
        return new Promise((resolve, reject) => {
            const ask = {
                signal,
                run: () => work().then(resolve, reject).finally(() => this.#free(ask)),
            };
            signal.addEventListener("abort", () => {
                this.#waiting = this.#waiting.filter((other) => other !== ask);
                if (this.#holder !== ask) reject(signal.reason);
            });
            this.#waiting.push(ask);
            this.#next();
        });
    }

    #free(ask) {
        if (this.#holder === ask) this.#holder = null;
        this.#next();
    }

    #next() {
        if (this.#holder || !this.#waiting.length) return;
        this.#holder = this.#waiting.shift();
        this.#holder.run();
    }

    /** Opens a tab; the globals that the module reads while it begins are those of this tab. */
    tab({ locks = true } = {}) {
        const { streams, channels } = this;
        const request = this.request.bind(this);
        const heard = [];
        const page = new EventTarget();
        const tab = { heard, hidden: false };
        const enter = () => {
            globalThis.document = {
                hidden: tab.hidden,
                addEventListener: page.addEventListener.bind(page),
            };
            globalThis.addEventListener = () => {};
            globalThis.EventSource = class extends EventTarget {
                static CLOSED = 2;
                readyState = 1;
                constructor() {
                    super();
                    streams.push(this);
                }
                close() {
                    this.readyState = 2;
                    streams.splice(streams.indexOf(this), 1);
                }
            };
            globalThis.BroadcastChannel = class {
                constructor() {
                    channels.push(this);
                }
                postMessage(data) {
                    for (const other of channels) {
                        if (other !== this) other.onmessage?.({ data });
                    }
                }
            };
            const manager = {
                request: (_, { signal }, work) => request(signal, work),
            };
            Object.defineProperty(globalThis, "navigator", {
                value: locks ? { locks: manager } : {},
                configurable: true,
            });
        };
        tab.show = (shown) => {
            tab.hidden = !shown;
            enter();
            page.dispatchEvent(new Event("visibilitychange"));
        };
        enter();
        follow({
            committed: (upload) => heard.push(upload.storedPath),
            reset: () => heard.push("reset"),
        });
        return tab;
    }

    say(type, data) {
        for (const stream of [...this.streams]) {
            stream.dispatchEvent(
                Object.assign(new Event(type), { data: JSON.stringify(data) }),
            );
        }
    }
}

const settled = () => new Promise((go) => setImmediate(go));

test("several tabs share one stream, and all hear what it says once", async () => {
    const browser = new Browser();
    const tabs = [browser.tab(), browser.tab(), browser.tab()];
    await settled();
    assert.equal(browser.streams.length, 1);
    browser.say("committed", { storedPath: "a" });
    browser.say("reset", {});
    assert.deepEqual(tabs.map(({ heard }) => heard.join()), [
        "a,reset",
        "a,reset",
        "a,reset",
    ]);
});

test("a hidden tab reads nothing, another one takes over, and a tab that is shown again lists again", async () => {
    const browser = new Browser();
    const [first, second] = [browser.tab(), browser.tab()];
    await settled();
    first.show(false);
    await settled();
    assert.equal(browser.streams.length, 1);
    browser.say("committed", { storedPath: "b" });
    assert.deepEqual([first.heard.join(), second.heard.join()], ["", "b"]);
    second.show(false);
    await settled();
    assert.equal(browser.streams.length, 0);
    first.show(true);
    await settled();
    assert.equal(browser.streams.length, 1);
    assert.deepEqual(first.heard, ["reset"]);
});

test("without locks each visible tab has a stream of its own", async () => {
    const browser = new Browser();
    const tab = browser.tab({ locks: false });
    await settled();
    browser.say("committed", { storedPath: "c" });
    assert.deepEqual(tab.heard, ["c"]);
    tab.show(false);
    assert.equal(browser.streams.length, 0);
});

test("an event that cannot be read lists again", async () => {
    const browser = new Browser();
    const tab = browser.tab();
    await settled();
    browser.streams[0].dispatchEvent(
        Object.assign(new Event("committed"), { data: "{" }),
    );
    assert.deepEqual(tab.heard, ["reset"]);
});
