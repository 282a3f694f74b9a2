#ifndef TRANSFER_CZLIB_SHIM_H
#define TRANSFER_CZLIB_SHIM_H

// Makes next_in a pointer to const, so that input needs no cast.
#define ZLIB_CONST 1
#include <zlib.h>

// Functions for macros of zlib.h, which Swift cannot import.
static inline int czlib_deflate_init(z_stream *stream, int level) { return deflateInit(stream, level); }

static inline int czlib_inflate_init(z_stream *stream) { return inflateInit(stream); }

#endif
