/* Is an object one of its type? The errors are upstream's: a path, and what is wrong there. The
 * values in `got …` are what Go prints; upstream's text has a pointer and a struct around them that
 * no client can rely on. */
#include <stdio.h>

#include <string.h>

#include "base/err.h"
#include "schema/apply/typed_int.h"
#include "schema/go/go_text.h"
#include "json/text/scan.h"

/* The result of the first error, when no message is wanted. */
#define UNASKED_MAX 4096

struct check {
    struct cor_arena arena;
    bool allow_duplicates;
    bool ends_early;      /* nobody asks for words: the first error is enough */
    struct cor_buf lines; /* of all errors, each with two spaces before and a newline behind */
    size_t n;
    int error; /* sticks */
};

static void check_value(struct check *c, const struct cor_apply_place *place,
                        struct cor_apply_value v, const struct cor_path *path);

static void note(struct check *c, int r)
{
    if (c->error == 0 && r < 0)
        c->error = r;
}

/* Begins an error at a path: "  .spec.size: ". The caller appends the words and calls end_error().
 */
static void begin_error(struct check *c, const struct cor_path *path)
{
    if (c->ends_early)
        note(c, -COR_EINVALID);
    note(c, cor_buf_addz(&c->lines, "  "));
    if (path) {
        note(c, cor_path_print(path, &c->lines));
        note(c, cor_buf_addz(&c->lines, ": "));
    }
    c->n++;
}

static void end_error(struct check *c)
{
    note(c, cor_buf_addc(&c->lines, '\n'));
}

static void add_error(struct check *c, const struct cor_path *path, const char *words)
{
    begin_error(c, path);
    note(c, cor_buf_addz(&c->lines, words));
    end_error(c);
}

static const char *go_type(struct cor_apply_value v)
{
    switch (cor_apply_first(v)) {
    case '"':
        return "string";
    case 't':
    case 'f':
        return "bool";
    case '[':
        return "[]interface {}";
    case '{':
        return "map[string]interface {}";
    default:
        return "float64";
    }
}

static void add_got_value(struct check *c, const struct cor_path *path, const char *expected,
                          struct cor_apply_value v)
{
    struct cor_str bytes = cor_apply_bytes(v);
    bool is_text_expected = strcmp(expected, "string") == 0;

    begin_error(c, path);
    /* Upstream prints what is not a string by another verb of Go's. */
    note(c, cor_buf_addf(&c->lines, "expected %s, got &%s{%s", expected,
                         is_text_expected ? "value.valueUnstructured" : "",
                         is_text_expected ? "Value:" : ""));
    note(c, is_text_expected ? cor_go_syntax(bytes, &c->lines) : cor_go_text(bytes, &c->lines));
    note(c, cor_buf_addc(&c->lines, '}'));
    end_error(c);
}

static void check_scalar(struct check *c, enum cor_apply_scalar scalar, struct cor_apply_value v,
                         const struct cor_path *path)
{
    char first = cor_apply_first(v);
    bool is_string = first == '"', is_bool = first == 't' || first == 'f';
    bool is_number = !is_string && !is_bool && first != '[' && first != '{';
    const char *expected = NULL;

    switch (scalar) {
    case COR_APPLY_NUMERIC:
        if (!is_number) {
            begin_error(c, path);
            note(c, cor_buf_addf(&c->lines, "expected numeric (int or float), got %s", go_type(v)));
            end_error(c);
        }
        return;
    case COR_APPLY_STRING:
        expected = is_string ? NULL : "string";
        break;
    case COR_APPLY_BOOLEAN:
        expected = is_bool ? NULL : "boolean";
        break;
    case COR_APPLY_ANY_SCALAR:
    case COR_APPLY_NO_SCALAR:
        expected = is_string || is_bool || is_number ? NULL : "any scalar";
        break;
    }
    if (expected)
        add_got_value(c, path, expected, v);
}

static void check_map(struct check *c, const struct cor_apply_place *place,
                      struct cor_apply_value v, const struct cor_path *path)
{
    struct cor_apply_pairs pairs =
        cor_apply_pairs(v, (struct cor_apply_value){NULL, COR_JSON_NO_NODE});
    struct cor_apply_place member;

    while (c->error == 0 && cor_apply_pairs_next(&pairs)) {
        struct cor_path_element element = {pairs.key, COR_PATH_FIELD};
        struct cor_path below = {path, &element};

        if (cor_apply_place_member(place, pairs.key, &member) == COR_APPLY_UNKNOWN) {
            add_error(c, &below, "field not declared in schema");
            return;
        }
        check_value(c, &member, pairs.left, &below);
    }
}

