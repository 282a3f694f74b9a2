#ifndef TRANSFER_CXXHASH_SHIM_H
#define TRANSFER_CXXHASH_SHIM_H

// xxHash's static archive is linked, so that the program runs without installed libraries. The archive is built for
// SSE2 only and digests 20 GB/s on one core of an AMD EPYC, with cached data of 4 KiB to 4 MiB. XXH_INLINE_ALL is no
// better: Swift's optimiser does not unroll the loops of an imported header.
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

// Functions for a digest in pieces. A state belongs to the functions that made it, because layouts may differ between
// releases.
struct cxxhash_functions {
    unsigned version;
    XXH3_state_t *(*create)(void);
    XXH_errorcode (*destroy)(XXH3_state_t *);
    XXH_errorcode (*reset)(XXH3_state_t *);
    XXH_errorcode (*update)(XXH3_state_t *, const void *, size_t);
    XXH128_hash_t (*digest)(const XXH3_state_t *);
};

static inline struct cxxhash_functions cxxhash_linked(void) {
    struct cxxhash_functions functions = {
        XXH_versionNumber(), XXH3_createState, XXH3_freeState, XXH3_128bits_reset, XXH3_128bits_update, XXH3_128bits_digest,
    };
    return functions;
}

// Opens the shared library permanently: Debian's has code for AVX2 and AVX-512 and chooses it at run time
// (xxh_x86dispatch.c), which the archive cannot. False if the library is missing or does not choose.
static inline bool cxxhash_open(const char *path, struct cxxhash_functions *functions) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    unsigned (*version)(void);
    *(void **)&version = dlsym(handle, "XXH_versionNumber");
    *(void **)&functions->create = dlsym(handle, "XXH3_createState");
    *(void **)&functions->destroy = dlsym(handle, "XXH3_freeState");
    *(void **)&functions->reset = dlsym(handle, "XXH3_128bits_reset");
    *(void **)&functions->update = dlsym(handle, "XXH3_128bits_update_dispatch");
    *(void **)&functions->digest = dlsym(handle, "XXH3_128bits_digest");
    if (version && functions->create && functions->destroy && functions->reset && functions->update && functions->digest) {
        functions->version = version();
        return true;
    }
    dlclose(handle);
    return false;
}

#endif
