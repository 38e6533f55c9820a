/* What a watch cache keeps of one version of an object: its key, the object, and where in its bytes
 * the trigger field is, which watches are indexed by. Tree and window share the entries.
 * Thread: any (immutable).  Owner: its references. */
#ifndef COR_STORAGE_CACHER_CACHE_ENTRY_H
#define COR_STORAGE_CACHER_CACHE_ENTRY_H

#include "base/btree.h"
#include "meta/object.h"

struct cor_json_path;

struct cor_cache_entry {
    struct cor_ref ref;
    uint32_t key_len;
    struct cor_span trigger; /* of the object's bytes: the text of the trigger field; len 0: none */
    struct cor_object *object; /* served form; NULL: see cor_cache_entry_new_unreadable() */
    char key[];                /* physical, with a NUL that is not counted */
};

/* `trigger` is the path of the trigger field; NULL: the resource has none. The reference to the
 * object is taken over also on failure. NULL: out of memory. */
struct cor_cache_entry *cor_cache_entry_new(struct cor_str key, struct cor_object *take_object,
                                            const struct cor_json_path *trigger);
/* An entry that says that the value of `key` could not be decoded. It is in events of the window
 * only, never in a tree. NULL: out of memory. */
struct cor_cache_entry *cor_cache_entry_new_unreadable(struct cor_str key);
struct cor_cache_entry *cor_cache_entry_ref(struct cor_cache_entry *entry);
struct cor_cache_entry *cor_cache_entry_unref(struct cor_cache_entry *entry); /* NULL is fine */
COR_DEFINE_CLEANUP(struct cor_cache_entry, cor_cache_entry_unref)

static inline struct cor_str cor_cache_entry_key(const struct cor_cache_entry *entry)
{
    return cor_str(entry->key, entry->key_len);
}

static inline struct cor_str cor_cache_entry_trigger(const struct cor_cache_entry *entry)
{
    return cor_str(entry->object->bytes + entry->trigger.at, entry->trigger.len);
}

/* The memory that is freed with the last reference. */
size_t cor_cache_entry_bytes(const struct cor_cache_entry *entry);

/* For cor_btree_new(). */
extern const struct cor_btree_type cor_cache_entry_type;

#endif
