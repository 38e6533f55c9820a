/* Strategic merge patches of built-in kinds: a merge patch that knows which lists are merged, by
 * which key, and the directives $patch, $retainKeys, $setElementOrder and $deleteFromPrimitiveList.
 * Which lists these are, the type of the kind says (schema/types/types.h).
 * Thread: any (no state). */
#ifndef COR_SCHEMA_MERGE_STRATEGIC_MERGE_H
#define COR_SCHEMA_MERGE_STRATEGIC_MERGE_H

#include "schema/types/types.h"
#include "json/patch/patch.h"

/* Appends `doc` (canonical) with `patch` applied, as JSON that is not canonical. `kind` is the type
 * of both; NULL: it is not known, and every list of the patch replaces the old one. The kind and
 * the apiVersion stay those of `doc`, whatever texts the patch has there. As in
 * json/patch/patch.h: 0, -COR_EINVAL (malformed), -COR_EINVALID (does not apply), -COR_ETOOBIG,
 * -COR_ENOMEM; and -COR_EINTERNAL for what upstream calls an error of its own: elements without
 * their key or of mixed types, unknown markers. What is gone over is charged to limits->work, whose
 * end is a failure too. */
int cor_strategic_merge(struct cor_str doc, struct cor_str patch, const struct cor_type *kind,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr);

#endif