/* Reports every path element that more than one item has, as often as it is repeated. */
static void check_duplicates(struct check *c, const struct cor_apply_place *place,
                             struct cor_apply_value v, const struct cor_path *path)
{
    struct cor_apply_items items;
    size_t run;

    note(c, cor_apply_items(&c->arena, place, v, &items));
    for (size_t i = 0; c->error == 0 && i < items.n; i += run) {
        run = cor_apply_items_run(&items, i);
        for (size_t k = 1; k < run; k++) {
            begin_error(c, path);
            note(c, cor_buf_addz(&c->lines, "duplicate entries for key "));
            note(c, cor_path_element_print(&items.v[i].element, &c->lines));
            end_error(c);
        }
    }
}

static void check_list(struct check *c, const struct cor_apply_place *place,
                       struct cor_apply_value v, const struct cor_path *path)
{
    struct cor_apply_key keys[COR_APPLY_KEYS_MAX];
    struct cor_apply_place item = cor_apply_place_item(place);
    bool is_atomic = place->list == COR_APPLY_LIST_ATOMIC;
    size_t n = 0,
           nkeys = place->list == COR_APPLY_LIST_KEYED ? cor_apply_place_keys(place, keys) : 0;
    uint32_t end = cor_json_node_next(v.json, v.at);

    for (uint32_t i = v.at + 1; i < end && c->error == 0; i = cor_json_node_next(v.json, i), n++) {
        struct cor_apply_value at = {v.json, i};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = c->lines.max};
        struct cor_path_element element = {.kind = COR_PATH_INDEX};
        char index[24];
        int r = 0;

        if (is_atomic)
            element.text = cor_str(index, (size_t)snprintf(index, sizeof(index), "%zu", n));
        else
            r = cor_apply_item_element(&c->arena, place, keys, nkeys, at, &element, &why);
        if (r == -COR_EINVALID) {
            begin_error(c, path);
            note(c, cor_buf_addf(&c->lines, "element %zu: ", n));
            note(c, cor_buf_adds(&c->lines, cor_buf_str(&why)));
            end_error(c);
            return;
        }
        note(c, r);
        if (c->error == 0)
            check_value(c, &item, at, &(struct cor_path){path, &element});
    }
    if (!is_atomic && !c->allow_duplicates && n > 1 && c->error == 0)
        check_duplicates(c, place, v, path);
}

static void check_value(struct check *c, const struct cor_apply_place *place,
                        struct cor_apply_value v, const struct cor_path *path)
{
    if (cor_apply_is_null(v)) /* null fits every type */
        return;
    switch (cor_apply_first_form(cor_apply_forms(place, v))) {
    case COR_APPLY_FORM_MAP:
        if (cor_apply_is_object(v))
            check_map(c, place, v, path);
        else
            add_got_value(c, path, "map", v);
        break;
    case COR_APPLY_FORM_SCALAR:
        check_scalar(c, place->scalar, v, path);
        break;
    case COR_APPLY_FORM_LIST:
        if (cor_apply_is_array(v))
            check_list(c, place, v, path);
        else
            add_got_value(c, path, "list", v);
        break;
    }
}

/* Appends the errors: one of them alone, several below a heading. */
static int write_errors(const struct check *c, struct cor_buf *words)
{
    struct cor_str lines = cor_buf_str(&c->lines);
    int r = c->n > 1 ? cor_buf_addz(words, "errors:\n") : 0;

    if (r == 0)
        r = c->n > 1 ? cor_buf_add(words, lines.p, lines.n - 1)
                     : cor_buf_add(words, lines.p + 2, lines.n - 3);
    return r < 0 ? r : -COR_EINVALID;
}

int cor_typed_check(struct cor_typed object, bool allow_duplicates, struct cor_buf *words)
{
    struct check c = {.allow_duplicates = allow_duplicates, .ends_early = !words};
    int r;

    cor_buf_init(&c.lines, words ? words->max : UNASKED_MAX);
    cor_arena_init(&c.arena, SIZE_MAX);
    check_value(&c, object.place, cor_apply_root(object), NULL);
    r = c.error < 0 ? c.error : c.arena.error;
    if (r == 0 && c.n > 0)
        r = write_errors(&c, words);
    cor_buf_deinit(&c.lines);
    cor_arena_deinit(&c.arena);
    return r;
}
