#ifndef TRANSFER_CPAGE_H
#define TRANSFER_CPAGE_H

#include <stddef.h>
#include <stdint.h>

/// A file of the page, which is a part of the program.
struct cpage_file {
    /// Name without a folder, such as `main.js`.
    const char *name;
    const uint8_t *bytes;
    size_t size;
};

/// Number of files.
size_t cpage_count(void);

/// The file at an index below `cpage_count()`.
struct cpage_file cpage_file_at(size_t index);

#endif
