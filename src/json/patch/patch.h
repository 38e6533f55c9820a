/* RFC 7386 merge patch and RFC 6902 JSON Patch over bytes. Both behave, and word their errors, as
 * the library that kube-apiserver uses does: a merge patch prunes null members of what it adds,
 * also in arrays; in a JSON Patch a negative index counts from the end, `replace` adds a missing
 * member, and a missing "value" is null. Thread: any (no state). */
#ifndef COR_JSON_PATCH_PATCH_H
#define COR_JSON_PATCH_PATCH_H

#include "json/text/json.h"

struct cor_json_patch_error {
    char message[400]; /* cut when a path in it is longer */
};

/* Both append the patched `doc` in canonical form to `out`, whose maximum limits the result. `doc`
 * is canonical; `patch` comes from outside and `limits` are for it. Its repeated keys are added to
 * `dups` unless that is NULL. On failure `out` is as before, and `reterr` (may be NULL) is written
 * for all but -COR_ENOMEM and a result that is too large. 0, -COR_EINVAL (malformed: a bad
 * request), -COR_EINVALID (it does not apply), -COR_ETOOBIG (too many bytes, operations or steps,
 * or too large a result), -COR_ENOMEM, COR_WORK_YIELD of limits->work. */
int cor_json_merge_patch(struct cor_str doc, struct cor_str patch,
                         const struct cor_json_limits *limits, struct cor_buf *out,
                         struct cor_json_dups *dups, struct cor_json_patch_error *reterr);
int cor_json_json_patch(struct cor_str doc, struct cor_str patch,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr);

#endif
