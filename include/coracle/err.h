/* The error table. A function that can fail returns 0 or a negative COR_E…; one row here gives the
 * code its name, its HTTP status, its Kubernetes reason and whether a retry can help. This is the
 * only list. New rows come last: a code keeps its number. Thread: any. */
#ifndef CORACLE_ERR_H
#define CORACLE_ERR_H

#include <stdbool.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
/* A row is X(name, HTTP status, Kubernetes reason, retryable, text).
 *
 * The errors of a client, by where they arise:
 *
 *   EINVAL         the caller's mistake, or a server that answers 400
 *   EUNREACHABLE   no connection: no server has seen the request
 *   ETLS           a connection, but no TLS: a certificate that is not trusted, another name
 *   EPROTOCOL      what came back is not HTTP, or not the JSON that was asked for
 *   EBROKEN        the connection broke before the answer was whole; whether the server has done
 *                  what was asked is not known
 *   EUNAVAILABLE   a server or proxy answers 502 or 503: later, perhaps
 *   ETIMEOUT the time ran out; the message has the last failure, if there was one
 *   ECANCELED the program cancelled the call; likewise */
#define COR_ERRORS(X)                                                                              \
    X(ENOMEM, 500, "InternalError", true, "out of memory")                                         \
    X(EINVAL, 400, "BadRequest", false, "bad request")                                             \
    X(EINVALID, 422, "Invalid", false, "invalid object")                                           \
    X(EUNAUTHORIZED, 401, "Unauthorized", false, "Unauthorized")                                   \
    X(EFORBIDDEN, 403, "Forbidden", false, "forbidden")                                            \
    X(ENOTFOUND, 404, "NotFound", false, "not found")                                              \
    X(ENOTACCEPTABLE, 406, "NotAcceptable", false, "not acceptable")                               \
    X(EMEDIATYPE, 415, "UnsupportedMediaType", false, "unsupported media type")                    \
    X(EEXIST, 409, "AlreadyExists", false, "already exists")                                       \
    X(ECONFLICT, 409, "Conflict", true, "conflict")                                                \
    X(EPRECONDITION, 409, "Conflict", false, "precondition failed")                                \
    X(EEXPIRED, 410, "Expired", false, "revision expired")                                         \
    X(ETOOBIG, 413, "RequestEntityTooLarge", false, "too large")                                   \
    X(EFUTURE, 504, "Timeout", true, "resource version too large")                                 \
    X(ETIMEOUT, 504, "Timeout", true, "timed out")                                                 \
    X(EBUSY, 429, "TooManyRequests", true, "too many requests")                                    \
    X(EUNREACHABLE, 500, "ServerTimeout", true, "no connection")                                   \
    X(EIO, 500, "InternalError", false, "input/output error")                                      \
    X(ENOSPC, 500, "InternalError", true, "no space left")                                         \
    X(EREADONLY, 500, "InternalError", false, "read-only")                                         \
    X(ECORRUPT, 500, "InternalError", false, "corrupt data")                                       \
    X(ESCHEMA, 500, "InternalError", false, "unknown schema version")                              \
    X(ELOCKED, 500, "InternalError", false, "held by another process")                             \
    X(ECANCELED, 500, "InternalError", false, "canceled")                                          \
    X(ENOTSUP, 405, "MethodNotAllowed", false, "not supported")                                    \
    X(EINTERNAL, 500, "InternalError", false, "internal error")                                    \
    X(ETLS, 500, "InternalError", false, "TLS failed")                                             \
    X(EPROTOCOL, 500, "InternalError", false, "the answer cannot be read")                         \
    X(EBROKEN, 500, "InternalError", true, "the connection broke")                                 \
    X(EUNAVAILABLE, 503, "ServiceUnavailable", true, "service unavailable")
/* clang-format on */

enum cor_err_index {
    COR_ERR_INDEX_OK,
#define COR_ERR_ROW(name, http, reason, retry, text) COR_ERR_INDEX_##name,
    COR_ERRORS(COR_ERR_ROW)
#undef COR_ERR_ROW
        COR_ERR_INDEX_MAX
};

/* Positive values; functions return them negated: -COR_ENOMEM. */
enum cor_err {
#define COR_ERR_ROW(name, http, reason, retry, text) COR_##name = COR_ERR_INDEX_##name,
    COR_ERRORS(COR_ERR_ROW)
#undef COR_ERR_ROW
};

/* Each takes a negative code, or 0 for success; texts are static. An unknown code reads as
 * EINTERNAL. */
COR_API const char *cor_err_name(int r);   /* "ENOMEM" */
COR_API const char *cor_err_text(int r);   /* "out of memory" */
COR_API const char *cor_err_reason(int r); /* Kubernetes reason, "" for 0 */
COR_API int cor_err_http(int r);           /* HTTP status, 200 for 0 */

/* Returns whether the same call may succeed when it is repeated unchanged. After EBROKEN or
 * ETIMEOUT it is not known whether the server has already performed a write. */
COR_API bool cor_err_retryable(int r);

#ifdef __cplusplus
}
#endif

#endif
