/* Values, members and items, for the typed walks. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "schema/apply/typed_int.h"
#include "json/text/scan.h"

/* Items are looked at for their keys, and given an element each; those that are not in order are
 * sorted. */
#define ITEM_STEPS 8
#define SORT_STEPS 64

unsigned cor_apply_forms(const struct cor_apply_place *place, struct cor_apply_value v)
{
    unsigned forms = (place->map != COR_APPLY_NO_MAP ? COR_APPLY_FORM_MAP : 0) |
                     (place->scalar != COR_APPLY_NO_SCALAR ? COR_APPLY_FORM_SCALAR : 0) |
                     (place->list != COR_APPLY_NO_LIST ? COR_APPLY_FORM_LIST : 0);
    unsigned own = cor_apply_is_object(v)                           ? COR_APPLY_FORM_MAP
                   : cor_apply_is_array(v)                          ? COR_APPLY_FORM_LIST
                   : cor_apply_is_absent(v) || cor_apply_is_null(v) ? 0
                                                                    : COR_APPLY_FORM_SCALAR;

    return forms & own ? own : forms;
}

static uint32_t end_of(struct cor_apply_value v)
{
    return cor_apply_is_object(v) ? cor_json_node_next(v.json, v.at) : 0;
}

struct cor_apply_pairs cor_apply_pairs(struct cor_apply_value a, struct cor_apply_value b)
{
    return (struct cor_apply_pairs){
        .a = {a.json, a.at + 1},
        .b = {b.json, b.at + 1},
        .a_end = end_of(a),
        .b_end = end_of(b),
        .is_root = a.at == 0 || b.at == 0,
    };
}

static int root_rank(struct cor_str key)
{
    return cor_str_eq(key, COR_STR("kind")) ? 0 : cor_str_eq(key, COR_STR("apiVersion")) ? 1 : 2;
}

static int keys_cmp(const struct cor_apply_pairs *pairs, struct cor_str a, struct cor_str b)
{
    int ranks = pairs->is_root ? root_rank(a) - root_rank(b) : 0;

    return ranks != 0 ? ranks : cor_json_raw_cmp(a, b);
}

/* The value behind the key at `next`, and the key after it. */
static struct cor_apply_value take_value(struct cor_apply_value *next)
{
    struct cor_apply_value v = {next->json, next->at + 1};

    next->at = cor_json_node_next(v.json, v.at);
    return v;
}

bool cor_apply_pairs_next(struct cor_apply_pairs *pairs)
{
    bool has_a = pairs->a.at < pairs->a_end, has_b = pairs->b.at < pairs->b_end;
    struct cor_str a = has_a ? cor_json_node_raw(pairs->a.json, pairs->a.at) : COR_STR("");
    struct cor_str b = has_b ? cor_json_node_raw(pairs->b.json, pairs->b.at) : COR_STR("");
    int c;

    if (!has_a && !has_b)
        return false;
    /* Most members of an object are in both. */
    c = !has_a ? 1 : !has_b ? -1 : cor_str_eq(a, b) ? 0 : keys_cmp(pairs, a, b);
    pairs->key = c <= 0 ? a : b;
    pairs->left = pairs->right = (struct cor_apply_value){NULL, COR_JSON_NO_NODE};
    if (c <= 0)
        pairs->left = take_value(&pairs->a);
    if (c >= 0)
        pairs->right = take_value(&pairs->b);
    return true;
}

/* The values of the keys that the item has; keys and members are both sorted. */
static void find_keys(struct cor_apply_value item, const struct cor_apply_key *keys, size_t n,
                      struct cor_str *values)
{
    uint32_t i = item.at + 1, end = cor_json_node_next(item.json, item.at);
    size_t k = 0;

    for (size_t j = 0; j < n; j++)
        values[j] = keys[j].default_json.n > 0 ? keys[j].default_json : cor_str(NULL, 0);
    while (i < end && k < n) {
        int c = cor_json_raw_cmp_text(cor_json_node_raw(item.json, i), keys[k].name);

        if (c > 0) {
            k++;
            continue;
        }
        if (c == 0)
            values[k++] = cor_json_node_bytes(item.json, i + 1);
        i = cor_json_node_next(item.json, i + 1);
    }
}

static int fail(struct cor_buf *why, const char *words)
{
    int r = why ? cor_buf_addz(why, words) : 0;

    return r < 0 ? r : -COR_EINVALID;
}

static int fail_without_keys(struct cor_buf *why, const struct cor_apply_key *keys, size_t n)
{
    int r = why ? cor_buf_addz(why, "associative list with keys has an element that omits all key "
                                    "fields [")
                : 0;

    for (size_t i = 0; why && i < n && r == 0; i++)
        r = cor_buf_addf(why, "%s\"%.*s\"", i > 0 ? " " : "", (int)keys[i].name.n, keys[i].name.p);
    if (why && r == 0)
        r = cor_buf_addz(why, "] (and doesn't have default values for any key fields)");
    return r < 0 ? r : -COR_EINVALID;
}

