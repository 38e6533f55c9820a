#include "storage/cacher/cache_entry.h"

#include <assert.h>

#include "base/mem.h"
#include "json/path/path.h"

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
static struct cor_str find_trigger(const struct cor_object *object,
                                   const struct cor_json_path *path)
{
    struct cor_str value;

    if (find(object, path, &value) < 0)
        return cor_str("", 0);
    switch (cor_json_type(value)) {
    case COR_JSON_STRING:
        return cor_trigger_text(cor_str(value.p + 1, value.n - 2));
    case COR_JSON_NUMBER:
    case COR_JSON_BOOL:
        return cor_trigger_text(value);
    default:
        return cor_str("", 0);
    }
}

/* The length of the text of trigger field `i`; see struct cor_cache_entry. */
static size_t text_len(size_t i, size_t value_len, size_t key_len)
{
    if (value_len > 0)
        return value_len + 1 + key_len + 1;
    return i == 0 ? key_len + 1 : 0;
}

static size_t texts_len(const uint16_t *value_len, size_t ntriggers, size_t key_len)
{
    size_t len = ntriggers == 0 ? key_len + 1 : 0;

    for (size_t i = 0; i < ntriggers; i++)
        len += text_len(i, value_len[i], key_len);
    return len;
}

static size_t entry_size(const uint16_t *value_len, size_t ntriggers, size_t key_len)
{
    return offsetof(struct cor_cache_entry, value_len) + ntriggers * sizeof(value_len[0]) +
           texts_len(value_len, ntriggers, key_len);
}

static char *add_text(char *at, struct cor_str text)
{
    if (text.n > 0)
        memcpy(at, text.p, text.n);
    at[text.n] = '\0';
    return at + text.n + 1;
}

static struct cor_cache_entry *entry_new(struct cor_str key, const struct cor_str *values, size_t n)
{
    uint16_t value_len[COR_TRIGGERS_MAX];
    struct cor_cache_entry *entry;
    size_t size;
    char *at;

    assert(key.n <= COR_CACHE_ENTRY_KEY_MAX && n <= COR_TRIGGERS_MAX);
    for (size_t i = 0; i < n; i++)
        value_len[i] = (uint16_t)values[i].n;
    size = entry_size(value_len, n, key.n);
    entry = cor_alloc(size > sizeof(*entry) ? size : sizeof(*entry));
    if (!entry)
        return NULL;
    cor_ref_init(&entry->ref);
    atomic_init(&entry->notes.bytes, 0);
    entry->key_len = (uint32_t)key.n & COR_CACHE_ENTRY_KEY_MAX;
    entry->ntriggers = n & 0xf;
    entry->key_at = n > 0 && values[0].n > 0 ? (uint16_t)(values[0].n + 1) : 0;
    at = (char *)(entry->value_len + n);
    if (n == 0)
        add_text(at, key);
    for (size_t i = 0; i < n; i++) {
        entry->value_len[i] = value_len[i];
        if (values[i].n > 0)
            at = add_text(at, values[i]);
        if (values[i].n > 0 || i == 0)
            at = add_text(at, key);
    }
    return entry;
}

struct cor_cache_entry *cor_cache_entry_new(struct cor_str key, struct cor_object *take_object,
                                            const struct cor_triggers *triggers)
{
    struct cor_str values[COR_TRIGGERS_MAX];
    size_t n = triggers ? triggers->n : 0;
    struct cor_cache_entry *entry;

    for (size_t i = 0; i < n; i++)
        values[i] = find_trigger(take_object, triggers->paths[i]);
    entry = entry_new(key, values, n);
    if (!entry) {
        cor_object_unref(take_object);
        return NULL;
    }
    entry->object = take_object;
    return entry;
}

struct cor_str cor_cache_entry_index_key(const struct cor_cache_entry *entry, size_t i)
{
    const char *at = (const char *)(entry->value_len + entry->ntriggers);

    assert(i < entry->ntriggers);
    if (entry->value_len[i] == 0)
        return cor_str("", 0);
    for (size_t j = 0; j < i; j++)
        at += text_len(j, entry->value_len[j], entry->key_len);
    return cor_str(at, (size_t)entry->value_len[i] + 1 + entry->key_len);
}

struct cor_cache_entry *cor_cache_entry_new_unreadable(struct cor_str key)
{
    struct cor_cache_entry *entry = entry_new(key, NULL, 0);

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
    size_t bytes = entry_size(entry->value_len, entry->ntriggers, entry->key_len) + BLOCK_BYTES;

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
