/* clang-format off */
/* The managedFields of a new object. Its creator owns every field that it has beyond the zero
 * object of its kind, and nobody else owns anything: no set is built, one walk over the object
 * writes FieldsV1 as it goes.
 *
 *   a leaf, or a container that the zero object does not have   "f:name":{}
 *   a container with fields below it                            "f:name":{".":{},…}
 *   a container of the zero object                              "f:name":{…}, or nothing at all
 *
 * Members of objects come in the order of FieldsV1; the items of keyed lists and sets are sorted
 * (typed_int.h). The walk also checks that each value has a form that its place allows. Everything
 * unusual (a value of another form, an unknown field, a list of the zero object with items) is left
 * to cor_field_managers_update(), which gives the same result or says what is wrong.
 * Failures: no memory, a text over its maximum; nothing is appended then.
 * Thread: any (pure). */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/apply/field_managers_int.h"
#include "schema/apply/typed_int.h"

#define STEP_BYTES 4 /* of the object, in the time of a step */

struct create {
    struct cor_arena *arena;
    struct cor_buf *out;
    bool is_unusual;
    int error; /* sticks */
};

/* Where the walk is. */
struct spot {
    const struct cor_apply_place *place;
    const struct cor_path_element *element;
    const struct cor_field_node *mask; /* what the endpoint resets from here on; NULL: nothing */
    enum cor_never_level level;        /* of the value itself */
};

static bool is_ownable(enum cor_never_level level)
{
    return level != COR_NEVER_METADATA && level != COR_NEVER_OWNED;
}

static void create_note(struct create *c, int r)
{
    if (c->error == 0 && r < 0)
        c->error = r;
}

/* ---- values that are owned as a whole ---- */

static bool scalar_fits(enum cor_apply_scalar scalar, char first)
{
    bool is_string = first == '"', is_bool = first == 't' || first == 'f';
    bool is_container = first == '{' || first == '[';

    switch (scalar) {
    case COR_APPLY_NUMERIC:
        return !is_string && !is_bool && !is_container;
    case COR_APPLY_STRING:
        return is_string;
    case COR_APPLY_BOOLEAN:
        return is_bool;
    case COR_APPLY_ANY_SCALAR:
    case COR_APPLY_NO_SCALAR:
        break;
    }
    return !is_container;
}

static bool value_fits(struct create *c, const struct cor_apply_place *place,
                       struct cor_apply_value v);

static bool map_fits(struct create *c, const struct cor_apply_place *place,
                     struct cor_apply_value v)
{
    struct cor_apply_place member;

    for (uint32_t i = v.at + 1, end = cor_json_node_next(v.json, v.at); i < end;
         i = cor_json_node_next(v.json, i + 1)) {
        if (cor_apply_place_member(place, cor_json_node_raw(v.json, i), &member) ==
                COR_APPLY_UNKNOWN ||
            !value_fits(c, &member, (struct cor_apply_value){v.json, i + 1}))
            return false;
    }
    return true;
}

static bool list_fits(struct create *c, const struct cor_apply_place *place,
                      struct cor_apply_value v)
{
    struct cor_apply_place item = cor_apply_place_item(place);
    struct cor_apply_items items;

    if (place->list != COR_APPLY_LIST_ATOMIC && cor_apply_items(c->arena, place, v, &items) < 0)
        return false;
    for (uint32_t i = v.at + 1, end = cor_json_node_next(v.json, v.at); i < end;
         i = cor_json_node_next(v.json, i)) {
        if (!value_fits(c, &item, (struct cor_apply_value){v.json, i}))
            return false;
    }
    return true;
}

/* What cor_typed_check() asks of a value, without words. */
static bool value_fits(struct create *c, const struct cor_apply_place *place,
                       struct cor_apply_value v)
{
    if (cor_apply_is_null(v))
        return true;
    switch (cor_apply_first_form(cor_apply_forms(place, v))) {
    case COR_APPLY_FORM_MAP:
        return cor_apply_is_object(v) && map_fits(c, place, v);
    case COR_APPLY_FORM_SCALAR:
        return scalar_fits(place->scalar, cor_apply_first(v));
    case COR_APPLY_FORM_LIST:
        break;
    }
    return cor_apply_is_array(v) && list_fits(c, place, v);
}

