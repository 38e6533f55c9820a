/* clang-format off */
/* Merges OpenAPI documents of version 2: those of other API servers into our own, as upstream's
 * aggregator does it (Contract extension 4.5.5).
 *
 *   paths         of a path that two documents have the first stays
 *   definitions   equal ones are one, and the kinds that they stand for are joined
 *                 (x-kubernetes-group-version-kind); of different ones with the same name the later is
 *                 renamed to NAME_v2, or to the next number that is free, and what refers to it in its
 *                 document follows
 *   parameters    as definitions
 *
 * Descriptions do not count when a definition is compared with one of our own, because ours have
 * our own words: otherwise every type that all servers share would be there twice.
 * Thread: any (pure). */
/* clang-format on */
#ifndef COR_SERVER_OPENAPI_MERGE_H
#define COR_SERVER_OPENAPI_MERGE_H

#include "base/buf.h"

/* Appends `local` with `others` merged into it, in their order. `local` is a document that
 * cor_openapi_write_2() wrote; `others` are canonical and were checked (server/aggregation/
 * openapi_parse.h). One for which there is no room below COR_OPENAPI_BYTES_MAX and the maximum of
 * `out` is left out, and so costs nobody else's document. 0, -COR_ENOMEM, -COR_ETOOBIG (`local`
 * alone has no room). */
int cor_openapi_merge(struct cor_str local, const struct cor_str *others, size_t n,
                      struct cor_buf *out);

#endif
