// @ts-check
/** The page's only trusted-types policy: scripts come from two known addresses of this version of the page. */

const folder = document.documentElement.dataset.page ?? "/.transfer/page/";
const known = ["hash-worker.js", "sw.js"].map((name) => folder + name);

const policy = globalThis.trustedTypes?.createPolicy("transfer", {
    createScriptURL(address) {
        if (known.includes(address)) return address;
        throw new TypeError("This script is not part of the page.");
    },
});

/**
 * The address of a worker's script, in the form that `Worker` and `register` accept.
 * @param {string} name
 * @returns {string}
 */
export function scriptURL(name) {
    // Browsers take the trusted object where their types say string.
    return /** @type {any} */ (policy ? policy.createScriptURL(folder + name) : folder + name);
}
