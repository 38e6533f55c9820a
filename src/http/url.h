/* The parts of a URL that a request carries: percent-encoding and query strings, as Go's net/url
 * reads them. Thread: any. */
#ifndef COR_HTTP_URL_H
#define COR_HTTP_URL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum cor_url_part {
    COR_URL_PATH,  /* '+' is itself */
    COR_URL_QUERY, /* '+' is a space */
};

/* Appends the decoded bytes. 0, -COR_EINVAL (a '%' without two hex digits; the content of `out` is
 * as it was), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_url_unescape(struct cor_str in, enum cor_url_part part, struct cor_buf *out);

/* Appends `in` encoded so that it may stand as one path segment or one query name or value. Same
 * errors. */
int cor_url_escape(struct cor_str in, enum cor_url_part part, struct cor_buf *out);

/* Cuts the next "name=value" off `*rest`, both still encoded, as Go's ParseQuery does: empty pairs
 * are skipped, a missing '=' gives an empty value. A pair that holds ';' is skipped; -COR_EINVAL is
 * returned for it and iteration may go on. 1: a pair; 0: the end. */
int cor_url_query_next(struct cor_str *rest, struct cor_str *ret_name, struct cor_str *ret_value);

/* Does a name or value of a query decode to `plain`? */
bool cor_url_query_is(struct cor_str raw, struct cor_str plain);

/* The decoded value of the first pair called `name`, both decoded; as in Go, pairs that cannot be
 * decoded do not count. 0, -COR_ENOTFOUND, -COR_ENOMEM, -COR_ETOOBIG. `out` is appended to. */
int cor_url_query_get(struct cor_str query, struct cor_str name, struct cor_buf *out);

#endif
