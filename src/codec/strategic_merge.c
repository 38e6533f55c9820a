#include "codec/strategic_merge.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "json/scan.h"
#include "json/writer.h"

#define ORDER_PREFIX  "$setElementOrder/"
#define DELETE_PREFIX "$deleteFromPrimitiveList/"

/* How the value of a field is merged. */
struct field {
    const char *parent; /* the field around it; NULL: any, "": the object itself */
    const char *name;
    const char *key; /* of a list's elements; NULL: they are scalars */
};

static const struct field merged[] = {
    {"status", "addresses", "type"},
    {NULL, "allocatedResourcesStatus", "name"},
    {"status", "conditions", "type"},
    {NULL, "containers", "name"},
    {"spec", "drivers", "name"},
    {NULL, "env", "name"},
    {NULL, "ephemeralContainers", "name"},
    {"metadata", "finalizers", NULL},
    {NULL, "hostAliases", "ip"},
    {NULL, "hostIPs", "ip"},
    {NULL, "imagePullSecrets", "name"},
    {NULL, "initContainers", "name"},
    {NULL, "matchConditions", "name"},
    {"metadata", "ownerReferences", "uid"},
    {"spec", "podCIDRs", NULL},
    {NULL, "podIPs", "ip"},
    {"containers", "ports", "containerPort"},
    {"ephemeralContainers", "ports", "containerPort"},
    {"initContainers", "ports", "containerPort"},
    {"spec", "ports", "port"},
    {"status", "reservedFor", "uid"},
    {NULL, "resourceClaimStatuses", "name"},
    {"spec", "resourceClaims", "name"},
    {NULL, "schedulingGates", "name"},
    {"", "secrets", "name"},
    {NULL, "topologySpreadConstraints", "topologyKey"},
    {"spec", "variables", "name"},
    {NULL, "volumeDevices", "devicePath"},
    {NULL, "volumeMounts", "mountPath"},
    {"spec", "volumes", "name"},
    {"", "webhooks", "name"},
};

struct merge {
    struct cor_json_writer w;
    size_t work_left; /* values that may still be compared */
    int error;
    struct cor_json_patch_error *why; /* NULL: not wanted */
};

/* An element of a list that is merged. */
struct item {
    struct cor_str key;       /* JSON of the merge key's value, or of the scalar itself */
    struct cor_str old, new_; /* p == NULL: not there */
    size_t server;            /* place in the old list; SIZE_MAX: none */
    size_t order;             /* place in the order that the patch gives; SIZE_MAX: none */
    bool gone;
};

struct items {
    struct item *v;
    size_t n, cap;
};

static void merge_map(struct merge *m, struct cor_str old, struct cor_str patch,
                      struct cor_str parent);

static void COR_PRINTF(3, 4) fail(struct merge *m, int err, const char *fmt, ...)
{
    va_list ap;

    if (m->error < 0)
        return;
    m->error = err;
    if (!m->why)
        return;
    va_start(ap, fmt);
    vsnprintf(m->why->message, sizeof(m->why->message), fmt, ap);
    va_end(ap);
}

static bool charge(struct merge *m, size_t n)
{
    if (m->work_left < n) {
        fail(m, -COR_ETOOBIG, "the patch takes too many steps");
        return false;
    }
    m->work_left -= n;
    return m->error == 0;
}

static struct cor_str get(struct cor_str object, struct cor_str key)
{
    struct cor_str value;

    if (!object.p || cor_json_get(object, key, COR_JSON_SORTED, &value) < 0)
        return (struct cor_str){NULL, 0};
    return value;
}

static struct cor_str get_directive(struct cor_str patch, const char *prefix, struct cor_str field)
{
    char key[256];
    int n = snprintf(key, sizeof(key), "%s%.*s", prefix, COR_STR_ARG(field));

    if (n < 0 || (size_t)n >= sizeof(key))
        return (struct cor_str){NULL, 0};
    return get(patch, cor_strz(key));
}

static const struct field *find_field(struct cor_str parent, struct cor_str name)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(merged); i++) {
        if (cor_str_eqz(name, merged[i].name) &&
            (!merged[i].parent || cor_str_eqz(parent, merged[i].parent)))
            return &merged[i];
    }
    return NULL;
}

