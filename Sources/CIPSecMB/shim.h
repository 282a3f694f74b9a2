#ifndef TRANSFER_CIPSECMB_SHIM_H
#define TRANSFER_CIPSECMB_SHIM_H

// AES-128-GCM of Intel's Multi-Buffer Crypto library for processors with wide AES instructions, as a provider of
// OpenSSL (provider(7)), so that OpenSSL's TLS uses it: OpenSSL has such code only from 3.1 on, and its older code
// takes four times as long. The library is optional and opened at run time, because most processors cannot use it.
//
// Releases with the same soname have structures of different sizes: the keys of 1.3 take 1,008 bytes, those of 1.4 and
// 1.5 256 more. So this file does not assume their layouts. The structures get spare room, and before the library is
// used, a test checks that it stays well inside and gives right results (WideAES.swift).
//
// Only what TLS needs of a cipher: a nonce of 12 bytes, associated data before the content, all content in one call,
// and a tag of 16 bytes.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    cipsecmb_key_size = 16,
    cipsecmb_nonce_size = 12,
    cipsecmb_tag_size = 16,
    cipsecmb_longest_associated = 64,
    // Bytes of memory that this file gives the library for an expanded key and for a context, and the bytes of each
    // that the library may use.
    cipsecmb_key_room = 2048,
    cipsecmb_key_limit = 1536,
    cipsecmb_context_room = 256,
    cipsecmb_context_limit = 192,
    // Number of expanded keys that each thread keeps; together they take about 64 KiB.
    cipsecmb_slot_count = 32,
};

typedef void (*cipsecmb_expand)(const void *key, void *expanded);
typedef void (*cipsecmb_crypt)(const void *key, void *context, uint8_t *output, const uint8_t *input, uint64_t count,
                               const uint8_t *nonce, const uint8_t *associated, uint64_t associated_count, uint8_t *tag,
                               uint64_t tag_count);

struct cipsecmb_library {
    // The version, with one byte for each number: 0x010500 is 1.5.0.
    unsigned version;
    cipsecmb_expand expand;
    cipsecmb_crypt encrypt;
    cipsecmb_crypt decrypt;
};

#if defined(__x86_64__)

#include <dlfcn.h>
#include <limits.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One direction of a TLS session. Most sessions are idle most of the time, so only the original key is kept: the
// library's expanded form is some eighty times as large, and is computed again when it is needed.
struct cipsecmb_cipher {
    const struct cipsecmb_library *library;
    // Serial number of the key: this process numbers all keys that it sets, from 1. 0 without a key.
    uint64_t serial;
    uint8_t key[cipsecmb_key_size];
    bool is_encrypting;
    bool has_nonce;
    // Whether the content was processed, so that its tag is known.
    bool is_through;
    uint8_t nonce[cipsecmb_nonce_size];
    uint8_t associated[cipsecmb_longest_associated];
    size_t associated_count;
    // The tag that came with the content; only for decryption.
    uint8_t expected[cipsecmb_tag_size];
    uint8_t tag[cipsecmb_tag_size];
};

// A key in the library's expanded form.
struct cipsecmb_slot {
    _Alignas(64) uint8_t key[cipsecmb_key_room];
    uint64_t serial;
};

static uint64_t cipsecmb_last_serial = 0;

static pthread_key_t cipsecmb_slots_key = 0;

static bool cipsecmb_has_slots_key = false;

static void cipsecmb_free_slots(void *slots) {
    OPENSSL_cleanse(slots, cipsecmb_slot_count * sizeof(struct cipsecmb_slot));
    free(slots);
}

static void cipsecmb_make_key(void) {
    cipsecmb_has_slots_key = pthread_key_create(&cipsecmb_slots_key, cipsecmb_free_slots) == 0;
}

// The expanded keys that this thread used last, which are freed when the thread ends; NULL without memory. Serials are
// unique, so that no key is confused with another one.
static struct cipsecmb_slot *cipsecmb_slots(bool makes) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, cipsecmb_make_key) != 0 || !cipsecmb_has_slots_key) return NULL;
    struct cipsecmb_slot *slots = pthread_getspecific(cipsecmb_slots_key);
    size_t size = cipsecmb_slot_count * sizeof(struct cipsecmb_slot);
    if (slots || !makes || !(slots = aligned_alloc(64, size))) return slots;
    memset(slots, 0, size);
    if (pthread_setspecific(cipsecmb_slots_key, slots) == 0) return slots;
    free(slots);
    return NULL;
}

