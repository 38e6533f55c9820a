/* Field sets: building, combining, reading and writing them.
 *
 * All operations on two sets are one walk over two sorted lists of siblings (combine()): an element
 * that only one side has is dropped or taken over with all that is below it, and what is taken over
 * is shared, so that only nodes on a changed path are copied. Each element that a walk meets is
 * charged to the work of the arena: clients choose how many sets there are, and how long the one is
 * that all of them are combined with. */
#include "schema/apply/fieldset.h"

#include <assert.h>

#include "base/err.h"
#include "json/text/nodes.h"

#define KEY_STEPS  4  /* comparing two elements that are JSON */
#define TEXT_STEPS 64 /* bytes of elements that are compared in the time of a step */
#define SORT_STEPS 16 /* finding the place of an element among many, in comparisons */

static uint64_t element_steps(const struct cor_path_element *element)
{
    return (element->kind == COR_PATH_FIELD ? 1 : KEY_STEPS) + element->text.n / TEXT_STEPS;
}

void cor_field_level_add(struct cor_arena *arena, struct cor_field_level *level,
                         const struct cor_path_element *element, bool is_member,
                         const struct cor_field_node *children)
{
    struct cor_field_node *node;

    cor_arena_charge(arena, element_steps(element) * (level->is_unsorted ? SORT_STEPS : 1));
    if (!is_member && !children)
        return;
    node = cor_arena_alloc(arena, sizeof(*node));
    if (!node)
        return;
    *node = (struct cor_field_node){.element = *element, .is_member = is_member, .first = children};
    if (!level->first)
        level->first = node;
    else
        level->last->next = node;
    if (level->last && cor_path_element_cmp(&level->last->element, element) >= 0)
        level->is_unsorted = true;
    level->last = node;
}

/* Merges two sorted lists; of equal nodes those of `a` come first. */
static struct cor_field_node *merge_sorted(struct cor_field_node *a, struct cor_field_node *b)
{
    struct cor_field_node *first = NULL, **end = &first;

    while (a && b) {
        struct cor_field_node **less =
            cor_path_element_cmp(&a->element, &b->element) <= 0 ? &a : &b;

        *end = *less;
        end = &(*less)->next;
        *less = (*less)->next;
    }
    *end = a ? a : b;
    return first;
}

/* A stable merge sort of a list: runs of 1, 2, 4 … nodes wait in `runs` until a run of the same
 * length comes. */
static struct cor_field_node *sort_nodes(struct cor_field_node *list)
{
    struct cor_field_node *runs[64] = {NULL}, *run, *next;
    size_t i;

    for (; list; list = next) {
        next = list->next;
        run = list;
        run->next = NULL;
        for (i = 0; i < COR_ARRAY_LEN(runs) - 1 && runs[i]; i++) {
            run = merge_sorted(runs[i], run);
            runs[i] = NULL;
        }
        runs[i] = run;
    }
    run = NULL;
    for (i = 0; i < COR_ARRAY_LEN(runs); i++)
        run = merge_sorted(runs[i], run);
    return run;
}

const struct cor_field_node *cor_field_level_end(struct cor_field_level *level)
{
    struct cor_field_node *node;

    if (!level->is_unsorted)
        return level->first;
    level->first = sort_nodes(level->first);
    for (node = level->first; node && node->next;) {
        struct cor_field_node *again = node->next;

        if (cor_path_element_cmp(&node->element, &again->element) != 0) {
            node = again;
            continue;
        }
        node->is_member |= again->is_member;
        if (again->first)
            node->first = again->first;
        node->next = again->next;
    }
    level->last = node;
    level->is_unsorted = false;
    return level->first;
}

/* ---- operations ---- */

enum combination { UNION, INTERSECTION, DIFFERENCE, RECURSIVE_DIFFERENCE };

static bool combine_members(enum combination how, bool a, bool b)
{
    switch (how) {
    case UNION:
        return a || b;
    case INTERSECTION:
        return a && b;
    case DIFFERENCE:
    case RECURSIVE_DIFFERENCE:
        return a && !b;
    }
    return false;
}

