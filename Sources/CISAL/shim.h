#ifndef TRANSFER_CISAL_SHIM_H
#define TRANSFER_CISAL_SHIM_H

// The functions of ISA-L for deflating and inflating, from a shared library opened at run time: Debian has no static
// one, and the program must start, equally fast, on machines without ISA-L. The library's header is needed only for the
// layouts of structures. If this file is compiled without the header, no library can be opened, and all functions here
// are stubs.
//
// Only on x86-64: on AArch64, 2.30 (Debian 12) reads beyond the end of the input of Adler-32 (fixed in 2.31), and
// releases before 2.32 may refuse intact streams (github.com/intel/isa-l, issue 316).

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Result of one call of `cisal_inflate`; with `is_corrupt`, the other members are not set.
struct cisal_step {
    bool is_complete;
    bool is_corrupt;
    uint32_t read;
    uint32_t written;
};

struct isal_zstream;
struct inflate_state;

struct cisal_library {
    void (*deflate_init)(struct isal_zstream *);
    void (*deflate_reset)(struct isal_zstream *);
    int (*deflate)(struct isal_zstream *);
    void (*inflate_init)(struct inflate_state *);
    void (*inflate_reset)(struct inflate_state *);
    int (*inflate)(struct inflate_state *);
};

#if defined(__x86_64__) && __has_include(<isa-l/igzip_lib.h>)

#include <isa-l/igzip_lib.h>

// Whether the header has the layouts of releases 2.30 and 2.31, which are equal. The soname does not show this: it is 2
// for older layouts as well.
static inline bool cisal_knows_layouts(void) {
    return sizeof(struct isal_zstream) == 82384 && offsetof(struct isal_zstream, internal_state.state) == 84 &&
           sizeof(struct inflate_state) == 87368 && offsetof(struct inflate_state, block_state) == 21160 &&
           offsetof(struct inflate_state, tmp_in_size) == 21206;
}

// Opens the library at `path` permanently. False if it is missing, lacks a function or may have other layouts.
static inline bool cisal_open(const char *path, struct cisal_library *library) {
    void *handle = cisal_knows_layouts() ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!handle) return false;
    *(void **)&library->deflate_init = dlsym(handle, "isal_deflate_init");
    *(void **)&library->deflate_reset = dlsym(handle, "isal_deflate_reset");
    *(void **)&library->deflate = dlsym(handle, "isal_deflate");
    *(void **)&library->inflate_init = dlsym(handle, "isal_inflate_init");
    *(void **)&library->inflate_reset = dlsym(handle, "isal_inflate_reset");
    *(void **)&library->inflate = dlsym(handle, "isal_inflate");
    // This function is not called, but shows the release: 2.30 has it, and older releases, whose layouts may differ,
    // lack it.
    void *since_2_30 = dlsym(handle, "isal_deflate_process_dict");
    if (library->deflate_init && library->deflate_reset && library->deflate && library->inflate_init &&
        library->inflate_reset && library->inflate && since_2_30) {
        return true;
    }
    dlclose(handle);
    return false;
}

// ISA-L leaves the upper halves of AVX registers in use. Code for SSE2 on the same thread, such as xxHash's, then runs
// at a third of the usual speed until they are cleared (Intel's optimization manual, "Mixing AVX code with SSE code").
static inline void cisal_clear_upper_halves(void) {
    if (__builtin_cpu_supports("avx")) __asm__ volatile("vzeroupper" ::: "memory");
}

// Bytes of the buffer that a level needs besides the stream, as many as ISA-L proposes: smaller buffers make shorter
// blocks, which costs up to 5% of the speed on text and 40% on incompressible bytes.
static inline uint32_t cisal_level_buffer_size(uint32_t level) {
    if (level == 1) return ISAL_DEF_LVL1_DEFAULT;
    return level == 2 ? ISAL_DEF_LVL2_DEFAULT : ISAL_DEF_LVL3_DEFAULT;
}

// Spare bytes behind each structure, in case the library's layout is larger than the header's: they reveal it, and
// protect other memory.
enum { cisal_spare = 4096, cisal_spare_byte = 0xA5 };

static inline bool cisal_is_spared(const uint8_t *spare) {
    for (size_t index = 0; index < cisal_spare; index += 1) {
        if (spare[index] != cisal_spare_byte) return false;
    }
    return true;
}

// Bytes of memory for deflating at `level` (1...3): the stream, followed by the level's buffer.
static inline size_t cisal_deflate_size(uint32_t level) {
    return sizeof(struct isal_zstream) + cisal_spare + cisal_level_buffer_size(level) + cisal_spare;
}

static inline uint8_t *cisal_level_buffer(void *memory) {
    return (uint8_t *)memory + sizeof(struct isal_zstream) + cisal_spare;
}

static inline void cisal_deflate_init(struct cisal_library library, void *memory, uint32_t level) {
    memset((uint8_t *)memory + sizeof(struct isal_zstream), cisal_spare_byte, cisal_spare);
    memset(cisal_level_buffer(memory) + cisal_level_buffer_size(level), cisal_spare_byte, cisal_spare);
    library.deflate_init(memory);
}

