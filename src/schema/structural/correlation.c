/* clang-format off */
/* Which value of the old object belongs to a value of the new one, and whether both are equal:
 * mistakes in a value that has not changed are forgiven (contract crd 4.10).
 *
 *   a member   belongs to the member of the same key, if the schema knows the key
 *   an item    of a list whose items have keys belongs to the item with the same keys; items of
 *              other lists belong to none, so that such a list is one unit
 *
 * Equality follows the same correspondence: an object with a member that the schema does not know
 * is equal to none. What was found out about a value is remembered, so that a deep object is
 * compared once. Failures: out of memory, which sticks to the validation and means "not equal".
 * Thread: one at a time. */
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/structural/structural_validation_int.h"
#include "json/text/scan.h"

enum { EQUAL_UNKNOWN, EQUAL_YES, EQUAL_NO };

#define KEY_MAX (1u << 20)

/* The value of a member; COR_JSON_NO_NODE: there is none. */
static uint32_t find_member(struct cor_validation_run *run, const struct cor_json_nodes *json,
                            uint32_t object, struct cor_str raw_key)
{
    uint32_t end = cor_json_node_next(json, object);

    if (cor_json_node_first(json, object) != '{')
        return COR_JSON_NO_NODE;
    for (uint32_t i = object + 1; i < end && run->error == 0; i = cor_json_node_next(json, i + 1)) {
        cor_validation_charge(run, cor_key_steps(raw_key));
        if (cor_str_eq(cor_json_node_raw(json, i),
                       raw_key)) /* canonical texts are equal as bytes */
            return i + 1;
    }
    return COR_JSON_NO_NODE;
}

struct cor_old_members cor_old_members(struct cor_validation_run *run,
                                       const struct cor_correlation *of)
{
    bool is_object = cor_json_node_first(run->old, of->old) == '{';

    return (struct cor_old_members){
        .at = of->old + 1,
        .end = is_object ? cor_json_node_next(run->old, of->old) : 0,
        .is_outermost = of->value == 0,
    };
}

/* The outermost object has kind and apiVersion first. */
static int key_rank(const struct cor_old_members *members, struct cor_str raw_key)
{
    return !members->is_outermost                       ? 2
           : cor_str_eq(raw_key, COR_STR("kind"))       ? 0
           : cor_str_eq(raw_key, COR_STR("apiVersion")) ? 1
                                                        : 2;
}

bool cor_correlate_member(struct cor_validation_run *run, const struct cor_correlation *of,
                          struct cor_old_members *members, struct cor_str raw_key, uint32_t value,
                          struct cor_correlation *ret)
{
    int order = -1, rank = key_rank(members, raw_key);

    while (members->at < members->end) {
        struct cor_str old_key = cor_json_node_raw(run->old, members->at);

        cor_validation_charge(run, cor_key_steps(old_key));
        order = key_rank(members, old_key) - rank;
        order = order != 0 ? order : cor_json_raw_cmp(old_key, raw_key);
        if (order >= 0)
            break;
        members->at = cor_json_node_next(run->old, members->at + 1);
    }
    if (members->at >= members->end || order != 0)
        return false;
    *ret = (struct cor_correlation){cor_structural_member(run->schema, of->node, raw_key), value,
                                    members->at + 1};
    return ret->node != NULL;
}

/* The keys of an item as one text; p == NULL: the item lacks a key, or a key is not a scalar. */
static struct cor_str item_key(struct cor_validation_run *run, const struct cor_json_nodes *json,
                               const struct cor_structural_node *list, uint32_t item)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key = {.max = KEY_MAX};
    struct cor_str copy;
    int r = 0;

    for (uint32_t i = 0; i < list->nkeys && r == 0; i++) {
        struct cor_str name =
            cor_structural_text(run->schema, run->schema->texts[list->first_key + i]);
        uint32_t value = find_member(run, json, item, name);

        if (value == COR_JSON_NO_NODE || cor_json_node_has_nodes(json, value) ||
            cor_json_node_first(json, value) == 'n')
            return cor_str(NULL, 0);
        r = cor_buf_adds(&key, cor_json_node_bytes(json, value));
        cor_validation_charge(run, cor_json_node_bytes(json, value).n / COR_WORK_STEP_BYTES);
        if (r == 0)
            r = cor_buf_addc(&key, ','); /* is in no key but in quotes */
    }
    if (r == -COR_ETOOBIG)
        return cor_str(NULL, 0);
    cor_validation_note(run, r);
    copy = cor_arena_copy(&run->arena, cor_buf_str(&key));
    if (!copy.p)
        cor_validation_note(run, -COR_ENOMEM);
    return copy;
}

