/* What the two kinds of patches share. */
#ifndef COR_JSON_PATCH_PATCH_INT_H
#define COR_JSON_PATCH_PATCH_INT_H

#include "base/cleanup.h"
#include "json/patch/patch.h"
#include "json/text/scan.h"

/* Fills `reterr` unless it is NULL, and returns `r`. */
int cor_json_patch_fail(struct cor_json_patch_error *reterr, int r, const char *fmt, ...)
    COR_PRINTF(3, 4);

/* The patch in canonical form, appended to `out`. Fails as the patches do. */
int cor_json_patch_read(struct cor_str patch, const struct cor_json_limits *limits,
                        struct cor_buf *out, struct cor_json_dups *dups,
                        struct cor_json_patch_error *reterr);

/* Are all values of a JSON patch, which is valid JSON, operations? `dups` (may be NULL) has the
 * keys that the patch repeats; members that operations do not have are added to it, and what is
 * repeated inside these is removed. 0, -COR_EINVAL, -COR_ETOOBIG (too many operations),
 * -COR_ENOMEM. */
int cor_json_patch_check_ops(struct cor_str patch, struct cor_json_dups *dups,
                             struct cor_json_patch_error *reterr);

#endif
