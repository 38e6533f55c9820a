/* Base64 as Go's encoding/base64 reads and writes it, because tokens and error texts of Kubernetes
 * come from there. Line breaks in the input are skipped and the unused bits of the last character
 * are not checked, as there; everything else is refused. Thread: any (pure). */
#ifndef COR_BASE_BASE64_H
#define COR_BASE_BASE64_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

enum cor_base64 {
    COR_BASE64_STD,     /* + and /, padded: StdEncoding */
    COR_BASE64_RAW_URL, /* - and _, without padding: RawURLEncoding */
};

/* Appends to `out`. 0, -COR_ENOMEM, -COR_ETOOBIG (its maximum); unchanged on failure. */
int cor_base64_encode(enum cor_base64 kind, struct cor_str in, struct cor_buf *out);

/* Appends to `out` (NULL: only checks the input). As above, or -COR_EINVAL with the offset of Go's
 * "illegal base64 data at input byte N" in `reterr_at` (may be NULL). */
int cor_base64_decode(enum cor_base64 kind, struct cor_str in, struct cor_buf *out,
                      size_t *reterr_at);

#endif
