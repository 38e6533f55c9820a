/* What happens to a value between the store and the engine: encryption at rest (encryption/). A
 * transformer gets the full key as additional data. A transformer that authenticates the key
 * refuses a value that was moved to another key. Thread: any (immutable after creation).  Owner:
 * the server. */
#ifndef COR_STORAGE_TRANSFORMER_H
#define COR_STORAGE_TRANSFORMER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/status.h"

struct cor_transformer {
    /* `ret_out` points into `in` or into `scratch`, whose content is lost. 0, -COR_ENOMEM,
     * -COR_EINTERNAL. `ret_stale`: readable, but not what a write would make now; the next update
     * rewrites it even when nothing changed. */
    int (*from_storage)(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status);
    /* `ret_out` points into `in`, or to what was put behind the content of `scratch`. */
    int (*to_storage)(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                      struct cor_buf *scratch, struct cor_str *ret_out,
                      struct cor_status *reterr_status);
};

/* Passes values through; refuses to read one that begins with `k8s:enc:`. */
const struct cor_transformer *cor_transformer_identity(void);

/* One transformer of a chain, and the prefix that its values carry in storage. */
struct cor_transformer_link {
    struct cor_str prefix; /* empty: identity's */
    const struct cor_transformer *transformer;
};

/* Writes with the first link and puts its prefix in front; reads with every link whose prefix the
 * value has, in order, until one succeeds. What another than the first has read is stale. */
struct cor_transformer_chain {
    struct cor_transformer transformer;
    const struct cor_transformer_link *links; /* the caller's; at least one */
    size_t nlinks;
    const char *no_match; /* the message when no link has the value's prefix */
};

/* `no_match` is a literal; NULL: "no matching prefix found". */
void cor_transformer_chain_init(struct cor_transformer_chain *chain,
                                const struct cor_transformer_link *links, size_t nlinks,
                                const char *no_match);

/* Does the chain have a link for the prefix of this value? */
bool cor_transformer_chain_reads(const struct cor_transformer *chain, struct cor_str value);

#endif
