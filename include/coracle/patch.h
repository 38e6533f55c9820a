/* A merge patch from the difference of two objects: controller-runtime's MergeFrom. The patch
 * changes only what differs between the two, so that it does not undo what others have written
 * elsewhere in the object.
 *
 *   cor_patch_between(before, after, false, &patch, &why);
 *   const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_PATCH, .resource = pods,
 *                                   .of = before, .patch_type = COR_PATCH_MERGE,
 *                                   .patch = cor_patch_json(patch)};
 *
 * It is a JSON merge patch (RFC 7386): a list that differs is replaced as a whole, and a field
 * cannot be set to null. A strategic merge patch, which merges lists, needs the schema of the
 * type, which a client does not have.
 * Thread: any (immutable).  Owner: the maker. */
#ifndef CORACLE_PATCH_H
#define CORACLE_PATCH_H

#include <stdbool.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/status.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_patch;

/* Makes the patch that turns `before` into `after`. With `unless_changed` the patch also has the
 * resourceVersion of `before`: the server refuses it with a conflict when somebody has written the
 * object since (MergeFromWithOptimisticLock). 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL
 * (`unless_changed`, and `before` has no resourceVersion). */
COR_API int cor_patch_between(const struct cor_object *before, const struct cor_object *after,
                              bool unless_changed, struct cor_patch **ret_patch,
                              struct cor_status *reterr);

/* The patch's bytes, borrowed: "{}" when nothing differs. */
COR_API struct cor_str cor_patch_json(const struct cor_patch *patch);

/* Does the patch change nothing? */
COR_API bool cor_patch_is_empty(const struct cor_patch *patch);

COR_API struct cor_patch *cor_patch_free(struct cor_patch *patch); /* NULL is fine; returns NULL */

#ifdef __cplusplus
}
#endif

#endif
