/* What the paths of rows lead to, and the errors that rows add there. A path is followed twice: by
 * nodes alone to test a value, which every row does, and with places when an error needs its path.
 * Failures: no memory, which the errors keep. Thread: any. */
#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "schema/validate/validate_run.h"

#define DETAIL_MAX (64u * 1024) /* more would be cut off by field_error.c */
#define NAMES_MAX  32           /* supported values of an enum */

static const struct cor_place *climb(const struct cor_place *place, size_t climbs)
{
    while (climbs-- > 0)
        place = place->parent;
    return place;
}

/* The field that `path` names from `place`. The old value is looked for only where there is an old
 * object. */
struct cor_validate_target cor_validate_resolve(struct cor_check *check,
                                                const struct cor_place *place,
                                                const struct cor_validate_path *path)
{
    struct cor_validate_target to;

    place = climb(place, path->climbs);
    to = (struct cor_validate_target){.type = place->type,
                                      .node = path->is_old ? place->old : place->node,
                                      .old = place->old,
                                      .is_pointer = place->is_pointer};
    for (size_t i = 0; i < path->depth; i++) {
        uint32_t step = check->tables->steps[path->first + i];
        bool has_old = to.old != COR_JSON_NO_NODE;

        if (step == COR_VALIDATE_STEP_OWN_KEY) {
            return (struct cor_validate_target){.is_key = true,
                                                .key = place->key,
                                                .type = &cor_types[0],
                                                .node = COR_JSON_NO_NODE,
                                                .old = COR_JSON_NO_NODE};
        }
        to.is_lost = to.is_lost || (i > 0 && to.is_pointer && to.node == COR_JSON_NO_NODE);
        if (step & COR_VALIDATE_STEP_KEY) {
            struct cor_str key = cor_strz(cor_validate_text(step & ~COR_VALIDATE_STEP_KEY));

            to.node = cor_check_find_entry(check, path->is_old, to.node, key);
            to.old = has_old ? cor_check_find_entry(check, true, to.old, key) : COR_JSON_NO_NODE;
            to.type = &cor_types[to.type->element];
            to.is_pointer = false;
        } else {
            const struct cor_type *type = to.type;
            const struct cor_type_field *field =
                &cor_type_fields[cor_type_members[type->first_member + step].field];

            to.node = cor_check_slot(check, path->is_old, type, to.node, step);
            to.old = has_old ? cor_check_slot(check, true, type, to.old, step) : COR_JSON_NO_NODE;
            to.type = &cor_types[field->type];
            to.is_pointer = field->flags & COR_FIELD_POINTER;
        }
    }
    return to;
}

bool cor_validate_is_empty(const struct cor_check *check, const struct cor_validate_target *to,
                           bool is_old)
{
    return to->is_key ? to->key.n == 0 : cor_check_is_zero(check, is_old, to->type, to->node);
}

bool cor_validate_is_set(const struct cor_check *check, const struct cor_validate_target *to,
                         bool is_old)
{
    return to->is_pointer ? to->node != COR_JSON_NO_NODE
                          : !cor_validate_is_empty(check, to, is_old);
}

/* --- Errors ------------------------------------------------------------------------------------
 */

void cor_validate_walk(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_path *path, struct cor_validate_way *way)
{
    way->end = climb(place, path->climbs);
    if (path->is_old && path->depth == 0) {
        way->places[0] = cor_place_old(way->end);
        way->end = &way->places[0];
    }
    for (size_t i = 0; i < path->depth; i++) {
        uint32_t step = check->tables->steps[path->first + i];

        if (step == COR_VALIDATE_STEP_OWN_KEY) {
            /* The key has the path of its entry, and is a string. */
            way->places[i] = *way->end;
            way->places[i].type = &cor_types[0];
        } else if (step & COR_VALIDATE_STEP_KEY) {
            (void)cor_place_entry(check, way->end,
                                  cor_strz(cor_validate_text(step & ~COR_VALIDATE_STEP_KEY)),
                                  &way->places[i]);
        } else {
            (void)cor_place_member(check, way->end, step, &way->places[i]);
        }
        way->places[i].is_old = path->is_old;
        way->end = &way->places[i];
    }
}

static struct cor_field_value value_of(struct cor_check *check, const struct cor_place *place,
                                       const struct cor_validate_path *path)
{
    struct cor_validate_way way;

    if (path->depth == 1 && check->tables->steps[path->first] == COR_VALIDATE_STEP_OWN_KEY)
        return cor_field_string(climb(place, path->climbs)->key);
    cor_validate_walk(check, place, path, &way);
    return cor_check_value(check, way.end);
}

static struct cor_field_value row_value(struct cor_check *check, const struct cor_place *place,
                                        const struct cor_validate_row *row)
{
    if (row->flags & COR_VALIDATE_VALUE_NONE)
        return cor_field_none();
    if (row->flags & COR_VALIDATE_VALUE_TEXT)
        return cor_field_string(cor_strz(cor_validate_text(row->value)));
    if (row->flags & COR_VALIDATE_VALUE_JSON)
        return cor_field_json(cor_strz(cor_validate_text(row->value)));
    return value_of(check, place, row->flags & COR_VALIDATE_VALUE_FIELD ? &row->other : &row->path);
}

/* The path of a block, as the parent of others; NULL: the object itself. */
static const struct cor_field_path *block_path(const struct cor_place *place)
{
    return place->parent ? &place->path : NULL;
}

