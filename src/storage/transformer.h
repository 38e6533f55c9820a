/* What happens to a value between the store and the engine: encryption at rest, later. A
 * transformer sees the full key as additional data, so that a value moved to another key does not
 * read. Thread: any (immutable after creation).  Owner: the server. */
#ifndef COR_STORAGE_TRANSFORMER_H
#define COR_STORAGE_TRANSFORMER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status.h"

struct cor_transformer {
    /* `ret_out` points into `in` or into `scratch`. 0, -COR_ENOMEM, -COR_EINTERNAL. `ret_stale`:
     * readable, but not what a write would make now; the next update rewrites it even when nothing
     * changed. */
    int (*from_storage)(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status);
    int (*to_storage)(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                      struct cor_buf *scratch, struct cor_str *ret_out,
                      struct cor_status *reterr_status);
};

/* Passes values through; refuses to read one that begins with `k8s:enc:`. */
const struct cor_transformer *cor_transformer_identity(void);

#endif
