/* How a gRPC call ended. Thread: any (values). */
#ifndef COR_GRPC_GRPC_STATUS_H
#define COR_GRPC_GRPC_STATUS_H

#include <stdbool.h>

#include "base/str.h"

/*  X(name, number, the project's code) */
#define COR_GRPC_CODES(X)                                                                          \
    X(OK, 0, 0)                                                                                    \
    X(CANCELLED, 1, -COR_ECANCELED)                                                                \
    X(UNKNOWN, 2, -COR_EINTERNAL)                                                                  \
    X(INVALID_ARGUMENT, 3, -COR_EINVAL)                                                            \
    X(DEADLINE_EXCEEDED, 4, -COR_ETIMEOUT)                                                         \
    X(NOT_FOUND, 5, -COR_ENOTFOUND)                                                                \
    X(ALREADY_EXISTS, 6, -COR_EEXIST)                                                              \
    X(PERMISSION_DENIED, 7, -COR_EFORBIDDEN)                                                       \
    X(RESOURCE_EXHAUSTED, 8, -COR_EBUSY)                                                           \
    X(FAILED_PRECONDITION, 9, -COR_EPRECONDITION)                                                  \
    X(ABORTED, 10, -COR_ECONFLICT)                                                                 \
    X(OUT_OF_RANGE, 11, -COR_EEXPIRED)                                                             \
    X(UNIMPLEMENTED, 12, -COR_ENOTSUP)                                                             \
    X(INTERNAL, 13, -COR_EINTERNAL)                                                                \
    X(UNAVAILABLE, 14, -COR_EUNREACHABLE)                                                          \
    X(DATA_LOSS, 15, -COR_ECORRUPT)                                                                \
    X(UNAUTHENTICATED, 16, -COR_EUNAUTHORIZED)

enum cor_grpc_code {
#define COR_GRPC_ROW(name, number, err) COR_GRPC_##name = number,
    COR_GRPC_CODES(COR_GRPC_ROW)
#undef COR_GRPC_ROW
};

struct cor_grpc_status {
    enum cor_grpc_code code;
    struct cor_str
        message; /* the server's (percent-decoded), or one line of our own; valid UTF-8 */
    /* The server has certainly done nothing of it: another try cannot do it twice. */
    bool is_untouched;
};

/* "UNAVAILABLE". */
const char *cor_grpc_code_name(enum cor_grpc_code code);

/* The nearest code of base/err.h; 0 for OK. */
int cor_grpc_code_err(enum cor_grpc_code code);

/* Of a grpc-status header: an unknown number, or a text that is not a number, reads as UNKNOWN. */
enum cor_grpc_code cor_grpc_code_parse(struct cor_str text);

/* For a response without grpc-status, as gRPC's HTTP mapping has it. */
enum cor_grpc_code cor_grpc_code_of_http(int http_status);

#endif