/* ---- the walk ---- */

static void create_value(struct create *c, const struct spot *spot, struct cor_apply_value zero,
                         struct cor_apply_value v);

/* Appends the element, with a comma unless it is the first in its object. */
static void write_element(struct create *c, const struct cor_path_element *element)
{
    if (c->out->p[c->out->n - 1] != '{')
        create_note(c, cor_buf_addc(c->out, ','));
    create_note(c, cor_path_element_write(element, c->out));
}

static void write_leaf(struct create *c, const struct cor_path_element *element)
{
    write_element(c, element);
    create_note(c, cor_buf_add(c->out, ":{}", 3));
}

static void create_map(struct create *c, const struct spot *spot, struct cor_apply_value zero,
                       struct cor_apply_value v)
{
    struct cor_apply_pairs pairs = cor_apply_pairs(zero, v);
    struct cor_apply_place member;

    while (c->error == 0 && !c->is_unusual && cor_apply_pairs_next(&pairs)) {
        struct cor_path_element element = {pairs.key, COR_PATH_FIELD};
        struct spot below = {&member, &element, NULL, cor_never_below(spot->level, pairs.key)};

        if (cor_apply_is_absent(pairs.right))
            continue; /* removed: nobody owns it */
        if (spot->mask && spot->mask->first)
            below.mask = cor_field_find(spot->mask->first, &element);
        if (cor_apply_place_member(spot->place, pairs.key, &member) == COR_APPLY_UNKNOWN)
            c->is_unusual = true;
        else
            create_value(c, &below, pairs.left, pairs.right);
    }
}

/* Several items with one path element are owned as a whole. */
static void create_list(struct create *c, const struct spot *spot, struct cor_apply_value v)
{
    const struct cor_apply_value none = {NULL, COR_JSON_NO_NODE};
    struct cor_apply_place item = cor_apply_place_item(spot->place);
    struct cor_apply_items items;
    size_t run;
    int r = cor_apply_items(c->arena, spot->place, v, &items);

    if (r == -COR_EINVALID)
        c->is_unusual = true;
    create_note(c, r);
    for (size_t i = 0; c->error == 0 && !c->is_unusual && i < items.n; i += run) {
        struct spot below = {&item, &items.v[i].element, NULL, COR_NEVER_DEEPER};

        run = cor_apply_items_run(&items, i);
        if (spot->mask && spot->mask->first)
            below.mask = cor_field_find(spot->mask->first, below.element);
        for (size_t k = 1; k < run; k++)
            c->is_unusual |=
                !value_fits(c, &item, (struct cor_apply_value){v.json, items.v[i + k].at});
        if (run == 1)
            create_value(c, &below, none, (struct cor_apply_value){v.json, items.v[i].at});
        else if (!value_fits(c, &item, (struct cor_apply_value){v.json, items.v[i].at}))
            c->is_unusual = true;
        else if (!below.mask || !below.mask->is_member)
            write_leaf(c, below.element);
    }
}

/* A container whose fields are owned one by one. */
static void create_fields(struct create *c, const struct spot *spot, enum cor_apply_form form,
                          struct cor_apply_value zero, struct cor_apply_value v, bool is_owned)
{
    size_t before = c->out->n, begin;

    write_element(c, spot->element);
    create_note(c, cor_buf_add(c->out, ":{", 2));
    if (is_owned)
        create_note(c, cor_buf_add(c->out, "\".\":{}", 6));
    begin = c->out->n;
    if (c->error == 0 && form == COR_APPLY_FORM_MAP)
        create_map(c, spot, zero, v);
    else if (c->error == 0)
        create_list(c, spot, v);
    if (c->error < 0 || c->is_unusual)
        return;
    if (c->out->n == begin && is_owned)
        cor_buf_truncate(c->out, begin - 6); /* an object without fields stands for its own path */
    if (c->out->n == begin && !is_owned)
        cor_buf_truncate(c->out, before);
    else
        create_note(c, cor_buf_addc(c->out, '}'));
}

