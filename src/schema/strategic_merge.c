/* A strategic merge patch: objects are merged member by member, lists by the keys of their
 * elements.
 *
 * Both sides are canonical, so two objects are merged as two sorted sequences, written as they are
 * read. A first pass over the patch notes its directives ($patch, $retainKeys, element orders) by
 * the object that has them. The elements of a list stand in an array with an index by their keys.
 * Everything is linear in the bytes of both sides, or n log n where a list is ordered; only lists
 * of merged elements inside of each other are scanned once per level.
 * Failures: no memory (-COR_ENOMEM), a directive that is malformed (-COR_EINVAL, with words),
 * elements and markers that do not fit the lists (-COR_EINTERNAL, with words: upstream answers
 * 500). Thread: any; nothing is kept between calls. */
#include "schema/strategic_merge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str_set.h"
#include "schema/go_text.h"
#include "schema/whole_numbers.h"
#include "json/scan.h"
#include "json/writer.h"

#define ORDER_PREFIX   "$setElementOrder/"
#define DELETE_PREFIX  "$deleteFromPrimitiveList/"
#define ITEMS_MAX      (1u << 22) /* more than a body has room for */
#define VALUE_TEXT_MAX sizeof(((struct cor_json_patch_error *)0)->message)

/* How the elements of a list are merged. */
struct list_rule {
    struct cor_str key;             /* of its elements; empty: they are scalars */
    const struct cor_type *element; /* NULL: not known */
};

/* A member of the patch that says how another one is merged: "$setElementOrder/…". */
struct directive {
    struct cor_str field; /* raw text of the other one's key */
    struct cor_str value;
    struct directive *next; /* of the object, in the order of the fields */
};

/* The directives of one object of the patch. */
struct directives {
    const char *object;            /* where it begins: the key of the map */
    struct cor_str marker, retain; /* $patch and $retainKeys; p == NULL: not there */
    struct directive *orders, **orders_end, *deletes, **deletes_end;
};

struct merge {
    struct cor_json_writer w;
    struct cor_map directives; /* of the patch's objects that have any, by where they begin */
    int error;
    struct cor_json_patch_error *why; /* NULL: not wanted */
};

/* An element of a list that is merged. */
struct item {
    struct cor_str key;       /* JSON of the merge key's value, or of the scalar itself */
    struct cor_str old, new_; /* p == NULL: not there */
    size_t server;            /* place in the old list; SIZE_MAX: none */
    size_t order;             /* place in the order that the patch gives; SIZE_MAX: none */
    size_t next_same;         /* the next item with this key; SIZE_MAX: none */
    size_t last_same;         /* of the first item with a key that is not gone: the last one */
    bool gone;
};

struct items {
    struct item *v;
    size_t n, cap;
    struct cor_map by_key; /* to the first item with the key that is not gone: its place plus 1 */
};

static void merge_map(struct merge *m, struct cor_json_iter *old, struct cor_json_iter *patch,
                      const struct cor_type *type, bool outermost);

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

/* Appends `value`, which is canonical, as messages print it; what does not fit into a message is
 * cut. */
static void print_value(struct merge *m, struct cor_str value, struct cor_buf *out)
{
    cor_buf_init(out, VALUE_TEXT_MAX);
    if (cor_go_text(value, out) == -COR_ENOMEM)
        fail(m, -COR_ENOMEM, "out of memory");
}

static void fail_marker(struct merge *m, struct cor_str marker, struct cor_str object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf type = {0}, map = {0};

    print_value(m, marker, &type);
    print_value(m, object, &map);
    fail(m, -COR_EINTERNAL, "unknown patch type: %s in map: %s", cor_buf_z(&type), cor_buf_z(&map));
}

static struct cor_str get(struct cor_str object, struct cor_str key)
{
    struct cor_str value;

    if (!object.p || cor_json_get(object, key, COR_JSON_SORTED, &value) < 0)
        return (struct cor_str){NULL, 0};
    return value;
}

/* The field of a struct by the raw text of a JSON key; NULL: the type is not known, or has none. No
 * name of a field needs an escape. */
