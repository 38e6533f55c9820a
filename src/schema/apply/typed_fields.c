/* The field set of an object, and what the schema makes of a set. */
#include "base/err.h"
#include "schema/apply/typed_int.h"
#include "json/text/scan.h"

struct fields {
    struct cor_arena *arena;
    int error; /* sticks */
};

/* Collects what is below a value; returns whether the value's own path is a member by itself: a
 * scalar, or a list or map that is owned as a whole. */
static bool collect(struct fields *f, const struct cor_apply_place *place, struct cor_apply_value v,
                    struct cor_field_level *out);

static void collect_map(struct fields *f, const struct cor_apply_place *place,
                        struct cor_apply_value v, struct cor_field_level *out)
{
    struct cor_apply_pairs pairs =
        cor_apply_pairs(v, (struct cor_apply_value){NULL, COR_JSON_NO_NODE});
    struct cor_apply_place member;

    while (f->error == 0 && cor_apply_pairs_next(&pairs)) {
        struct cor_path_element element = {pairs.key, COR_PATH_FIELD};
        enum cor_apply_known known = cor_apply_place_member(place, pairs.key, &member);
        struct cor_field_level below = {0};
        bool is_member;

        if (known == COR_APPLY_UNKNOWN) {
            f->error = -COR_EINVALID;
            return;
        }
        is_member = collect(f, &member, pairs.left, &below);
        is_member |= known == COR_APPLY_OTHER || cor_apply_is_null(pairs.left) ||
                     (cor_apply_is_object(pairs.left) && !cor_apply_has_items(pairs.left));
        cor_field_level_add(f->arena, out, &element, is_member, cor_field_level_end(&below));
    }
}

static void collect_list(struct fields *f, const struct cor_apply_place *place,
                         struct cor_apply_value v, struct cor_field_level *out)
{
    struct cor_apply_place item = cor_apply_place_item(place);
    struct cor_apply_items items;
    size_t run;

    f->error = cor_apply_items(f->arena, place, v, &items);
    for (size_t i = 0; f->error == 0 && i < items.n; i += run) {
        struct cor_field_level below = {0};

        run = cor_apply_items_run(&items, i);
        if (run == 1) /* several items with one path element are owned as a whole */
            collect(f, &item, (struct cor_apply_value){v.json, items.v[i].at}, &below);
        cor_field_level_add(f->arena, out, &items.v[i].element, true, cor_field_level_end(&below));
    }
}

static bool collect(struct fields *f, const struct cor_apply_place *place, struct cor_apply_value v,
                    struct cor_field_level *out)
{
    switch (cor_apply_first_form(cor_apply_forms(place, v))) {
    case COR_APPLY_FORM_SCALAR:
        return true;
    case COR_APPLY_FORM_MAP:
        if (place->map == COR_APPLY_MAP_ATOMIC)
            return true;
        collect_map(f, place, v, out);
        break;
    case COR_APPLY_FORM_LIST:
        if (place->list == COR_APPLY_LIST_ATOMIC)
            return true;
        collect_list(f, place, v, out);
        break;
    }
    if (f->error == 0)
        f->error = f->arena->error;
    return false;
}

int cor_typed_fields(struct cor_typed object, struct cor_arena *arena, struct cor_fieldset *ret_set)
{
    struct fields f = {.arena = arena};
    struct cor_field_level level = {0};

    collect(&f, object.place, cor_apply_root(object), &level);
    if (f.error == 0)
        f.error = arena->error;
    if (f.error == 0)
        ret_set->first = cor_field_level_end(&level);
    return f.error;
}

/* ---- a set and its schema ---- */

/* The place below `place` that an element leads to; false: the schema has none. */
static bool place_below(const struct cor_apply_place *place, const struct cor_path_element *element,
                        struct cor_apply_place *ret_place, enum cor_apply_known *ret_known)
{
    *ret_known = COR_APPLY_OTHER;
    if (element->kind == COR_PATH_FIELD && place->map != COR_APPLY_NO_MAP)
        *ret_known = cor_apply_place_member(place, element->text, ret_place);
    else if (element->kind != COR_PATH_FIELD && place->list != COR_APPLY_NO_LIST)
        *ret_place = cor_apply_place_item(place);
    else
        return false;
    return *ret_known != COR_APPLY_UNKNOWN;
}

