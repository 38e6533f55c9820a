/* The list of managers: reading, writing, finding, and the cap of updates. */
#include "schema/apply/field_managers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "schema/apply/apply_doc.h"
#include "schema/apply/field_managers_int.h"
#include "json/text/scan.h"

#define FEW 16 /* entries that are searched one by one; a client may send tens of thousands */
/* What is charged for an entry (its members are looked for, it is sorted among the others), and
 * bytes of the list that are passed for them in the time of a step. */
#define ENTRY_STEPS 32
#define STEP_BYTES  8

bool cor_field_manager_is_same(const struct cor_field_manager *a, const struct cor_field_manager *b)
{
    return a->is_apply == b->is_apply && cor_str_eq(a->name, b->name) &&
           cor_str_eq(a->subresource, b->subresource) &&
           (a->is_apply || cor_str_eq(a->api_version, b->api_version));
}

struct cor_field_manager *cor_field_managers_find(struct cor_field_managers *managers,
                                                  const struct cor_field_manager *manager)
{
    for (size_t i = 0; i < managers->n; i++) {
        if (cor_field_manager_is_same(&managers->v[i], manager))
            return &managers->v[i];
    }
    return NULL;
}

int cor_field_managers_append(struct cor_arena *arena, struct cor_field_managers *managers,
                              const struct cor_field_manager *manager)
{
    struct cor_field_manager *v;

    if (managers->n == managers->cap) {
        size_t cap = managers->cap ? 2 * managers->cap : 8;

        v = cor_arena_alloc(arena, cap * sizeof(*v));
        if (!v)
            return arena->error;
        if (managers->n > 0)
            memcpy(v, managers->v, managers->n * sizeof(*v));
        managers->v = v;
        managers->cap = cap;
    }
    managers->v[managers->n++] = *manager;
    return 0;
}

int cor_field_managers_put(struct cor_arena *arena, struct cor_field_managers *managers,
                           const struct cor_field_manager *manager)
{
    struct cor_field_manager *old = cor_field_managers_find(managers, manager);

    if (!old)
        return cor_field_managers_append(arena, managers, manager);
    *old = *manager;
    return 0;
}

void cor_field_managers_drop(struct cor_field_managers *managers, size_t i)
{
    assert(i < managers->n);
    memmove(&managers->v[i], &managers->v[i + 1], (managers->n - i - 1) * sizeof(managers->v[0]));
    managers->n--;
}

void cor_field_managers_drop_empty(struct cor_field_managers *managers)
{
    size_t n = 0;

    for (size_t i = 0; i < managers->n; i++) {
        if (!cor_fieldset_is_empty(managers->v[i].set))
            managers->v[n++] = managers->v[i];
    }
    managers->n = n;
}

/* ---- many entries ---- */

static int name_cmp(const struct cor_field_manager *a, const struct cor_field_manager *b)
{
    int c = (int)a->is_apply - (int)b->is_apply;

    if (c == 0)
        c = cor_str_cmp(a->name, b->name);
    if (c == 0)
        c = cor_str_cmp(a->subresource, b->subresource);
    return c != 0 || a->is_apply ? c : cor_str_cmp(a->api_version, b->api_version);
}

/* Entries of one name are in the order of the list. */
static int index_cmp(const void *a, const void *b)
{
    const struct cor_field_manager *x = *(const struct cor_field_manager *const *)a;
    const struct cor_field_manager *y = *(const struct cor_field_manager *const *)b;
    int c = name_cmp(x, y);

    return c != 0 ? c : (x > y) - (x < y);
}

int cor_field_managers_index_make(struct cor_arena *arena,
                                  const struct cor_field_managers *managers,
                                  struct cor_field_managers_index *ret_index)
{
    const struct cor_field_manager **v = cor_arena_alloc(arena, (managers->n + 1) * sizeof(*v));

    *ret_index = (struct cor_field_managers_index){NULL, 0};
    if (!v)
        return arena->error;
    for (size_t i = 0; i < managers->n; i++)
        v[i] = &managers->v[i];
    qsort(v, managers->n, sizeof(*v), index_cmp);
    *ret_index = (struct cor_field_managers_index){v, managers->n};
    return 0;
}