static const struct cor_type_field *find_field(const struct cor_type *type, struct cor_str key)
{
    struct cor_member member;

    if (!type || !cor_type_find_member(type, key, &member))
        return NULL;
    return member.field;
}

/* What the values of a Go map, or the field itself, are; NULL: not known, and nothing below is
 * merged by keys. */
static const struct cor_type *type_below(const struct cor_type *type,
                                         const struct cor_type_field *field)
{
    if (field)
        return cor_type_field_type(field);
    return type && cor_type_shape(type) == COR_SHAPE_MAP ? cor_type_element(type) : NULL;
}

/* False: the list has no such rule, and a patch replaces it. */
static bool find_rule(const struct cor_type_field *field, struct list_rule *ret_rule)
{
    if (!field || !(cor_type_field_patch(field) & COR_PATCH_MERGE) ||
        cor_type_shape(cor_type_field_type(field)) != COR_SHAPE_LIST)
        return false;
    *ret_rule = (struct list_rule){.key = cor_type_field_patch_key(field),
                                   .element = cor_type_element(cor_type_field_type(field))};
    return true;
}

static bool is_directive(struct cor_str key)
{
    return cor_str_eq(key, COR_STR("$patch")) || cor_str_eq(key, COR_STR("$retainKeys")) ||
           cor_str_starts(key, COR_STR(ORDER_PREFIX)) ||
           cor_str_starts(key, COR_STR(DELETE_PREFIX));
}

/* An iterator whose current value is this one; over nothing when there is none. */
static struct cor_json_iter iter_at(struct cor_str value)
{
    const char *end = value.p ? value.p + value.n : NULL;

    return (struct cor_json_iter){value.p, end, value.p};
}

static enum cor_json_type type_at(const struct cor_json_iter *it)
{
    return cor_json_type(cor_json_iter_open_value(it));
}

static struct cor_str address_key(const char *const *object)
{
    return cor_str((const char *)object, sizeof(*object));
}

/* NULL: the object at this address has none. */
static struct directives *directives_of(const struct merge *m, const char *object)
{
    return cor_map_len(&m->directives) > 0 ? cor_map_peek(&m->directives, address_key(&object))
                                           : NULL;
}

static struct directives *directives_new(struct merge *m, const char *object)
{
    struct directives *d = cor_calloc(1, sizeof(*d));

    if (d) {
        d->object = object;
        d->orders_end = &d->orders;
        d->deletes_end = &d->deletes;
        if (cor_map_put(&m->directives, address_key(&d->object), d, NULL) == 0)
            return d;
    }
    fail(m, -COR_ENOMEM, "out of memory");
    return cor_free(d);
}

static void directive_list_free(struct directive *d)
{
    while (d) {
        struct directive *next = d->next;

        cor_free(d);
        d = next;
    }
}

static void directives_deinit(struct merge *m)
{
    COR_MAP_FOREACH(it, &m->directives) {
        struct directives *d = it.value;

        directive_list_free(d->orders);
        directive_list_free(d->deletes);
        cor_free(d);
    }
    cor_map_deinit(&m->directives);
}

static void add_directive(struct merge *m, struct directives *d, struct cor_str key,
                          struct cor_str value)
{
    bool is_order = cor_str_starts(key, COR_STR(ORDER_PREFIX));
    size_t prefix = is_order ? sizeof(ORDER_PREFIX) - 1 : sizeof(DELETE_PREFIX) - 1;
    struct directive ***end = is_order ? &d->orders_end : &d->deletes_end, *made;

    if (cor_str_eq(key, COR_STR("$patch"))) {
        d->marker = value;
        return;
    }
    if (cor_str_eq(key, COR_STR("$retainKeys"))) {
        d->retain = value;
        return;
    }
    made = cor_calloc(1, sizeof(*made));
    if (!made) {
        fail(m, -COR_ENOMEM, "out of memory");
        return;
    }
    made->field = cor_str_from(key, prefix);
    made->value = value;
    **end = made;
    *end = &made->next;
}

/* Notes the directives in the current value of `it`, and moves behind it. One pass over the whole
 * patch finds them all: to look for them in each object would scan what is deep once per level. */