static bool is_directive(struct cor_str key)
{
    return cor_str_eq(key, COR_STR("$patch")) || cor_str_eq(key, COR_STR("$retainKeys")) ||
           cor_str_starts(key, COR_STR(ORDER_PREFIX)) ||
           cor_str_starts(key, COR_STR(DELETE_PREFIX));
}

static bool has_marker(struct cor_str value)
{
    return cor_json_type(value) == COR_JSON_OBJECT && get(value, COR_STR("$patch")).p;
}

/* A value that the old state has not: without nulls and without directives. */
static void write_new(struct merge *m, struct cor_str value)
{
    struct cor_json_iter it = cor_json_iter(value);
    struct cor_str key;

    switch (cor_json_type(value)) {
    case COR_JSON_OBJECT:
        cor_json_begin_object(&m->w);
        while (cor_json_iter_member(&it, &key)) {
            struct cor_str member = cor_json_iter_value(&it);

            if (is_directive(key) || cor_json_type(member) == COR_JSON_NULL || has_marker(member))
                continue;
            cor_json_raw_key(&m->w, key);
            write_new(m, member);
        }
        cor_json_end_object(&m->w);
        break;
    case COR_JSON_ARRAY:
        cor_json_begin_array(&m->w);
        while (cor_json_iter_elem(&it)) {
            struct cor_str element = cor_json_iter_value(&it);

            if (!has_marker(element))
                write_new(m, element);
        }
        cor_json_end_array(&m->w);
        break;
    default:
        cor_json_raw(&m->w, value);
        break;
    }
}

static struct item *add_item(struct merge *m, struct items *items)
{
    if (items->n == items->cap) {
        size_t cap = items->cap > 0 ? items->cap * 2 : 16;
        struct item *v = cor_realloc(items->v, cap * sizeof(v[0]));

        if (!v) {
            fail(m, -COR_ENOMEM, "out of memory");
            return NULL;
        }
        items->v = v;
        items->cap = cap;
    }
    items->v[items->n] = (struct item){.server = SIZE_MAX, .order = SIZE_MAX};
    return &items->v[items->n++];
}

static struct item *find_item(struct merge *m, struct items *items, struct cor_str key)
{
    if (!charge(m, items->n + 1))
        return NULL;
    for (size_t i = 0; i < items->n; i++) {
        if (!items->v[i].gone && cor_str_eq(items->v[i].key, key))
            return &items->v[i];
    }
    return NULL;
}

/* What identifies an element; empty: nothing does, and `m` says why. */
static struct cor_str key_of(struct merge *m, const struct field *field, struct cor_str element)
{
    struct cor_str key;

    if (!field->key)
        return element;
    if (cor_json_type(element) != COR_JSON_OBJECT) {
        fail(m, -COR_EINVAL, "expected a map in list \"%s\"", field->name);
        return COR_STR("");
    }
    key = get(element, cor_strz(field->key));
    if (!key.p)
        fail(m, -COR_EINVAL, "map: %.*s does not contain declared merge key: %s",
             element.n > 200 ? 200 : (int)element.n, element.p, field->key);
    return key.p ? key : COR_STR("");
}

static void take_old(struct merge *m, struct items *items, const struct field *field,
                     struct cor_str old)
{
    struct cor_json_iter it = cor_json_iter(old);

    for (size_t i = 0; m->error == 0 && cor_json_iter_elem(&it); i++) {
        struct cor_str element = cor_json_iter_value(&it);
        struct cor_str key = key_of(m, field, element);
        struct item *item = m->error == 0 ? add_item(m, items) : NULL;

        if (!item)
            return;
        item->key = key;
        item->old = element;
        item->server = i;
    }
}

/* Elements with $patch. True: the list is replaced by the others. */
static bool apply_markers(struct merge *m, struct items *items, const struct field *field,
                          struct cor_str patch)
{
    struct cor_json_iter it = cor_json_iter(patch);
    bool replace = false;

    while (m->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it), marker;
        struct item *item;

