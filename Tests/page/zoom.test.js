import assert from "node:assert/strict";
import { test } from "node:test";

import { entryOf } from "../../Sources/CPage/assets/server.js";
import {
    clamp,
    fit,
    limit,
    neighbour,
    pinch,
    position,
    swipe,
    whole,
    zoomAt,
} from "../../Sources/CPage/assets/zoom.js";

const stage = { width: 1000, height: 500 };

test("a picture is shown as a whole, and a small one is not enlarged", () => {
    assert.deepEqual(fit(stage, { width: 4000, height: 1000 }, false), { width: 1000, height: 250 });
    assert.deepEqual(fit(stage, { width: 1000, height: 4000 }, false), { width: 125, height: 500 });
    assert.deepEqual(fit(stage, { width: 100, height: 50 }, false), { width: 100, height: 50 });
    assert.deepEqual(fit(stage, { width: 100, height: 50 }, true), { width: 1000, height: 500 });
    assert.deepEqual(fit(stage, { width: 0, height: NaN }, true), { width: 0, height: 0 });
});

test("zooming keeps what is at the point, within the limits", () => {
    const point = { x: 200, y: -100 };
    const zoom = zoomAt(zoomAt(whole, 2, point, 8), 1.5, { x: -50, y: 30 }, 8);
    assert.equal(zoom.scale, 3);
    const at = (zoom, { x, y }) => [(x - zoom.x) / zoom.scale, (y - zoom.y) / zoom.scale];
    assert.deepEqual(at(zoomAt(whole, 2, point, 8), point), [200, -100]);
    assert.equal(zoomAt(zoom, 100, point, 8).scale, 8);
    assert.equal(zoomAt(zoom, 0.001, point, 8).scale, 1);
    assert.equal(limit({ width: 1000, height: 500 }, 4000), 8);
    assert.equal(limit({ width: 1000, height: 500 }, 500), 4);
    assert.equal(limit({ width: 10, height: 5 }, 100_000), 32);
    assert.equal(limit({ width: 0, height: 0 }, 0), 1);
});

test("a picture cannot be moved out of the stage", () => {
    const box = { width: 1000, height: 250 };
    assert.deepEqual(clamp({ scale: 1, x: 50, y: 50 }, box, stage), { scale: 1, x: 0, y: 0 });
    assert.deepEqual(clamp({ scale: 3, x: 5000, y: -5000 }, box, stage), { scale: 3, x: 1000, y: -125 });
    assert.deepEqual(clamp({ scale: 3, x: 10, y: 20 }, box, stage), { scale: 3, x: 10, y: 20 });
});

test("two fingers enlarge around their middle, and move it", () => {
    const { factor, point, shift } = pinch([{ x: 0, y: 0 }, { x: 100, y: 0 }], [{ x: 0, y: 0 }, { x: 200, y: 0 }]);
    assert.deepEqual([factor, point, shift], [2, { x: 100, y: 0 }, { x: 50, y: 0 }]);
    assert.equal(pinch([{ x: 1, y: 1 }, { x: 1, y: 1 }], [{ x: 1, y: 1 }, { x: 9, y: 1 }]).factor, 1);
});

test("a swipe is far or fast, and more across than down", () => {
    const swiped = (x, y, milliseconds, width = 400) => swipe({ x, y, milliseconds, width });
    assert.equal(swiped(-150, 20, 1000), 1);
    assert.equal(swiped(150, 20, 1000), -1);
    assert.equal(swiped(-60, 5, 100), 1);
    assert.equal(swiped(-60, 5, 1000), 0);
    assert.equal(swiped(-150, 140, 200), 0);
    assert.equal(swiped(-20, 0, 1), 0);
    assert.equal(swiped(0, 0, 0), 0);
});

test("the next file is the next row that is no folder, also when the present one has gone", () => {
    const entry = (path) => entryOf({ path, type: path.startsWith("f") ? "directory" : "file" });
    const rows = ["f1", "a", "b", "f2", "c"].map(entry);
    assert.equal(neighbour(rows, "a", 1, 1)?.path, "b");
    assert.equal(neighbour(rows, "b", 2, 1)?.path, "c");
    assert.equal(neighbour(rows, "c", 4, -1)?.path, "b");
    assert.equal(neighbour(rows, "a", 1, -1), undefined);
    assert.equal(neighbour(rows, "c", 4, 1), undefined);
    // The index may be an old one.
    assert.equal(neighbour(rows, "c", 0, -1)?.path, "b");
    // `b` was at 2.
    const rest = ["f1", "a", "f2", "c"].map(entry);
    assert.equal(neighbour(rest, "b", 2, 1)?.path, "c");
    assert.equal(neighbour(rest, "b", 2, -1)?.path, "a");
    assert.equal(neighbour([], "b", 0, 1), undefined);
    assert.deepEqual(position(rows, "c"), { n: 3, all: 3 });
    assert.deepEqual(position(rest, "b"), { n: 0, all: 2 });
});