const struct cor_field_manager *
cor_field_managers_index_find(const struct cor_field_managers_index *index,
                              const struct cor_field_manager *manager)
{
    size_t low = 0, high = index->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = name_cmp(index->v[middle], manager);

        if (c == 0)
            return index->v[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Of entries with the same name the last one remains. */
static int drop_replaced(struct cor_arena *arena, struct cor_field_managers *managers)
{
    struct cor_field_managers_index index;
    size_t n = 0;
    bool *is_kept = cor_arena_alloc(arena, managers->n * sizeof(*is_kept));
    int r;

    if (!is_kept)
        return arena->error;
    r = cor_field_managers_index_make(arena, managers, &index);
    if (r < 0)
        return r;
    for (size_t i = 0; i < index.n; i++)
        is_kept[index.v[i] - managers->v] =
            i + 1 == index.n || name_cmp(index.v[i], index.v[i + 1]) != 0;
    for (size_t i = 0; i < managers->n; i++) {
        if (is_kept[i])
            managers->v[n++] = managers->v[i];
    }
    managers->n = n;
    return 0;
}

static int add_member(struct cor_buf *out, const char *key, struct cor_str raw)
{
    return raw.n == 0 ? 0
                      : cor_buf_addf(out, "%s\"%s\":\"%.*s\"", out->n > 1 ? "," : "", key,
                                     (int)raw.n, raw.p);
}

struct cor_str cor_field_manager_identifier(struct cor_arena *arena,
                                            const struct cor_field_manager *manager)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1u << 20};
    int r = cor_buf_addc(&out, '{');

    if (r == 0)
        r = add_member(&out, "manager", manager->name);
    if (r == 0)
        r = add_member(&out, "operation", manager->is_apply ? COR_STR("Apply") : COR_STR("Update"));
    if (r == 0 && !manager->is_apply)
        r = add_member(&out, "apiVersion", manager->api_version);
    if (r == 0)
        r = add_member(&out, "subresource", manager->subresource);
    if (r == 0)
        r = cor_buf_addc(&out, '}');
    if (r < 0) {
        arena->error = r;
        return cor_str(NULL, 0);
    }
    return cor_arena_copy(arena, cor_buf_str(&out));
}

/* ---- the cap ---- */

/* Times have one length and order as texts; an entry without a time is the oldest. */
static int time_cmp(struct cor_str a, struct cor_str b)
{
    return cor_str_cmp(a, b);
}

/* An update in the order of its age: by time, then by identifier. */
struct aged {
    struct cor_str time, identifier;
    size_t i; /* its place among the managers */
};

static int aged_cmp(const void *a, const void *b)
{
    const struct aged *x = a, *y = b;
    int c = time_cmp(x->time, y->time);

    return c != 0 ? c : cor_str_cmp(x->identifier, y->identifier);
}

/* The updates, oldest first. NULL: the arena has failed. */
static struct aged *sort_by_age(struct cor_arena *arena, const struct cor_field_managers *managers,
                                size_t updates)
{
    struct aged *aged = cor_arena_alloc(arena, updates * sizeof(*aged));
    size_t n = 0;

    for (size_t i = 0; aged && i < managers->n; i++) {
        const struct cor_field_manager *manager = &managers->v[i];

        if (manager->is_apply)
            continue;
        aged[n++] = (struct aged){manager->time, cor_field_manager_identifier(arena, manager), i};
        if (arena->error < 0)
            return NULL;
    }
    if (aged)
        qsort(aged, n, sizeof(*aged), aged_cmp);
    return aged;
}

/* What joins the updates of one version: the first one that was seen, and from the second one on
 * the entry that the others join. There are few versions. */
struct bucket {
    struct cor_str version;
    size_t first, i; /* SIZE_MAX: nothing has been joined yet */
};

static struct bucket *bucket_of(struct bucket *buckets, size_t n, struct cor_str version)
{
    for (size_t i = 0; i < n; i++) {
        if (cor_str_eq(buckets[i].version, version))
            return &buckets[i];
    }
    return NULL;
}

/* Chooses the entry that the updates of a version join: one of an earlier time, or the first one
 * under another name. */
static void bucket_open(struct cor_field_managers *managers, struct bucket *bucket)
{
    struct cor_field_manager named = {.name = COR_STR("ancient-changes"),
                                      .api_version = bucket->version};
    struct cor_field_manager *old = cor_field_managers_find(managers, &named);

    if (!old) {
        old = &managers->v[bucket->first];
        old->name = named.name;
        old->subresource = COR_STR("");
    }
    bucket->i = (size_t)(old - managers->v);
}

/* Adds the sets of the entries that join a bucket to its own, and empties theirs. */
static void bucket_fill(struct cor_arena *arena, struct cor_field_managers *managers,
                        const struct bucket *bucket, const size_t *joins, struct cor_fieldset *sets)
{
    size_t n = 0;

    if (bucket->i == SIZE_MAX)
        return;
    sets[n++] = managers->v[bucket->i].set;
    for (size_t i = 0; i < managers->n; i++) {
        if (joins[i] != bucket->i)
            continue;
        sets[n++] = managers->v[i].set;
        managers->v[i].set = (struct cor_fieldset){NULL};
    }
    managers->v[bucket->i].set = cor_fieldset_union_all(arena, sets, n);
}