static void find_directives(struct merge *m, struct cor_json_iter *it)
{
    struct cor_str open = cor_json_iter_open_value(it), key;
    bool is_object = cor_json_type(open) == COR_JSON_OBJECT;
    struct cor_json_iter inner = cor_json_iter(open);
    struct directives *d = NULL;

    if (!is_object && cor_json_type(open) != COR_JSON_ARRAY) {
        (void)cor_json_iter_value(it);
        return;
    }
    while (m->error == 0 &&
           (is_object ? cor_json_iter_member(&inner, &key) : cor_json_iter_elem(&inner))) {
        const char *start = cor_json_iter_open_value(&inner).p;

        find_directives(m, &inner);
        if (!is_object || !is_directive(key))
            continue;
        if (!d)
            d = directives_new(m, open.p);
        if (d)
            add_directive(m, d, key, cor_str(start, (size_t)(inner.p - start)));
    }
    cor_json_iter_leave(it, &inner);
}

static bool has_marker(const struct merge *m, struct cor_str value)
{
    const struct directives *d = directives_of(m, value.p);

    return d && d->marker.p;
}

/* Writes the current value of `it`, which the old state has not, without nulls and without
 * directives, and moves behind it. */
static void write_new(struct merge *m, struct cor_json_iter *it)
{
    struct cor_str open = cor_json_iter_open_value(it), key;
    struct cor_json_iter inner = cor_json_iter(open);

    switch (cor_json_type(open)) {
    case COR_JSON_OBJECT:
        cor_json_begin_object(&m->w);
        while (cor_json_iter_member(&inner, &key)) {
            if (is_directive(key) || type_at(&inner) == COR_JSON_NULL ||
                has_marker(m, cor_json_iter_open_value(&inner)))
                continue;
            cor_json_raw_key(&m->w, key);
            write_new(m, &inner);
        }
        cor_json_end_object(&m->w);
        cor_json_iter_leave(it, &inner);
        break;
    case COR_JSON_ARRAY:
        cor_json_begin_array(&m->w);
        while (cor_json_iter_elem(&inner)) {
            if (!has_marker(m, cor_json_iter_open_value(&inner)))
                write_new(m, &inner);
        }
        cor_json_end_array(&m->w);
        cor_json_iter_leave(it, &inner);
        break;
    default:
        cor_json_raw(&m->w, cor_json_iter_value(it));
        break;
    }
}

static void write_new_value(struct merge *m, struct cor_str value)
{
    struct cor_json_iter it = iter_at(value);

    write_new(m, &it);
}

static void items_init(struct items *items)
{
    *items = (struct items){.n = 0};
    cor_map_init(&items->by_key, ITEMS_MAX);
}

static void items_deinit(struct items *items)
{
    cor_map_deinit(&items->by_key);
    cor_free(items->v);
}

static size_t first_of(const struct items *items, struct cor_str key)
{
    const void *place = cor_map_peek(&items->by_key, key);

    return place ? (uintptr_t)place - 1 : SIZE_MAX;
}

static int set_first(struct items *items, size_t i)
{
    return cor_map_put(&items->by_key, items->v[i].key, (void *)(uintptr_t)(i + 1), NULL);
}

/* Enters the item at place `i` behind the others with its key. */
static int index_item(struct items *items, size_t i)
{
    size_t first = first_of(items, items->v[i].key);

    if (first == SIZE_MAX) {
        items->v[i].last_same = i;
        return set_first(items, i);
    }
    items->v[items->v[first].last_same].next_same = i;
    items->v[first].last_same = i;
    return 0;
}

static struct item *add_item(struct merge *m, struct items *items, struct cor_str key)
{
    if (COR_ARRAY_RESERVE(&items->v, items->n, &items->cap, COR_ARRAY_NO_MAX) < 0) {
        fail(m, -COR_ENOMEM, "out of memory");
        return NULL;
    }
    items->v[items->n] = (struct item){.key = key,
                                       .server = SIZE_MAX,
                                       .order = SIZE_MAX,
                                       .next_same = SIZE_MAX,
                                       .last_same = SIZE_MAX};
    if (index_item(items, items->n) < 0) {
        fail(m, -COR_ENOMEM, "out of memory");
        return NULL;
    }
    return &items->v[items->n++];
}

