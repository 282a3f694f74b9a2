import assert from "node:assert/strict";
import { test } from "node:test";

import { viewOf } from "../../Sources/CPage/assets/places.js";

test("an address names a folder, a search below it, or the trash", () => {
    const view = (pathname, hash = "") => viewOf({ pathname, hash });
    assert.deepEqual(view("/"), { folder: "", find: "", trash: false });
    assert.deepEqual(view("/a%20b/%E5%81%87/"), {
        folder: "a b/假",
        find: "",
        trash: false,
    });
    assert.deepEqual(view("/a/", "#find=100%25%20%26%2B"), {
        folder: "a",
        find: "100% &+",
        trash: false,
    });
    assert.deepEqual(view("/a/", "#trash"), {
        folder: "a",
        find: "",
        trash: true,
    });
    assert.deepEqual(view("/a/", "#other"), {
        folder: "a",
        find: "",
        trash: false,
    });
    assert.deepEqual(view("/%FF/"), { folder: "", find: "", trash: false });
});