int cor_field_managers_cap(struct cor_arena *arena, struct cor_field_managers *managers)
{
    size_t n = managers->n, updates = 0, nbuckets = 0;
    struct cor_field_manager *v = managers->v;
    struct cor_fieldset *sets;
    struct bucket *buckets;
    struct aged *aged;
    size_t *joins; /* of each entry: the place of the one that it joins; SIZE_MAX: none */

    for (size_t i = 0; i < n; i++)
        updates += !v[i].is_apply;
    if (updates <= COR_MANAGERS_UPDATES_MAX)
        return 0;
    aged = sort_by_age(arena, managers, updates);
    buckets = cor_arena_alloc(arena, updates * sizeof(*buckets));
    joins = cor_arena_alloc(arena, n * sizeof(*joins));
    sets = cor_arena_alloc(arena, (n + 1) * sizeof(*sets));
    if (!aged || !buckets || !joins || !sets)
        return arena->error;
    for (size_t i = 0; i < n; i++)
        joins[i] = SIZE_MAX;
    for (size_t k = 0, left = updates; k < updates && left > COR_MANAGERS_UPDATES_MAX; k++) {
        size_t i = aged[k].i;
        struct bucket *bucket = bucket_of(buckets, nbuckets, v[i].api_version);

        if (!bucket) {
            buckets[nbuckets++] = (struct bucket){v[i].api_version, i, SIZE_MAX};
            continue;
        }
        if (bucket->i == SIZE_MAX)
            bucket_open(managers, bucket);
        /* The bucket itself may be among the updates. */
        if (i != bucket->i) {
            joins[i] = bucket->i;
            v[bucket->i].time = v[i].time;
        }
        left--;
    }
    for (size_t i = 0; i < nbuckets; i++)
        bucket_fill(arena, managers, &buckets[i], joins, sets);
    cor_field_managers_drop_empty(managers);
    return arena->error;
}

/* ---- the list in JSON ---- */

bool cor_field_managers_is_reset(struct cor_str list)
{
    return cor_str_eq(list, COR_STR("[]")) || cor_str_eq(list, COR_STR("[{}]"));
}

static struct cor_str text_of(struct cor_str entry, const char *key)
{
    struct cor_str value, raw;

    if (cor_json_get(entry, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_to_raw(value, &raw) < 0)
        return COR_STR("");
    return raw;
}

static int refuse(struct cor_buf *words, const char *fmt, size_t i, struct cor_str text)
{
    int r = !words       ? 0
            : text.n > 0 ? cor_buf_addf(words, fmt, (int)text.n, text.p, i)
                         : cor_buf_addf(words, fmt, i);

    return r < 0 ? r : -COR_EINVAL;
}

static int read_entry(struct cor_arena *arena, struct cor_str entry, size_t i,
                      struct cor_field_manager *ret, struct cor_buf *words)
{
    struct cor_str operation = text_of(entry, "operation"), type = text_of(entry, "fieldsType");
    struct cor_str fields;
    int r = 0;

    *ret = (struct cor_field_manager){
        .name = text_of(entry, "manager"),
        .api_version = text_of(entry, "apiVersion"),
        .subresource = text_of(entry, "subresource"),
        .time = text_of(entry, "time"),
        .is_apply = cor_str_eq(operation, COR_STR("Apply")),
    };
    if (!ret->is_apply && !cor_str_eq(operation, COR_STR("Update")))
        return refuse(words, "operation must be `Apply` or `Update`", i, COR_STR(""));
    if (ret->api_version.n == 0)
        return refuse(words, "apiVersion must not be empty", i, COR_STR(""));
    if (type.n == 0)
        return refuse(words, "missing fieldsType in managed fields entry %zu", i, COR_STR(""));
    if (!cor_str_eq(type, COR_STR("FieldsV1")))
        return refuse(words, "invalid fieldsType \"%.*s\" in managed fields entry %zu", i, type);
    if (cor_json_get(entry, COR_STR("fieldsV1"), COR_JSON_ANY_ORDER, &fields) == 0)
        r = cor_fieldset_read(arena, fields, &ret->set);
    return r == -COR_EINVAL
               ? refuse(words, "error decoding set of managed fields entry %zu", i, COR_STR(""))
               : r;
}

int cor_field_managers_read(struct cor_arena *arena, struct cor_str list,
                            struct cor_field_managers *ret, struct cor_buf *words)
{
    struct cor_json_iter it = cor_json_iter(list);
    struct cor_field_manager manager;
    size_t n = 0;
    int r = 0;

