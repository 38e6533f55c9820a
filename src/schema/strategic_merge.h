/* Strategic merge patches of built-in kinds: a merge patch that knows which lists are merged, by
 * which key, and the directives $patch, $retainKeys, $setElementOrder and $deleteFromPrimitiveList.
 * Which lists these are is a table of Kubernetes' patchMergeKey tags.
 * Thread: any (no state). */
#ifndef COR_CODEC_STRATEGIC_MERGE_H
#define COR_CODEC_STRATEGIC_MERGE_H

#include "json/patch.h"

/* Appends `doc` (canonical) with `patch` applied, as JSON that is not canonical. As in
 * json/patch.h: 0, -COR_EINVAL (malformed), -COR_EINVALID (does not apply), -COR_ETOOBIG,
 * -COR_ENOMEM. */
int cor_strategic_merge(struct cor_str doc, struct cor_str patch,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr);

#endif
