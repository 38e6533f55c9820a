/* How a Status is filled, written and read; the public header describes it. It is filled where the
 * cause is known, and passed up unchanged. Thread: one at a time. */
#ifndef COR_META_STATUS_STATUS_H
#define COR_META_STATUS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "coracle/status.h"

/* Each fills `st` (NULL is fine: only the code is wanted), replacing what was there, and returns
 * the error code, so that `return cor_status_set(st, -COR_EINVAL, "…")` reads well. Out of memory
 * costs the message and the details, never the code. HTTP status and reason are the error table's.
 * Arguments may point into `st` itself.
 */
int cor_status_set(struct cor_status *st, int err, const char *fmt, ...) COR_PRINTF(3, 4);

/* The same with the error's own text from the table, where nothing more is known. */
int cor_status_set_err(struct cor_status *st, int err);
int cor_status_no_memory(struct cor_status *st);

/* An error that upstream does not type: 500 with an empty reason and the bare text. */
int cor_status_untyped(struct cor_status *st, int err, const char *fmt, ...) COR_PRINTF(3, 4);

/* The errors of Kubernetes' errors package, in its words and with its details. */
struct cor_gr;
int cor_status_not_found(struct cor_status *st, const struct cor_gr *gr, struct cor_str name);
int cor_status_already_exists(struct cor_status *st, const struct cor_gr *gr, struct cor_str name);
int cor_status_conflict(struct cor_status *st, const struct cor_gr *gr, struct cor_str name,
                        const char *fmt, ...) COR_PRINTF(4, 5);
/* `name` may be empty. */
int cor_status_forbidden(struct cor_status *st, const struct cor_gr *gr, struct cor_str name,
                         const char *fmt, ...) COR_PRINTF(4, 5);
int cor_status_bad_request(struct cor_status *st, const char *fmt, ...) COR_PRINTF(2, 3);
int cor_status_internal(struct cor_status *st, const char *fmt, ...) COR_PRINTF(2, 3);
int cor_status_expired(struct cor_status *st, const char *fmt, ...) COR_PRINTF(2, 3);
int cor_status_timeout(struct cor_status *st, int64_t retry_after_s, const char *fmt, ...)
    COR_PRINTF(3, 4);
int cor_status_too_large_rv(struct cor_status *st, uint64_t want, uint64_t have,
                            int64_t retry_after_s);
int cor_status_server_timeout(struct cor_status *st, const struct cor_gr *gr, const char *operation,
                              int64_t retry_after_s);
int cor_status_too_many_requests(struct cor_status *st, const char *message, int64_t retry_after_s);

/* After a reader has filled `st` (NULL is fine) and returned `r` for what a server sent:
 * -COR_EINVAL, which would be the caller's mistake, becomes -COR_EPROTOCOL in both. Returns the
 * code. */
int cor_status_received(struct cor_status *st, int r);

/* Each returns 0 or -COR_ENOMEM and leaves `st` as it was on failure; NULL strings are absent.
 * Beyond COR_STATUS_CAUSES_MAX a cause is dropped and 0 returned. */
int cor_status_add_cause(struct cor_status *st, const char *type, const char *message,
                         const char *field);
int cor_status_set_details(struct cor_status *st, struct cor_str name, struct cor_str group,
                           struct cor_str kind);
int cor_status_set_continue(struct cor_status *st, struct cor_str token);

/* Appends the whole Status object as JSON, members in upstream's order. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_status_write(const struct cor_status *st, struct cor_buf *out);

/* From a server's answer of HTTP status `code`, 400 or more: its body when that is a Status that
 * reports a failure, else what client-go makes of the code (and of a body that is text). The error
 * code is the reason's. Returns it; out of memory costs texts, never the code. */
int cor_status_read(struct cor_status *st, int code, struct cor_str body);

/* Returns whether it is a Status object that reports a failure. */
bool cor_status_is_failure(struct cor_str body);

/* What client-go makes of an answer that is not a Status: upstream's reason and message for its
 * code and method, `text` (what the server said, or "unknown") as the cause, and so many seconds to
 * wait (0: none). Returns the error code, as above. */
int cor_status_generic(struct cor_status *st, int code, struct cor_str method, struct cor_str text,
                       int64_t retry_after_s);

#endif
