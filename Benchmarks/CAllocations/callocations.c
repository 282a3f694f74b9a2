// An executable's own malloc replaces the C library's malloc, in the program and in every library that it loads (glibc
// manual, "Replacing malloc"). Each replacement counts the call and passes it to glibc's allocator, whose functions are
// also exported under these names. Therefore glibc's free, which is not replaced, can release the memory.

#include "callocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Atomic uint64_t allocations;

uint64_t callocations_count(void) { return atomic_load_explicit(&allocations, memory_order_relaxed); }

// A sanitizer has its own allocator, which must not be replaced. Nothing is counted then.
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

static void count_one(void) { atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed); }

void *malloc(size_t size) {
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_one();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    count_one();
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    count_one();
    void *made = __libc_memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *block = made;
    return 0;
}

#endif
