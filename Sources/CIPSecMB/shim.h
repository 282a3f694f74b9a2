#ifndef TRANSFER_CIPSECMB_SHIM_H
#define TRANSFER_CIPSECMB_SHIM_H

// AES-128-GCM of Intel's Multi-Buffer Crypto library for processors with wide AES instructions, as a provider of OpenSSL
// (provider(7)), so that OpenSSL's TLS uses it: OpenSSL itself has code for them from 3.1 on, and what it has before takes
// four times as long. The library is opened at run time: nothing needs it, and most processors have no use for it. Its header
// is needed for the sizes of its structures. Without it nothing can be opened.
//
// What TLS asks of a cipher, and no more: a nonce of 12 bytes, what is only authenticated before the content, all of the
// content in one call, a tag of 16 bytes.

#include <stdbool.h>

#if defined(__x86_64__) && __has_include(<intel-ipsec-mb.h>)

#include <dlfcn.h>
#include <intel-ipsec-mb.h>
#include <limits.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <stdlib.h>
#include <string.h>

enum { cipsecmb_key_size = 16, cipsecmb_nonce_size = 12, cipsecmb_tag_size = 16, cipsecmb_longest_associated = 64 };

typedef void (*cipsecmb_expand)(const void *key, struct gcm_key_data *expanded);
typedef void (*cipsecmb_crypt)(const struct gcm_key_data *key, struct gcm_context_data *context, uint8_t *output,
                               const uint8_t *input, uint64_t count, const uint8_t *nonce, const uint8_t *associated,
                               uint64_t associated_count, uint8_t *tag, uint64_t tag_count);

struct cipsecmb_library {
    cipsecmb_expand expand;
    cipsecmb_crypt encrypt;
    cipsecmb_crypt decrypt;
};

// One direction of a conversation.
struct cipsecmb_cipher {
    struct gcm_key_data key;
    struct gcm_context_data context;
    const struct cipsecmb_library *library;
    bool is_encrypting;
    bool has_key;
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

static void *cipsecmb_new(void *library) {
    struct cipsecmb_cipher *cipher = aligned_alloc(64, (sizeof(struct cipsecmb_cipher) + 63) / 64 * 64);
    if (!cipher) return NULL;
    memset(cipher, 0, sizeof *cipher);
    cipher->library = library;
    return cipher;
}

static void cipsecmb_free(void *pointer) {
    if (!pointer) return;
    OPENSSL_cleanse(pointer, sizeof(struct cipsecmb_cipher));
    free(pointer);
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
        cipher->library->expand(key, &cipher->key);
        cipher->has_key = true;
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
    if (!cipher->has_key || !cipher->has_nonce || cipher->is_through) return 0;
    if (!output) {
        if (count > cipsecmb_longest_associated - cipher->associated_count) return 0;
        memcpy(cipher->associated + cipher->associated_count, input, count);
        cipher->associated_count += count;
        return 1;
    }
    if (room < count) return 0;
    cipsecmb_crypt crypt = cipher->is_encrypting ? cipher->library->encrypt : cipher->library->decrypt;
    crypt(&cipher->key, &cipher->context, output, input, count, cipher->nonce, cipher->associated,
          cipher->associated_count, cipher->tag, cipsecmb_tag_size);
    // Code for SSE2 on the same thread is slow as long as upper halves are in use (see CISAL).
    __asm__ volatile("vzeroupper" ::: "memory");
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

// Opens the library at `path`, for ever. Nothing if it is not there, lacks a function, or the processor does.
static inline const struct cipsecmb_library *cipsecmb_open(const char *path) {
    static struct cipsecmb_library library;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("vaes") || !__builtin_cpu_supports("vpclmulqdq") || !__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
        return NULL;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return NULL;
    // Functions for one kind of processor: the library's own choice among them would cost 0.3 ms at each start.
    *(void **)&library.expand = dlsym(handle, "aes_gcm_pre_128_vaes_avx512");
    *(void **)&library.encrypt = dlsym(handle, "aes_gcm_enc_128_vaes_avx512");
    *(void **)&library.decrypt = dlsym(handle, "aes_gcm_dec_128_vaes_avx512");
    if (library.expand && library.encrypt && library.decrypt) return &library;
    dlclose(handle);
    return NULL;
}

static int cipsecmb_start(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *offered, const OSSL_DISPATCH **functions,
                          void **context) {
    (void)core;
    (void)offered;
    *functions = cipsecmb_provider;
    *context = (void *)cipsecmb_open("libIPSec_MB.so.1");
    return *context != NULL;
}

// Offers the cipher to whoever asks for "provider=ipsec-mb". OpenSSL's own providers stay what they are. False if it cannot
// be had.
static inline bool cipsecmb_load(void) {
    // One that was loaded by name is the end of what OpenSSL loads by itself.
    return OSSL_PROVIDER_load(NULL, "default") && OSSL_PROVIDER_add_builtin(NULL, "ipsec-mb", cipsecmb_start) &&
           OSSL_PROVIDER_load(NULL, "ipsec-mb");
}

#else

static inline bool cipsecmb_load(void) { return false; }

#endif

#endif
