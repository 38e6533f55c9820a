/* The trigger fields of a resource: a watch that selects one value of one of them, such as
 * spec.nodeName=a, is indexed by it, so that events of other values cost it nothing; a list that
 * does looks at the objects with that value only (field_index.h).
 * Thread: any (immutable).  Owner: its embedder, the cacher. */
#ifndef COR_STORAGE_CACHER_TRIGGERS_H
#define COR_STORAGE_CACHER_TRIGGERS_H

#include <stdbool.h>

#include "base/str.h"

struct cor_json_path;

/* As many as a version of a custom resource may have selectable fields. */
#define COR_TRIGGERS_MAX 8

struct cor_triggers {
    size_t n;
    struct cor_str fields[COR_TRIGGERS_MAX]; /* copies: a definition may go before its cache */
    struct cor_json_path *paths[COR_TRIGGERS_MAX];
};

/* `fields` ends with NULL, and is NULL where there are none. Those behind COR_TRIGGERS_MAX are left
 * out: watches that select by them are filtered. 0; -COR_ENOMEM or -COR_EINVAL (no path), after
 * which only cor_triggers_deinit() may follow. */
int cor_triggers_init(struct cor_triggers *triggers, const char *const *fields);
void cor_triggers_deinit(struct cor_triggers *triggers); /* all zero is fine */

/* Values are indexed by their first bytes, so that a long one is not kept twice: whoever looks one
 * up finds all that begin like it, and matches them. */
#define COR_TRIGGER_TEXT_MAX 128

static inline struct cor_str cor_trigger_text(struct cor_str value)
{
    return cor_str(value.p, value.n < COR_TRIGGER_TEXT_MAX ? value.n : COR_TRIGGER_TEXT_MAX);
}

/* The text that all objects with `value` in a trigger field are indexed by; empty: objects without
 * the field match too, and are in no index. False: it is another one in JSON. */
bool cor_trigger_text_of(struct cor_str value, struct cor_str *ret_text);

#endif
