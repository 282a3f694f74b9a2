#ifndef TRANSFER_CXXHASH_SHIM_H
#define TRANSFER_CXXHASH_SHIM_H

// The archive is built for SSE2 alone and digests 20 GB/s on one core of an AMD EPYC with AVX-512, of cached 4 KiB to
// 4 MiB. XXH_INLINE_ALL is no better: Swift's optimiser does not unroll the loops of an imported header, so it measured
// 18 GB/s (19 with AVX2), and 2.6 in a debug build. Debian's archive lacks the runtime dispatch (xxh_x86dispatch.c).
#include <xxhash.h>

#endif
