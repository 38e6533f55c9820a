/* What the files of managers share. */
#ifndef COR_SCHEMA_APPLY_FIELD_MANAGERS_INT_H
#define COR_SCHEMA_APPLY_FIELD_MANAGERS_INT_H

#include "schema/apply/field_managers.h"

struct cor_apply_doc;
struct cor_apply_op;

/* Do both name the same manager: name, operation, subresource, and of updates the version? */
bool cor_field_manager_is_same(const struct cor_field_manager *a,
                               const struct cor_field_manager *b);

/* The text by which upstream sorts managers, in the arena; p == NULL: the arena has failed. */
struct cor_str cor_field_manager_identifier(struct cor_arena *arena,
                                            const struct cor_field_manager *manager);

/* The entry of the same manager; NULL: there is none. */
struct cor_field_manager *cor_field_managers_find(struct cor_field_managers *managers,
                                                  const struct cor_field_manager *manager);

/* Replaces the entry of the same manager, or adds one. 0 or the arena's error. */
int cor_field_managers_put(struct cor_arena *arena, struct cor_field_managers *managers,
                           const struct cor_field_manager *manager);

/* Adds an entry, also when there is one of the same manager. 0 or the arena's error. */
int cor_field_managers_append(struct cor_arena *arena, struct cor_field_managers *managers,
                              const struct cor_field_manager *manager);

void cor_field_managers_drop(struct cor_field_managers *managers, size_t i);

/* Drops the entries whose sets are empty. */
void cor_field_managers_drop_empty(struct cor_field_managers *managers);

/* Many entries by their names. It borrows the entries, which must not move. */
struct cor_field_managers_index {
    const struct cor_field_manager **v; /* in order; of equal names the later entry is the last */
    size_t n;
};
/* 0 or the arena's error. */
int cor_field_managers_index_make(struct cor_arena *arena,
                                  const struct cor_field_managers *managers,
                                  struct cor_field_managers_index *ret_index);
/* NULL: there is none. */
const struct cor_field_manager *
cor_field_managers_index_find(const struct cor_field_managers_index *index,
                              const struct cor_field_manager *manager);

/* The order of entries in managedFields. */
int cor_field_manager_cmp(const struct cor_field_manager *a, const struct cor_field_manager *b);

/* What changed between two objects in the version of the request, without what the endpoint resets;
 * `ret_taken` is what was added or modified. The sets borrow from both texts. Errors as of
 * cor_field_managers_update(). */
int cor_field_managers_changes(const struct cor_apply_request *request, struct cor_str before,
                               struct cor_str after, struct cor_comparison *ret_changes,
                               struct cor_fieldset *ret_taken);

/* Drops the conflicts over fields that the applier has set before by itself
 * (request->last_applied), and that nobody has changed since. An object that does not conform to
 * the type forgives nothing. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_field_managers_forgive(struct cor_apply_op *op, struct cor_apply_doc *live,
                               struct cor_field_managers *conflicts);

/* Appends the conflicts as upstream words them, and sorts them so. -COR_ECONFLICT, or what failed.
 */
int cor_field_managers_write_conflicts(const struct cor_apply_request *request,
                                       struct cor_field_managers *conflicts, struct cor_buf *words);

/* The manager of a request, without its set and time. */
struct cor_field_manager cor_field_manager_requester(const struct cor_apply_request *request,
                                                     bool is_apply);

/* Appends an entry with its FieldsV1. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_field_manager_write(const struct cor_field_manager *manager, struct cor_str fields,
                            struct cor_buf *out);

/* What nobody ever owns: kind, apiVersion, metadata itself and what the server keeps in it. The
 * fields below one of these are owned like all others. */
enum cor_never_level {
    COR_NEVER_ROOT,     /* of the whole object */
    COR_NEVER_METADATA, /* of metadata, which is never owned itself */
    COR_NEVER_OWNED,    /* of a field that is never owned */
    COR_NEVER_DEEPER,   /* of everything else */
};
/* The level of a member of a value that has `level`. */
enum cor_never_level cor_never_below(enum cor_never_level level, struct cor_str raw_key);

/* Joins the oldest entries of updates while there are too many. 0 or the arena's error. */
int cor_field_managers_cap(struct cor_arena *arena, struct cor_field_managers *managers);

/* Versions of the managers, each once, in the order in which managers have them. There are few: an
 * operation ends with the first that is not known, or has dropped it. */
struct cor_seen_versions {
    struct cor_str *v; /* in the arena, with room for one more than there are managers */
    size_t n;
};

struct cor_apply_op;
struct cor_apply_doc;

/* 0, -COR_ENOMEM, -COR_ETOOBIG (the arena's maximum). */
int cor_seen_versions_init(struct cor_seen_versions *seen, struct cor_apply_op *op,
                           const struct cor_field_managers *managers);
/* Is the version new? Then it is added. */
bool cor_seen_versions_see(struct cor_seen_versions *seen, struct cor_str version);

/* Removes from the merged object what the applier owned (`last`) and nobody owns any more. The
 * order is upstream's: what `last` names goes, what managers own comes back, version by version,
 * and so does what `last` never named. `ret_pruned` is a document of the operation, or `merged`. */
int cor_field_managers_prune(struct cor_apply_op *op, const struct cor_field_managers *managers,
                             const struct cor_field_manager *last, struct cor_apply_doc *merged,
                             struct cor_apply_doc **ret_pruned);

#endif