static const struct cor_field_node *combine(struct cor_arena *arena, const struct cor_field_node *a,
                                            const struct cor_field_node *b, enum combination how)
{
    struct cor_field_level level = {0};
    const bool takes_a = how != INTERSECTION, takes_b = how == UNION;

    if (!a || !b || a == b) {
        if (a == b)
            return how == UNION || how == INTERSECTION ? a : NULL;
        return a && takes_a ? a : b && takes_b ? b : NULL;
    }
    while (a || b) {
        int c = !a ? 1 : !b ? -1 : cor_path_element_cmp(&a->element, &b->element);

        cor_arena_charge(arena, element_steps(c <= 0 ? &a->element : &b->element));
        if (c == 0 && !(how == RECURSIVE_DIFFERENCE && b->is_member))
            cor_field_level_add(arena, &level, &a->element,
                                combine_members(how, a->is_member, b->is_member),
                                combine(arena, a->first, b->first, how));
        else if (c < 0 && takes_a)
            cor_field_level_add(arena, &level, &a->element, a->is_member, a->first);
        else if (c > 0 && takes_b)
            cor_field_level_add(arena, &level, &b->element, b->is_member, b->first);
        a = c <= 0 ? a->next : a;
        b = c >= 0 ? b->next : b;
        if (arena->error < 0 || (!a && !takes_b) || (!b && !takes_a))
            break;
    }
    return cor_field_level_end(&level);
}

struct cor_fieldset cor_fieldset_union(struct cor_arena *arena, struct cor_fieldset a,
                                       struct cor_fieldset b)
{
    return (struct cor_fieldset){combine(arena, a.first, b.first, UNION)};
}

struct cor_fieldset cor_fieldset_union_all(struct cor_arena *arena, struct cor_fieldset *sets,
                                           size_t n)
{
    /* Neighbours are joined, then neighbouring pairs, and so on: one set that grows would be walked
     * once for each of the others. */
    for (size_t step = 1; step < n; step *= 2) {
        for (size_t i = 0; i + step < n; i += 2 * step)
            sets[i] = cor_fieldset_union(arena, sets[i], sets[i + step]);
    }
    return n > 0 ? sets[0] : (struct cor_fieldset){NULL};
}

struct cor_fieldset cor_fieldset_intersection(struct cor_arena *arena, struct cor_fieldset a,
                                              struct cor_fieldset b)
{
    return (struct cor_fieldset){combine(arena, a.first, b.first, INTERSECTION)};
}

struct cor_fieldset cor_fieldset_difference(struct cor_arena *arena, struct cor_fieldset a,
                                            struct cor_fieldset b)
{
    return (struct cor_fieldset){combine(arena, a.first, b.first, DIFFERENCE)};
}

struct cor_fieldset cor_fieldset_recursive_difference(struct cor_arena *arena,
                                                      struct cor_fieldset a, struct cor_fieldset b)
{
    return (struct cor_fieldset){combine(arena, a.first, b.first, RECURSIVE_DIFFERENCE)};
}

static bool nodes_meet(const struct cor_field_node *a, const struct cor_field_node *b)
{
    while (a && b) {
        int c = cor_path_element_cmp(&a->element, &b->element);

        if (c == 0 && ((a->is_member && b->is_member) || nodes_meet(a->first, b->first)))
            return true;
        a = c <= 0 ? a->next : a;
        b = c >= 0 ? b->next : b;
    }
    return false;
}

bool cor_fieldset_meets(struct cor_fieldset a, struct cor_fieldset b)
{
    return nodes_meet(a.first, b.first);
}

const struct cor_field_node *cor_field_find(const struct cor_field_node *first,
                                            const struct cor_path_element *element)
{
    for (; first; first = first->next) {
        int c = cor_path_element_cmp(&first->element, element);

        if (c >= 0)
            return c == 0 ? first : NULL;
    }
    return NULL;
}

