/* Patches of parts of an object, beyond coracle/patch.h. Thread: any. */
#ifndef COR_META_OBJECT_OBJECT_PATCH_H
#define COR_META_OBJECT_OBJECT_PATCH_H

#include "base/cleanup.h"
#include "coracle/patch.h"
#include "json/patch/merge_diff.h"

/* The same as cor_patch_between() for a part of the objects: COR_MERGE_DIFF_BUT without their
 * status, COR_MERGE_DIFF_ONLY for their status alone. `version` (empty: none) becomes the patch's
 * metadata.resourceVersion, unless the patch is empty. */
int cor_patch_between_parts(const struct cor_object *before, const struct cor_object *after,
                            enum cor_merge_diff_part part, struct cor_str version,
                            struct cor_patch **ret_patch, struct cor_status *reterr);

COR_DEFINE_CLEANUP(struct cor_patch, cor_patch_free)

#endif
