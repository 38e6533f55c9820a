/* What every store command needs around its work: an open engine, a loop to wait on, and one way to
 * say what went wrong.
 * Thread: main, which also runs the loop.  Owner: the command. */
#ifndef COR_CMD_SESSION_H
#define COR_CMD_SESSION_H

#include <stdbool.h>

#include "command.h"
#include "etcd_flags.h"
#include "loop/loop.h"
#include "meta/status/status.h"
#include "meta/status/storage_error.h"
#include "storage/encryption/dynamic_transformers.h"
#include "storage/engine/engine.h"
#include "storage/store/store.h"
#include "store_key.h"

/* The first member of each store command's options. */
struct session_opts {
    const char *data;
    const char *backend; /* NULL: see cor_engine_config */
    struct cor_etcd_config etcd;
    const char *path_prefix;       /* NULL: /registry */
    const char *output;            /* NULL: the command's own */
    const char *encryption_config; /* NULL: values are not encrypted */
};
#define SESSION_OPTS_DEFAULT                                                                       \
    {                                                                                              \
        .data = DATA_DIR_DEFAULT                                                                   \
    }

/* Rows for a command's table of flags; `session_opts` must be the struct's first member. */
#define SESSION_FLAG_DATA                                                                          \
    {                                                                                              \
        .name = "data", .kind = FLAG_TEXT, .at = offsetof(struct session_opts, data),              \
        .value = "DIR", .help = "the folder of the store (./coracle-data)"                         \
    }
#define SESSION_FLAG_BACKEND                                                                       \
    {.name = "storage-backend",                                                                    \
     .kind = FLAG_TEXT,                                                                            \
     .at = offsetof(struct session_opts, backend),                                                 \
     .value = "sqlite|etcd3",                                                                      \
     .help = "what keeps the data (etcd3 when --etcd-servers is given, else sqlite)"},             \
        ETCD_FLAGS(offsetof(struct session_opts, etcd))
#define SESSION_FLAG_PREFIX                                                                        \
    {                                                                                              \
        .name = "etcd-prefix", .kind = FLAG_TEXT,                                                  \
        .at = offsetof(struct session_opts, path_prefix), .value = "PREFIX",                       \
        .help = "what all keys in the store begin with (/registry)"                                \
    }
#define SESSION_FLAG_ENCRYPTION                                                                    \
    {                                                                                              \
        .name = "encryption-provider-config", .kind = FLAG_TEXT,                                   \
        .at = offsetof(struct session_opts, encryption_config), .value = "FILE",                   \
        .help = "the server's EncryptionConfiguration, to read and write encrypted values"         \
    }
#define SESSION_FLAGS_SELECTORS(opts)                                                              \
    {.name = "selector",                                                                           \
     .letter = 'l',                                                                                \
     .kind = FLAG_TEXT,                                                                            \
     .at = offsetof(opts, selector),                                                               \
     .value = "LABELS",                                                                            \
     .help = "only objects with these labels, such as app=web,tier!=db"},                          \
    {                                                                                              \
        .name = "field-selector", .kind = FLAG_TEXT, .at = offsetof(opts, field_selector),         \
        .value = "FIELDS",                                                                         \
        .help = "only objects with these fields: metadata.name, metadata.namespace"                \
    }
#define SESSION_FLAG_OUTPUT(formats, text)                                                         \
    {                                                                                              \
        .name = "output", .letter = 'o', .kind = FLAG_CHOICE,                                      \
        .at = offsetof(struct session_opts, output), .value = formats, .help = text                \
    }

/* What a command does with the store. */
enum session_use {
    SESSION_READS,   /* beside whoever holds it */
    SESSION_CHANGES, /* one that is there */
    SESSION_MAKES,   /* one that is there, or a new one */
};

struct session {
    const char *command; /* "store put", for messages */
    const struct session_opts *opts;
    struct cor_loop *loop;
    struct cor_engine *engine;
    struct cor_dynamic_transformers *transformers; /* NULL: values are not encrypted */
    struct cor_store *store;                       /* after session_open_store() */
    struct cor_status status;                      /* of the failure to report */
    struct store_key key;                          /* after session_parse_key() */
    int exit_status;                               /* what callbacks have found */
    bool done;                                     /* what session_wait() waits for */
};

/* Cannot fail; session_close() is due from here on. */
void session_init(struct session *s, const char *command, const struct session_opts *opts);

/* Each reports what goes wrong and returns the exit status. First the KEY argument; then the
 * engine; then the store of the key's resource, which also
 * opens the encryption file, if one is named. */
int session_parse_key(struct session *s, const char *arg);
int session_open(struct session *s, enum session_use use);
int session_open_encryption(struct session *s);
int session_open_store(struct session *s, enum session_use use);

/* Of the key's resource, after session_open_encryption(); NULL: identity. 0, -COR_ENOMEM. */
int session_transformer(struct session *s, const struct store_key *key,
                        const struct cor_transformer **ret_transformer);

/* For work on the store's files, without an engine: are there any? The second says so to the user.
 */
bool session_has_files(const struct session *s);
int session_check_files(struct session *s);

/* At any time after session_init(). */
void session_close(struct session *s);

/* Runs the loop until s->done, which it clears. */
void session_wait(struct session *s);

/* One line on stderr; with `-o json` the Status object on stdout. Returns EXIT_FAILED, or
 * EXIT_USAGE for a bad argument when no store was involved. */
int session_report(struct session *s);

/* The same for what the store said about an operation on the key, in a client's words. */
int session_report_storage(struct session *s, enum cor_storage_op op);

/* The end of an operation's callback: the wait is over, and what went wrong is reported. False: it
 * has failed. */
bool session_answered(struct session *s, enum cor_storage_op op, int err,
                      struct cor_status *status);

/* Flushes stdout; a failure there is reported. Returns the exit status, of callbacks first. */
int session_finish_output(struct session *s);

/* -o json: prints bytes and a line end. */
void session_print(struct cor_str text);

bool session_wants_json(const struct session *s);

#endif