// Erases the expanded form of a key that is no longer used, if this thread has it. An expanded form on another thread
// stays until its slot is reused or that thread ends.
static void cipsecmb_forget(uint64_t serial) {
    struct cipsecmb_slot *slots = serial ? cipsecmb_slots(false) : NULL;
    struct cipsecmb_slot *slot = slots ? &slots[serial % cipsecmb_slot_count] : NULL;
    if (slot && slot->serial == serial) OPENSSL_cleanse(slot, sizeof *slot);
}

// Returns the expanded key; NULL if there is no memory for it.
static const uint8_t *cipsecmb_expanded(const struct cipsecmb_cipher *cipher) {
    struct cipsecmb_slot *slots = cipsecmb_slots(true);
    if (!slots) return NULL;
    struct cipsecmb_slot *slot = &slots[cipher->serial % cipsecmb_slot_count];
    if (slot->serial != cipher->serial) {
        cipher->library->expand(cipher->key, slot->key);
        slot->serial = cipher->serial;
    }
    return slot->key;
}

static void cipsecmb_set_key(struct cipsecmb_cipher *cipher, const unsigned char *key) {
    cipsecmb_forget(cipher->serial);
    memcpy(cipher->key, key, cipsecmb_key_size);
    cipher->serial = __atomic_add_fetch(&cipsecmb_last_serial, 1, __ATOMIC_RELAXED);
}

static void *cipsecmb_new(void *library) {
    struct cipsecmb_cipher *cipher = calloc(1, sizeof(struct cipsecmb_cipher));
    if (cipher) cipher->library = library;
    return cipher;
}

static void cipsecmb_free(void *pointer) {
    struct cipsecmb_cipher *cipher = pointer;
    if (!cipher) return;
    cipsecmb_forget(cipher->serial);
    OPENSSL_cleanse(cipher, sizeof *cipher);
    free(cipher);
}

static int cipsecmb_set_params(void *pointer, const OSSL_PARAM parameters[]) {
    struct cipsecmb_cipher *cipher = pointer;
    const OSSL_PARAM *tag = parameters ? OSSL_PARAM_locate_const(parameters, OSSL_CIPHER_PARAM_AEAD_TAG) : NULL;
    const OSSL_PARAM *nonce = parameters ? OSSL_PARAM_locate_const(parameters, OSSL_CIPHER_PARAM_AEAD_IVLEN) : NULL;
    size_t size = 0;
    if (nonce && (!OSSL_PARAM_get_size_t(nonce, &size) || size != cipsecmb_nonce_size)) return 0;
    if (!tag) return 1;
    // Without data, the parameter sets only the size of the tag, which is fixed.
    if (tag->data_size != cipsecmb_tag_size) return 0;
    if (tag->data) memcpy(cipher->expected, tag->data, cipsecmb_tag_size);
    return 1;
}

static int cipsecmb_init(void *pointer, const unsigned char *key, size_t key_size, const unsigned char *nonce,
                         size_t nonce_size, const OSSL_PARAM parameters[], bool is_encrypting) {
    struct cipsecmb_cipher *cipher = pointer;
    cipher->is_encrypting = is_encrypting;
    cipher->is_through = false;
    cipher->associated_count = 0;
    if (key) {
        if (key_size != cipsecmb_key_size) return 0;
        cipsecmb_set_key(cipher, key);
    }
    if (nonce) {
        if (nonce_size != cipsecmb_nonce_size) return 0;
        memcpy(cipher->nonce, nonce, cipsecmb_nonce_size);
        cipher->has_nonce = true;
    }
    return cipsecmb_set_params(cipher, parameters);
}

static int cipsecmb_init_encryption(void *pointer, const unsigned char *key, size_t key_size, const unsigned char *nonce,
                                    size_t nonce_size, const OSSL_PARAM parameters[]) {
    return cipsecmb_init(pointer, key, key_size, nonce, nonce_size, parameters, true);
}

static int cipsecmb_init_decryption(void *pointer, const unsigned char *key, size_t key_size, const unsigned char *nonce,
                                    size_t nonce_size, const OSSL_PARAM parameters[]) {
    return cipsecmb_init(pointer, key, key_size, nonce, nonce_size, parameters, false);
}

