/* Comparing two objects: which paths were added, modified, removed.
 *
 * The walk goes over both objects at once. A leaf (a scalar, an atomic list or map, or two empty
 * containers) that differs is one path. Of a granular container the children are compared; its own
 * path counts when one side has no such value at all. The three sets grow together: each level of
 * the walk collects its children and adds itself to the level above, so that a path is never walked
 * from its beginning. */
#include "base/err.h"
#include "schema/apply/typed_int.h"

/* Bytes of two values that are compared in the time of a step. */
#define EQUAL_BYTES 256

enum change { ADDED, MODIFIED, REMOVED, CHANGES };

struct compare {
    struct cor_arena *arena;
    int error; /* sticks */
};

static bool number_equal(struct cor_str a, struct cor_str b)
{
    struct cor_path_element x = {a, COR_PATH_VALUE}, y = {b, COR_PATH_VALUE};

    return cor_path_element_cmp(&x, &y) == 0;
}

static bool array_equal(struct cor_apply_value a, struct cor_apply_value b);

/* Equality by value of two values that are there. */
static bool value_equal(struct cor_apply_value a, struct cor_apply_value b)
{
    struct cor_apply_pairs pairs;
    char first = cor_apply_first(a);

    if (first == '[' && cor_apply_is_array(b))
        return array_equal(a, b);
    if (first != '{' || !cor_apply_is_object(b)) {
        struct cor_str x = cor_apply_bytes(a), y = cor_apply_bytes(b);
        bool are_numbers = (first == '-' || (first >= '0' && first <= '9')) &&
                           (y.p[0] == '-' || (y.p[0] >= '0' && y.p[0] <= '9'));

        return cor_str_eq(x, y) || (are_numbers && number_equal(x, y));
    }
    pairs = cor_apply_pairs(a, b);
    while (cor_apply_pairs_next(&pairs)) {
        if (cor_apply_is_absent(pairs.left) || cor_apply_is_absent(pairs.right) ||
            !value_equal(pairs.left, pairs.right))
            return false;
    }
    return true;
}

static bool array_equal(struct cor_apply_value a, struct cor_apply_value b)
{
    uint32_t a_end = cor_json_node_next(a.json, a.at), b_end = cor_json_node_next(b.json, b.at);

    for (a.at++, b.at++; a.at < a_end && b.at < b_end;
         a.at = cor_json_node_next(a.json, a.at), b.at = cor_json_node_next(b.json, b.at)) {
        if (!value_equal(a, b))
            return false;
    }
    return a.at == a_end && b.at == b_end;
}

bool cor_apply_equal(struct cor_apply_value a, struct cor_apply_value b)
{
    return value_equal(a, b);
}

bool cor_typed_equal(struct cor_typed a, struct cor_typed b)
{
    return value_equal(cor_apply_root(a), cor_apply_root(b));
}

/* What the walk learns about one value. */
struct found {
    bool is_in[CHANGES]; /* the path of the value itself */
    bool is_leaf;
    struct cor_field_level below[CHANGES];
};

static void compare_value(struct compare *c, const struct cor_apply_place *place,
                          struct cor_apply_value l, struct cor_apply_value r,
                          const struct cor_path_element *element, struct cor_field_level *out);

static void compare_leaf(struct cor_apply_value l, struct cor_apply_value r, struct found *found)
{
    found->is_leaf = true;
    if (cor_apply_is_absent(l))
        found->is_in[ADDED] = true;
    else if (cor_apply_is_absent(r))
        found->is_in[REMOVED] = true;
    else if (!value_equal(l, r))
        found->is_in[MODIFIED] = true;
}

/* Where the last scalar or empty container of a value ends; behind it are only closing bytes, of
 * which there are as many as the nodes before it have opened. */
static struct cor_str significant(struct cor_apply_value v)
{
    const struct cor_json_nodes *json = v.json;
    uint32_t last = cor_json_node_next(json, v.at) - 1;
    const struct cor_json_node *node = &json->v[last];
    char first = cor_json_node_first(json, last);
    uint32_t end = first == '"' ? node->at + 2 + (node->end & ~COR_JSON_NODE_ESCAPED)
                   : first == '{' || first == '[' ? node->at + 2
                                                  : node->at + node->end;

