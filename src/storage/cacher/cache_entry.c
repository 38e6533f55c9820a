#include "storage/cacher/cache_entry.h"

#include <assert.h>

#include "base/mem.h"
#include "json/path.h"

/* What the allocator adds to a block. */
#define BLOCK_BYTES 16

/* An object knows where its metadata begins, so a path into metadata is searched from there. */
static int find(const struct cor_object *object, const struct cor_json_path *path,
                struct cor_str *ret_value)
{
    bool is_meta = cor_json_path_begins(path, COR_STR("metadata"));
    struct cor_str json = cor_str_from(cor_object_json(object), is_meta ? object->meta_at : 0);

    return cor_json_path_first_from(path, is_meta ? 1 : 0, json, COR_JSON_SORTED, ret_value);
}

/* As field selectors read it: a text without its quotes, a number or a truth as it is written. */
static struct cor_span find_trigger(const struct cor_object *object,
                                    const struct cor_json_path *path)
{
    struct cor_str value;

    if (find(object, path, &value) < 0)
        return (struct cor_span){0};
    switch (cor_json_type(value)) {
    case COR_JSON_STRING:
        return (struct cor_span){(uint32_t)(value.p + 1 - object->bytes), (uint32_t)value.n - 2};
    case COR_JSON_NUMBER:
    case COR_JSON_BOOL:
        return (struct cor_span){(uint32_t)(value.p - object->bytes), (uint32_t)value.n};
    default:
        return (struct cor_span){0};
    }
}

static size_t entry_size(size_t ntriggers, size_t key_len)
{
    return sizeof(struct cor_cache_entry) + ntriggers * sizeof(struct cor_span) + key_len + 1;
}

static struct cor_cache_entry *entry_new(struct cor_str key, size_t ntriggers)
{
    struct cor_cache_entry *entry = cor_alloc(entry_size(ntriggers, key.n));
    char *text;

    assert(key.n <= COR_CACHE_ENTRY_KEY_MAX && ntriggers <= COR_TRIGGERS_MAX);
    if (!entry)
        return NULL;
    cor_ref_init(&entry->ref);
    entry->key_len = (uint32_t)key.n & COR_CACHE_ENTRY_KEY_MAX;
    entry->ntriggers = ntriggers & 0xf;
    text = (char *)(entry->triggers + ntriggers);
    memcpy(text, key.p, key.n);
    text[key.n] = '\0';
    return entry;
}

struct cor_cache_entry *cor_cache_entry_new(struct cor_str key, struct cor_object *take_object,
                                            const struct cor_triggers *triggers)
{
    size_t n = triggers ? triggers->n : 0;
    struct cor_cache_entry *entry = entry_new(key, n);

    if (!entry) {
        cor_object_unref(take_object);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        entry->triggers[i] = find_trigger(take_object, triggers->paths[i]);
    entry->object = take_object;
    return entry;
}

struct cor_cache_entry *cor_cache_entry_new_unreadable(struct cor_str key)
{
    struct cor_cache_entry *entry = entry_new(key, 0);

    if (entry)
        entry->object = NULL;
    return entry;
}

struct cor_cache_entry *cor_cache_entry_ref(struct cor_cache_entry *entry)
{
    cor_ref_get(&entry->ref);
    return entry;
}

struct cor_cache_entry *cor_cache_entry_unref(struct cor_cache_entry *entry)
{
    if (entry && cor_ref_put(&entry->ref)) {
        cor_object_unref(entry->object);
        cor_free(entry);
    }
    return NULL;
}

size_t cor_cache_entry_bytes(const struct cor_cache_entry *entry)
{
    size_t bytes = entry_size(entry->ntriggers, entry->key_len) + BLOCK_BYTES;

    if (entry->object)
        bytes += sizeof(*entry->object) + entry->object->len + BLOCK_BYTES;
    return bytes;
}

static struct cor_str item_key(const void *item)
{
    return cor_cache_entry_key(item);
}

static void item_ref(void *item)
{
    cor_cache_entry_ref(item);
}

static void item_unref(void *item)
{
    cor_cache_entry_unref(item);
}

const struct cor_btree_type cor_cache_entry_type = {item_key, item_ref, item_unref};