static const struct cor_field_node *name_parents(struct cor_arena *arena,
                                                 const struct cor_field_node *node,
                                                 const struct cor_apply_place *place)
{
    struct cor_field_level level = {0};

    for (; node; node = node->next) {
        const struct cor_field_node *children = node->first;
        struct cor_apply_place below;
        enum cor_apply_known known;
        bool is_member = node->is_member;

        if (children && place_below(place, &node->element, &below, &known)) {
            children = name_parents(arena, children, &below);
            is_member |= known == COR_APPLY_NAMED;
        }
        cor_field_level_add(arena, &level, &node->element, is_member, children);
    }
    return cor_field_level_end(&level);
}

struct cor_fieldset cor_fieldset_name_parents(struct cor_arena *arena, struct cor_fieldset set,
                                              const struct cor_apply_place *place)
{
    return (struct cor_fieldset){name_parents(arena, set.first, place)};
}

/* What becomes of the fields below a place. */
enum reconciled {
    RECONCILED_AS_IT_IS,
    RECONCILED_AS_ONE, /* the place is owned as a whole now */
    RECONCILED_BELOW,  /* each for itself */
};

static enum reconciled reconciled_below(const struct cor_apply_place *place,
                                        const struct cor_path_element *element,
                                        struct cor_apply_place *ret_below)
{
    enum cor_apply_known known;
    enum cor_apply_form form;

    if (!place_below(place, element, ret_below, &known))
        return RECONCILED_AS_IT_IS;
    form = cor_apply_first_form(
        cor_apply_forms(ret_below, (struct cor_apply_value){NULL, COR_JSON_NO_NODE}));
    /* Upstream leaves what a schema says nothing about as it is. */
    if (form == COR_APPLY_FORM_SCALAR ||
        (form == COR_APPLY_FORM_MAP && cor_apply_place_is_deduced(ret_below)))
        return RECONCILED_AS_IT_IS;
    if ((form == COR_APPLY_FORM_MAP && ret_below->map == COR_APPLY_MAP_ATOMIC) ||
        (form == COR_APPLY_FORM_LIST && ret_below->list == COR_APPLY_LIST_ATOMIC))
        return RECONCILED_AS_ONE;
    return RECONCILED_BELOW;
}

static const struct cor_field_node *reconcile(struct cor_arena *arena,
                                              const struct cor_field_node *node,
                                              const struct cor_apply_place *place)
{
    struct cor_field_level level = {0};

    for (; node; node = node->next) {
        const struct cor_field_node *children = node->first;
        struct cor_apply_place below;
        enum reconciled how =
            children ? reconciled_below(place, &node->element, &below) : RECONCILED_AS_IT_IS;

        if (how == RECONCILED_AS_ONE)
            children = NULL;
        else if (how == RECONCILED_BELOW)
            children = reconcile(arena, children, &below);
        cor_field_level_add(arena, &level, &node->element,
                            node->is_member || how == RECONCILED_AS_ONE, children);
    }
    return cor_field_level_end(&level);
}

struct cor_fieldset cor_fieldset_reconcile(struct cor_arena *arena, struct cor_fieldset set,
                                           const struct cor_apply_place *place)
{
    return (struct cor_fieldset){reconcile(arena, set.first, place)};
}

/* Returns whether an object of FieldsV1 has fields other than the one that represents itself. */
static bool has_fields(struct cor_str object)
{
    return object.n > 2 && !cor_str_eq(object, COR_STR("{\".\":{}}"));
}

int cor_fields_v1_is_reconciled(struct cor_arena *arena, struct cor_str fields,
                                const struct cor_apply_place *place)
{
    struct cor_json_iter it = cor_json_iter(fields);
    struct cor_str raw;
    int r = 1;

    while (r == 1 && cor_json_iter_member(&it, &raw)) {
        struct cor_str object = cor_json_iter_value(&it);
        struct cor_path_element element;
        struct cor_apply_place below;
        enum reconciled how;

        cor_arena_charge(arena, 1 + object.n / COR_WORK_STEP_BYTES);
        if (arena->error < 0)
            return arena->error;
        if (!has_fields(object) || cor_str_eq(raw, COR_STR(".")))
            continue;
        r = cor_path_element_read(arena, raw, &element);
        if (r != 0 || cor_json_type(object) != COR_JSON_OBJECT)
            return r < 0 && r != -COR_EINVAL ? r : 0;
        how = reconciled_below(place, &element, &below);
        r = how == RECONCILED_BELOW ? cor_fields_v1_is_reconciled(arena, object, &below)
                                    : how == RECONCILED_AS_IT_IS;
    }
    return r;
}
