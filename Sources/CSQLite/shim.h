#ifndef TRANSFER_CSQLITE_SHIM_H
#define TRANSFER_CSQLITE_SHIM_H

#include <sqlite3.h>

// Closing then leaves the log as it is: what is moved aside because it is damaged is not written to any more. The
// function takes a variable number of arguments, which Swift cannot call.
static inline int csqlite_keep_log(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// Before anything else: SQLite then doesn't count the memory that it uses, under a lock of its own, for statistics that
// nobody asks for.
static inline int csqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

#endif