// Without `output` the input is associated data.
static int cipsecmb_update(void *pointer, unsigned char *output, size_t *written, size_t room,
                           const unsigned char *input, size_t count) {
    struct cipsecmb_cipher *cipher = pointer;
    *written = 0;
    if (!cipher->serial || !cipher->has_nonce || cipher->is_through) return 0;
    if (!output) {
        if (count > cipsecmb_longest_associated - cipher->associated_count) return 0;
        memcpy(cipher->associated + cipher->associated_count, input, count);
        cipher->associated_count += count;
        return 1;
    }
    if (room < count) return 0;
    cipsecmb_crypt crypt = cipher->is_encrypting ? cipher->library->encrypt : cipher->library->decrypt;
    const uint8_t *key = cipsecmb_expanded(cipher);
    if (!key) return 0;
    // The library uses the context only during the call.
    _Alignas(64) uint8_t context[cipsecmb_context_room];
    crypt(key, context, output, input, count, cipher->nonce, cipher->associated,
          cipher->associated_count, cipher->tag, cipsecmb_tag_size);
    OPENSSL_cleanse(context, sizeof context);
    // SSE2 code on the same thread is slow while upper halves of registers are in use (see CISAL).
    if (__builtin_cpu_supports("avx")) __asm__ volatile("vzeroupper" ::: "memory");
    // Prevents two contents under one nonce.
    cipher->has_nonce = false;
    cipher->is_through = true;
    *written = count;
    return 1;
}

static int cipsecmb_final(void *pointer, unsigned char *output, size_t *written, size_t room) {
    (void)output;
    (void)room;
    struct cipsecmb_cipher *cipher = pointer;
    *written = 0;
    if (!cipher->is_through) return 0;
    return cipher->is_encrypting || CRYPTO_memcmp(cipher->tag, cipher->expected, cipsecmb_tag_size) == 0;
}

static bool cipsecmb_tell_size(OSSL_PARAM parameters[], const char *name, size_t value) {
    OSSL_PARAM *wanted = OSSL_PARAM_locate(parameters, name);
    return !wanted || OSSL_PARAM_set_size_t(wanted, value);
}

static bool cipsecmb_tell_flag(OSSL_PARAM parameters[], const char *name) {
    OSSL_PARAM *wanted = OSSL_PARAM_locate(parameters, name);
    return !wanted || OSSL_PARAM_set_int(wanted, 1);
}

static int cipsecmb_get_context_params(void *pointer, OSSL_PARAM parameters[]) {
    struct cipsecmb_cipher *cipher = pointer;
    OSSL_PARAM *tag = OSSL_PARAM_locate(parameters, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (tag && !(cipher->is_encrypting && cipher->is_through)) return 0;
    return cipsecmb_tell_size(parameters, OSSL_CIPHER_PARAM_KEYLEN, cipsecmb_key_size) &&
           cipsecmb_tell_size(parameters, OSSL_CIPHER_PARAM_IVLEN, cipsecmb_nonce_size) &&
           cipsecmb_tell_size(parameters, OSSL_CIPHER_PARAM_AEAD_TAGLEN, cipsecmb_tag_size) &&
           (!tag || OSSL_PARAM_set_octet_string(tag, cipher->tag, cipsecmb_tag_size));
}

static int cipsecmb_get_params(OSSL_PARAM parameters[]) {
    OSSL_PARAM *mode = OSSL_PARAM_locate(parameters, OSSL_CIPHER_PARAM_MODE);
    if (mode && !OSSL_PARAM_set_uint(mode, EVP_CIPH_GCM_MODE)) return 0;
    return cipsecmb_tell_size(parameters, OSSL_CIPHER_PARAM_KEYLEN, cipsecmb_key_size) &&
           cipsecmb_tell_size(parameters, OSSL_CIPHER_PARAM_IVLEN, cipsecmb_nonce_size) &&
           cipsecmb_tell_size(parameters, OSSL_CIPHER_PARAM_BLOCK_SIZE, 1) &&
           cipsecmb_tell_flag(parameters, OSSL_CIPHER_PARAM_AEAD) &&
           cipsecmb_tell_flag(parameters, OSSL_CIPHER_PARAM_CUSTOM_IV);
}

// The functions have different types; OpenSSL calls them by their numbers.
#define CIPSECMB_FUNCTION(number, function) {number, (void (*)(void))function}

static const OSSL_DISPATCH cipsecmb_functions[] = {
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, cipsecmb_new),
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_FREECTX, cipsecmb_free),
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, cipsecmb_init_encryption),
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, cipsecmb_init_decryption),
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_UPDATE, cipsecmb_update),
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_FINAL, cipsecmb_final),
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, cipsecmb_get_params),
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, cipsecmb_get_context_params),
    CIPSECMB_FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, cipsecmb_set_params),
    {0, NULL},
};

