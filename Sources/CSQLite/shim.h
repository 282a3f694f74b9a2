#ifndef TRANSFER_CSQLITE_SHIM_H
#define TRANSFER_CSQLITE_SHIM_H

#include <sqlite3.h>

// Makes closing leave the write-ahead log as it is, so that closing does not write to a damaged database that is moved
// aside. SQLite's function is variadic, which Swift cannot call.
static inline int csqlite_keep_log(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// Must be called before any other function of SQLite. SQLite then doesn't count its memory, under a lock, for
// statistics that this program never reads.
static inline int csqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

#endif
