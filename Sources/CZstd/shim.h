#ifndef TRANSFER_CZSTD_SHIM_H
#define TRANSFER_CZSTD_SHIM_H

#include <zstd.h>
#include <zstd_errors.h>

#endif
