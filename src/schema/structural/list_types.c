/* clang-format off */
/* Repeated items of lists of the types set and map (contract crd 4.9.3 to 4.9.5). A list is looked
 * at by sorting the texts of its items or of their keys; the second item of each run of equal texts
 * is an error, those behind it are not. Subtrees whose schema has no such list are left out.
 * The work is n log n in the items. Recursion is bounded by the depth of JSON.
 * Failures: out of memory, which is noted in the field errors. Thread: any. */
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/go/go_text.h"
#include "schema/structural/structural_int.h"

#define SHOWN_NUMBER_MAX 64 /* a double in the form of %v is not longer */
#include "json/text/nodes.h"
#include "json/text/scan.h"

struct lists {
    const struct cor_structural *schema;
    struct cor_json_nodes json;
    struct cor_arena arena;
    struct cor_field_errors *errors;
};

struct item {
    struct cor_str text;
    uint32_t index;
};

static void lists_fail(struct lists *l)
{
    if (l->errors->error == 0)
        l->errors->error = -COR_ENOMEM;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = cor_str_cmp(x->text, y->text);

    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static int compare_indexes(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

/* Is the member one of the list's keys, which are sorted by their bytes? */
static bool is_list_key(const struct cor_structural *schema, const struct cor_structural_node *node,
                        struct cor_str raw_key)
{
    uint32_t low = 0, high = node->nkeys;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = cor_str_cmp(
            raw_key, cor_structural_text(schema, schema->texts[node->first_key + middle]));

        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* The keys that an item has, as a JSON object; null has none. */
static struct cor_str keys_of(struct lists *l, const struct cor_structural_node *node,
                              uint32_t item)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = SIZE_MAX};
    bool is_object = cor_json_node_first(&l->json, item) == '{';
    uint32_t end = is_object ? cor_json_node_next(&l->json, item) : 0;
    struct cor_str copy;
    int r = cor_buf_addc(&text, '{');

    for (uint32_t i = item + 1; i < end && r == 0; i = cor_json_node_next(&l->json, i + 1)) {
        struct cor_str key = cor_json_node_raw(&l->json, i);
        struct cor_str value;

        if (!is_list_key(l->schema, node, key))
            continue;
        value = cor_json_node_bytes(&l->json, i + 1);
        r = cor_buf_addf(&text, "%s\"%.*s\":", text.n > 1 ? "," : "", COR_STR_ARG(key));
        if (r == 0)
            r = cor_buf_adds(&text, value);
    }
    if (r == 0)
        r = cor_buf_addc(&text, '}');
    copy = r == 0 ? cor_arena_copy(&l->arena, cor_buf_str(&text)) : cor_str(NULL, 0);
    if (!copy.p)
        lists_fail(l);
    return copy;
}

/* Adds an error with a value as upstream shows it: a string in quotes, a number as Go prints it. */
static void refuse_value(struct lists *l, enum cor_field_error_type type,
                         const struct cor_field_path *path, struct cor_str json, const char *detail)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf room = {.max = json.n + SHOWN_NUMBER_MAX};
    struct cor_field_value value = cor_field_json(json);
    struct cor_str raw;
    int r = 0;

    if (cor_json_to_raw(json, &raw) == 0) {
        r = cor_buf_reserve(&room, raw.n);
        if (r == 0)
            (void)cor_json_unescape(raw, room.p, raw.n, &raw);
        value = cor_field_string(raw);
    } else if (cor_json_type(json) == COR_JSON_NUMBER) {
        r = cor_go_text(json, &room);
        value = cor_field_json(cor_buf_str(&room));
    }
    if (r < 0)
        lists_fail(l);
    else
        cor_field_errors_add(l->errors, type, path, value, detail);
}

/* Keeps the second of each run of equal items, in the order of the list; returns how many. */
static size_t keep_repeated(struct item *items, size_t n)
{
    size_t kept = 0;

    qsort(items, n, sizeof(items[0]), compare_items);
    for (size_t i = 0, run; i < n; i += run) {
        run = 1;
        while (i + run < n && cor_str_eq(items[i].text, items[i + run].text))
            run++;
        if (run > 1)
            items[kept++] = items[i + 1];
    }
    qsort(items, kept, sizeof(items[0]), compare_indexes);
    return kept;
}

