/* How a gRPC call ended. Thread: any (values). */
#ifndef COR_GRPC_GRPC_STATUS_H
#define COR_GRPC_GRPC_STATUS_H

#include <stdbool.h>

#include "base/str.h"

/* X(name, number) */
#define COR_GRPC_CODES(X)                                                                          \
    X(OK, 0)                                                                                       \
    X(CANCELLED, 1)                                                                                \
    X(UNKNOWN, 2)                                                                                  \
    X(INVALID_ARGUMENT, 3)                                                                         \
    X(DEADLINE_EXCEEDED, 4)                                                                        \
    X(NOT_FOUND, 5)                                                                                \
    X(ALREADY_EXISTS, 6)                                                                           \
    X(PERMISSION_DENIED, 7)                                                                        \
    X(RESOURCE_EXHAUSTED, 8)                                                                       \
    X(FAILED_PRECONDITION, 9)                                                                      \
    X(ABORTED, 10)                                                                                 \
    X(OUT_OF_RANGE, 11)                                                                            \
    X(UNIMPLEMENTED, 12)                                                                           \
    X(INTERNAL, 13)                                                                                \
    X(UNAVAILABLE, 14)                                                                             \
    X(DATA_LOSS, 15)                                                                               \
    X(UNAUTHENTICATED, 16)

enum cor_grpc_code {
#define COR_GRPC_ROW(name, number) COR_GRPC_##name = number,
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

/* Of a grpc-status header: an unknown number, or a text that is not a number, reads as UNKNOWN. */
enum cor_grpc_code cor_grpc_code_parse(struct cor_str text);

/* For a response without grpc-status, as gRPC's HTTP mapping has it. */
enum cor_grpc_code cor_grpc_code_of_http(int http_status);

#endif
