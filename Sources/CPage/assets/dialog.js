// @ts-check
/** Questions, messages that stay a while, and the live region for screen readers. */

import { h, icon } from "./dom.js";
import { say } from "./words.js";

const live = h("div", { class: "quiet", role: "status" });
const toasts = h("div", { class: "toasts", role: "region", "aria-label": say("messages") });

/** The elements that the page has to place once. */
export const messages = [live, toasts];

/** Speaks a sentence to screen readers.
 * @param {string} text
 */
export function announce(text) {
    // The same sentence again would not be spoken without a change in between.
    live.textContent = live.textContent === text ? `${text}\u00A0` : text;
}

/**
 * Shows a message. One with an action stays for ten seconds and as long as it has the focus or the pointer; a failure
 * stays until it is closed.
 * @param {string | string[]} text
 * @param {{label?: string, action?: () => void, failure?: boolean}} [options]
 */
export function toast(text, { label, action, failure = false } = {}) {
    const close = () => element.remove();
    const element = h(
        "div",
        { class: failure ? "toast failure" : "toast", role: failure ? "alert" : "status" },
        h("div", {}, ...[text].flat().map((line) => h("p", {}, line))),
        action && h("button", { type: "button", onclick: () => (close(), action()) }, label),
        h("button", { type: "button", class: "plain", "aria-label": say("close"), onclick: close }, icon("close")),
    );
    toasts.append(element);
    if (failure) return;
    const leave = () => {
        if (element.matches(":hover, :focus-within")) setTimeout(leave, 1000);
        else close();
    };
    setTimeout(leave, 10_000);
}

/**
 * Asks with a dialog.
 * @param {object} question
 * @param {string} question.title
 * @param {(Node | string)[]} question.body
 * @param {{value: string, label: string}[]} question.answers - the first is what Enter means
 * @param {() => string} [question.check] - the reason why the first answer cannot be taken yet
 * @returns {Promise<string>} the value of the answer, or '' if the dialog was cancelled
 */
export function ask({ title, body, answers, check = () => "" }) {
    const error = h("p", { class: "error", role: "alert" });
    const [first, ...others] = answers;
    const dialog = h(
        "dialog",
        { "aria-labelledby": "question" },
        h(
            "form",
            {
                method: "dialog",
                onsubmit: (/** @type {SubmitEvent} */ event) => {
                    error.textContent = check();
                    if (error.textContent) event.preventDefault();
                },
            },
            h("h2", { id: "question" }, title),
            ...body,
            error,
            h(
                "div",
                { class: "answers" },
                h("button", { class: "primary", value: first.value }, first.label),
                ...others.map(({ value, label }) =>
                    h("button", { type: "button", onclick: () => dialog.close(value) }, label)
                ),
                h("button", { type: "button", class: "plain", onclick: () => dialog.close("") }, say("cancel")),
            ),
        ),
    );
    document.body.append(dialog);
    dialog.showModal();
    return new Promise((answer) => {
        dialog.addEventListener("cancel", () => (dialog.returnValue = ""));
        dialog.addEventListener("close", () => {
            dialog.remove();
            answer(dialog.returnValue);
        });
    });
}
