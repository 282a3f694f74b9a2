#ifndef TRANSFER_CWEBP_SHIM_H
#define TRANSFER_CWEBP_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <webp/decode.h>
#include <webp/encode.h>

// Decodes a still picture, or the chunks of one frame, into `pixels`, which has room for `width` times `height` pixels
// of four bytes (red, green, blue, alpha; not premultiplied). The picture is scaled to this size. Returns the rows that
// are complete; fewer than `height` if the data end too early or are damaged, -1 if no row could be decoded, and -2 if
// there is too little memory.
static inline int cwebp_decode(const uint8_t *data, size_t size, int width, int height, uint8_t *pixels) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return -1;
    config.options.use_scaling = 1;
    config.options.scaled_width = width;
    config.options.scaled_height = height;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = width * 4;
    config.output.u.RGBA.size = (size_t)width * (size_t)height * 4;
    // The incremental decoder keeps the rows in front of a damaged place, which WebPDecode drops.
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, &config);
    if (!decoder) return -2;
    VP8StatusCode status = WebPIUpdate(decoder, data, size);
    int rows = height;
    if (status != VP8_STATUS_OK) {
        int last = 0, decoded_width = 0, decoded_height = 0, stride = 0;
        const uint8_t *decoded = WebPIDecGetRGB(decoder, &last, &decoded_width, &decoded_height, &stride);
        rows = decoded && last > 0 && last <= height ? last : -1;
        if (status == VP8_STATUS_OUT_OF_MEMORY) rows = -2;
    }
    WebPIDelete(decoder);
    WebPFreeDecBuffer(&config.output);
    return rows;
}

// Writes at most `room` bytes into `output`; `has_overflow` is set if there were more.
struct cwebp_sink {
    uint8_t *output;
    size_t room;
    size_t count;
    bool has_overflow;
};

static inline int cwebp_write(const uint8_t *data, size_t size, const WebPPicture *picture) {
    struct cwebp_sink *sink = picture->custom_ptr;
    if (size > sink->room - sink->count) {
        sink->has_overflow = true;
        return 0;
    }
    memcpy(sink->output + sink->count, data, size);
    sink->count += size;
    return 1;
}

// Encodes pixels of four bytes (red, green, blue, alpha; not premultiplied) with losses. Returns the number of bytes, 0
// if they do not fit into `room`, and -1 if the encoder fails.
static inline ptrdiff_t cwebp_encode(
    const uint8_t *pixels, int width, int height, bool has_alpha, float quality, int method, uint8_t *output,
    size_t room) {
    WebPConfig config;
    WebPPicture picture;
    if (!WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, quality) || !WebPPictureInit(&picture)) return -1;
    config.method = method;
    struct cwebp_sink sink = {.output = output, .room = room};
    picture.width = width;
    picture.height = height;
    picture.writer = cwebp_write;
    picture.custom_ptr = &sink;
    bool is_imported = has_alpha ? WebPPictureImportRGBA(&picture, pixels, width * 4)
                                 : WebPPictureImportRGBX(&picture, pixels, width * 4);
    bool is_encoded = is_imported && WebPEncode(&config, &picture);
    WebPPictureFree(&picture);
    if (is_encoded) return (ptrdiff_t)sink.count;
    return sink.has_overflow ? 0 : -1;
}

#endif