    return cor_str(json->json.p + json->v[v.at].at, end - json->v[v.at].at);
}

/* Have both values the same bytes? Most members of an updated object have; they need no walk. Bytes
 * that stand deep in a value are compared once for each level above them. */
static bool is_unchanged(struct compare *c, struct cor_apply_value l, struct cor_apply_value r)
{
    struct cor_str a, b;

    cor_arena_charge(c->arena, 1);
    if (cor_apply_is_absent(l) || cor_apply_is_absent(r) ||
        cor_json_node_next(l.json, l.at) - l.at != cor_json_node_next(r.json, r.at) - r.at)
        return false;
    a = significant(l);
    b = significant(r);
    if (a.n != b.n)
        return false;
    cor_arena_charge(c->arena, a.n / EQUAL_BYTES);
    return cor_str_eq(a, b);
}

static void compare_map(struct compare *c, const struct cor_apply_place *place,
                        struct cor_apply_value l, struct cor_apply_value r, struct found *found)
{
    struct cor_apply_pairs pairs = cor_apply_pairs(l, r);
    struct cor_apply_place member;

    while (c->error == 0 && cor_apply_pairs_next(&pairs)) {
        struct cor_path_element element = {pairs.key, COR_PATH_FIELD};

        if (is_unchanged(c, pairs.left, pairs.right))
            continue;
        if (cor_apply_place_member(place, pairs.key, &member) == COR_APPLY_UNKNOWN)
            c->error = -COR_EINVALID;
        else
            compare_value(c, &member, pairs.left, pairs.right, &element, found->below);
    }
}

static struct cor_apply_value item_of(struct cor_apply_value list, const struct cor_apply_items *of,
                                      size_t i)
{
    return (struct cor_apply_value){list.json, of->v[i].at};
}

/* Are two groups of items with the same keys equal in order? */
static bool groups_equal(struct cor_apply_value l, const struct cor_apply_items *a, size_t i,
                         struct cor_apply_value r, const struct cor_apply_items *b, size_t j,
                         size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (!value_equal(item_of(l, a, i + k), item_of(r, b, j + k)))
            return false;
    }
    return true;
}

/* Compares the items of both sides that have the same path element: `na` from `i` on, `nb` from `j`
 * on. Several items with one path element are owned as a whole. */
static void compare_group(struct compare *c, const struct cor_apply_place *item,
                          struct cor_apply_value l, const struct cor_apply_items *a, size_t i,
                          size_t na, struct cor_apply_value r, const struct cor_apply_items *b,
                          size_t j, size_t nb, struct found *found)
{
    const struct cor_path_element *element = na > 0 ? &a->v[i].element : &b->v[j].element;
    const struct cor_apply_value none = {NULL, COR_JSON_NO_NODE};

    if (na <= 1 && nb <= 1) {
        compare_value(c, item, na > 0 ? item_of(l, a, i) : none, nb > 0 ? item_of(r, b, j) : none,
                      element, found->below);
        return;
    }
    if (na >= 2 && nb >= 2) {
        if (na != nb || !groups_equal(l, a, i, r, b, j, na))
            cor_field_level_add(c->arena, &found->below[MODIFIED], element, true, NULL);
    } else if (na >= 2) {
        if (nb > 0)
            compare_value(c, item, none, item_of(r, b, j), element, found->below);
        cor_field_level_add(c->arena, &found->below[REMOVED], element, true, NULL);
    } else {
        if (na > 0)
            compare_value(c, item, item_of(l, a, i), none, element, found->below);
        cor_field_level_add(c->arena, &found->below[ADDED], element, true, NULL);
    }
}

static void compare_list(struct compare *c, const struct cor_apply_place *place,
                         struct cor_apply_value l, struct cor_apply_value r, struct found *found)
{
    struct cor_apply_place item = cor_apply_place_item(place);
    struct cor_apply_items a, b;
    size_t i = 0, j = 0;

