import assert from "node:assert/strict";
import { test } from "node:test";

import { List } from "../../Sources/CPage/assets/list.js";
import { entryOf } from "../../Sources/CPage/assets/server.js";
import { dayName, headingHeight, sectionsOf, Tiles } from "../../Sources/CPage/assets/tiles.js";

const file = (path, taken, modified = "2026-02-10T12:00:00") =>
    entryOf({ path, type: "file", size: 1, modified, picture: taken === undefined ? null : { taken } });
const folder = (path) => entryOf({ path, type: "directory" });
const byDate = (entries, down = true) => {
    const list = new List({ key: "taken", down });
    list.add(entries);
    return list.rows;
};
/** Tiles of three columns. */
const tiles = (rows, byDay = true) => new Tiles(rows, 380, byDay);

test("pictures are ordered by the date taken, others by their modification, folders first", () => {
    const rows = byDate([
        file("old.jpg", "1950-05-01T10:00:00"),
        file("none.jpg"),
        file("new.jpg", "2026-03-01T00:00:01"),
        folder("z"),
        file("lost.jpg", undefined, null),
        folder("a"),
    ]);
    const names = rows.map(({ name }) => name);
    assert.deepEqual(names.slice(2), ["new.jpg", "none.jpg", "old.jpg", "lost.jpg"]);
    assert.deepEqual(names.slice(0, 2).sort(), ["a", "z"]);
    const days = sectionsOf(rows, true).map(({ day }) => day === null ? "" : dayName(day));
    assert.deepEqual(days, ["", "March 1, 2026", "February 10, 2026", "May 1, 1950", ""]);
});

test("a date that is no date does not count", () => {
    const at = (taken) =>
        entryOf({ path: "a", type: "file", modified: "2026-02-10T12:00:00Z", picture: { taken } }).taken;
    const fallback = at(undefined);
    for (
        const odd of ["", "2026", "2026-13-01T00:00:00", "2026-02-30T00:00:00", "yesterday, of course", 5, null, {}, []]
    ) {
        assert.equal(at(odd), fallback, String(odd));
    }
    assert.equal(at("2026-01-31T23:59:59"), Date.UTC(2026, 0, 31, 23, 59, 59));
    assert.equal(at("2026-01-31T23:59:59+09:00"), Date.UTC(2026, 0, 31, 23, 59, 59));
    for (const picture of [null, 7, "x", [], { taken: "0000-00-00T00:00:00" }]) {
        assert.equal(entryOf({ path: "a", type: "file", picture }).taken, -Infinity);
    }
});

test("a day lasts from midnight to midnight at the camera", () => {
    const rows = byDate([
        file("a", "2026-01-31T00:00:00"),
        file("b", "2026-01-31T23:59:59"),
        file("c", "2026-02-01T00:00:00"),
    ]);
    assert.deepEqual(sectionsOf(rows, true).map(({ from, to }) => [from, to]), [[0, 1], [1, 3]]);
    assert.deepEqual(sectionsOf(rows, false).map(({ from, to, day }) => [from, to, day]), [[0, 3, null]]);
    assert.equal(dayName(Infinity), "");
    assert.equal(dayName(NaN), "");
});

test("tiles fill the lines of their section, below its heading", () => {
    const rows = byDate([
        folder("f"),
        ...[1, 2, 3, 4].map((n) => file(`a${n}`, "2026-01-31T10:00:00")),
        file("b", "2026-01-30T10:00:00"),
    ]);
    const layout = tiles(rows);
    const { columns, tall, height, sections } = layout;
    assert.equal(columns, 3);
    assert.deepEqual(sections.map(({ top }) => top), [0, tall, 3 * tall + headingHeight]);
    assert.deepEqual(layout.place(1), { column: 0, top: tall + headingHeight });
    assert.deepEqual(layout.place(4), { column: 0, top: 2 * tall + headingHeight });
    assert.deepEqual(layout.place(5), { column: 0, top: 3 * tall + 2 * headingHeight });
    assert.equal(height, 4 * tall + 2 * headingHeight);
});

