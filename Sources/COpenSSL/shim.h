#ifndef TRANSFER_COPENSSL_SHIM_H
#define TRANSFER_COPENSSL_SHIM_H

#include <openssl/evp.h>

#endif
