/* Taking fields out of an object, and taking an object's fields out of the rest of it.
 *
 * The members of the object and the children of the set are walked side by side. A member whose
 * path is in the set goes with all that is in it; where the set has something below a member, the
 * walk enters it; everything else is copied. A container that loses everything is null, as is an
 * empty or atomic container that the set would enter: upstream writes that, and what reads the
 * object decides what the null means. */
#include "base/err.h"
#include "schema/apply/typed_int.h"
#include "json/write/writer.h"

struct remove {
    struct cor_arena *arena;
    struct cor_json_writer w;
    int error; /* sticks; so does the writer's */
};

static void remove_value(struct remove *r, const struct cor_apply_place *place,
                         struct cor_apply_value v, const struct cor_field_node *set);

/* Is a value left that has this node in the set (NULL: none)? */
static bool is_left(const struct cor_field_node *node)
{
    return !(node && node->is_member);
}

/* Writes a value that is left. */
static void write_left(struct remove *r, const struct cor_apply_place *place,
                       struct cor_apply_value v, const struct cor_field_node *node)
{
    if (node && node->first)
        remove_value(r, place, v, node->first);
    else
        cor_json_raw(&r->w, cor_apply_bytes(v));
}

/* The node of an element. `*next` is the node that the last one was looked for at: elements come in
 * order. */
static const struct cor_field_node *seek(struct remove *r, const struct cor_field_node **next,
                                         const struct cor_path_element *element)
{
    const struct cor_field_node *node = *next;
    int c = -1;

    cor_arena_charge(r->arena, 1);
    while (node && (c = cor_path_element_cmp(&node->element, element)) < 0) {
        cor_arena_charge(r->arena, 1);
        node = node->next;
    }
    *next = node;
    return node && c == 0 ? node : NULL;
}

/* Does the key precede all others in the outermost object, whatever their order is? */
static bool stands_first(struct cor_str raw_key)
{
    return cor_str_eq(raw_key, COR_STR("kind")) || cor_str_eq(raw_key, COR_STR("apiVersion"));
}

static void remove_map(struct remove *r, const struct cor_apply_place *place,
                       struct cor_apply_value v, const struct cor_field_node *set)
{
    const struct cor_apply_value none = {NULL, COR_JSON_NO_NODE};
    struct cor_apply_pairs pairs = cor_apply_pairs(v, none);
    const struct cor_field_node *next = set;
    struct cor_apply_place member = {0};
    bool has_begun = false;

    while (r->error == 0 && cor_apply_pairs_next(&pairs)) {
        struct cor_path_element element = {pairs.key, COR_PATH_FIELD};
        const struct cor_field_node *node = v.at == 0 && stands_first(pairs.key)
                                                ? cor_field_find(set, &element)
                                                : seek(r, &next, &element);

        if (!is_left(node))
            continue;
        if (node && cor_apply_place_member(place, pairs.key, &member) == COR_APPLY_UNKNOWN) {
            r->error = -COR_EINVALID;
            return;
        }
        if (!has_begun)
            cor_json_begin_object(&r->w);
        has_begun = true;
        cor_json_raw_key(&r->w, pairs.key);
        write_left(r, &member, pairs.left, node);
    }
    if (has_begun)
        cor_json_end_object(&r->w);
    else
        cor_json_null(&r->w);
}

static void remove_list(struct remove *r, const struct cor_apply_place *place,
                        struct cor_apply_value v, const struct cor_field_node *set)
{
    struct cor_apply_place item = cor_apply_place_item(place);
    const struct cor_field_node **nodes, *next = set; /* by index in the list */
    struct cor_apply_items items;
    bool has_begun = false;
    uint32_t at = v.at + 1;

    r->error = cor_apply_items(r->arena, place, v, &items);
    nodes = r->error < 0 ? NULL : cor_arena_alloc(r->arena, items.n * sizeof(nodes[0]));
    if (!nodes) {
        r->error = r->error < 0 ? r->error : r->arena->error;
        return;
    }
    for (size_t i = 0; i < items.n; i++)
        nodes[items.v[i].index] = seek(r, &next, &items.v[i].element);
    for (size_t i = 0; i < items.n && r->error == 0; i++, at = cor_json_node_next(v.json, at)) {
        if (!is_left(nodes[i]))
            continue;
        if (!has_begun)
            cor_json_begin_array(&r->w);
        has_begun = true;
        write_left(r, &item, (struct cor_apply_value){v.json, at}, nodes[i]);
    }
    if (has_begun)
        cor_json_end_array(&r->w);
    else
        cor_json_null(&r->w);
}

static void remove_value(struct remove *r, const struct cor_apply_place *place,
                         struct cor_apply_value v, const struct cor_field_node *set)
{
    enum cor_apply_form form = cor_apply_first_form(cor_apply_forms(place, v));
    bool is_atomic = form == COR_APPLY_FORM_MAP ? place->map == COR_APPLY_MAP_ATOMIC
                                                : place->list == COR_APPLY_LIST_ATOMIC;

    if (form == COR_APPLY_FORM_SCALAR)
        cor_json_raw(&r->w, cor_apply_bytes(v));
    else if (!cor_apply_has_items(v) || is_atomic)
        cor_json_null(&r->w);
    else if (form == COR_APPLY_FORM_MAP && cor_apply_is_object(v))
        remove_map(r, place, v, set);
    else if (form == COR_APPLY_FORM_LIST && cor_apply_is_array(v))
        remove_list(r, place, v, set);
    else
        cor_json_null(&r->w);
}

int cor_typed_remove(struct cor_typed object, struct cor_fieldset set, struct cor_arena *arena,
                     struct cor_buf *out)
{
    struct remove r = {.arena = arena};
    size_t before = out->n;
    int rc;

    cor_json_writer_init(&r.w, out);
    remove_value(&r, object.place, cor_apply_root(object), set.first);
    rc = r.error < 0 ? r.error : arena->error < 0 ? arena->error : cor_json_writer_finish(&r.w);
    if (rc < 0)
        cor_buf_truncate(out, before);
    return rc;
}