static void create_value(struct create *c, const struct spot *spot, struct cor_apply_value zero,
                         struct cor_apply_value v)
{
    const struct cor_apply_place *place = spot->place;
    unsigned forms = cor_apply_forms(place, v);
    enum cor_apply_form form = cor_apply_first_form(forms);
    bool is_new = cor_apply_is_absent(zero);
    bool is_masked = spot->mask && spot->mask->is_member;
    bool is_granular = (form == COR_APPLY_FORM_MAP && place->map == COR_APPLY_MAP_GRANULAR) ||
                       (form == COR_APPLY_FORM_LIST && place->list != COR_APPLY_LIST_ATOMIC);

    if ((!is_new && cor_apply_forms(place, zero) != forms) ||
        (cor_apply_has_items(zero) && form == COR_APPLY_FORM_LIST) ||
        (cor_apply_has_items(zero) && !cor_apply_has_items(v))) {
        c->is_unusual = true;
        return;
    }
    if (is_granular && cor_apply_has_items(v) && !is_masked &&
        cor_apply_is_object(v) == (form == COR_APPLY_FORM_MAP)) {
        create_fields(c, spot, form, zero, v, is_new && is_ownable(spot->level));
        return;
    }
    if (!value_fits(c, place, v))
        c->is_unusual = true;
    else if (!is_masked && is_ownable(spot->level) && (is_new || !cor_apply_equal(zero, v)))
        write_leaf(c, spot->element);
}

static void create_object(struct create *c, const struct cor_apply_request *request,
                          struct cor_typed zero, struct cor_typed object)
{
    const struct cor_apply_versions *versions = request->versions;
    struct cor_fieldset mask = versions->reset_fields
                                   ? versions->reset_fields(versions->arg, request->api_version)
                                   : (struct cor_fieldset){NULL};
    struct cor_field_node root = {.first = mask.first};
    struct spot spot = {object.place, NULL, &root, COR_NEVER_ROOT};

    if (!cor_apply_is_object(cor_apply_root(object)) || object.place->map != COR_APPLY_MAP_GRANULAR)
        c->is_unusual = true;
    else
        create_map(c, &spot, cor_apply_root(zero), cor_apply_root(object));
}

/* The nodes of both objects; most of the struct is not cleared. */
struct create_docs {
    struct cor_json_nodes zero, object;
};

int cor_field_managers_create(const struct cor_apply_request *request, struct cor_str zero,
                              struct cor_str object, struct cor_buf *out)
{
    const struct cor_apply_versions *versions = request->versions;
    struct cor_field_manager self = cor_field_manager_requester(request, false);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf fields = {.max = out->max};
    struct create c = {.arena = request->arena, .out = &fields};
    struct create_docs *docs;
    struct cor_apply_place place;
    size_t before;
    int r;

    cor_arena_charge(request->arena, object.n / STEP_BYTES);
    if (request->arena->error < 0)
        return request->arena->error;
    docs = cor_alloc(sizeof(*docs));
    if (!docs)
        return -COR_ENOMEM;
    c.error = cor_json_nodes_init(&docs->zero, zero);
    r = cor_json_nodes_init(&docs->object, object);
    create_note(&c, r);
    /* An element is seldom longer than the value that it names. */
    create_note(&c, cor_buf_reserve(&fields, object.n / 2));
    create_note(&c, cor_buf_addc(&fields, '{'));
    if (!versions->place(versions->arg, request->api_version, &place))
        c.is_unusual = true;
    if (c.error == 0 && !c.is_unusual)
        create_object(&c, request, (struct cor_typed){&place, &docs->zero},
                      (struct cor_typed){&place, &docs->object});
    create_note(&c, request->arena->error);
    create_note(&c, cor_buf_addc(&fields, '}'));
    cor_json_nodes_deinit(&docs->zero);
    cor_json_nodes_deinit(&docs->object);
    cor_free(docs);
    if (c.error < 0 || c.is_unusual)
        return c.error;
    if (fields.n == 2)
        return COR_MANAGERS_NONE;
    self.time = request->now;
    before = out->n;
    r = cor_buf_addc(out, '[');
    if (r == 0)
        r = cor_field_manager_write(&self, cor_buf_str(&fields), out);
    if (r == 0)
        r = cor_buf_addc(out, ']');
    if (r < 0)
        cor_buf_truncate(out, before);
    return r < 0 ? r : COR_MANAGERS_MADE;
}
