// @ts-check
/** When a folder is listed again for what the server has read in pictures. No DOM. */

/** Seconds before each further reading of a folder. */
const pauses = [2, 4, 8, 16, 32];

/** Lists a folder again a few times, with pauses that grow, as long as something is still unknown. */
export class Readings {
    #count = 0;
    #isPlanned = false;
    #visit = 0;

    /**
     * @param {() => void} read
     * @param {(act: () => void, milliseconds: number) => void} later
     */
    constructor(read, later) {
        this.read = read;
        this.later = later;
    }

    /** Something is unknown. It may be called often. */
    need() {
        if (this.#isPlanned || this.#count >= pauses.length) return;
        this.#isPlanned = true;
        const visit = this.#visit;
        this.later(() => {
            if (visit !== this.#visit) return;
            this.#isPlanned = false;
            this.read();
        }, pauses[this.#count++] * 1000);
    }

    /** Another folder begins. */
    reset() {
        this.#visit++;
        this.#count = 0;
        this.#isPlanned = false;
    }
}