static const OSSL_ALGORITHM cipsecmb_ciphers[] = {
    {"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", "provider=ipsec-mb", cipsecmb_functions, NULL},
    {NULL, NULL, NULL, NULL},
};

static const OSSL_ALGORITHM *cipsecmb_query(void *library, int operation, int *is_uncacheable) {
    (void)library;
    *is_uncacheable = 0;
    return operation == OSSL_OP_CIPHER ? cipsecmb_ciphers : NULL;
}

static const OSSL_DISPATCH cipsecmb_provider[] = {
    CIPSECMB_FUNCTION(OSSL_FUNC_PROVIDER_QUERY_OPERATION, cipsecmb_query),
    {0, NULL},
};

#undef CIPSECMB_FUNCTION

// Whether the processor has the instructions for which the library is used.
static inline bool cipsecmb_suits_processor(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("vaes") && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static inline bool cipsecmb_has_avx2(void) { return __builtin_cpu_supports("avx2"); }

// Opens the library at `path` permanently. False if it is missing or lacks a function. `kind` is the processor for
// which functions are looked up: the library's own choice would cost 0.3 ms at each start.
static inline bool cipsecmb_open(const char *path, const char *kind, struct cipsecmb_library *library) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    char expand[64], encrypt[64], decrypt[64];
    snprintf(expand, sizeof expand, "aes_gcm_pre_128_%s", kind);
    snprintf(encrypt, sizeof encrypt, "aes_gcm_enc_128_%s", kind);
    snprintf(decrypt, sizeof decrypt, "aes_gcm_dec_128_%s", kind);
    unsigned (*version)(void);
    *(void **)&version = dlsym(handle, "imb_get_version");
    *(void **)&library->expand = dlsym(handle, expand);
    *(void **)&library->encrypt = dlsym(handle, encrypt);
    *(void **)&library->decrypt = dlsym(handle, decrypt);
    if (version && library->expand && library->encrypt && library->decrypt) {
        library->version = version();
        return true;
    }
    dlclose(handle);
    return false;
}

// Whether all bytes from `start` to `end` are `value`.
static inline bool cipsecmb_is_filled(const uint8_t *bytes, size_t start, size_t end, uint8_t value) {
    for (size_t index = start; index < end; index += 1) {
        if (bytes[index] != value) return false;
    }
    return true;
}

enum { cipsecmb_trial_room = 16384 };

// Whether the library writes only within the limits. For this test it gets far more memory than later, filled with
// `value`, and bytes beyond the limits must keep that value.
static inline bool cipsecmb_keeps_limits(const struct cipsecmb_library *library, uint8_t value) {
    uint8_t *memory = aligned_alloc(64, 2 * cipsecmb_trial_room);
    if (!memory) return false;
    uint8_t *key = memory, *context = memory + cipsecmb_trial_room;
    memset(memory, value, 2 * cipsecmb_trial_room);
    uint8_t content[257] = {1}, tag[cipsecmb_tag_size], secret[cipsecmb_key_size] = {2}, nonce[cipsecmb_nonce_size] = {3};
    library->expand(secret, key);
    library->encrypt(key, context, content, content, sizeof content, nonce, secret, 5, tag, sizeof tag);
    library->decrypt(key, context, content, content, sizeof content, nonce, secret, 5, tag, sizeof tag);
    if (__builtin_cpu_supports("avx")) __asm__ volatile("vzeroupper" ::: "memory");
    bool keeps = cipsecmb_is_filled(key, cipsecmb_key_limit, cipsecmb_trial_room, value) &&
                 cipsecmb_is_filled(context, cipsecmb_context_limit, cipsecmb_trial_room, value);
    free(memory);
    return keeps;
}

// A message that both OpenSSL and the library encrypt.
struct cipsecmb_message {
    const uint8_t *key;
    const uint8_t *nonce;
    const uint8_t *associated;
    size_t associated_count;
    const uint8_t *content;
    size_t count;
};