        if (!has_marker(element))
            continue;
        marker = get(element, COR_STR("$patch"));
        if (cor_str_eq(marker, COR_STR("\"replace\""))) {
            replace = true;
        } else if (!cor_str_eq(marker, COR_STR("\"delete\""))) {
            fail(m, -COR_EINVAL, "unknown patch type: %.*s", COR_STR_ARG(marker));
        } else {
            while ((item = find_item(m, items, key_of(m, field, element))))
                item->gone = true;
        }
    }
    return replace;
}

static void take_new(struct merge *m, struct items *items, const struct field *field,
                     struct cor_str patch)
{
    struct cor_json_iter it = cor_json_iter(patch);

    while (m->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it), key;
        struct item *item;

        if (has_marker(element))
            continue;
        key = key_of(m, field, element);
        item = find_item(m, items, key);
        if (m->error < 0)
            return;
        if (!item && (item = add_item(m, items)))
            item->key = key;
        if (item)
            item->new_ = element;
    }
}

static void set_order(struct merge *m, struct items *items, const struct field *field,
                      struct cor_str order)
{
    struct cor_json_iter it = cor_json_iter(order);

    for (size_t i = 0; m->error == 0 && cor_json_iter_elem(&it); i++) {
        struct cor_str element = cor_json_iter_value(&it);
        struct item *item;

        if (has_marker(element))
            continue;
        item = find_item(m, items, key_of(m, field, element));
        if (item && item->order == SIZE_MAX)
            item->order = i;
    }
}

static void drop_deleted(struct merge *m, struct items *items, struct cor_str list)
{
    struct cor_json_iter it = cor_json_iter(list);
    struct item *item;

    while (m->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str key = cor_json_iter_value(&it);

        while ((item = find_item(m, items, key)))
            item->gone = true;
    }
}

static void write_element(struct merge *m, const struct field *field, const struct item *item)
{
    if (!item->new_.p)
        cor_json_raw(&m->w, item->old);
    else if (!item->old.p || !field->key)
        write_new(m, item->new_);
    else
        merge_map(m, item->old, item->new_, cor_strz(field->name));
}

/* The next element in order `order` or later that is there. */
static struct item *next_ordered(struct merge *m, struct items *items, size_t from)
{
    struct item *best = NULL;

    if (!charge(m, items->n + 1))
        return NULL;
    for (size_t i = 0; i < items->n; i++) {
        struct item *item = &items->v[i];

        if (!item->gone && item->order != SIZE_MAX && item->order >= from &&
            (!best || item->order < best->order))
            best = item;
    }
    return best;
}

/* What the patch orders stands in its order; what only the server has is put in where the old list
 * had it before the next of those. */
static void write_items(struct merge *m, const struct field *field, struct items *items)
{
    struct item *right = next_ordered(m, items, 0);

    for (size_t i = 0; i < items->n && m->error == 0; i++) {
        struct item *left = &items->v[i];

        if (left->gone || left->order != SIZE_MAX)
            continue;
        while (right && !(left->server != SIZE_MAX && right->server != SIZE_MAX &&
                          left->server < right->server)) {
            write_element(m, field, right);
            right = next_ordered(m, items, right->order + 1);
        }
        write_element(m, field, left);
    }
    while (right && m->error == 0) {
        write_element(m, field, right);
        right = next_ordered(m, items, right->order + 1);
    }
}

/* `patch`, `order` and `deleted` may be absent. */
static void merge_list(struct merge *m, const struct field *field, struct cor_str old,
                       struct cor_str patch, struct cor_str order, struct cor_str deleted)
{
    static const struct field scalars = {NULL, "", NULL};
    struct items items = {0};

    if (!field)
        field = &scalars;
    take_old(m, &items, field, old);
    if (patch.p && apply_markers(m, &items, field, patch)) {
        write_new(m, patch);
        cor_free(items.v);
        return;
    }
    if (patch.p)
        take_new(m, &items, field, patch);
    if (order.p || patch.p)
        set_order(m, &items, field, order.p ? order : patch);
    if (deleted.p)
        drop_deleted(m, &items, deleted);
    cor_json_begin_array(&m->w);
    if (m->error == 0)
        write_items(m, field, &items);
    cor_json_end_array(&m->w);
    cor_free(items.v);
}

