/* clang-format off */
/* Lists of a strategic merge patch whose elements have keys. The elements of the old list and of the
 * patch are items, in an array with an index by their keys:
 *
 *   1. the old list's elements become items;
 *   2. the patch's markers delete items, or replace the whole list, which ends the merge;
 *   3. the patch's elements join the items with their keys, or become new ones;
 *   4. the items get places in the order that the patch gives, and the others keep theirs;
 *   5. items that a directive deletes leave, and what is left is written, each element merged.
 *
 * Failures: no memory, elements without their key or of another type; the first one sticks.
 * Thread: any; nothing is kept between calls. */
/* clang-format on */
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/merge/strategic_int.h"

/* What is charged for an element: it is looked for by its key, and gets a place. */
#define ITEM_STEPS 16

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

static void items_init(struct items *items)
{
    *items = (struct items){.n = 0};
    cor_map_init(&items->by_key, COR_STRATEGIC_ITEMS_MAX);
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

static struct item *add_item(struct cor_strategic *m, struct items *items, struct cor_str key)
{
    cor_strategic_charge(m, ITEM_STEPS);
    if (COR_ARRAY_RESERVE(&items->v, items->n, &items->cap, COR_ARRAY_NO_MAX) < 0) {
        cor_strategic_fail(m, -COR_ENOMEM, "out of memory");
        return NULL;
    }
    items->v[items->n] = (struct item){.key = key,
                                       .server = SIZE_MAX,
                                       .order = SIZE_MAX,
                                       .next_same = SIZE_MAX,
                                       .last_same = SIZE_MAX};
    if (index_item(items, items->n) < 0) {
        cor_strategic_fail(m, -COR_ENOMEM, "out of memory");
        return NULL;
    }
    return &items->v[items->n++];
}

/* The first item with this key that is not gone. Those that are gone leave the index here, each
 * once. */
static struct item *find_item(struct cor_strategic *m, struct items *items, struct cor_str key)
{
    size_t first, i;

    cor_strategic_charge(m, ITEM_STEPS);
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
static struct cor_str key_of(struct cor_strategic *m, const struct cor_strategic_list_rule *rule,
                             struct cor_str element)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str key;

    if (rule->key.n == 0)
        return element;
    key = cor_strategic_get(element, rule->key);
    if (key.p)
        return key;
    cor_strategic_print(m, element, &text);
    cor_strategic_fail(m, -COR_EINTERNAL, "map: %s does not contain declared merge key: %.*s",
                       cor_buf_z(&text), COR_STR_ARG(rule->key));
    return COR_STR("");
}

static void take_old(struct cor_strategic *m, struct items *items,
                     const struct cor_strategic_list_rule *rule, struct cor_str old)
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
static bool apply_markers(struct cor_strategic *m, struct items *items,
                          const struct cor_strategic_list_rule *rule, struct cor_str patch)
{
    struct cor_json_iter it = cor_json_iter(patch);
    bool replace = false;

    while (m->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it), marker;
        struct item *item;

        if (!cor_strategic_has_marker(m, element))
            continue;
        marker = cor_strategic_directives_of(m, element.p)->marker;
        if (cor_str_eq(marker, COR_STR("\"replace\""))) {
            replace = true;
        } else if (cor_str_eq(marker, COR_STR("\"merge\""))) {
            cor_strategic_fail(m, -COR_EINTERNAL,
                               "merging lists cannot yet be specified in the patch");
        } else if (!cor_str_eq(marker, COR_STR("\"delete\""))) {
            cor_strategic_fail_marker(m, marker, element);
        } else {
            while ((item = find_item(m, items, key_of(m, rule, element))))
                item->gone = true;
        }
    }
    return replace;
}