// Encrypts with OpenSSL: the content, followed by the tag.
static inline bool cipsecmb_expect(const EVP_CIPHER *method, struct cipsecmb_message message, uint8_t *sealed) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int written = 0;
    bool is_done = context && message.count <= INT_MAX && message.associated_count <= INT_MAX &&
                   EVP_EncryptInit_ex(context, method, NULL, message.key, message.nonce) == 1 &&
                   EVP_EncryptUpdate(context, NULL, &written, message.associated, (int)message.associated_count) == 1 &&
                   EVP_EncryptUpdate(context, sealed, &written, message.content, (int)message.count) == 1 &&
                   EVP_EncryptFinal_ex(context, NULL, &written) == 1 &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, cipsecmb_tag_size, sealed + message.count) == 1;
    EVP_CIPHER_CTX_free(context);
    return is_done;
}

// Processes a message with the functions that OpenSSL will call. `tag` is read for decryption.
static inline bool cipsecmb_run(struct cipsecmb_cipher *cipher, bool is_encrypting, struct cipsecmb_message message,
                                const uint8_t *input, uint8_t *output, uint8_t *tag) {
    size_t written = 0;
    if (!cipsecmb_init(cipher, message.key, cipsecmb_key_size, message.nonce, cipsecmb_nonce_size, NULL, is_encrypting) ||
        !cipsecmb_update(cipher, NULL, &written, 0, message.associated, message.associated_count))
        return false;
    if (!is_encrypting) memcpy(cipher->expected, tag, cipsecmb_tag_size);
    if (!cipsecmb_update(cipher, output, &written, message.count, input, message.count) || written != message.count ||
        !cipsecmb_final(cipher, NULL, &written, 0))
        return false;
    if (is_encrypting) memcpy(tag, cipher->tag, cipsecmb_tag_size);
    return true;
}

// Whether the library gives the same results as OpenSSL, whether the output replaces the input or not, writes no bytes
// beyond them, and refuses a tag with one wrong bit. `memory` has room for four times the content and 64 bytes.
static inline bool cipsecmb_answers(const struct cipsecmb_library *library, const EVP_CIPHER *method,
                                    struct cipsecmb_message message, uint8_t *memory) {
    enum { guard = 64 - cipsecmb_tag_size };
    size_t count = message.count, room = count + cipsecmb_tag_size + guard;
    uint8_t *expected = memory, *sealed = memory + room, *opened = memory + 2 * room, tag[cipsecmb_tag_size];
    struct cipsecmb_cipher *cipher = cipsecmb_new((void *)library);
    memset(memory, 0xA5, 3 * room);
    memcpy(sealed, message.content, count);
    bool answers = cipher && cipsecmb_expect(method, message, expected) &&
                   cipsecmb_run(cipher, true, message, sealed, sealed, tag) && memcmp(sealed, expected, count) == 0 &&
                   memcmp(tag, expected + count, cipsecmb_tag_size) == 0 &&
                   cipsecmb_run(cipher, false, message, sealed, opened, tag) &&
                   memcmp(opened, message.content, count) == 0;
    tag[count % cipsecmb_tag_size] ^= (uint8_t)(1u << (count / cipsecmb_tag_size % 8));
    answers = answers && !cipsecmb_run(cipher, false, message, sealed, sealed, tag) &&
              cipsecmb_is_filled(sealed, count, room, 0xA5) && cipsecmb_is_filled(opened, count, room, 0xA5);
    cipsecmb_free(cipher);
    return answers;
}

// The library that OpenSSL uses. It does not change after `cipsecmb_load`.
static struct cipsecmb_library cipsecmb_used = {0};

static int cipsecmb_start(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *offered, const OSSL_DISPATCH **functions,
                          void **context) {
    (void)core;
    (void)offered;
    *functions = cipsecmb_provider;
    *context = &cipsecmb_used;
    return 1;
}

// Registers the library's cipher in OpenSSL under "provider=ipsec-mb", once in a process. OpenSSL's own providers stay
// as they are. False if this fails.
static inline bool cipsecmb_load(struct cipsecmb_library library) {
    cipsecmb_used = library;
    // After a provider is loaded by name, OpenSSL no longer loads its default by itself.
    return OSSL_PROVIDER_load(NULL, "default") && OSSL_PROVIDER_add_builtin(NULL, "ipsec-mb", cipsecmb_start) &&
           OSSL_PROVIDER_load(NULL, "ipsec-mb");
}

#endif

#endif