/* The first item with this key that is not gone. Those that are gone leave the index here, each
 * once. */
static struct item *find_item(struct merge *m, struct items *items, struct cor_str key)
{
    size_t first, i;

    if (m->error < 0)
        return NULL;
    i = first = first_of(items, key);
    while (i != SIZE_MAX && items->v[i].gone) {
        size_t next = items->v[i].next_same;

        if (next != SIZE_MAX)
            items->v[next].last_same = items->v[i].last_same;
        i = next;
    }
    if (i == SIZE_MAX) {
        if (first != SIZE_MAX)
            (void)cor_map_remove(&items->by_key, key);
        return NULL;
    }
    if (i != first)
        (void)set_first(items, i); /* replaces an entry, which cannot fail */
    return &items->v[i];
}

/* What identifies an element; empty: nothing does, and `m` says why. */
static struct cor_str key_of(struct merge *m, const struct list_rule *rule, struct cor_str element)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str key;

    if (rule->key.n == 0)
        return element;
    key = get(element, rule->key);
    if (key.p)
        return key;
    print_value(m, element, &text);
    fail(m, -COR_EINTERNAL, "map: %s does not contain declared merge key: %.*s", cor_buf_z(&text),
         COR_STR_ARG(rule->key));
    return COR_STR("");
}

static void take_old(struct merge *m, struct items *items, const struct list_rule *rule,
                     struct cor_str old)
{
    struct cor_json_iter it = cor_json_iter(old);

    for (size_t i = 0; m->error == 0 && cor_json_iter_elem(&it); i++) {
        struct cor_str element = cor_json_iter_value(&it);
        struct cor_str key = key_of(m, rule, element);
        struct item *item = m->error == 0 ? add_item(m, items, key) : NULL;

        if (!item)
            return;
        item->old = element;
        item->server = i;
    }
}

/* Elements with $patch. True: the list is replaced by the others. */
static bool apply_markers(struct merge *m, struct items *items, const struct list_rule *rule,
                          struct cor_str patch)
{
    struct cor_json_iter it = cor_json_iter(patch);
    bool replace = false;

    while (m->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it), marker;
        struct item *item;

        if (!has_marker(m, element))
            continue;
        marker = directives_of(m, element.p)->marker;
        if (cor_str_eq(marker, COR_STR("\"replace\""))) {
            replace = true;
        } else if (cor_str_eq(marker, COR_STR("\"merge\""))) {
            fail(m, -COR_EINTERNAL, "merging lists cannot yet be specified in the patch");
        } else if (!cor_str_eq(marker, COR_STR("\"delete\""))) {
            fail_marker(m, marker, element);
        } else {
            while ((item = find_item(m, items, key_of(m, rule, element))))
                item->gone = true;
        }
    }
    return replace;
}

static void take_new(struct merge *m, struct items *items, const struct list_rule *rule,
                     struct cor_str patch)
{
    struct cor_json_iter it = cor_json_iter(patch);

    while (m->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it), key;
        struct item *item;

        if (has_marker(m, element))
            continue;
        key = key_of(m, rule, element);
        item = find_item(m, items, key);
        if (m->error < 0)
            return;
        if (!item)
            item = add_item(m, items, key);
        if (item)
            item->new_ = element;
    }
}

static void set_order(struct merge *m, struct items *items, const struct list_rule *rule,
                      struct cor_str order)
{
    struct cor_json_iter it = cor_json_iter(order);

