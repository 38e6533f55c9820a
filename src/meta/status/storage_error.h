/* Failures of the storage layer in upstream's words, and what the REST layer makes of them.
 *
 * The store fills a status here; it prints as `StorageError: key not found, Code: 1, …`, is 500
 * without a reason like any error that upstream does not type, and its err says which one it is.
 * cor_storage_error_to_api() turns it into the error a client sees. An error that already is an API
 * error (it has a reason) passes through unchanged, and so do untyped ones of other kinds.
 * Thread: any. */
#ifndef COR_META_STATUS_STORAGE_ERROR_H
#define COR_META_STATUS_STORAGE_ERROR_H

#include "base/str.h"
#include "meta/status/gvk.h"
#include "meta/status/revision.h"
#include "meta/status/status.h"

/* What a request that has reached its own deadline answers, in upstream's words: a read those of
 * the timeout filter, a write those of the finisher. The error is cor_status_timeout()'s, a 504. */
#define COR_ALLOTTED_TEXT "request did not complete within the allotted timeout"
#define COR_DEADLINE_TEXT                                                                          \
    "request did not complete within requested timeout - context deadline exceeded"

/* The numbers are upstream's and are printed. */
enum cor_storage_code {
    COR_STORAGE_NOT_FOUND = 1,   /* -COR_ENOTFOUND */
    COR_STORAGE_EXISTS = 2,      /* -COR_EEXIST */
    COR_STORAGE_CONFLICT = 3,    /* -COR_ECONFLICT */
    COR_STORAGE_INVALID_OBJ = 4, /* -COR_EPRECONDITION */
    COR_STORAGE_UNREACHABLE = 5, /* -COR_EUNREACHABLE */
    COR_STORAGE_TIMEOUT = 6,     /* -COR_ETIMEOUT */
    COR_STORAGE_CORRUPT = 7,     /* -COR_ECORRUPT */
};

/* Returns the code's error. `why` NULL prints as `<nil>`. `st` may be NULL. */
int cor_storage_error(struct cor_status *st, enum cor_storage_code code, struct cor_str key,
                      cor_rev rev, const char *why);

/* Upstream's storage.InternalError: the bare text, -COR_EINTERNAL. */
int cor_storage_internal(struct cor_status *st, const char *fmt, ...) COR_PRINTF(2, 3);

/* `what` is "UID" or "ResourceVersion". Returns -COR_EPRECONDITION. */
int cor_storage_precondition_failed(struct cor_status *st, struct cor_str key, const char *what,
                                    struct cor_str wanted, struct cor_str found);

enum cor_storage_op {
    COR_STORAGE_OP_GET,
    COR_STORAGE_OP_LIST,
    COR_STORAGE_OP_CREATE,
    COR_STORAGE_OP_UPDATE,
    COR_STORAGE_OP_DELETE,
    COR_STORAGE_OP_WATCH,
};

/* Rewrites `st`, and returns its new err. `name` is not used for a list. */
int cor_storage_error_to_api(struct cor_status *st, enum cor_storage_op op, const struct cor_gr *gr,
                             struct cor_str name);

#endif