static void merge_member(struct merge *m, struct cor_str key, struct cor_str old,
                         struct cor_str patch, struct cor_str value, struct cor_str parent)
{
    enum cor_json_type type = cor_json_type(old);
    struct cor_str order = get_directive(patch, ORDER_PREFIX, key);
    struct cor_str deleted = get_directive(patch, DELETE_PREFIX, key);
    const struct field *field = find_field(parent, key);

    if (value.p && cor_json_type(value) == COR_JSON_NULL)
        return;
    cor_json_raw_key(&m->w, key);
    if (value.p && cor_json_type(value) != type)
        write_new(m, value);
    else if (type == COR_JSON_OBJECT && value.p)
        merge_map(m, old, value, key);
    else if (type == COR_JSON_ARRAY && value.p && !field && !deleted.p)
        write_new(m, value);
    else if (type == COR_JSON_ARRAY && (value.p || order.p || deleted.p))
        merge_list(m, field, old, value, order, deleted);
    else
        cor_json_raw(&m->w, value.p ? value : old);
}

static bool list_has(struct cor_str list, struct cor_str raw_key)
{
    struct cor_json_iter it = cor_json_iter(list);
    struct cor_str raw;

    while (cor_json_iter_elem(&it)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 && cor_str_eq(raw, raw_key))
            return true;
    }
    return false;
}

static void merge_members(struct merge *m, struct cor_str old, struct cor_str patch,
                          struct cor_str parent)
{
    struct cor_str retain = get(patch, COR_STR("$retainKeys")), key, value;
    struct cor_json_iter it = cor_json_iter(old);

    while (charge(m, 1) && cor_json_iter_member(&it, &key)) {
        struct cor_str before = cor_json_iter_value(&it);

        if (retain.p && !list_has(retain, key))
            continue;
        merge_member(m, key, before, patch, get(patch, key), parent);
    }
    it = cor_json_iter(patch);
    while (charge(m, 1) && cor_json_iter_member(&it, &key)) {
        value = cor_json_iter_value(&it);
        if (is_directive(key) || cor_json_type(value) == COR_JSON_NULL || has_marker(value))
            continue;
        if (retain.p && !list_has(retain, key))
            fail(m, -COR_EINVAL, "invalid patch format of retainKeys");
        if (get(old, key).p && !(retain.p && !list_has(retain, key)))
            continue;
        cor_json_raw_key(&m->w, key);
        write_new(m, value);
    }
}

static void merge_map(struct merge *m, struct cor_str old, struct cor_str patch,
                      struct cor_str parent)
{
    struct cor_str marker = get(patch, COR_STR("$patch"));

    if (marker.p && cor_str_eq(marker, COR_STR("\"replace\""))) {
        write_new(m, patch);
        return;
    }
    if (marker.p && !cor_str_eq(marker, COR_STR("\"delete\"")))
        fail(m, -COR_EINVAL, "unknown patch type: %.*s", COR_STR_ARG(marker));
    cor_json_begin_object(&m->w);
    if (!marker.p)
        merge_members(m, old, patch, parent);
    cor_json_end_object(&m->w);
}

int cor_strategic_merge(struct cor_str doc, struct cor_str patch,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {0};
    struct merge m = {.work_left = COR_JSON_PATCH_WORK_MAX, .why = reterr};
    struct cor_json_error why;
    enum cor_json_type type;
    size_t mark = out->n;
    int r;

    cor_buf_init(&sorted, limits->bytes_max);
    r = cor_json_canonicalize(patch, limits, &sorted, dups, &why);
    if (r == -COR_EINVAL)
        fail(&m, r, "%s", why.message);
    type = cor_json_type(cor_buf_str(&sorted));
    if (r == 0 && type == COR_JSON_NULL)
        return cor_buf_adds(out, doc);
    if (r == 0 && type != COR_JSON_OBJECT) {
        r = -COR_EINVAL;
        fail(&m, r, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
             cor_json_go_type(type));
    }
    if (r < 0)
        return r;
    cor_json_writer_init(&m.w, out);
    merge_map(&m, doc, cor_buf_str(&sorted), COR_STR(""));
    r = cor_json_writer_finish(&m.w);
    if (m.error < 0)
        r = m.error;
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}
