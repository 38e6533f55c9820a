/* From an object as a client sent it to the object that upstream would keep: normalised, then
 * defaulted. This is used for metadata of custom resources, stored objects of older versions and
 * imports; the server's writes have a stage for each of the two (server/write/stage_normalize.c).
 * Owner: nobody.  Thread: any (pure). */
#ifndef COR_SCHEMA_WALK_REWRITE_H
#define COR_SCHEMA_WALK_REWRITE_H

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* Rewrites `json`, canonical bytes of an object of the kind `type`, in its own version. 0: there is
 * nothing to do, and nothing was appended. 1: the rewritten object was appended to `out`.
 * -COR_ENOMEM, -COR_ETOOBIG (out's maximum). `out` is as before unless 1 is returned. Rewriting
 * again changes nothing. */
int cor_rewrite(const struct cor_type *type, struct cor_str json, struct cor_buf *out);

/* The same for an object that was stored, perhaps by another server: it has been prepared, so
 * defaults that wait for that (cor_default_late()) are filled in, too. */
int cor_rewrite_stored(const struct cor_type *type, struct cor_str json, struct cor_buf *out);

#endif
