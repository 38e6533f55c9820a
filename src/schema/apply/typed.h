/* The typed walks of server-side apply: what an object owns, what changed between two objects, an
 * object with a configuration merged into it, an object without some of its fields.
 *
 * Objects are canonical JSON, read into nodes (json/text/nodes.h); a built-in object is in normal
 * form (schema/walk/normalize.h), which is what upstream sees through its Go structs. Sets are made
 * in an arena and borrow from the objects. All walks but the check require objects that the check
 * accepts. The work is linear in the objects, and n log n in the items of a list whose items have
 * keys. What they touch is charged to the work of the arena. Recursion is bounded by the depth of
 * JSON.
 * Thread: any (pure).
 *
 * Errors of all walks: -COR_ENOMEM, -COR_ETOOBIG, COR_WORK_YIELD, and -COR_EINVALID when a list has
 * an item without the keys that tell it apart, which the check refuses with a message. */
#ifndef COR_SCHEMA_APPLY_TYPED_H
#define COR_SCHEMA_APPLY_TYPED_H

#include "base/buf.h"
#include "schema/apply/fieldset.h"
#include "schema/apply/place.h"
#include "json/text/nodes.h"

struct cor_typed {
    const struct cor_apply_place *place;
    const struct cor_json_nodes *json;
};

/* Checks that the object conforms to its type. Appends the errors to `words` as upstream words
 * them: one error on a line of its own, or `errors:` and one line for each. `allow_duplicates`:
 * items of a list may have equal keys. `words` NULL: no message is wanted, and the first error ends
 * the check. 0; -COR_EINVALID: words were appended; -COR_ENOMEM, -COR_ETOOBIG. */
int cor_typed_check(struct cor_typed object, bool allow_duplicates, struct cor_buf *words);

/* The fields that a configuration owns. */
int cor_typed_fields(struct cor_typed object, struct cor_arena *arena,
                     struct cor_fieldset *ret_set);

/* What changed from one object to another of the same type. No path is in two of the sets. */
struct cor_comparison {
    struct cor_fieldset added, modified, removed;
};
int cor_typed_compare(struct cor_typed before, struct cor_typed after, struct cor_arena *arena,
                      struct cor_comparison *ret_comparison);

/* Are both equal by value? Numbers are compared as numbers, lists in order. Allocates nothing. */
bool cor_typed_equal(struct cor_typed a, struct cor_typed b);

/* Appends the live object with the configuration merged into it: nothing is removed. */
int cor_typed_merge(struct cor_typed live, struct cor_typed config, struct cor_arena *arena,
                    struct cor_buf *out);

/* Appends the object without the fields and items of the set; what becomes empty is null. */
int cor_typed_remove(struct cor_typed object, struct cor_fieldset set, struct cor_arena *arena,
                     struct cor_buf *out);

/* The set, with each field that the schema names and that has a member below it as a member too. */
struct cor_fieldset cor_fieldset_name_parents(struct cor_arena *arena, struct cor_fieldset set,
                                              const struct cor_apply_place *place);

/* The set as the present schema would have made it: where a list or map is atomic now, what is
 * below it becomes the path of the list or map. */
struct cor_fieldset cor_fieldset_reconcile(struct cor_arena *arena, struct cor_fieldset set,
                                           const struct cor_apply_place *place);

/* Returns whether cor_fieldset_reconcile() would leave the set of FieldsV1 unchanged. 1: yes; 0:
 * no, or it cannot be said without reading the set; -COR_ENOMEM, -COR_ETOOBIG. */
int cor_fields_v1_is_reconciled(struct cor_arena *arena, struct cor_str fields,
                                const struct cor_apply_place *place);

#endif
