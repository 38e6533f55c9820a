/* A canonical object with a few of its members replaced.
 * Thread: any (values).  Owner: the caller; keys and values are borrowed. */
#ifndef COR_JSON_WRITE_EDITS_H
#define COR_JSON_WRITE_EDITS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define COR_EDITS_MAX 24

/* What is in place of a member. */
struct cor_edit {
    struct cor_str key;
    struct cor_str value; /* JSON; p == NULL: the member goes */
};

/* A few of them, in byte order of their keys; the last of equal ones counts. */
struct cor_edits {
    struct cor_edit v[COR_EDITS_MAX];
    size_t n;
};

void cor_edits_set(struct cor_edits *edits, struct cor_str key, struct cor_str value);
static inline void cor_edits_drop(struct cor_edits *edits, struct cor_str key)
{
    cor_edits_set(edits, key, (struct cor_str){NULL, 0});
}

/* Appends the canonical object `json` with its edited members. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_edits_apply(const struct cor_edits *edits, struct cor_str json, struct cor_buf *out);

/* Writes its members into the object that `w` has open; `is_top`: except for kind and apiVersion.
 */
struct cor_json_writer;
void cor_edits_write(const struct cor_edits *edits, struct cor_str json, bool is_top,
                     struct cor_json_writer *w);

#endif