static int compare_items(const void *a, const void *b)
{
    const struct cor_old_item *x = a, *y = b;
    int order = cor_str_cmp(x->key, y->key);

    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

struct cor_old_items cor_correlate_list(struct cor_validation_run *run,
                                        const struct cor_correlation *of)
{
    struct cor_old_items items = {0};
    uint32_t end, n = 0;

    if (of->node->list != COR_STRUCTURAL_LIST_MAP || of->node->nkeys == 0 ||
        cor_json_node_first(run->old, of->old) != '[')
        return items;
    end = cor_json_node_next(run->old, of->old);
    for (uint32_t i = of->old + 1; i < end; i = cor_json_node_next(run->old, i))
        n++;
    cor_validation_charge(run, n);
    items.v = cor_arena_alloc(&run->arena, (n + 1) * sizeof(items.v[0]));
    if (!items.v) {
        cor_validation_note(run, -COR_ENOMEM);
        return items;
    }
    n = 0;
    for (uint32_t i = of->old + 1; i < end && run->error == 0;
         i = cor_json_node_next(run->old, i), n++) {
        struct cor_str key = item_key(run, run->old, of->node, i);

        if (key.p)
            items.v[items.n++] = (struct cor_old_item){key, i, n};
    }
    qsort(items.v, items.n, sizeof(items.v[0]), compare_items);
    return items;
}

bool cor_correlate_item(struct cor_validation_run *run, const struct cor_correlation *of,
                        const struct cor_old_items *items, uint32_t value,
                        struct cor_correlation *ret)
{
    struct cor_str key =
        items->n > 0 ? item_key(run, run->json, of->node, value) : cor_str(NULL, 0);
    size_t low = 0, high = items->n;

    if (!key.p || of->node->items == COR_STRUCTURAL_NONE)
        return false;
    while (low < high) { /* the first of those with this key */
        size_t middle = low + (high - low) / 2;

        if (cor_str_cmp(items->v[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == items->n || !cor_str_eq(items->v[low].key, key))
        return false;
    *ret = (struct cor_correlation){cor_structural_node(run->schema, of->node->items), value,
                                    items->v[low].node};
    return true;
}

/* Are two scalars equal? A number that is written as an integer is not a double. */
static bool are_scalars_equal(struct cor_str a, struct cor_str b)
{
    int64_t ignored;

    if (cor_str_eq(a, b))
        return true;
    return cor_json_type(a) == COR_JSON_NUMBER && cor_json_type(b) == COR_JSON_NUMBER &&
           cor_json_to_i64(a, &ignored) < 0 && cor_json_to_i64(b, &ignored) < 0 &&
           strtod(a.p, NULL) == strtod(b.p, NULL);
}

/* Are both values equal, whatever the schema says? Both have their members in the same order. */
static bool are_values_equal(struct cor_validation_run *run, uint32_t a, uint32_t b)
{
    uint32_t a_end = cor_json_node_next(run->json, a), b_end = cor_json_node_next(run->old, b);

    if (cor_json_node_first(run->json, a) != cor_json_node_first(run->old, b) &&
        (cor_json_node_has_nodes(run->json, a) || cor_json_node_has_nodes(run->old, b)))
        return false;
    if (!cor_json_node_has_nodes(run->json, a)) {
        struct cor_str value = cor_json_node_bytes(run->json, a);

        cor_validation_charge(run, cor_key_steps(value));
        return are_scalars_equal(value, cor_json_node_bytes(run->old, b));
    }
    /* Keys and values alternate in objects, and a key is compared as a value. */
    for (a++, b++; a < a_end && b < b_end && run->error == 0;
         a = cor_json_node_next(run->json, a), b = cor_json_node_next(run->old, b)) {
        if (!are_values_equal(run, a, b))
            return false;
    }
    return a >= a_end && b >= b_end;
}

static uint32_t count_values(struct cor_validation_run *run, const struct cor_json_nodes *json,
                             uint32_t value)
{
    bool is_object = cor_json_node_first(json, value) == '{';
    uint32_t n = 0, end = cor_json_node_next(json, value);

    for (uint32_t i = value + 1; i < end; n++)
        i = cor_json_node_next(json, is_object ? i + 1 : i);
    cor_validation_charge(run, n);
    return n;
}

static bool are_objects_equal(struct cor_validation_run *run, const struct cor_correlation *of)
{
    uint32_t end = cor_json_node_next(run->json, of->value);
    struct cor_old_members members = cor_old_members(run, of);
    struct cor_correlation member;

    if (count_values(run, run->json, of->value) != count_values(run, run->old, of->old))
        return false;
    for (uint32_t i = of->value + 1; i < end && run->error == 0;
         i = cor_json_node_next(run->json, i + 1)) {
        if (!cor_correlate_member(run, of, &members, cor_json_node_raw(run->json, i), i + 1,
                                  &member) ||
            !cor_correlation_is_equal(run, &member))
            return false;
    }
    return true;
}

static bool are_lists_equal(struct cor_validation_run *run, const struct cor_correlation *of)
{
    uint32_t end = cor_json_node_next(run->json, of->value);
    struct cor_old_items items = cor_correlate_list(run, of);
    struct cor_correlation item;

    if (!items.v)
        return are_values_equal(run, of->value, of->old);
    if (count_values(run, run->json, of->value) != count_values(run, run->old, of->old))
        return false;
    for (uint32_t i = of->value + 1; i < end && run->error == 0;
         i = cor_json_node_next(run->json, i)) {
        if (!cor_correlate_item(run, of, &items, i, &item) || !cor_correlation_is_equal(run, &item))
            return false;
    }
    return true;
}

bool cor_correlation_is_equal(struct cor_validation_run *run, const struct cor_correlation *of)
{
    char first = cor_json_node_first(run->json, of->value);
    bool is_equal;

    if (!run->equal) {
        run->equal = cor_arena_alloc(&run->arena, run->json->n);
        if (!run->equal) {
            cor_validation_note(run, -COR_ENOMEM);
            return false;
        }
        memset(run->equal, EQUAL_UNKNOWN, run->json->n);
    }
    if (run->equal[of->value] != EQUAL_UNKNOWN)
        return run->equal[of->value] == EQUAL_YES;
    if (first == '{' && cor_json_node_first(run->old, of->old) == '{')
        is_equal = are_objects_equal(run, of);
    else if (first == '[' && cor_json_node_first(run->old, of->old) == '[')
        is_equal = are_lists_equal(run, of);
    else
        is_equal = are_values_equal(run, of->value, of->old);
    run->equal[of->value] = is_equal ? EQUAL_YES : EQUAL_NO;
    return is_equal;
}
