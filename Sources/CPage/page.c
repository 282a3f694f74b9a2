#include "CPage.h"

// `#embed` is a feature of C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t actions_js[] = {
#embed "assets/actions.js"
};

static const uint8_t batch_js[] = {
#embed "assets/batch.js"
};

static const uint8_t details_js[] = {
#embed "assets/details.js"
};

static const uint8_t dialog_js[] = {
#embed "assets/dialog.js"
};

static const uint8_t digest_js[] = {
#embed "assets/digest.js"
};

static const uint8_t dom_js[] = {
#embed "assets/dom.js"
};

static const uint8_t format_js[] = {
#embed "assets/format.js"
};

static const uint8_t glance_js[] = {
#embed "assets/glance.js"
};

static const uint8_t grid_js[] = {
#embed "assets/grid.js"
};

static const uint8_t hash_worker_js[] = {
#embed "assets/hash-worker.js"
};

static const uint8_t icon_svg[] = {
#embed "assets/icon.svg"
};

static const uint8_t list_js[] = {
#embed "assets/list.js"
};

static const uint8_t live_js[] = {
#embed "assets/live.js"
};

static const uint8_t look_css[] = {
#embed "assets/look.css"
};

static const uint8_t looking_js[] = {
#embed "assets/looking.js"
};

static const uint8_t main_js[] = {
#embed "assets/main.js"
};

static const uint8_t motion_js[] = {
#embed "assets/motion.js"
};

static const uint8_t page_css[] = {
#embed "assets/page.css"
};

static const uint8_t pairs_js[] = {
#embed "assets/pairs.js"
};

static const uint8_t panel_js[] = {
#embed "assets/panel.js"
};

static const uint8_t pictures_js[] = {
#embed "assets/pictures.js"
};

static const uint8_t places_js[] = {
#embed "assets/places.js"
};

static const uint8_t queue_js[] = {
#embed "assets/queue.js"
};

static const uint8_t readings_js[] = {
#embed "assets/readings.js"
};

static const uint8_t row_js[] = {
#embed "assets/row.js"
};

static const uint8_t sending_js[] = {
#embed "assets/sending.js"
};

static const uint8_t server_js[] = {
#embed "assets/server.js"
};

static const uint8_t shell_js[] = {
#embed "assets/shell.js"
};

static const uint8_t stage_js[] = {
#embed "assets/stage.js"
};

static const uint8_t store_js[] = {
#embed "assets/store.js"
};

static const uint8_t table_js[] = {
#embed "assets/table.js"
};

static const uint8_t tiles_js[] = {
#embed "assets/tiles.js"
};

static const uint8_t together_js[] = {
#embed "assets/together.js"
};

static const uint8_t trash_js[] = {
#embed "assets/trash.js"
};

static const uint8_t trust_js[] = {
#embed "assets/trust.js"
};

static const uint8_t turns_js[] = {
#embed "assets/turns.js"
};

static const uint8_t tus_js[] = {
#embed "assets/tus.js"
};

static const uint8_t upload_css[] = {
#embed "assets/upload.css"
};

static const uint8_t upload_js[] = {
#embed "assets/upload.js"
};

static const uint8_t viewer_js[] = {
#embed "assets/viewer.js"
};

static const uint8_t walk_js[] = {
#embed "assets/walk.js"
};

static const uint8_t words_de_js[] = {
#embed "assets/words-de.js"
};

static const uint8_t words_en_js[] = {
#embed "assets/words-en.js"
};

static const uint8_t words_look_js[] = {
#embed "assets/words-look.js"
};

static const uint8_t words_upload_js[] = {
#embed "assets/words-upload.js"
};

static const uint8_t words_zh_js[] = {
#embed "assets/words-zh.js"
};

static const uint8_t words_js[] = {
#embed "assets/words.js"
};

static const uint8_t zoom_js[] = {
#embed "assets/zoom.js"
};

#define CPAGE_FILE(name, bytes) {name, bytes, sizeof(bytes)}

// A test compares this list with the folder `assets`.
static const struct cpage_file files[] = {
    CPAGE_FILE("actions.js", actions_js),
    CPAGE_FILE("batch.js", batch_js),
    CPAGE_FILE("details.js", details_js),
    CPAGE_FILE("dialog.js", dialog_js),
    CPAGE_FILE("digest.js", digest_js),
    CPAGE_FILE("dom.js", dom_js),
    CPAGE_FILE("format.js", format_js),
    CPAGE_FILE("glance.js", glance_js),
    CPAGE_FILE("grid.js", grid_js),
    CPAGE_FILE("hash-worker.js", hash_worker_js),
    CPAGE_FILE("icon.svg", icon_svg),
    CPAGE_FILE("list.js", list_js),
    CPAGE_FILE("live.js", live_js),
    CPAGE_FILE("look.css", look_css),
    CPAGE_FILE("looking.js", looking_js),
    CPAGE_FILE("main.js", main_js),
    CPAGE_FILE("motion.js", motion_js),
    CPAGE_FILE("page.css", page_css),
    CPAGE_FILE("pairs.js", pairs_js),
    CPAGE_FILE("panel.js", panel_js),
    CPAGE_FILE("pictures.js", pictures_js),
    CPAGE_FILE("places.js", places_js),
    CPAGE_FILE("queue.js", queue_js),
    CPAGE_FILE("readings.js", readings_js),
    CPAGE_FILE("row.js", row_js),
    CPAGE_FILE("sending.js", sending_js),
    CPAGE_FILE("server.js", server_js),
    CPAGE_FILE("shell.js", shell_js),
    CPAGE_FILE("stage.js", stage_js),
    CPAGE_FILE("store.js", store_js),
    CPAGE_FILE("table.js", table_js),
    CPAGE_FILE("tiles.js", tiles_js),
    CPAGE_FILE("together.js", together_js),
    CPAGE_FILE("trash.js", trash_js),
    CPAGE_FILE("trust.js", trust_js),
    CPAGE_FILE("turns.js", turns_js),
    CPAGE_FILE("tus.js", tus_js),
    CPAGE_FILE("upload.css", upload_css),
    CPAGE_FILE("upload.js", upload_js),
    CPAGE_FILE("viewer.js", viewer_js),
    CPAGE_FILE("walk.js", walk_js),
    CPAGE_FILE("words-de.js", words_de_js),
    CPAGE_FILE("words-en.js", words_en_js),
    CPAGE_FILE("words-look.js", words_look_js),
    CPAGE_FILE("words-upload.js", words_upload_js),
    CPAGE_FILE("words-zh.js", words_zh_js),
    CPAGE_FILE("words.js", words_js),
    CPAGE_FILE("zoom.js", zoom_js),
};

size_t cpage_count(void) { return sizeof(files) / sizeof(files[0]); }

struct cpage_file cpage_file_at(size_t index) { return files[index]; }
