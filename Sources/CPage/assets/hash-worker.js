// @ts-check
/**
 * SHA-256 (FIPS 180-4) in plain script, for pages without a secure context: `crypto.subtle` is missing there. The page
 * runs it in a
 * worker, because it takes up to 0.1 s for 4 MiB.
 */

/** The first 32 bits of the fractional parts of roots of the first 64 primes (FIPS 180-4, section 4.2.2 and 5.3.3). */
const { constants, start } = (() => {
    const constants = new Int32Array(64);
    const start = new Int32Array(8);
    const fraction = (/** @type {number} */ root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
    for (let found = 0, n = 2; found < 64; n++) {
        let isPrime = true;
        for (let d = 2; d * d <= n; d++) isPrime &&= n % d !== 0;
        if (!isPrime) continue;
        if (found < 8) start[found] = fraction(Math.sqrt(n));
        constants[found++] = fraction(Math.cbrt(n));
    }
    return { constants, start };
})();

/** @param {Uint8Array} bytes */
export function sha256(bytes) {
    const state = start.slice();
    const whole = bytes.length & ~63;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at < whole; at += 64) compress(state, view, at);
    // The rest, a one bit, zeros, and the length in bits.
    const rest = bytes.length - whole;
    const tail = new DataView(new ArrayBuffer(rest < 56 ? 64 : 128));
    for (let at = 0; at < rest; at++) tail.setUint8(at, bytes[whole + at]);
    tail.setUint8(rest, 0x80);
    tail.setUint32(tail.byteLength - 8, Math.floor(bytes.length / 2 ** 29));
    tail.setUint32(tail.byteLength - 4, bytes.length << 3);
    for (let at = 0; at < tail.byteLength; at += 64) compress(state, tail, at);
    const digest = new DataView(new ArrayBuffer(32));
    state.forEach((word, at) => digest.setInt32(4 * at, word));
    return new Uint8Array(digest.buffer);
}

const words = new Int32Array(64);

/** @param {Int32Array} state @param {DataView} block @param {number} at */
function compress(state, block, at) {
    const w = words;
    for (let t = 0; t < 16; t++) w[t] = block.getInt32(at + 4 * t);
    for (let t = 16; t < 64; t++) {
        const x = w[t - 15], y = w[t - 2];
        const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
        const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
        w[t] = (w[t - 16] + s0 + w[t - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 64; t++) {
        const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[t] + w[t]) | 0;
        const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => state[i] += word);
}

if (typeof document === "undefined" && typeof self === "object") {
    self.onmessage = ({ data }) => self.postMessage({ id: data.id, digest: sha256(data.bytes) });
}
