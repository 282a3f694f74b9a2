// @ts-check
/** All that the page says, in the language of the document: English, simplified Chinese or German. */

/** @typedef {Record<string, string>} Words */

export const language = globalThis.document?.documentElement.lang || "en";
const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);

/** @type {Record<string, Words>} */
export const dictionary = {};

/** Adds words of each language. Each part of the page that owns some calls it once.
 * @param {Record<string, Words>} words
 */
export function define(words) {
    for (const [name, texts] of Object.entries(words)) dictionary[name] = { ...dictionary[name], ...texts };
}

/** @param {string} key @param {unknown} n */
function find(key, n) {
    const forms = typeof n === "number" ? [`${key}.${plurals.select(n)}`, `${key}.other`, key] : [key];
    for (const words of [dictionary[language.split("-")[0]], dictionary.en]) {
        for (const form of forms) if (words && Object.hasOwn(words, form)) return words[form];
    }
}

/**
 * The text of a key, with `{name}` replaced by values; `n` selects the plural. Of several keys the first that has a text
 * is taken; if none has, a list gives '' and a single key itself.
 * @param {string | string[]} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function say(key, values = {}) {
    for (const one of [key].flat()) {
        const text = find(one, values.n);
        if (text === undefined) continue;
        return text.replace(/\{(\w+)\}/g, (whole, name) => {
            const value = values[name];
            return typeof value === "number" ? numbers.format(value) : value ?? whole;
        });
    }
    return typeof key === "string" ? key : "";
}

// The words of other languages are not loaded.
const own = ["zh", "de"].find((one) => language.startsWith(one)) ?? "en";
define({ [own]: (await import(`./words-${own}.js`)).default });
