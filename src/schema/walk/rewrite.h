/* From an object as a client sent it to the object that upstream would keep: normalised, then
 * defaulted. The server's writes, what patches make, stored objects of older versions and imports
 * all go this way.
 * Owner: nobody.  Thread: any (pure). */
#ifndef COR_SCHEMA_WALK_REWRITE_H
#define COR_SCHEMA_WALK_REWRITE_H

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"
#include "schema/walk/normalize.h"

/* Rewrites `json`, canonical bytes of an object of the kind `type`, in its own version. 0: there is
 * nothing to do, and nothing was appended. 1: the rewritten object was appended to `out`.
 * -COR_ENOMEM, -COR_ETOOBIG (out's maximum). `out` is as before unless 1 is returned. Rewriting
 * again changes nothing. */
int cor_rewrite(const struct cor_type *type, struct cor_str json, struct cor_buf *out);

/* The same, with the notes of cor_normalize_noting(). */
int cor_rewrite_noting(const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                       struct cor_normalize_notes *ret_notes);

/* The same for an object that was stored, perhaps by another server: it has been prepared, so
 * defaults that wait for that (cor_default_late()) are filled in, too. */
int cor_rewrite_stored(const struct cor_type *type, struct cor_str json, struct cor_buf *out);

#endif