static int each_member(const struct cor_field_node *first, const struct cor_path *up,
                       int (*on_member)(void *arg, const struct cor_path *path), void *arg)
{
    const struct cor_field_node *node;
    int r = 0;

    for (node = first; node && r == 0; node = node->next) {
        if (node->is_member)
            r = on_member(arg, &(struct cor_path){up, &node->element});
    }
    for (node = first; node && r == 0; node = node->next)
        r = each_member(node->first, &(struct cor_path){up, &node->element}, on_member, arg);
    return r;
}

int cor_fieldset_each(struct cor_fieldset set,
                      int (*on_member)(void *arg, const struct cor_path *path), void *arg)
{
    return each_member(set.first, NULL, on_member, arg);
}

int cor_path_print(const struct cor_path *path, struct cor_buf *out)
{
    int r = path->up ? cor_path_print(path->up, out) : 0;

    return r < 0 ? r : cor_path_element_print(path->element, out);
}

/* ---- FieldsV1 ---- */

/* Reads the object at node `at` of the JSON. *ret_is_member: the path to the object is a member of
 * the set, because the object has the key "." or no children. */
static int read_children(struct cor_arena *arena, const struct cor_json_nodes *json, uint32_t at,
                         const struct cor_field_node **ret_first, bool *ret_is_member)
{
    struct cor_field_level level = {0};
    const char first = cor_json_node_first(json, at);

    *ret_is_member = false;
    if (first != '{' && first != 'n')
        return -COR_EINVAL;
    for (uint32_t i = at + 1, end = cor_json_node_next(json, at); i < end;) {
        struct cor_str raw = cor_json_node_raw(json, i);
        struct cor_path_element element;
        const struct cor_field_node *children;
        bool is_member;
        int r;

        i++;
        if (cor_str_eq(raw, COR_STR("."))) {
            *ret_is_member = true;
        } else {
            r = cor_path_element_read(arena, raw, &element);
            if (r == 0)
                r = read_children(arena, json, i, &children, &is_member);
            if (r < 0)
                return r;
            if (r == 0)
                cor_field_level_add(arena, &level, &element, is_member, children);
        }
        i = cor_json_node_next(json, i);
    }
    *ret_first = cor_field_level_end(&level);
    *ret_is_member |= !*ret_first;
    return arena->error;
}

int cor_fieldset_read(struct cor_arena *arena, struct cor_str fields_v1,
                      struct cor_fieldset *ret_set)
{
    struct cor_json_nodes json;
    const struct cor_field_node *first = NULL;
    bool is_member;
    int r;

    cor_arena_charge(arena, fields_v1.n / COR_WORK_STEP_BYTES);
    if (arena->error < 0)
        return arena->error;
    r = cor_json_nodes_init(&json, fields_v1);
    if (r == 0)
        r = read_children(arena, &json, 0, &first, &is_member);
    if (r == 0)
        ret_set->first = first;
    cor_json_nodes_deinit(&json);
    return r;
}

static int write_node(const struct cor_field_node *node, struct cor_buf *out)
{
    const struct cor_field_node *child = node->first;
    int r = cor_path_element_write(&node->element, out);

    if (r == 0)
        r = cor_buf_addz(out, !child ? ":{" : node->is_member ? ":{\".\":{}," : ":{");
    for (; child && r == 0; child = child->next) {
        r = write_node(child, out);
        if (r == 0 && child->next)
            r = cor_buf_addc(out, ',');
    }
    return r < 0 ? r : cor_buf_addc(out, '}');
}

int cor_fieldset_write(struct cor_fieldset set, struct cor_buf *out)
{
    size_t before = out->n;
    int r = cor_buf_addc(out, '{');

    for (const struct cor_field_node *node = set.first; node && r == 0; node = node->next) {
        r = write_node(node, out);
        if (r == 0 && node->next)
            r = cor_buf_addc(out, ',');
    }
    if (r == 0)
        r = cor_buf_addc(out, '}');
    if (r < 0)
        cor_buf_truncate(out, before);
    return r;
}
