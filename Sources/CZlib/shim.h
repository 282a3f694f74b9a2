#ifndef TRANSFER_CZLIB_SHIM_H
#define TRANSFER_CZLIB_SHIM_H

#include <zlib.h>

#endif
