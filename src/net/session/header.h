/* HTTP header fields as both protocol versions and both roles hold them. Thread: any (values). */
#ifndef COR_NET_SESSION_HEADER_H
#define COR_NET_SESSION_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* The length of a body that is not known beforehand: sent in chunks. */
#define COR_HTTP_LENGTH_UNKNOWN UINT64_MAX

struct cor_http_header {
    struct cor_str name, value;
};

/* ASCII letters compare without case. */
bool cor_header_name_eq(struct cor_str a, struct cor_str b);

/* The value of the first field of that name; p == NULL when there is none. */
struct cor_str cor_header_find(const struct cor_http_header *headers, size_t n,
                               struct cor_str name);

/* How many fields have that name. */
size_t cor_header_count(const struct cor_http_header *headers, size_t n, struct cor_str name);

/* Is `token` an element of the comma-separated list `value`? Compared without case. */
bool cor_header_has_token(struct cor_str value, struct cor_str token);

#endif