/* Writes {"name":value,…} into the arena. */
static int keyed_element(struct cor_arena *arena, const struct cor_apply_key *keys, size_t n,
                         struct cor_str *values, struct cor_path_element *ret_element)
{
    size_t bytes = 1;
    char *text, *p;

    for (size_t i = 0; i < n; i++) {
        if (!values[i].p)
            continue;
        values[i] = cor_path_scalar(arena, values[i]);
        if (!values[i].p)
            return arena->error;
        bytes += keys[i].name.n + values[i].n + 4;
    }
    text = p = cor_arena_alloc(arena, bytes);
    if (!text)
        return arena->error;
    for (size_t i = 0; i < n; i++) {
        if (!values[i].p)
            continue;
        *p = p == text ? '{' : ',';
        p++;
        *p++ = '"';
        memcpy(p, keys[i].name.p, keys[i].name.n);
        p += keys[i].name.n;
        *p++ = '"';
        *p++ = ':';
        memcpy(p, values[i].p, values[i].n);
        p += values[i].n;
    }
    *p++ = '}';
    assert((size_t)(p - text) <= bytes);
    ret_element->kind = COR_PATH_KEY;
    ret_element->text = cor_str(text, (size_t)(p - text));
    return 0;
}

int cor_apply_item_element(struct cor_arena *arena, const struct cor_apply_place *list,
                           const struct cor_apply_key *keys, size_t nkeys, struct cor_apply_value v,
                           struct cor_path_element *ret_element, struct cor_buf *why)
{
    struct cor_str values[COR_APPLY_KEYS_MAX];
    bool has_key = false;

    if (list->list == COR_APPLY_LIST_SET) {
        if (cor_apply_is_object(v))
            return fail(why, "associative list without keys has an element that's a map type");
        if (cor_apply_is_array(v))
            return fail(why, "not supported: associative list with lists as elements");
        if (cor_apply_is_null(v))
            return fail(why,
                        "associative list without keys has an element that's an explicit null");
        ret_element->kind = COR_PATH_VALUE;
        ret_element->text = cor_path_scalar(arena, cor_apply_bytes(v));
        return ret_element->text.p ? 0 : arena->error;
    }
    if (cor_apply_is_null(v))
        return fail(why, "associative list with keys may not have a null element");
    if (!cor_apply_is_object(v))
        return fail(why, "associative list with keys may not have non-map elements");
    find_keys(v, keys, nkeys, values);
    for (size_t i = 0; i < nkeys; i++)
        has_key |= values[i].p != NULL;
    if (!has_key)
        return fail_without_keys(why, keys, nkeys);
    return keyed_element(arena, keys, nkeys, values, ret_element);
}

static int item_cmp(const void *a, const void *b)
{
    const struct cor_apply_item *x = a, *y = b;
    int c = cor_path_element_cmp(&x->element, &y->element);

    return c != 0 ? c : (x->index > y->index) - (x->index < y->index);
}

int cor_apply_items(struct cor_arena *arena, const struct cor_apply_place *list,
                    struct cor_apply_value v, struct cor_apply_items *ret_items)
{
    struct cor_apply_key keys[COR_APPLY_KEYS_MAX];
    size_t n = 0, nkeys = list->list == COR_APPLY_LIST_KEYED ? cor_apply_place_keys(list, keys) : 0;
    uint32_t i, end;
    bool is_sorted = true;
    int r;

    *ret_items = (struct cor_apply_items){0};
    if (!cor_apply_is_array(v))
        return 0;
    end = cor_json_node_next(v.json, v.at);
    for (i = v.at + 1; i < end; i = cor_json_node_next(v.json, i))
        n++;
    cor_arena_charge(arena, (end - v.at) + ITEM_STEPS * n);
    ret_items->v = cor_arena_alloc(arena, n * sizeof(ret_items->v[0]));
    if (!ret_items->v)
        return arena->error;
    for (i = v.at + 1; i < end; i = cor_json_node_next(v.json, i)) {
        struct cor_apply_item *item = &ret_items->v[ret_items->n];

        item->at = i;
        item->index = (uint32_t)ret_items->n;
        r = cor_apply_item_element(arena, list, keys, nkeys, (struct cor_apply_value){v.json, i},
                                   &item->element, NULL);
        if (r < 0)
            return r;
        if (ret_items->n++ > 0 && item_cmp(item - 1, item) > 0)
            is_sorted = false;
    }
    if (!is_sorted)
        cor_arena_charge(arena, SORT_STEPS * n);
    if (!is_sorted && arena->error == 0)
        qsort(ret_items->v, ret_items->n, sizeof(ret_items->v[0]), item_cmp);
    return arena->error;
}

size_t cor_apply_items_run(const struct cor_apply_items *items, size_t i)
{
    size_t end = i + 1;

    while (end < items->n &&
           cor_path_element_cmp(&items->v[i].element, &items->v[end].element) == 0)
        end++;
    return end - i;
}
