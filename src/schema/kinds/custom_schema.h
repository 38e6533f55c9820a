/* The schema of one version of a CustomResourceDefinition: its text, and what is compiled from it
 * when the first request needs it. Most definitions of a server are hardly used: a start with
 * hundreds of them compiles nothing, and keeps no tables beside their text. Listing or watching the
 * stored version, deleting, and reading discovery need no schema; writing does, reading another
 * version does, and so does the cache that is filled with stored objects.
 *
 * Compiling takes about 2 ms for each megabyte of text. The first caller compiles, others wait for
 * it; a caller on a loop asks cor_custom_schema_weight() before, and leaves a long text to a
 * thread. Owner: reference counted.  Thread: any. Maximum: that of the definition's text; the
 * compiled schema is freed with the last reference. */
#ifndef COR_SCHEMA_KINDS_CUSTOM_SCHEMA_H
#define COR_SCHEMA_KINDS_CUSTOM_SCHEMA_H

#include "meta/object/object.h"
#include "schema/structural/structural.h"

struct cor_custom_schema;

/* `json` is the member `schema` of a version, and lies in the bytes of `crd`, of which a reference
 * is taken. `opts` are copied. NULL: no memory is left. */
struct cor_custom_schema *cor_custom_schema_new(struct cor_object *crd, struct cor_str json,
                                                const struct cor_structural_opts *opts);
struct cor_custom_schema *cor_custom_schema_ref(struct cor_custom_schema *schema);
struct cor_custom_schema *cor_custom_schema_unref(struct cor_custom_schema *schema);

/* The compiled schema, which lives as long as `schema`. NULL is given for a `schema` of NULL, and
 * for one that is absent or not structural, which only an old definition can have: its objects stay
 * as they are. 0, -COR_ENOMEM, -COR_ETOOBIG; after a failure the next call tries again. */
int cor_custom_schema_peek(struct cor_custom_schema *schema,
                           const struct cor_structural **ret_compiled);

/* Is it structural, as far as OpenAPI shows it? Nothing is kept compiled for this answer. A text
 * for which there was no memory counts as structural. `schema` may be NULL, which counts as not
 * structural. */
bool cor_custom_schema_is_shown(struct cor_custom_schema *schema);

/* An object that was stored before a default was added may become longer by its defaults than any
 * object may be: COR_OBJECT_BYTES_MAX_DEFAULT. It is then served without them, so that it can still
 * be read, patched and deleted. A reader of such an object notes it here, for good: the schema is
 * that of one state of the definition. NULL is fine in both. */
void cor_custom_schema_note_undefaulted(struct cor_custom_schema *schema);
bool cor_custom_schema_has_undefaulted(const struct cor_custom_schema *schema);

/* The bytes of text that the next cor_custom_schema_peek() compiles; 0: none. NULL is fine. */
size_t cor_custom_schema_weight(const struct cor_custom_schema *schema);

#endif
