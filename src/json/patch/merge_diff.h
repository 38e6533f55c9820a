/* The merge patch (RFC 7386) that makes one JSON value out of another, as kube clients send it.
 * Thread: any (no state). */
#ifndef COR_JSON_PATCH_MERGE_DIFF_H
#define COR_JSON_PATCH_MERGE_DIFF_H

#include "base/buf.h"
#include "base/str.h"

/* Which members of the outermost object are compared. */
enum cor_merge_diff_part { COR_MERGE_DIFF_ALL, COR_MERGE_DIFF_BUT, COR_MERGE_DIFF_ONLY };

/* Appends the patch from `before` to `after` to `out`: "{}" when nothing differs. Both are
 * canonical objects. A member that `after` lacks is null in the patch, lists are replaced as a
 * whole. `key` is the member that COR_MERGE_DIFF_BUT leaves out and COR_MERGE_DIFF_ONLY compares.
 * A merge patch cannot set a member to null: a null in `after` removes the member. 0, -COR_ENOMEM,
 * -COR_ETOOBIG; `out` is as before on failure. */
int cor_json_merge_diff(struct cor_str before, struct cor_str after, enum cor_merge_diff_part part,
                        struct cor_str key, struct cor_buf *out);

#endif
