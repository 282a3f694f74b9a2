#ifndef TRANSFER_CPOSTGRES_SHIM_H
#define TRANSFER_CPOSTGRES_SHIM_H

// The functions of libpq that speak with a PostgreSQL server, from a shared library opened at run time: the static one
// needs Kerberos and LDAP, which Debian has no static libraries for, and only nodes that share a database need libpq.
// What is used of the library's header is declared here (libpq-fe.h of PostgreSQL 14), so that a build needs no
// package. libpq.so.5 has kept these declarations since 2006, and adds functions only.

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

struct cpostgres_connection;
struct cpostgres_result;

// PQconninfoOption: a name of an option and its value, which is NULL if the address does not have the option.
struct cpostgres_option {
    char *keyword;
    char *environment;
    char *compiled;
    char *value;
    char *label;
    char *display;
    int size;
};

// PGnotify: the notification of a channel.
struct cpostgres_notification {
    char *channel;
    int process;
    char *payload;
};

typedef void (*cpostgres_notice_receiver)(void *context, const struct cpostgres_result *notice);

// Members of the structure and symbols of the library: F(type of the result, name, parameters).
#define CPOSTGRES_FUNCTIONS(F) \
    F(int, PQlibVersion, (void)) \
    F(struct cpostgres_option *, PQconninfoParse, (const char *address, char **message)) \
    F(void, PQconninfoFree, (struct cpostgres_option *options)) \
    F(void, PQfreemem, (void *memory)) \
    F(struct cpostgres_connection *, PQconnectStartParams, \
        (const char *const *keywords, const char *const *values, int expands)) \
    F(int, PQconnectPoll, (struct cpostgres_connection *connection)) \
    F(void, PQfinish, (struct cpostgres_connection *connection)) \
    F(int, PQstatus, (const struct cpostgres_connection *connection)) \
    F(int, PQtransactionStatus, (const struct cpostgres_connection *connection)) \
    F(int, PQserverVersion, (const struct cpostgres_connection *connection)) \
    F(char *, PQerrorMessage, (const struct cpostgres_connection *connection)) \
    F(int, PQconnectionNeedsPassword, (const struct cpostgres_connection *connection)) \
    F(int, PQsocket, (const struct cpostgres_connection *connection)) \
    F(int, PQbackendPID, (const struct cpostgres_connection *connection)) \
    F(int, PQsetErrorVerbosity, (struct cpostgres_connection *connection, int verbosity)) \
    F(cpostgres_notice_receiver, PQsetNoticeReceiver, \
        (struct cpostgres_connection *connection, cpostgres_notice_receiver receiver, void *context)) \
    F(int, PQsetnonblocking, (struct cpostgres_connection *connection, int is)) \
    F(int, PQenterPipelineMode, (struct cpostgres_connection *connection)) \
    F(int, PQpipelineSync, (struct cpostgres_connection *connection)) \
    F(int, PQsendPrepare, \
        (struct cpostgres_connection *connection, const char *name, const char *sql, int count, const unsigned *types)) \
    F(int, PQsendQueryParams, \
        (struct cpostgres_connection *connection, const char *sql, int count, const unsigned *types, \
            const char *const *values, const int *lengths, const int *formats, int format)) \
    F(int, PQsendQueryPrepared, \
        (struct cpostgres_connection *connection, const char *name, int count, const char *const *values, \
            const int *lengths, const int *formats, int format)) \
    F(int, PQflush, (struct cpostgres_connection *connection)) \
    F(int, PQconsumeInput, (struct cpostgres_connection *connection)) \
    F(int, PQisBusy, (struct cpostgres_connection *connection)) \
    F(struct cpostgres_result *, PQgetResult, (struct cpostgres_connection *connection)) \
    F(struct cpostgres_notification *, PQnotifies, (struct cpostgres_connection *connection)) \
    F(int, PQresultStatus, (const struct cpostgres_result *result)) \
    F(char *, PQresultErrorMessage, (const struct cpostgres_result *result)) \
    F(char *, PQresultErrorField, (const struct cpostgres_result *result, int field)) \
    F(char *, PQcmdStatus, (struct cpostgres_result *result)) \
    F(char *, PQcmdTuples, (struct cpostgres_result *result)) \
    F(int, PQntuples, (const struct cpostgres_result *result)) \
    F(int, PQnfields, (const struct cpostgres_result *result)) \
    F(int, PQfformat, (const struct cpostgres_result *result, int column)) \
    F(unsigned, PQftype, (const struct cpostgres_result *result, int column)) \
    F(char *, PQgetvalue, (const struct cpostgres_result *result, int row, int column)) \
    F(int, PQgetlength, (const struct cpostgres_result *result, int row, int column)) \
    F(int, PQgetisnull, (const struct cpostgres_result *result, int row, int column)) \
    F(void, PQclear, (struct cpostgres_result *result))

struct cpostgres_library {
#define CPOSTGRES_MEMBER(type, name, parameters) type (*name) parameters;
    CPOSTGRES_FUNCTIONS(CPOSTGRES_MEMBER)
#undef CPOSTGRES_MEMBER
};

enum cpostgres_opening {
    cpostgres_open_succeeded,
    cpostgres_open_absent,
    // The library lacks a function.
    cpostgres_open_incomplete,
};

// Opens the library at `path` permanently. If it lacks a function, `missing` is the function's name.
static inline enum cpostgres_opening cpostgres_open(
    const char *path, struct cpostgres_library *library, const char **missing) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return cpostgres_open_absent;
    *missing = NULL;
#define CPOSTGRES_LOOK_UP(type, name, parameters) \
    *(void **)&library->name = dlsym(handle, #name); \
    if (!library->name) *missing = #name;
    CPOSTGRES_FUNCTIONS(CPOSTGRES_LOOK_UP)
#undef CPOSTGRES_LOOK_UP
    if (!*missing) return cpostgres_open_succeeded;
    dlclose(handle);
    return cpostgres_open_incomplete;
}

// Numbers of ConnStatusType, PostgresPollingStatusType, PGTransactionStatusType, ExecStatusType and PGVerbosity
// (libpq-fe.h).
enum { cpostgres_connection_ok = 0, cpostgres_connection_bad = 1 };
enum { cpostgres_polling_failed = 0, cpostgres_polling_reading = 1, cpostgres_polling_writing = 2, cpostgres_polling_ok = 3 };
enum { cpostgres_transaction_idle = 0 };
enum {
    cpostgres_empty_query = 0,
    cpostgres_command_ok = 1,
    cpostgres_tuples_ok = 2,
    cpostgres_fatal_error = 7,
    cpostgres_pipeline_sync = 10,
    cpostgres_pipeline_aborted = 11,
};
enum { cpostgres_errors_default = 1, cpostgres_errors_verbose = 2 };

// Fields of an error or a notice (postgres_ext.h): the severity in English, the code, the sentence, the constraint.
enum {
    cpostgres_severity = 'V',
    cpostgres_sqlstate = 'C',
    cpostgres_message = 'M',
    cpostgres_constraint = 'n',
};

#endif
