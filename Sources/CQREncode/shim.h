#ifndef TRANSFER_CQRENCODE_SHIM_H
#define TRANSFER_CQRENCODE_SHIM_H

// The functions of libqrencode that make a QR code of a text, from a shared library opened at run time: Debian has no
// static one, and the program must start where libqrencode is missing. If this file is compiled without the library's
// header, no library can be opened.

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

struct cqrencode_library {
    // The first of the version's three numbers.
    int version;
    void *(*encode)(const char *text, int version, int correction);
    void (*free)(void *code);
};

#if __has_include(<qrencode.h>)

#include <qrencode.h>

// Opens the library at `path` permanently. False if it is missing or lacks a function.
static inline bool cqrencode_open(const char *path, struct cqrencode_library *library) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    *(void **)&library->encode = dlsym(handle, "QRcode_encodeString8bit");
    *(void **)&library->free = dlsym(handle, "QRcode_free");
    void (*version)(int *, int *, int *);
    *(void **)&version = dlsym(handle, "QRcode_APIVersion");
    if (version && library->encode && library->free) {
        int minor = 0, micro = 0;
        version(&library->version, &minor, &micro);
        return true;
    }
    dlclose(handle);
    return false;
}

// Makes the smallest code for a text that is not empty, with the lowest error correction, because screens are neither
// dirty nor torn. Writes one byte for each module, 1 if it is dark, row by row. Returns the number of modules in a row;
// 0 if there is no code for the text or it has more than `room` modules.
static inline size_t cqrencode_encode(struct cqrencode_library library, const char *text, unsigned char *modules, size_t room) {
    QRcode *code = library.encode(text, 0, QR_ECLEVEL_L);
    if (!code) return 0;
    // Each version has four modules more in a row than the one before; the first has 21 (ISO/IEC 18004, section 6.3.1).
    bool is_square = code->version >= 1 && code->version <= 40 && code->width == 17 + 4 * code->version && code->data;
    size_t width = is_square ? (size_t)code->width : 0;
    if (width * width > room) width = 0;
    // The lowest bit is the colour (qrencode.h, QRcode).
    for (size_t index = 0; index < width * width; index += 1) modules[index] = code->data[index] & 1;
    library.free(code);
    return width;
}

#else

static inline bool cqrencode_open(const char *path, struct cqrencode_library *library) { return false; }

static inline size_t cqrencode_encode(struct cqrencode_library library, const char *text, unsigned char *modules, size_t room) {
    return 0;
}

#endif

#endif