// Whether the library has written only into its structures.
static inline bool cisal_deflate_keeps_limits(const void *memory, uint32_t level) {
    const uint8_t *spare = (const uint8_t *)memory + sizeof(struct isal_zstream);
    return cisal_is_spared(spare) && cisal_is_spared(spare + cisal_spare + cisal_level_buffer_size(level));
}

// Deflates all of `input` into one whole stream. Returns the length of the stream, or 0 if it does not fit.
static inline uint32_t cisal_deflate(
    struct cisal_library library, void *memory, uint32_t level, const void *input, uint32_t input_count, void *output,
    uint32_t output_count) {
    struct isal_zstream *stream = memory;
    library.deflate_reset(stream);
    stream->level = level;
    stream->level_buf = cisal_level_buffer(memory);
    stream->level_buf_size = cisal_level_buffer_size(level);
    // Writing the header changes this to IGZIP_ZLIB_NO_HDR, and a reset does not restore it.
    stream->gzip_flag = IGZIP_ZLIB;
    stream->flush = NO_FLUSH;
    stream->end_of_stream = 1;
    stream->next_in = (uint8_t *)input;
    stream->avail_in = input_count;
    stream->next_out = output;
    stream->avail_out = output_count;
    // Not isal_deflate_stateless: it is no faster, and needs up to 9 bytes more than the stream.
    int status = library.deflate(stream);
    cisal_clear_upper_halves();
    if (status != COMP_OK || stream->internal_state.state != ZSTATE_END || stream->avail_out > output_count) return 0;
    return output_count - stream->avail_out;
}

// Bytes of memory for inflating.
static inline size_t cisal_inflate_size(void) { return sizeof(struct inflate_state) + cisal_spare; }

static inline void cisal_inflate_init(struct cisal_library library, void *memory) {
    memset((uint8_t *)memory + sizeof(struct inflate_state), cisal_spare_byte, cisal_spare);
    library.inflate_init(memory);
}

static inline bool cisal_inflate_keeps_limits(const void *memory) {
    return cisal_is_spared((const uint8_t *)memory + sizeof(struct inflate_state));
}

// Begins a new stream.
static inline void cisal_inflate_reset(struct cisal_library library, void *memory) {
    struct inflate_state *state = memory;
    library.inflate_reset(state);
    state->crc_flag = ISAL_ZLIB;
}

// Inflates from `input` into `output`, neither of which may be null; `output` is not empty.
static inline struct cisal_step cisal_inflate(
    struct cisal_library library, void *memory, const uint8_t *input, uint32_t input_count, void *output,
    uint32_t output_count) {
    struct inflate_state *state = memory;
    // Refuses a window of more than 32 KiB, which RFC 1950 forbids and ISA-L accepts.
    bool is_first_byte = !state->wrapper_flag && state->tmp_in_size == 0 && input_count > 0;
    if (is_first_byte && input[0] >> 4 > 7) return (struct cisal_step){.is_corrupt = true};
    state->next_in = (uint8_t *)input;
    state->avail_in = input_count;
    state->next_out = output;
    state->avail_out = output_count;
    bool is_damaged = library.inflate(state) != ISAL_DECOMP_OK;
    cisal_clear_upper_halves();
    // ISA-L forgets that the stream needs a preset dictionary if the input ends inside the dictionary's checksum.
    bool wants_dictionary = state->block_state == ISAL_ZLIB_DICT;
    bool is_complete = state->block_state == ISAL_BLOCK_FINISH;
    // ISA-L reads input in words, so its state can hold bytes that follow the stream.
    bool has_more = is_complete && state->read_in_length >= 8;
    // In these cases ISA-L's counts are invalid: avail_in can be below zero.
    if (is_damaged || wants_dictionary || has_more || state->avail_in > input_count || state->avail_out > output_count)
        return (struct cisal_step){.is_corrupt = true};
    return (struct cisal_step){
        .is_complete = is_complete,
        .read = input_count - state->avail_in,
        .written = output_count - state->avail_out,
    };
}

#else

static inline bool cisal_open(const char *path, struct cisal_library *library) { return false; }

static inline size_t cisal_deflate_size(uint32_t level) { return 0; }

static inline void cisal_deflate_init(struct cisal_library library, void *memory, uint32_t level) {}

static inline bool cisal_deflate_keeps_limits(const void *memory, uint32_t level) { return false; }

static inline uint32_t cisal_deflate(
    struct cisal_library library, void *memory, uint32_t level, const void *input, uint32_t input_count, void *output,
    uint32_t output_count) {
    return 0;
}

static inline size_t cisal_inflate_size(void) { return 0; }

static inline void cisal_inflate_init(struct cisal_library library, void *memory) {}

static inline bool cisal_inflate_keeps_limits(const void *memory) { return false; }

static inline void cisal_inflate_reset(struct cisal_library library, void *memory) {}

static inline struct cisal_step cisal_inflate(
    struct cisal_library library, void *memory, const uint8_t *input, uint32_t input_count, void *output,
    uint32_t output_count) {
    return (struct cisal_step){.is_corrupt = true};
}

#endif

#endif
