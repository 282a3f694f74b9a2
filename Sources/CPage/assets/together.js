// @ts-check
/**
 * Changes of both files of a Live Photo: both are made, or neither if the other can be undone, and under one stem, so
 * that no picture is joined with the movie of another.
 */

import { reverse } from "./actions.js";
import { pairsOf } from "./pairs.js";
import { failed, lines, request, send } from "./server.js";
import { word } from "./words-look.js";

/** @typedef {import('./types.d.ts').Change} Change */
/** @typedef {import('./types.d.ts').Changed} Changed */

/** Paths that are asked for at once. */
const pathsAtOnce = 500;

/** @param {Change} change */
const targetOf = ({ path, target }) => target ?? path;

/** The indexes of both files of each Live Photo among changes.
 * @param {Change[]} changes
 */
function pairsAmong(changes) {
    const files = changes.map(({ path }, index) => ({
        path,
        index,
        name: path.slice(path.lastIndexOf("/") + 1),
        type: /** @type {const} */ ("file"),
        size: 0,
    }));
    const indexes = new Map(files.map(({ path, index }) => [path, index]));
    return [...pairsOf(files)].map(([path, movie]) => [/** @type {number} */ (indexes.get(path)), movie.index]);
}

/** Whether a change may find that its name is taken. One that only changes the case of letters finds itself.
 * @param {Change} change
 */
function mayConflict({ change, path, target = path, replace }) {
    const isNew = change === "restore" || target.toLowerCase() !== path.toLowerCase();
    return change !== "mkdir" && change !== "remove" && !replace && isNew;
}

/** Those of the paths that have a file.
 * @param {string[]} paths
 */
async function takenOf(paths) {
    /** @type {Set<string>} */
    const taken = new Set();
    try {
        for (let start = 0; start < paths.length; start += pathsAtOnce) {
            const asked = paths.slice(start, start + pathsAtOnce);
            const answer = await request("/.transfer/known", {
                method: "POST",
                headers: { "Content-Type": "application/json", Accept: "application/x-ndjson" },
                body: JSON.stringify(asked.map((path) => ({ path, size: 0 }))),
            });
            let index = 0;
            for await (const objects of lines(answer)) {
                for (const { known } of objects) {
                    if (known !== "missing" && known !== "invalid") taken.add(asked[index]);
                    index++;
                }
            }
        }
    } catch {
        // The server refuses names that are taken all the same, and what was changed of the pair is taken back.
    }
    return taken;
}

/**
 * Sends changes like `send`. If one name of a pair is taken, both changes have a conflict, so that the same number is
 * added to both names.
 * @param {Change[]} changes
 * @param {{transmit?: typeof send, taken?: (paths: string[]) => Promise<Set<string>>}} [server]
 * @returns {Promise<Changed[]>}
 */
export async function together(changes, { transmit = send, taken = takenOf } = {}) {
    const pairs = pairsAmong(changes);
    const open = pairs.flat().map((index) => changes[index]).filter(mayConflict);
    const busy = open.length ? await taken(open.map(targetOf)) : new Set();
    const isBusy = (/** @type {number} */ index) => mayConflict(changes[index]) && busy.has(targetOf(changes[index]));
    const held = new Set(pairs.filter((pair) => pair.some(isBusy)).flat());
    const free = changes.filter((_, index) => !held.has(index));
    const sent = free.length ? await transmit(free) : [];
    let next = 0;
    const answers = changes.map(({ path }, index) => held.has(index) ? failed(path, "pathConflict", "") : sent[next++]);
    await takeBack(changes, answers, pairs, transmit);
    return answers;
}

/**
 * Reverses what was made of pairs whose other change was refused, and says so in the answers. After no answer at all,
 * the other change may have been made.
 * @param {Change[]} changes
 * @param {Changed[]} answers
 * @param {number[][]} pairs
 * @param {typeof send} transmit
 */
async function takeBack(changes, answers, pairs, transmit) {
    const isMade = (/** @type {number} */ index) => answers[index].result === "completed";
    const halves = pairs.flatMap(([one, other]) => {
        if (isMade(one) === isMade(other)) return [];
        const [made, refused] = isMade(one) ? [one, other] : [other, one];
        const back = answers[refused].result === "unanswered" ? undefined : reverse(changes[made], answers[made]);
        return back ? [{ made, refused, back }] : [];
    });
    if (!halves.length) return;
    const reversed = await transmit(halves.map(({ back }) => back));
    for (const [at, { made, refused }] of halves.entries()) {
        if (reversed[at].result !== "completed") continue;
        const { result } = answers[refused];
        answers[made] = failed(
            changes[made].path,
            result === "pathConflict" ? result : "takenBack",
            word("takenBack"),
        );
    }
}