    for (size_t i = 0; m->error == 0 && cor_json_iter_elem(&it); i++) {
        struct cor_str element = cor_json_iter_value(&it);
        struct item *item;

        if (has_marker(m, element))
            continue;
        item = find_item(m, items, key_of(m, rule, element));
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

static void write_element(struct merge *m, const struct list_rule *rule, const struct item *item)
{
    struct cor_json_iter old = iter_at(item->old), new_ = iter_at(item->new_);

    if (!item->new_.p)
        cor_json_raw(&m->w, item->old);
    else if (!item->old.p || rule->key.n == 0)
        write_new(m, &new_);
    else
        merge_map(m, &old, &new_, rule->element, false);
}

static int compare_order(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

    return (x->order > y->order) - (x->order < y->order);
}

/* The items that the patch orders, in its order; NULL ends them. NULL: no memory. */
static struct item **order_items(struct merge *m, struct items *items)
{
    struct item **ordered = cor_calloc(items->n + 1, sizeof(ordered[0]));
    size_t n = 0;

    if (!ordered) {
        fail(m, -COR_ENOMEM, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < items->n; i++) {
        if (!items->v[i].gone && items->v[i].order != SIZE_MAX)
            ordered[n++] = &items->v[i];
    }
    qsort(ordered, n, sizeof(ordered[0]), compare_order);
    return ordered;
}

/* What the patch orders stands in its order; what only the server has is put in where the old list
 * had it before the next of those. */
static void write_items(struct merge *m, const struct list_rule *rule, struct items *items)
{
    struct item **ordered = order_items(m, items), **right = ordered;

    for (size_t i = 0; i < items->n && m->error == 0; i++) {
        struct item *left = &items->v[i];

        if (left->gone || left->order != SIZE_MAX)
            continue;
        while (*right && !(left->server != SIZE_MAX && (*right)->server != SIZE_MAX &&
                           left->server < (*right)->server))
            write_element(m, rule, *right++);
        write_element(m, rule, left);
    }
    while (m->error == 0 && *right)
        write_element(m, rule, *right++);
    cor_free(ordered);
}

/* `patch`, `order` and `deleted` may be absent. */
/* Whether the elements of a list have the type `*type`, which the first element of all decides. */
static bool has_one_type(struct cor_str list, enum cor_json_type *type)
{
    struct cor_json_iter it = cor_json_iter(list);

    while (cor_json_iter_elem(&it)) {
        enum cor_json_type next = cor_json_type(cor_json_iter_value(&it));

        if (*type != COR_JSON_NONE && next != *type)
            return false;
        *type = next;
    }
    return true;
}

/* Both lists have elements of one type, and a list that is merged by a key has objects. */
static void check_elements(struct merge *m, const struct list_rule *rule, struct cor_str old,
                           struct cor_str patch)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf a = {0}, b = {0};
    enum cor_json_type type = rule->key.n > 0 ? COR_JSON_OBJECT : COR_JSON_NONE;

    if (has_one_type(old, &type) && has_one_type(patch, &type))
        return;
    print_value(m, old, &a);
    print_value(m, patch, &b);
    fail(m, -COR_EINTERNAL, "list element types are not identical: [%s %s]", cor_buf_z(&a),
         cor_buf_z(&b));
}

static void merge_list(struct merge *m, const struct list_rule *rule, struct cor_str old,
                       struct cor_str patch, struct cor_str order, struct cor_str deleted)
{
    struct items items;

    items_init(&items);
    if (patch.p)
        check_elements(m, rule, old, patch);
    take_old(m, &items, rule, old);
    if (patch.p && apply_markers(m, &items, rule, patch)) {
        write_new_value(m, patch);
        items_deinit(&items);
        return;
    }
    if (patch.p)
        take_new(m, &items, rule, patch);
    if (order.p || patch.p)
        set_order(m, &items, rule, order.p ? order : patch);
    if (deleted.p)
        drop_deleted(m, &items, deleted);
    cor_json_begin_array(&m->w);
    if (m->error == 0)
        write_items(m, rule, &items);
    cor_json_end_array(&m->w);
    items_deinit(&items);
}

/* One side of the merge of two objects: the member at which it stands. */
struct side {
    struct cor_json_iter it;
    struct cor_str key;
    bool has;
};

static void advance(struct side *s)
{
    s->has = cor_json_iter_member(&s->it, &s->key);
}

/* Both sides are canonical, and what is outermost begins with these two keys. */
static int type_rank(struct cor_str key, bool outermost)
{
    if (!outermost)
        return 2;
    return cor_str_eq(key, COR_STR("kind")) ? 0 : cor_str_eq(key, COR_STR("apiVersion")) ? 1 : 2;
}

static int compare_sides(const struct side *a, const struct side *b, bool outermost)
{
    int rank_a, rank_b;

    if (!a->has || !b->has)
        return a->has ? -1 : 1;
    rank_a = type_rank(a->key, outermost);
    rank_b = type_rank(b->key, outermost);
    return rank_a != rank_b ? rank_a - rank_b : cor_json_raw_cmp(a->key, b->key);
}

/* The value of the directive about `field`; fields are asked for in their order. p == NULL: none.
 */
static struct cor_str take_directive(const struct directive **next, struct cor_str field)
{
    int c = -1;

    while (*next && (c = cor_json_raw_cmp((*next)->field, field)) < 0)
        *next = (*next)->next;
    return *next && c == 0 ? (*next)->value : cor_str(NULL, 0);
}

/* What is left of an object's directives while its members are merged. */
struct member_rules {
    const struct cor_type *type; /* of the object; NULL: not known */
    const struct directive *orders, *deletes;
    struct cor_str_set retain;
    bool retains;
};

/* A member that the old object has. `value` is at the patch's value, or NULL when the patch has
 * none. Moves both behind their values. */
static void merge_member(struct merge *m, struct cor_str key, struct cor_json_iter *old,
                         struct cor_json_iter *value, struct cor_str order, struct cor_str deleted,
                         const struct cor_type *parent)
{
    const struct cor_type_field *field = find_field(parent, key);
    enum cor_json_type type = type_at(old);
    struct list_rule rule = {.key = COR_STR("")};
    bool is_merged = find_rule(field, &rule);

    if (value && type_at(value) == COR_JSON_NULL)
        return;
    cor_json_raw_key(&m->w, key);
    if (value && type_at(value) != type)
        write_new(m, value);
    else if (type == COR_JSON_OBJECT && value && field &&
             cor_type_field_patch(field) & COR_PATCH_REPLACE)
        cor_json_raw(&m->w, cor_json_iter_value(value));
    else if (type == COR_JSON_OBJECT && value)
        merge_map(m, old, value, type_below(parent, field), false);
    else if (type == COR_JSON_ARRAY && value && !is_merged && !deleted.p)
        write_new(m, value);
    else if (type == COR_JSON_ARRAY && (value || order.p || deleted.p))
        merge_list(m, &rule, cor_json_iter_value(old),
                   value ? cor_json_iter_value(value) : cor_str(NULL, 0), order, deleted);
    else
        cor_json_raw(&m->w, cor_json_iter_value(value ? value : old));
}

static void merge_old(struct merge *m, struct member_rules *rules, struct side *a, struct side *b,
                      bool outermost)
{
    struct cor_str order = {NULL, 0}, deleted = {NULL, 0};

    if (type_rank(a->key, outermost) == 2) {
        order = take_directive(&rules->orders, a->key);
        deleted = take_directive(&rules->deletes, a->key);
    }
    if (!rules->retains || cor_str_set_has(&rules->retain, a->key))
        merge_member(m, a->key, &a->it, b ? &b->it : NULL, order, deleted, rules->type);
}

/* Null, or an object with a marker: it is nothing new, and nothing that has to be retained. */
static bool says_nothing(const struct merge *m, const struct side *b)
{
    struct cor_str open = cor_json_iter_open_value(&b->it);

    return cor_json_type(open) == COR_JSON_NULL || has_marker(m, open);
}

static void merge_members(struct merge *m, struct member_rules *rules, struct side *a,
                          struct side *b, bool outermost)
{
    advance(a);
    advance(b);
    while (m->error == 0 && (a->has || b->has)) {
        int c = compare_sides(a, b, outermost);

        if (c >= 0 && is_directive(b->key)) {
            advance(b);
            continue;
        }
        if (c >= 0 && rules->retains && !says_nothing(m, b) &&
            !cor_str_set_has(&rules->retain, b->key)) {
            fail(m, -COR_EINVAL, "invalid patch format of retainKeys");
        } else if (c <= 0) {
            merge_old(m, rules, a, c == 0 ? b : NULL, outermost);
        } else if (!says_nothing(m, b)) {
            cor_json_raw_key(&m->w, b->key);
            write_new(m, &b->it);
        }
        if (c >= 0)
            advance(b);
        if (c <= 0)
            advance(a);
    }
}

static void rules_init(struct merge *m, struct member_rules *rules, const struct cor_type *type,
                       const struct directives *d)
{
    struct cor_str none = COR_STR("[]");
    struct cor_json_iter it = cor_json_iter(d && d->retain.p ? d->retain : none);
    struct cor_str raw;
    bool is_new;

    rules->type = type;
    rules->orders = d ? d->orders : NULL;
    rules->deletes = d ? d->deletes : NULL;
    rules->retains = d && d->retain.p;
    cor_str_set_init(&rules->retain, ITEMS_MAX);
    while (m->error == 0 && cor_json_iter_elem(&it)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 &&
            cor_str_set_add(&rules->retain, raw, &is_new) < 0)
            fail(m, -COR_ENOMEM, "out of memory");
    }
}

/* Writes the merge of the current values of both, which are objects, and moves behind them. */
static void merge_map(struct merge *m, struct cor_json_iter *old, struct cor_json_iter *patch,
                      const struct cor_type *type, bool outermost)
{
    const struct directives *d = directives_of(m, cor_json_iter_open_value(patch).p);
    struct cor_str marker = d ? d->marker : cor_str(NULL, 0);
    struct side a = {.it = cor_json_iter(cor_json_iter_open_value(old))};
    struct side b = {.it = cor_json_iter(cor_json_iter_open_value(patch))};
    struct member_rules rules;

    if (marker.p && cor_str_eq(marker, COR_STR("\"replace\""))) {
        write_new(m, patch);
        return;
    }
    if (marker.p && !cor_str_eq(marker, COR_STR("\"delete\"")))
        fail_marker(m, marker, cor_json_first_value(cor_json_iter_open_value(patch)));
    cor_json_begin_object(&m->w);
    if (!marker.p) {
        rules_init(m, &rules, type, d);
        merge_members(m, &rules, &a, &b, outermost);
        cor_str_set_deinit(&rules.retain);
        cor_json_iter_leave(old, &a.it);
        cor_json_iter_leave(patch, &b.it);
    }
    cor_json_end_object(&m->w);
}

static void merge_documents(struct merge *m, struct cor_str doc, struct cor_str patch,
                            const struct cor_type *kind)
{
    struct cor_json_iter old = iter_at(doc), new_ = iter_at(patch), whole = new_;

    if (memmem(patch.p, patch.n, "\"$", 2))
        find_directives(m, &whole);
    if (m->error == 0)
        merge_map(m, &old, &new_, kind, true);
}

/* Merges two canonical documents. */
static int merge_write(struct cor_str doc, struct cor_str patch, const struct cor_type *kind,
                       struct cor_buf *out, struct cor_json_patch_error *reterr)
{
    struct merge m = {.why = reterr};
    size_t mark = out->n;
    int r;

    cor_json_writer_init(&m.w, out);
    cor_map_init(&m.directives, ITEMS_MAX);
    merge_documents(&m, doc, patch, kind);
    directives_deinit(&m);
    r = m.error < 0 ? m.error : cor_json_writer_finish(&m.w);
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}

int cor_strategic_merge(struct cor_str doc, struct cor_str patch, const struct cor_type *kind,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf merged = {0};
    struct merge m = {.why = reterr};
    struct cor_json_error why;
    enum cor_json_type type;
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
    if (!kind || !cor_whole_numbers_are_possible(cor_buf_str(&sorted)))
        return merge_write(doc, cor_buf_str(&sorted), kind, out, reterr);
    /* 80.0 is no key of the element 80, as upstream; it is an integer only in the result. */
    cor_buf_init(&merged, out->max);
    r = merge_write(doc, cor_buf_str(&sorted), kind, &merged, reterr);
    return r < 0 ? r : cor_whole_numbers_write(cor_buf_str(&merged), kind, out);
}