static void check_list(struct lists *l, const struct cor_structural_node *node, uint32_t value,
                       const struct cor_field_path *path)
{
    uint32_t end = cor_json_node_next(&l->json, value), n = 0;
    bool is_set = node->list == COR_STRUCTURAL_LIST_SET;
    struct item *items;
    size_t repeated;

    for (uint32_t i = value + 1; i < end; i = cor_json_node_next(&l->json, i), n++) {
        struct cor_field_path at = cor_field_index(path, n);
        char first = cor_json_node_first(&l->json, i);

        if (!is_set && first != '{' && first != 'n') {
            refuse_value(l, COR_FIELD_INVALID, &at, cor_json_node_bytes(&l->json, i),
                         "must be an object for an array of list-type map");
            return;
        }
    }
    if (n < 2)
        return;
    items = cor_arena_alloc(&l->arena, n * sizeof(items[0]));
    if (!items) {
        lists_fail(l);
        return;
    }
    n = 0;
    for (uint32_t i = value + 1; i < end && l->errors->error == 0;
         i = cor_json_node_next(&l->json, i), n++)
        items[n] =
            (struct item){is_set ? cor_json_node_bytes(&l->json, i) : keys_of(l, node, i), n};
    if (l->errors->error < 0)
        return;
    repeated = keep_repeated(items, n);
    for (size_t i = 0; i < repeated; i++) {
        struct cor_field_path at = cor_field_index(path, items[i].index);

        refuse_value(l, COR_FIELD_DUPLICATE, &at, items[i].text, NULL);
    }
}

static void check_lists(struct lists *l, const struct cor_structural_node *node, uint32_t value,
                        const struct cor_field_path *path)
{
    uint32_t end = cor_json_node_next(&l->json, value), n = 0;
    const struct cor_structural_node *child;
    struct cor_field_path at;

    if (!node || !cor_structural_is(node, COR_STRUCTURAL_LISTS_BELOW) || l->errors->error < 0)
        return;
    if (cor_json_node_first(&l->json, value) == '[') {
        if (node->list >= COR_STRUCTURAL_LIST_SET)
            check_list(l, node, value, path);
        child = cor_structural_node(l->schema, node->items);
        for (uint32_t i = value + 1; i < end; i = cor_json_node_next(&l->json, i), n++) {
            at = cor_field_index(path, n);
            check_lists(l, child, i, &at);
        }
    } else if (cor_json_node_first(&l->json, value) == '{') {
        for (uint32_t i = value + 1; i < end; i = cor_json_node_next(&l->json, i + 1)) {
            struct cor_str key = cor_json_node_raw(&l->json, i);

            child = cor_structural_find(l->schema, node, key);
            at = child ? cor_field_child(path, key) : cor_field_key(path, key);
            check_lists(l, child ? child : cor_structural_node(l->schema, node->additional), i + 1,
                        &at);
        }
    }
}

/* Adds the errors of one object. */
static void check_object(const struct cor_structural *schema, struct cor_str object,
                         struct cor_field_errors *errors)
{
    struct lists *l = cor_calloc(1, sizeof(*l));

    if (!l) {
        errors->error = errors->error < 0 ? errors->error : -COR_ENOMEM;
        return;
    }
    l->schema = schema;
    l->errors = errors;
    cor_arena_init(&l->arena, SIZE_MAX);
    if (cor_json_nodes_init(&l->json, object) == 0)
        check_lists(l, cor_structural_root(schema), 0, NULL);
    else
        lists_fail(l);
    cor_json_nodes_deinit(&l->json);
    cor_arena_deinit(&l->arena);
    cor_free(l);
}

void cor_structural_check_lists(const struct cor_structural *schema,
                                const struct cor_structural_validation *validation,
                                struct cor_field_errors *errors)
{
    struct cor_field_errors old_errors;
    bool is_forgiven;

    if (!cor_structural_is(cor_structural_root(schema), COR_STRUCTURAL_LISTS_BELOW))
        return;
    if (validation->old.p) {
        cor_field_errors_init(&old_errors);
        check_object(schema, validation->old, &old_errors);
        is_forgiven = old_errors.n > 0;
        if (old_errors.error < 0 && errors->error == 0)
            errors->error = old_errors.error;
        cor_field_errors_deinit(&old_errors);
        if (is_forgiven)
            return;
    }
    check_object(schema, validation->object, errors);
}
