/* What a watch cache keeps of one version of an object: its key, the object, and the values of its
 * trigger fields, which watches and lists are indexed by. Tree, indexes and window share the
 * entries. Thread: any (immutable).  Owner: its references. */
#ifndef COR_STORAGE_CACHER_CACHE_ENTRY_H
#define COR_STORAGE_CACHER_CACHE_ENTRY_H

#include "base/btree.h"
#include "meta/object/object.h"
#include "meta/select/field_notes.h"
#include "storage/cacher/triggers.h"

#define COR_CACHE_ENTRY_KEY_MAX ((1u << 28) - 1)

struct cor_cache_entry {
    struct cor_ref ref;
    uint32_t key_len : 28;
    uint32_t ntriggers : 4;
    struct cor_object *object;    /* served form; NULL: see cor_cache_entry_new_unreadable() */
    struct cor_field_notes notes; /* what selectors have found out about it */
    uint16_t key_at;              /* in the texts */
    /* How long the value of each trigger field is; 0: there is none. After them in memory come the
     * texts: for each value "VALUE NUL KEY NUL", which is the entry's key in the index of that
     * field. Where the first field has no value its text is "KEY NUL" alone. */
    uint16_t value_len[];
};

/* `triggers` may be NULL: the resource has none. The reference to the object is taken over also on
 * failure. NULL: out of memory. */
struct cor_cache_entry *cor_cache_entry_new(struct cor_str key, struct cor_object *take_object,
                                            const struct cor_triggers *triggers);
/* An entry that says that the value of `key` could not be decoded. It is in events of the window
 * only, never in a tree. NULL: out of memory. */
struct cor_cache_entry *cor_cache_entry_new_unreadable(struct cor_str key);
struct cor_cache_entry *cor_cache_entry_ref(struct cor_cache_entry *entry);
struct cor_cache_entry *cor_cache_entry_unref(struct cor_cache_entry *entry); /* NULL is fine */
COR_DEFINE_CLEANUP(struct cor_cache_entry, cor_cache_entry_unref)

static inline struct cor_str cor_cache_entry_key(const struct cor_cache_entry *entry)
{
    return cor_str((const char *)(entry->value_len + entry->ntriggers) + entry->key_at,
                   entry->key_len);
}

/* The entry's key in the index of a trigger field: its value, a NUL, and its key. Empty: it has no
 * such value and is not in the index. `i` is below `ntriggers`. */
struct cor_str cor_cache_entry_index_key(const struct cor_cache_entry *entry, size_t i);

/* The value of a trigger field, as cor_trigger_text() has it; empty: none. */
static inline struct cor_str cor_cache_entry_trigger(const struct cor_cache_entry *entry, size_t i)
{
    return cor_str(cor_cache_entry_index_key(entry, i).p, entry->value_len[i]);
}

/* The memory that is freed with the last reference. */
size_t cor_cache_entry_bytes(const struct cor_cache_entry *entry);

/* For cor_btree_new(). */
extern const struct cor_btree_type cor_cache_entry_type;

#endif
