#ifndef TRANSFER_CIPSECMB_SHIM_H
#define TRANSFER_CIPSECMB_SHIM_H

// AES-128-GCM of Intel's Multi-Buffer Crypto library for processors with wide AES instructions, as a provider of OpenSSL
// (provider(7)), so that OpenSSL's TLS uses it: OpenSSL itself has code for them from 3.1 on, and what it has before takes
// four times as long. The library is opened at run time: nothing needs it, and most processors have no use for it.
//
// Releases with one soname have structures of different sizes: the keys of 1.3 take 1,008 bytes, those of 1.4 and 1.5 256
// more. So their layouts are not known here. They have room to spare, and whether they stay well within it is looked at
// before the library is used, as are its answers (WideAES.swift).
//
// What TLS asks of a cipher, and no more: a nonce of 12 bytes, what is only authenticated before the content, all of the
// content in one call, a tag of 16 bytes.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    cipsecmb_key_size = 16,
    cipsecmb_nonce_size = 12,
    cipsecmb_tag_size = 16,
    cipsecmb_longest_associated = 64,
    // Room for the library's structures, and how much of it a library may use to be used.
    cipsecmb_key_room = 2048,
    cipsecmb_key_limit = 1536,
    cipsecmb_context_room = 256,
    cipsecmb_context_limit = 192,
    // Keys that each thread has at hand in the library's form, 64 KiB of them.
    cipsecmb_slot_count = 32,
};

typedef void (*cipsecmb_expand)(const void *key, void *expanded);
typedef void (*cipsecmb_crypt)(const void *key, void *context, uint8_t *output, const uint8_t *input, uint64_t count,
                               const uint8_t *nonce, const uint8_t *associated, uint64_t associated_count, uint8_t *tag,
                               uint64_t tag_count);

struct cipsecmb_library {
    // Three numbers in the lowest three bytes, the first one highest.
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

// One direction of a conversation. Most conversations are silent most of the time, so the key is kept as it came: the
// library's form of it, which it can use, is some eighty times as large, and made again when it is wanted.
struct cipsecmb_cipher {
    const struct cipsecmb_library *library;
    // Which key of which direction it is, of all that there ever were; 0 without a key.
    uint64_t serial;
    uint8_t key[cipsecmb_key_size];
    bool is_encrypting;
    bool has_nonce;
    // The content was in, so the tag of it is there.
    bool is_through;
    uint8_t nonce[cipsecmb_nonce_size];
    uint8_t associated[cipsecmb_longest_associated];
    size_t associated_count;
    // When decrypting: the one that came with the content.
    uint8_t expected[cipsecmb_tag_size];
    uint8_t tag[cipsecmb_tag_size];
};

// A key in the library's form.
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

// Those that were used last on this thread, which go with it; NULL where there is no memory. A serial comes once, so none is
// ever taken for another key's.
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

// What a thread has at hand of a key that is not used any more goes, where that is this thread. On another one it stays until
// its place is wanted, or the thread ends.
static void cipsecmb_forget(uint64_t serial) {
    struct cipsecmb_slot *slots = serial ? cipsecmb_slots(false) : NULL;
    struct cipsecmb_slot *slot = slots ? &slots[serial % cipsecmb_slot_count] : NULL;
    if (slot && slot->serial == serial) OPENSSL_cleanse(slot, sizeof *slot);
}

// NULL where there is no memory.
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
    // Without bytes it would set the size alone, which is as it is.
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

// Without `output` it takes what is only authenticated.
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
    // Of use within the call only.
    _Alignas(64) uint8_t context[cipsecmb_context_room];
    crypt(key, context, output, input, count, cipher->nonce, cipher->associated,
          cipher->associated_count, cipher->tag, cipsecmb_tag_size);
    OPENSSL_cleanse(context, sizeof context);
    // Code for SSE2 on the same thread is slow as long as upper halves are in use (see CISAL).
    if (__builtin_cpu_supports("avx")) __asm__ volatile("vzeroupper" ::: "memory");
    // Never two contents under one nonce.
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

// The functions have other types each; OpenSSL calls them by their numbers.
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

// Whether the processor has what the library is used for.
static inline bool cipsecmb_suits_processor(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("vaes") && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static inline bool cipsecmb_has_avx2(void) { return __builtin_cpu_supports("avx2"); }

// Opens the library at `path`, for ever. False if it is not there or lacks a function. `kind` is the processor that the
// functions are for: the library's own choice among them would cost 0.3 ms at each start.
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

// Whether the library stays within its limits: it gets far more memory than it will have, filled with `value`.
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

// A message to be encrypted both ways.
struct cipsecmb_message {
    const uint8_t *key;
    const uint8_t *nonce;
    const uint8_t *associated;
    size_t associated_count;
    const uint8_t *content;
    size_t count;
};

// As OpenSSL itself encrypts: the content, and behind it the tag.
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

// The library's way through a message, with the functions that OpenSSL will call. `tag` is read when decrypting.
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

// Whether the library answers as OpenSSL does, in place and beside it, writes nothing behind, and refuses a tag of which one
// bit is wrong. `memory` has room for four times the content and 64 bytes.
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

// The one that OpenSSL uses; never changed once it does.
static struct cipsecmb_library cipsecmb_used = {0};

static int cipsecmb_start(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *offered, const OSSL_DISPATCH **functions,
                          void **context) {
    (void)core;
    (void)offered;
    *functions = cipsecmb_provider;
    *context = &cipsecmb_used;
    return 1;
}

// Offers the library's cipher to whoever asks for "provider=ipsec-mb", once in a process. OpenSSL's own providers stay what
// they are. False if it cannot be had.
static inline bool cipsecmb_load(struct cipsecmb_library library) {
    cipsecmb_used = library;
    // One that was loaded by name is the end of what OpenSSL loads by itself.
    return OSSL_PROVIDER_load(NULL, "default") && OSSL_PROVIDER_add_builtin(NULL, "ipsec-mb", cipsecmb_start) &&
           OSSL_PROVIDER_load(NULL, "ipsec-mb");
}

#endif

#endif
