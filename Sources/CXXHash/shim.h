#ifndef TRANSFER_CXXHASH_SHIM_H
#define TRANSFER_CXXHASH_SHIM_H

#include <xxhash.h>

#endif
