/* A draft: an object of a built-in kind that rules and hooks may change, value by value. Only the
 * values whose types can have defaults are opened into their members; all others stay bytes of the
 * object that they come from. A draft that nothing has changed writes nothing.
 *
 * Each value belongs to the draft and lives in its memory until cor_draft_deinit(). The first
 * failure (-COR_ENOMEM) sticks: later calls do nothing, and cor_draft_write() returns it.
 * Owner: whoever embeds the draft; the object's bytes must stay.  Thread: one at a time. */
#ifndef COR_SCHEMA_WALK_DRAFT_H
#define COR_SCHEMA_WALK_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

#define COR_DRAFT_UNKNOWN                                                                          \
    UINT8_MAX /* in place of a member's index: the type has no such member                         \
               */

struct cor_draft_value {
    struct cor_draft_value *parent; /* NULL: the object itself */
    struct cor_draft_value *next;   /* behind it in its parent */
    struct cor_draft_value *first;  /* of an opened value */
    struct cor_draft_value *hint;   /* the child that was put last: keys often come in order */
    const struct cor_type *type;    /* NULL: not known */
    struct cor_str key;             /* raw text, of a member */
    struct cor_str json;            /* valid unless something below has changed */
    uint8_t member;                 /* its index among those of the parent's type */
    bool is_open;
    bool is_changed; /* the value itself, or something below */
};

struct cor_draft {
    struct cor_draft_value root;
    struct cor_arena arena; /* the memory of all values but the root */
    int error;              /* 0 or -COR_ENOMEM */
};

/* Opens a canonical object of a kind. Call deinit in any case. */
void cor_draft_init(struct cor_draft *draft, const struct cor_type *type, struct cor_str json);
void cor_draft_deinit(struct cor_draft *draft);

/* Appends the changed object in canonical form. 0, -COR_ENOMEM, -COR_ETOOBIG; `out` is as before
 * on failure. */
int cor_draft_write(const struct cor_draft *draft, struct cor_buf *out);
/* Appends the object if it has changed, and ends the draft. 1: it was appended; 0: nothing has
 * changed; or a failure. */
int cor_draft_finish(struct cor_draft *draft, struct cor_buf *out);

/* `n` bytes that live as long as the draft; NULL: none left. */
void *cor_draft_alloc(struct cor_draft *draft, size_t n);

/* Opens a value that is an object or an array, one level, unless it is open. */
void cor_draft_open(struct cor_draft *draft, struct cor_draft_value *value);

/* A member of an opened struct by its index, or of an opened struct or map by the text of its key,
 * which has no escapes. NULL: there is none, or it is null. */
struct cor_draft_value *cor_draft_member(const struct cor_draft_value *object, size_t member);
struct cor_draft_value *cor_draft_get(const struct cor_draft_value *object, struct cor_str key);

/* A member, opened. NULL: there is none, or it is neither an object nor an array of its type. */
struct cor_draft_value *cor_draft_open_member(struct cor_draft *draft,
                                              const struct cor_draft_value *object,
                                              const char *name);

/* Sets a member of an opened struct or map; `json` is canonical and outlives the draft's use. What
 * it returns is opened where its type can have defaults; NULL: no memory is left. */
struct cor_draft_value *cor_draft_set_member(struct cor_draft *draft,
                                             struct cor_draft_value *object, size_t member,
                                             struct cor_str json);
/* The same by its raw key, for maps and for members that a hook names. */
struct cor_draft_value *cor_draft_set(struct cor_draft *draft, struct cor_draft_value *object,
                                      struct cor_str raw_key, struct cor_str json);

/* Adds the entries of the opened map `from` to the map `name` of an opened object where its own
 * have no such key and `wants` (NULL: any) accepts the raw key; the map is made when something is
 * added. The work is linear in the entries of both. */
void cor_draft_add_missing(struct cor_draft *draft, struct cor_draft_value *object,
                           const char *name, const struct cor_draft_value *from,
                           bool (*wants)(struct cor_str raw_key));

/* Puts canonical JSON in place of a value. */
void cor_draft_replace(struct cor_draft *draft, struct cor_draft_value *value, struct cor_str json);

/* Takes a member out of its object. */
void cor_draft_remove(struct cor_draft_value *value);

#endif
