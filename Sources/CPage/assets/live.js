// @ts-check
/**
 * Events of the server for all tabs of the page over one connection: a browser has six for HTTP/1.1, and each stream
 * would take one. The visible tab that holds a lock reads the stream and passes the events on; a hidden tab reads
 * nothing and lists again when it is shown. Without locks each visible tab has its own stream.
 */

const name = "transfer.events";
/** Seconds before a refused stream is tried again, doubled up to the longest. */
const shortest = 5;
const longest = 300;

/**
 * @param {object} listeners
 * @param {(upload: any) => void} listeners.committed - a stored file, as `transfer.upload/1`
 * @param {() => void} listeners.reset - events were missed, so the list has to be read again
 */
export function follow({ committed, reset }) {
    const channel = globalThis.BroadcastChannel && new BroadcastChannel(name);
    /** @type {AbortController | undefined} */
    let visit;

    /** @param {{type: string, data?: any}} message */
    const receive = (message) => (message.type === "committed" ? committed(message.data) : reset());
    if (channel) channel.onmessage = ({ data }) => visit && receive(data);

    /** Reads the stream until the tab is hidden. @param {AbortSignal} signal */
    function read(signal) {
        return new Promise((/** @type {(value: void) => void} */ end) => {
            /** @type {EventSource} */
            let stream;
            /** @type {number | undefined} */
            let timer;
            let wait = shortest;
            /** @param {{type: string, data?: any}} message */
            const pass = (message) => {
                receive(message);
                channel?.postMessage(message);
            };
            const open = () => {
                stream = new EventSource("/.transfer/events");
                stream.addEventListener("open", () => (wait = shortest));
                stream.addEventListener("committed", ({ data }) => {
                    try {
                        pass({ type: "committed", data: JSON.parse(data) });
                    } catch {
                        pass({ type: "reset" });
                    }
                });
                stream.addEventListener("reset", () => pass({ type: "reset" }));
                stream.addEventListener("error", () => {
                    // The browser reconnects by itself unless the server refused.
                    if (stream.readyState !== EventSource.CLOSED) return;
                    timer = setTimeout(open, wait * 1000);
                    wait = Math.min(wait * 2, longest);
                });
            };
            signal.addEventListener("abort", () => {
                clearTimeout(timer);
                stream.close();
                end();
            });
            open();
        });
    }

    async function begin() {
        if (visit || document.hidden) return;
        const { signal } = (visit = new AbortController());
        if (!navigator.locks || !channel) return read(signal);
        const asked = performance.now();
        try {
            await navigator.locks.request(name, { signal }, () => {
                // Between the end of another tab's stream and this one, events are lost.
                if (performance.now() - asked > 1000) reset();
                return read(signal);
            });
        } catch {
            // The tab was hidden while another one had the lock.
        }
    }

    function end() {
        visit?.abort();
        visit = undefined;
    }

    document.addEventListener("visibilitychange", () => {
        if (document.hidden) return end();
        reset();
        begin();
    });
    addEventListener("pagehide", end);
    addEventListener("pageshow", begin);
    begin();
}
