#ifndef TRANSFER_CHEIF_SHIM_H
#define TRANSFER_CHEIF_SHIM_H

// The functions of libheif that decode a picture, from a shared library opened at run time: it brings the codecs HEVC and
// AV1, which are large and which not every administrator wants. Its header would bring the headers of all its codecs, so
// what is used of it is declared here (heif.h of libheif 1.15). libheif.so.1 has kept these declarations since 1.0.

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cheif_error {
    int code;
    int subcode;
    const char *message;
};

// The beginning of struct heif_decoding_options. The library allocates it, and `version` says which members it has.
struct cheif_options {
    uint8_t version;
    uint8_t ignores_transformations;
    void (*begin)(int, int, void *);
    void (*go_on)(int, int, void *);
    void (*end)(int, void *);
    void *context;
    // Since version 2.
    uint8_t converts_to_8_bits;
    // Since version 3: damage is an error. Otherwise, the library decodes what it can.
    uint8_t is_strict;
};

struct cheif_library {
    void *(*alloc_context)(void);
    void (*free_context)(void *context);
    // NULL before libheif 1.13.
    void (*set_threads)(void *context, int most);
    void (*set_side)(void *context, int most);
    struct cheif_error (*read)(void *context, const void *file, size_t size, const void *options);
    struct cheif_error (*primary)(void *context, void **handle);
    void (*release_handle)(const void *handle);
    int (*has_alpha)(const void *handle);
    struct cheif_options *(*alloc_options)(void);
    void (*free_options)(struct cheif_options *options);
    struct cheif_error (*decode)(const void *handle, void **image, int space, int chroma, const struct cheif_options *options);
    int (*width)(const void *image, int channel);
    int (*height)(const void *image, int channel);
    const uint8_t *(*plane)(const void *image, int channel, int *stride);
    void (*release_image)(const void *image);
};

// Opens the library at `path` permanently, with its codecs. False if it is missing or lacks a function.
static inline bool cheif_open(const char *path, struct cheif_library *library) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    struct cheif_error (*begin)(void *);
    *(void **)&begin = dlsym(handle, "heif_init");
    *(void **)&library->alloc_context = dlsym(handle, "heif_context_alloc");
    *(void **)&library->free_context = dlsym(handle, "heif_context_free");
    *(void **)&library->set_threads = dlsym(handle, "heif_context_set_max_decoding_threads");
    *(void **)&library->set_side = dlsym(handle, "heif_context_set_maximum_image_size_limit");
    *(void **)&library->read = dlsym(handle, "heif_context_read_from_memory_without_copy");
    *(void **)&library->primary = dlsym(handle, "heif_context_get_primary_image_handle");
    *(void **)&library->release_handle = dlsym(handle, "heif_image_handle_release");
    *(void **)&library->has_alpha = dlsym(handle, "heif_image_handle_has_alpha_channel");
    *(void **)&library->alloc_options = dlsym(handle, "heif_decoding_options_alloc");
    *(void **)&library->free_options = dlsym(handle, "heif_decoding_options_free");
    *(void **)&library->decode = dlsym(handle, "heif_decode_image");
    *(void **)&library->width = dlsym(handle, "heif_image_get_width");
    *(void **)&library->height = dlsym(handle, "heif_image_get_height");
    *(void **)&library->plane = dlsym(handle, "heif_image_get_plane_readonly");
    *(void **)&library->release_image = dlsym(handle, "heif_image_release");
    bool is_complete = library->alloc_context && library->free_context && library->set_side && library->read
        && library->primary && library->release_handle && library->has_alpha && library->alloc_options
        && library->free_options && library->decode && library->width && library->height && library->plane
        && library->release_image;
    // Since 1.13 this loads codecs that are plugins.
    if (is_complete && (!begin || begin(NULL).code == 0)) return true;
    dlclose(handle);
    return false;
}

// Keeps the threads that codecs start small: by default each of them reserves 8 MiB for its stack and 128 MiB for a heap.
static inline void cheif_limit_threads(void) {
    mallopt(M_ARENA_MAX, 1);
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    if (pthread_attr_setstacksize(&attributes, 1 << 20) == 0) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

enum cheif_outcome {
    cheif_whole,
    // The library has decoded what it could of a damaged picture.
    cheif_partial,
    cheif_damaged,
    cheif_unsupported,
    cheif_no_memory,
};

struct cheif_picture {
    // To be released.
    void *image;
    // Rows of red, green and blue, and of alpha if there is one; not premultiplied.
    const uint8_t *pixels;
    bool has_alpha;
    int width;
    int height;
    // Bytes from one row to the next.
    int stride;
};

// Numbers of enum heif_error_code: unsupported file type and feature, and too little memory or a limit of the library.
static inline enum cheif_outcome cheif_outcome_of(struct cheif_error error) {
    switch (error.code) {
    case 0: return cheif_whole;
    case 3: case 4: return cheif_unsupported;
    case 6: return cheif_no_memory;
    default: return cheif_damaged;
    }
}

// Numbers of enum heif_colorspace, heif_chroma and heif_channel.
enum { cheif_rgb_space = 1, cheif_rgb = 10, cheif_rgba = 11, cheif_interleaved = 10 };

static inline enum cheif_outcome cheif_decode_primary(
    const struct cheif_library *library, const void *handle, bool is_strict, struct cheif_picture *picture) {
    struct cheif_options *options = library->alloc_options();
    if (!options) return cheif_no_memory;
    if (options->version >= 2) options->converts_to_8_bits = 1;
    if (options->version >= 3) options->is_strict = is_strict;
    picture->has_alpha = library->has_alpha(handle);
    struct cheif_error error = library->decode(
        handle, &picture->image, cheif_rgb_space, picture->has_alpha ? cheif_rgba : cheif_rgb, options);
    library->free_options(options);
    if (error.code != 0 || !picture->image) return error.code != 0 ? cheif_outcome_of(error) : cheif_damaged;
    picture->width = library->width(picture->image, cheif_interleaved);
    picture->height = library->height(picture->image, cheif_interleaved);
    picture->pixels = library->plane(picture->image, cheif_interleaved, &picture->stride);
    if (picture->pixels && picture->width > 0 && picture->height > 0) return cheif_whole;
    library->release_image(picture->image);
    picture->image = NULL;
    return cheif_damaged;
}

// Decodes the primary picture, as it is shown, in the calling thread as far as the library lets it. No side may be
// longer than `side`. If the outcome is `cheif_whole` or `cheif_partial`, the picture has to be released.
static inline enum cheif_outcome cheif_decode(
    const struct cheif_library *library, const void *file, size_t size, int side, struct cheif_picture *picture) {
    *picture = (struct cheif_picture){0};
    void *context = library->alloc_context();
    if (!context) return cheif_no_memory;
    if (library->set_threads) library->set_threads(context, 0);
    library->set_side(context, side);
    void *handle = NULL;
    struct cheif_error error = library->read(context, file, size, NULL);
    if (error.code == 0) error = library->primary(context, &handle);
    enum cheif_outcome outcome = cheif_outcome_of(error);
    if (outcome == cheif_whole) {
        outcome = cheif_decode_primary(library, handle, true, picture);
        if (outcome == cheif_damaged && cheif_decode_primary(library, handle, false, picture) == cheif_whole) {
            outcome = cheif_partial;
        }
        library->release_handle(handle);
    }
    library->free_context(context);
    return outcome;
}

static inline void cheif_release(const struct cheif_library *library, struct cheif_picture *picture) {
    library->release_image(picture->image);
}

#endif