static void take_new(struct cor_strategic *m, struct items *items,
                     const struct cor_strategic_list_rule *rule, struct cor_str patch)
{
    struct cor_json_iter it = cor_json_iter(patch);

    while (m->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it), key;
        struct item *item;

        if (cor_strategic_has_marker(m, element))
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

static void set_order(struct cor_strategic *m, struct items *items,
                      const struct cor_strategic_list_rule *rule, struct cor_str order)
{
    struct cor_json_iter it = cor_json_iter(order);

    for (size_t i = 0; m->error == 0 && cor_json_iter_elem(&it); i++) {
        struct cor_str element = cor_json_iter_value(&it);
        struct item *item;

        if (cor_strategic_has_marker(m, element))
            continue;
        item = find_item(m, items, key_of(m, rule, element));
        if (item && item->order == SIZE_MAX)
            item->order = i;
    }
}

static void drop_deleted(struct cor_strategic *m, struct items *items, struct cor_str list)
{
    struct cor_json_iter it = cor_json_iter(list);
    struct item *item;

    while (m->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str key = cor_json_iter_value(&it);

        while ((item = find_item(m, items, key)))
            item->gone = true;
    }
}

static void write_element(struct cor_strategic *m, const struct cor_strategic_list_rule *rule,
                          const struct item *item)
{
    struct cor_json_iter old = cor_strategic_iter(item->old), new_ = cor_strategic_iter(item->new_);

    if (!item->new_.p)
        cor_json_raw(&m->w, item->old);
    else if (!item->old.p || rule->key.n == 0)
        cor_json_raw(&m->w, item->new_);
    else
        cor_strategic_map(m, &old, &new_, rule->element, false);
}

static int compare_order(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

    return (x->order > y->order) - (x->order < y->order);
}

/* The items that the patch orders, in its order; NULL ends them. NULL: no memory. */
static struct item **order_items(struct cor_strategic *m, struct items *items)
{
    struct item **ordered = cor_calloc(items->n + 1, sizeof(ordered[0]));
    size_t n = 0;

    if (!ordered) {
        cor_strategic_fail(m, -COR_ENOMEM, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < items->n; i++) {
        if (!items->v[i].gone && items->v[i].order != SIZE_MAX)
            ordered[n++] = &items->v[i];
    }
    qsort(ordered, n, sizeof(ordered[0]), compare_order);
    return ordered;
}

/* What the patch orders is in its order; what only the server has is put in where the old list had
 * it before the next of those. */
static void write_items(struct cor_strategic *m, const struct cor_strategic_list_rule *rule,
                        struct items *items)
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
static void check_elements(struct cor_strategic *m, const struct cor_strategic_list_rule *rule,
                           struct cor_str old, struct cor_str patch)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf a = {0}, b = {0};
    enum cor_json_type type = rule->key.n > 0 ? COR_JSON_OBJECT : COR_JSON_NONE;

    if (has_one_type(old, &type) && has_one_type(patch, &type))
        return;
    cor_strategic_print(m, old, &a);
    cor_strategic_print(m, patch, &b);
    cor_strategic_fail(m, -COR_EINTERNAL, "list element types are not identical: [%s %s]",
                       cor_buf_z(&a), cor_buf_z(&b));
}

/* The elements of the patch must be in the order that its directive gives, which may name others
 * between them. Elements that are directives themselves do not count. An empty list has any order.
 */
static void check_order(struct cor_strategic *m, const struct cor_strategic_list_rule *rule,
                        struct cor_str patch, struct cor_str order)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sent = {0}, wanted = {0};
    struct cor_json_iter it = cor_json_iter(patch), places = cor_json_iter(order);
    bool is_found = true;

    if (!cor_json_iter_elem(&places))
        return;
    places = cor_json_iter(order);
    while (m->error == 0 && is_found && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it), key;

        if (cor_strategic_has_marker(m, element))
            continue;
        key = key_of(m, rule, element);
        is_found = false;
        while (m->error == 0 && !is_found && cor_json_iter_elem(&places))
            is_found = cor_str_eq(key_of(m, rule, cor_json_iter_value(&places)), key);
    }
    if (is_found || m->error < 0)
        return;
    cor_strategic_print(m, patch, &sent);
    cor_strategic_print(m, order, &wanted);
    cor_strategic_fail(m, -COR_EINTERNAL,
                       "The order in patch list:\n%s\n doesn't match $setElementOrder list:\n%s\n",
                       cor_buf_z(&sent), cor_buf_z(&wanted));
}

/* Writes the elements of a list that replaces the old one. */
static void write_unmarked(struct cor_strategic *m, struct cor_str list)
{
    struct cor_json_iter it = cor_json_iter(list);

    cor_json_begin_array(&m->w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it);

        if (!cor_strategic_has_marker(m, element))
            cor_json_raw(&m->w, element);
    }
    cor_json_end_array(&m->w);
}

void cor_strategic_list(struct cor_strategic *m, const struct cor_strategic_list_rule *rule,
                        struct cor_str old, struct cor_str patch, struct cor_str order,
                        struct cor_str deleted)
{
    struct items items;

    items_init(&items);
    if (patch.p && order.p)
        check_order(m, rule, patch, order);
    if (patch.p)
        check_elements(m, rule, old, patch);
    if (deleted.p)
        check_elements(m, rule, old, deleted);
    take_old(m, &items, rule, old);
    if (patch.p && apply_markers(m, &items, rule, patch)) {
        write_unmarked(m, patch);
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
