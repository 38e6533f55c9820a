#include "grpc/grpc_status.h"

#include "base/err.h"

/* The codes are 0 to 16, without a gap. */
#define COR_GRPC_ROW(name, number) +1
#define NCODES                     (0 COR_GRPC_CODES(COR_GRPC_ROW))

enum cor_grpc_code cor_grpc_code_parse(struct cor_str text)
{
    uint64_t n;

    if (cor_str_to_u64(text, &n) < 0 || n >= NCODES)
        return COR_GRPC_UNKNOWN;
    return (enum cor_grpc_code)n;
}

enum cor_grpc_code cor_grpc_code_of_http(int http_status)
{
    switch (http_status) {
    case 400:
        return COR_GRPC_INTERNAL;
    case 401:
        return COR_GRPC_UNAUTHENTICATED;
    case 403:
        return COR_GRPC_PERMISSION_DENIED;
    case 404:
        return COR_GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return COR_GRPC_UNAVAILABLE;
    default:
        return COR_GRPC_UNKNOWN;
    }
}