test("the lines between two heights are those that a search of all finds", () => {
    const entries = Array.from({ length: 200 }, (_, n) => file(`p${n}`, `2026-01-${10 + n % 17}T10:00:00`));
    const layout = tiles(byDate(entries));
    for (let above = -300; above < layout.height + 300; above += 61) {
        for (const screen of [1, 300, 2000]) {
            const [first, last] = layout.range(above, above + screen);
            assert.ok(first <= last && first >= 0 && last <= 200);
            for (let index = 0; index < 200; index++) {
                const { top } = layout.place(index);
                const isVisible = top + layout.tall > above && top < above + screen;
                if (isVisible) assert.ok(index >= first && index < last, `${index} at ${above}`);
            }
            // At most a line more at each end, and the last line of a section above a heading.
            assert.ok(last - first <= (Math.ceil(screen / layout.tall) + 3) * layout.columns);
        }
    }
    assert.deepEqual(tiles([]).range(0, 1000), [0, 0]);
    assert.equal(tiles([]).height, 0);
});

test("keys move in two dimensions, over the ends of sections", () => {
    const rows = byDate([
        ...[1, 2, 3, 4, 5].map((n) => file(`a${n}`, "2026-01-31T10:00:00")),
        ...[1, 2].map((n) => file(`b${n}`, "2026-01-30T10:00:00")),
        ...[1, 2, 3].map((n) => file(`c${n}`, "2026-01-29T10:00:00")),
    ]);
    // 0 1 2 / 3 4 | 5 6 | 7 8 9
    const layout = tiles(rows);
    const step = (index, key) => layout.step(index, key, layout.tall * 2);
    assert.deepEqual([0, 2, 4, 6, 8].map((index) => step(index, "ArrowDown")), [3, 4, 6, 8, 9]);
    assert.deepEqual([9, 7, 5, 4, 1].map((index) => step(index, "ArrowUp")), [6, 5, 3, 1, 0]);
    assert.deepEqual([0, 4, 9].map((index) => step(index, "ArrowRight")), [1, 5, 9]);
    assert.deepEqual([0, 5].map((index) => step(index, "ArrowLeft")), [0, 4]);
    assert.deepEqual([step(3, "Home"), step(3, "End")], [0, 9]);
    assert.deepEqual([step(0, "PageDown"), step(8, "PageUp")], [5, 4]);
    assert.equal(step(3, "x"), undefined);
});

test("50,000 pictures have their places within a moment", () => {
    const entries = Array.from(
        { length: 50_000 },
        (_, n) => file(`p${n}`, `20${10 + n % 16}-${10 + n % 3}-${10 + n % 19}T10:00:00`),
    );
    const rows = byDate(entries);
    const began = performance.now();
    const layout = new Tiles(rows, 1280, true);
    for (let y = 0; y < layout.height; y += 1000) {
        const [first, last] = layout.range(y - 800, y + 1600);
        assert.ok(last - first < 200);
        layout.place(first);
    }
    assert.ok(performance.now() - began < 2000);
    assert.equal(layout.step(0, "End", 800), 49_999);
});

test("the heading of a day stays at the upper edge until the next one pushes it away", () => {
    const rows = byDate([
        folder("f"),
        file("a.jpg", "2026-03-02T10:00:00"),
        file("b.jpg", "2026-03-01T10:00:00"),
    ]);
    const layout = tiles(rows);
    const [first, second, third] = layout.sections;
    assert.equal(first.day, null);
    // Folders have no heading, and one that is on the screen itself is not shown twice.
    for (const height of [-5, 0, first.top + 1, second.top]) assert.equal(layout.pinned(height), null, String(height));
    assert.deepEqual(layout.pinned(second.top + 1), { day: second.day, shift: 0 });
    assert.deepEqual(layout.pinned(third.top - headingHeight), { day: second.day, shift: 0 });
    assert.deepEqual(layout.pinned(third.top - 10), { day: second.day, shift: 10 - headingHeight });
    assert.equal(layout.pinned(third.top), null);
    assert.equal(layout.pinned(third.top + 1).day, third.day);
    assert.equal(layout.pinned(layout.height), null);
    assert.equal(tiles([]).pinned(10), null);
    assert.equal(tiles(rows, false).pinned(10), null);
});