/* `at "/x.y"` is a path from the object, `at "x.y"` one from the block, `at "."` the block. */
struct cor_field_path cor_validate_other_path(const struct cor_place *place, struct cor_str at)
{
    if (cor_str_starts(at, COR_STR("/")))
        return cor_field_root(cor_str_from(at, 1));
    if (cor_str_eqz(at, "."))
        return place->path;
    return cor_field_child(block_path(place), at);
}

/* Appends the text of a field for a detail: a string as it is, others as messages print them. */
static int add_text(struct cor_check *check, const struct cor_place *place, struct cor_str text,
                    struct cor_buf *out)
{
    struct cor_place at = *place, field;
    struct cor_field_value value;

    if (cor_str_starts(text, COR_STR("old."))) {
        at = cor_place_old(place);
        text = cor_str_from(text, 4);
    }
    while (cor_str_starts(text, COR_STR("up."))) {
        /* The place of the block around: past the list or the fields between. */
        at = *at.parent;
        while (at.type->shape != COR_SHAPE_STRUCT)
            at = *at.parent;
        text = cor_str_from(text, 3);
    }
    while (text.p && !cor_str_eqz(text, ".")) {
        struct cor_str name = cor_str_cut(&text, '.');
        size_t member = cor_type_member_index(at.type, name);
        struct cor_place from = at;

        assert(member != SIZE_MAX);
        (void)cor_place_member(check, &from, member, &field);
        field.is_old = at.is_old;
        at = field;
    }
    if (at.type->shape == COR_SHAPE_STRING)
        return cor_buf_adds(out, cor_place_text(check, &at));
    value = cor_check_value(check, &at);
    return cor_buf_adds(out, value.text);
}

/* Replaces {field} in the text of a row: {value} is the row's own field, {path} its path, {@key}
 * the key of the entry. */
static int fill(struct cor_check *check, const struct cor_place *place,
                const struct cor_validate_row *row, const struct cor_field_path *path,
                struct cor_buf *out)
{
    struct cor_str rest = cor_strz(cor_validate_text(row->text));
    int r = 0;

    while (r == 0 && rest.n > 0) {
        ptrdiff_t open = cor_str_find(rest, '{');
        struct cor_str name;

        r = cor_buf_adds(out, open < 0 ? rest : cor_str(rest.p, (size_t)open));
        if (open < 0 || r < 0)
            break;
        rest = cor_str_from(rest, (size_t)open + 1);
        if (cor_str_starts(rest, COR_STR("{"))) {
            r = cor_buf_addc(out, '{');
            rest = cor_str_from(rest, 1);
            continue;
        }
        name = cor_str_cut(&rest, '}');
        if (cor_str_eqz(name, "path")) {
            r = cor_field_path_print(path, out);
        } else if (cor_str_eqz(name, "@key")) {
            r = cor_buf_adds(out, place->key);
        } else if (cor_str_eqz(name, "value")) {
            struct cor_validate_way way;

            cor_validate_walk(check, place, &row->path, &way);
            r = add_text(check, way.end, COR_STR("."), out);
        } else {
            r = add_text(check, place, name, out);
        }
    }
    return r;
}

/* Adds the error of a row. `detail` is NULL for the row's own text. */
static void add_error(struct cor_check *check, const struct cor_place *place,
                      const struct cor_validate_row *row, enum cor_field_error_type type,
                      struct cor_field_value value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = DETAIL_MAX};
    const char *detail = cor_validate_text(row->text);
    struct cor_field_path other;
    const struct cor_field_path *path;
    struct cor_validate_way way;

    cor_validate_walk(check, place, &row->path, &way);
    path = &way.end->path;
    if (row->flags & COR_VALIDATE_AT) {
        other = cor_validate_other_path(place, cor_strz(cor_validate_text(row->at)));
        path = &other;
    }
    if (row->flags & COR_VALIDATE_FILL) {
        int r = fill(check, place, row, path, &text);

        /* A detail that is too long ends before the text that does not fit. */
        if (r != -COR_ETOOBIG)
            cor_check_note(check, r);
        detail = cor_buf_z(&text);
    }
    if (row->op == COR_VALIDATE_OP_WARN || row->op == COR_VALIDATE_OP_DEPRECATED) {
        cor_check_warn(check, cor_strz(detail));
    } else if (type == COR_FIELD_TOO_LONG) {
        cor_field_errors_add_too_long(check->errors, path,
                                      (size_t)check->tables->numbers[row->first_number]);
    } else if (type == COR_FIELD_TOO_MANY) {
        cor_field_errors_add_too_many(check->errors, path, cor_place_length(check, way.end),
                                      (size_t)check->tables->numbers[row->first_number]);
    } else if (type == COR_FIELD_NOT_SUPPORTED) {
        const char *names[NAMES_MAX];

        assert(row->nvalues <= NAMES_MAX);
        for (size_t i = 0; i < row->nvalues; i++)
            names[i] = cor_validate_text(check->tables->values[row->first_value + i]);
        cor_field_errors_add_not_supported(check->errors, path, value, names, row->nvalues);
    } else {
        cor_field_errors_add(check->errors, type, path, value, detail);
    }
}

void cor_validate_refuse(struct cor_check *check, const struct cor_place *place,
                         const struct cor_validate_row *row, enum cor_field_error_type type)
{
    bool is_warning = row->op == COR_VALIDATE_OP_WARN || row->op == COR_VALIDATE_OP_DEPRECATED;

    add_error(check, place, row, type,
              is_warning ? cor_field_none() : row_value(check, place, row));
}
