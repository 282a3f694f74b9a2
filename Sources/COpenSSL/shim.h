#ifndef TRANSFER_COPENSSL_SHIM_H
#define TRANSFER_COPENSSL_SHIM_H

// OpenSSL 3.0 or newer, and its parts that Swift cannot import: function-like macros, and callbacks that must be C
// functions.

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

// Memory of the caller from which a session reads records and to which it writes them; it outlives every call.
struct copenssl_wire {
    const unsigned char *input;
    size_t input_count;
    unsigned char *output;
    size_t output_count;
    size_t output_capacity;
};

static int copenssl_wire_read(BIO *bio, char *bytes, size_t capacity, size_t *count) {
    struct copenssl_wire *wire = (struct copenssl_wire *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (wire == NULL || wire->input_count == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    *count = capacity < wire->input_count ? capacity : wire->input_count;
    memcpy(bytes, wire->input, *count);
    wire->input += *count;
    wire->input_count -= *count;
    return 1;
}

static int copenssl_wire_write(BIO *bio, const char *bytes, size_t capacity, size_t *count) {
    struct copenssl_wire *wire = (struct copenssl_wire *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (wire == NULL || wire->output_count == wire->output_capacity) {
        BIO_set_retry_write(bio);
        return -1;
    }
    size_t room = wire->output_capacity - wire->output_count;
    *count = capacity < room ? capacity : room;
    memcpy(wire->output + wire->output_count, bytes, *count);
    wire->output_count += *count;
    return 1;
}

static long copenssl_wire_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    // There is no buffer to flush.
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static inline BIO_METHOD *copenssl_wire_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "transfer wire");
    if (method == NULL) return NULL;
    if (BIO_meth_set_read_ex(method, copenssl_wire_read) && BIO_meth_set_write_ex(method, copenssl_wire_write) &&
        BIO_meth_set_ctrl(method, copenssl_wire_control))
        return method;
    BIO_meth_free(method);
    return NULL;
}

static inline BIO *copenssl_wire_bio(const BIO_METHOD *method, struct copenssl_wire *wire) {
    BIO *bio = BIO_new(method);
    if (bio == NULL) return NULL;
    BIO_set_data(bio, wire);
    BIO_set_init(bio, 1);
    return bio;
}

static inline int copenssl_set_protocol(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version) == 1 && SSL_CTX_set_max_proto_version(context, version) == 1;
}

// The server chooses the cipher, and prefers ChaCha20 for clients that name it first, because they have no AES in
// hardware.
static inline void copenssl_set_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_PRIORITIZE_CHACHA);
}

static inline int copenssl_set_groups(SSL_CTX *context, const char *groups) {
    return (int)SSL_CTX_set1_groups_list(context, groups);
}

// Signature algorithms to accept and to use, the preferred one first.
static inline int copenssl_set_algorithms(SSL_CTX *context, const char *algorithms) {
    return (int)SSL_CTX_set1_sigalgs_list(context, algorithms);
}

static inline int copenssl_prefer_algorithms(SSL *session, const char *algorithms) {
    return (int)SSL_set1_sigalgs_list(session, algorithms);
}

static inline EVP_PKEY *copenssl_new_p256(void) { return EVP_EC_gen("P-256"); }

static inline void copenssl_set_session_cache(SSL_CTX *context, long mode) {
    (void)SSL_CTX_set_session_cache_mode(context, mode);
}

static inline void copenssl_set_longest_certificates(SSL_CTX *context, long bytes) {
    (void)SSL_CTX_set_max_cert_list(context, bytes);
}

static inline int copenssl_set_server_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}

// Chooses the first of the protocols at `argument` that the client offers: two bytes for the length of the list, then
// the list as in ALPN.
static int copenssl_choose_protocol(SSL *session, const unsigned char **chosen, unsigned char *length,
                                    const unsigned char *offered, unsigned int count, void *argument) {
    (void)session;
    const unsigned char *wanted = (const unsigned char *)argument;
    unsigned char *found = NULL;
    unsigned int size = (unsigned int)wanted[0] << 8 | wanted[1];
    int status = SSL_select_next_proto(&found, length, wanted + 2, size, offered, count);
    *chosen = found;
    return status == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static inline void copenssl_choose_protocols(SSL_CTX *context, const unsigned char *wanted) {
    SSL_CTX_set_alpn_select_cb(context, copenssl_choose_protocol, (void *)wanted);
}

// Refuses a passphrase; OpenSSL's default would ask for it on the terminal.
static int copenssl_no_passphrase(char *text, int size, int writing, void *argument) {
    (void)text;
    (void)size;
    (void)writing;
    (void)argument;
    return -1;
}

static inline void copenssl_forbid_passphrases(SSL_CTX *context) {
    SSL_CTX_set_default_passwd_cb(context, copenssl_no_passphrase);
}

static inline int copenssl_error_library(unsigned long code) { return ERR_GET_LIB(code); }

static inline int copenssl_error_reason(unsigned long code) { return ERR_GET_REASON(code); }

// Whether AES in Galois/Counter mode runs in hardware.
static inline int copenssl_has_aes(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_AES) && (c & bit_PCLMUL);
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#else
    return 0;
#endif
}

#endif