    *ret = (struct cor_field_managers){0};
    cor_arena_charge(arena, list.n / STEP_BYTES);
    for (; r == 0 && cor_json_iter_elem(&it); n++) {
        cor_arena_charge(arena, ENTRY_STEPS);
        r = arena->error;
        if (r < 0)
            break;
        r = read_entry(arena, cor_json_iter_value(&it), n, &manager, words);
        if (r == 0)
            r = n < FEW ? cor_field_managers_put(arena, ret, &manager)
                        : cor_field_managers_append(arena, ret, &manager);
    }
    return r == 0 && n > FEW ? drop_replaced(arena, ret) : r;
}

int cor_field_manager_cmp(const struct cor_field_manager *x, const struct cor_field_manager *y)
{
    int c = (int)y->is_apply - (int)x->is_apply;

    if (c == 0)
        c = time_cmp(x->time, y->time);
    if (c == 0)
        c = cor_json_raw_cmp(x->name, y->name);
    if (c == 0)
        c = cor_json_raw_cmp(x->api_version, y->api_version);
    return c != 0 ? c : cor_json_raw_cmp(x->subresource, y->subresource);
}

static int entry_cmp(const void *a, const void *b)
{
    return cor_field_manager_cmp(a, b);
}

/* A member of an entry with the text around its value; an empty value has no member. */
struct entry_text {
    struct cor_str before, value, after;
};

int cor_field_manager_write(const struct cor_field_manager *manager, struct cor_str fields,
                            struct cor_buf *out)
{
    const struct entry_text texts[] = {
        {COR_STR("{\"apiVersion\":\""), manager->api_version, COR_STR("\",")},
        {COR_STR("\"fieldsType\":\"FieldsV1\",\"fieldsV1\":"), fields, COR_STR(",")},
        {COR_STR("\"manager\":\""), manager->name, COR_STR("\",")},
        {COR_STR("\"operation\":\""), manager->is_apply ? COR_STR("Apply") : COR_STR("Update"),
         COR_STR("\"")},
        {COR_STR(",\"subresource\":\""), manager->subresource, COR_STR("\"")},
        {COR_STR(",\"time\":\""), manager->time, COR_STR("\"")},
    };
    size_t n = 1;
    int r;

    assert(manager->api_version.n > 0 && fields.n >= 2);
    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        n += texts[i].before.n + texts[i].value.n + texts[i].after.n;
    r = cor_buf_reserve(out, n);
    for (size_t i = 0; i < COR_ARRAY_LEN(texts) && r == 0; i++) {
        if (texts[i].value.n == 0)
            continue;
        r = cor_buf_adds(out, texts[i].before);
        if (r == 0)
            r = cor_buf_adds(out, texts[i].value);
        if (r == 0)
            r = cor_buf_adds(out, texts[i].after);
    }
    return r < 0 ? r : cor_buf_addc(out, '}');
}

static int write_entry(struct cor_buf *out, const struct cor_field_manager *manager)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf fields = {.max = out->max};
    int r = cor_fieldset_write(manager->set, &fields);

    return r < 0 ? r : cor_field_manager_write(manager, cor_buf_str(&fields), out);
}

int cor_field_managers_write(struct cor_field_managers *managers, struct cor_buf *out)
{
    size_t before = out->n;
    int r;

    if (managers->n == 0)
        return cor_buf_addz(out, "null");
    qsort(managers->v, managers->n, sizeof(managers->v[0]), entry_cmp);
    r = cor_buf_addc(out, '[');
    for (size_t i = 0; i < managers->n && r == 0; i++) {
        if (i > 0)
            r = cor_buf_addc(out, ',');
        if (r == 0)
            r = write_entry(out, &managers->v[i]);
    }
    if (r == 0)
        r = cor_buf_addc(out, ']');
    if (r < 0)
        cor_buf_truncate(out, before);
    return r;
}

bool cor_seen_versions_see(struct cor_seen_versions *seen, struct cor_str version)
{
    for (size_t i = 0; i < seen->n; i++) {
        if (cor_str_eq(seen->v[i], version))
            return false;
    }
    seen->v[seen->n++] = version;
    return true;
}

int cor_seen_versions_init(struct cor_seen_versions *seen, struct cor_apply_op *op,
                           const struct cor_field_managers *managers)
{
    seen->v = cor_arena_alloc(op->arena, (managers->n + 1) * sizeof(seen->v[0]));
    seen->n = 0;
    return seen->v ? 0 : op->arena->error;
}
