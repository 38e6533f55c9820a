/* The continue token of a paged list, byte for byte as kube-apiserver writes it: base64 of
 * {"v":"meta.k8s.io/v1","rv":N,"start":"key"}, the key relative to the list's prefix.
 * Thread: any (pure). */
#ifndef COR_META_SELECT_CONTINUE_TOKEN_H
#define COR_META_SELECT_CONTINUE_TOKEN_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/status.h"

/* The revision in a token that goes on at the latest state instead of a fixed one. */
#define COR_CONTINUE_AT_LATEST INT64_C(-1)

/* Appends a token that starts at physical key `start`, which begins with `key_prefix`. 0,
 * -COR_EINVAL (it does not), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_continue_encode(struct cor_str start, struct cor_str key_prefix, int64_t rev,
                        struct cor_buf *out, struct cor_status *reterr_status);

/* The same for the first key after `last`. */
int cor_continue_encode_after(struct cor_str last, struct cor_str key_prefix, int64_t rev,
                              struct cor_buf *out, struct cor_status *reterr_status);

/* Appends the physical key to start at. The revision is > 0, or < 0: at the latest. 0, -COR_EINVAL
 * (400 `invalid continue token: …` in upstream's words), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_continue_decode(struct cor_str token, struct cor_str key_prefix, struct cor_buf *out_start,
                        int64_t *ret_rev, struct cor_status *reterr_status);

#endif
