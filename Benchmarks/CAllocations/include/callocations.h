#ifndef TRANSFER_CALLOCATIONS_H
#define TRANSFER_CALLOCATIONS_H

// Counts the heap allocations of the program that links this target, on all threads. Releases are not counted.

#include <stdint.h>

// Number of allocations since the program began. Growing a block with realloc counts as one more.
uint64_t callocations_count(void);

#endif