    c->error = cor_apply_items(c->arena, place, l, &a);
    if (c->error == 0)
        c->error = cor_apply_items(c->arena, place, r, &b);
    while (c->error == 0 && (i < a.n || j < b.n)) {
        int order = i == a.n   ? 1
                    : j == b.n ? -1
                               : cor_path_element_cmp(&a.v[i].element, &b.v[j].element);
        size_t na = order <= 0 ? cor_apply_items_run(&a, i) : 0;
        size_t nb = order >= 0 ? cor_apply_items_run(&b, j) : 0;

        compare_group(c, &item, l, &a, i, na, r, &b, j, nb, found);
        i += na;
        j += nb;
    }
}

/* Compares both values in one of their forms. */
static void compare_form(struct compare *c, const struct cor_apply_place *place,
                         enum cor_apply_form form, struct cor_apply_value l,
                         struct cor_apply_value r, struct found *found)
{
    bool is_atomic = form == COR_APPLY_FORM_SCALAR ||
                     (form == COR_APPLY_FORM_MAP && place->map == COR_APPLY_MAP_ATOMIC) ||
                     (form == COR_APPLY_FORM_LIST && place->list == COR_APPLY_LIST_ATOMIC);
    bool has_l = form == COR_APPLY_FORM_MAP ? cor_apply_is_object(l) : cor_apply_is_array(l);
    bool has_r = form == COR_APPLY_FORM_MAP ? cor_apply_is_object(r) : cor_apply_is_array(r);

    /* Two empty containers are a leaf, so that null and empty are told apart. */
    if (is_atomic || !((has_l && cor_apply_has_items(l)) || (has_r && cor_apply_has_items(r))))
        compare_leaf(l, r, found);
    else if (form == COR_APPLY_FORM_MAP)
        compare_map(c, place, l, r, found);
    else
        compare_list(c, place, l, r, found);
}

static void compare_value(struct compare *c, const struct cor_apply_place *place,
                          struct cor_apply_value l, struct cor_apply_value r,
                          const struct cor_path_element *element, struct cor_field_level *out)
{
    unsigned left = cor_apply_forms(place, l), right = cor_apply_forms(place, r);
    struct found found = {0};

    /* A value that changed its form is compared in both: what the old form had is removed, what the
     * new one has is added. */
    if (!cor_apply_is_absent(l) && !cor_apply_is_absent(r) && left != right) {
        compare_form(c, place, cor_apply_first_form(left), l, r, &found);
        found.is_leaf = false;
    }
    compare_form(c, place, cor_apply_first_form(cor_apply_is_absent(r) ? left : right), l, r,
                 &found);
    if (!found.is_leaf && cor_apply_is_absent(l))
        found.is_in[ADDED] = true;
    else if (!found.is_leaf && cor_apply_is_absent(r))
        found.is_in[REMOVED] = true;
    for (size_t i = 0; i < CHANGES; i++)
        cor_field_level_add(c->arena, &out[i], element, found.is_in[i],
                            cor_field_level_end(&found.below[i]));
    if (c->error == 0)
        c->error = c->arena->error;
}

int cor_typed_compare(struct cor_typed before, struct cor_typed after, struct cor_arena *arena,
                      struct cor_comparison *ret_comparison)
{
    struct compare c = {.arena = arena};
    struct found found = {0};
    struct cor_apply_value l = cor_apply_root(before), r = cor_apply_root(after);

    /* The path of the whole object is never in a set. */
    compare_form(&c, before.place, cor_apply_first_form(cor_apply_forms(before.place, r)), l, r,
                 &found);
    if (c.error == 0)
        c.error = arena->error;
    if (c.error < 0)
        return c.error;
    *ret_comparison = (struct cor_comparison){
        .added = {cor_field_level_end(&found.below[ADDED])},
        .modified = {cor_field_level_end(&found.below[MODIFIED])},
        .removed = {cor_field_level_end(&found.below[REMOVED])},
    };
    return 0;
}
