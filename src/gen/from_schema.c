/* Reads JSON schemas into a model.
 *
 * A schema becomes the shape that its type, its format and its extensions say: properties make a
 * struct, additionalProperties a map, items a list. A schema that says nothing of this is any JSON,
 * which a view shows as it is. The first mistake stops the walk: `error` is set and every call
 * returns at once. Keywords that do not change how a value is read (patterns, limits, anyOf beside
 * a type) are ignored. */
#include "gen/from_schema.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "gen/c_name.h"

#define PATH_MAX_BYTES 4096
#define PATH_SHOWN_MAX 300 /* bytes of a path at its end that a message has */
#define TEXT_MAX       (1u << 20)
#define STEM_MAX       1024

void cor_gen_schemas_init(struct cor_gen_schemas *s, struct cor_gen_model *model, const char *file,
                          struct cor_gen_error *reterr)
{
    *s = (struct cor_gen_schemas){.model = model, .file = file, .reterr = reterr};
    cor_buf_init(&s->path, PATH_MAX_BYTES);
}

void cor_gen_schemas_deinit(struct cor_gen_schemas *s)
{
    cor_buf_deinit(&s->path);
}

/* A path that is too long is cut in messages. */
size_t cor_gen_path_enter(struct cor_gen_schemas *s, struct cor_str key)
{
    size_t mark = s->path.n;

    (void)cor_buf_addf(&s->path, "%s%.*s", mark > 0 ? "." : "", COR_STR_ARG(key));
    return mark;
}

size_t cor_gen_path_enter_index(struct cor_gen_schemas *s, size_t i)
{
    size_t mark = s->path.n;

    (void)cor_buf_addf(&s->path, "[%zu]", i);
    return mark;
}

void cor_gen_path_leave(struct cor_gen_schemas *s, size_t mark)
{
    cor_buf_truncate(&s->path, mark);
}

int cor_gen_wrong(struct cor_gen_schemas *s, const char *fmt, ...)
{
    char *to = s->reterr->message;
    size_t cap = sizeof(s->reterr->message);
    struct cor_str path = cor_buf_str(&s->path);
    va_list ap;
    int n;

    /* What looks empty or absent after a failed allocation is not a mistake of the input. */
    if (s->error == 0)
        s->error = cor_gen_model_error(s->model);
    if (s->error < 0)
        return s->error;
    s->error = -COR_EINVAL;
    if (path.n > PATH_SHOWN_MAX)
        path = cor_str_from(path, path.n - PATH_SHOWN_MAX);
    n = snprintf(to, cap, "%s: %s%.*s%s", s->file, path.n < s->path.n ? "..." : "",
                 COR_STR_ARG(path), path.n > 0 ? ": " : "");
    if (n < 0 || (size_t)n >= cap)
        return s->error;
    va_start(ap, fmt);
    vsnprintf(to + n, cap - (size_t)n, fmt, ap);
    va_end(ap);
    return s->error;
}

static const char *type_words(enum cor_json_type type)
{
    static const char *const words[] = {
        [COR_JSON_NONE] = "nothing",     [COR_JSON_NULL] = "null",     [COR_JSON_BOOL] = "a bool",
        [COR_JSON_NUMBER] = "a number",  [COR_JSON_STRING] = "a text", [COR_JSON_ARRAY] = "a list",
        [COR_JSON_OBJECT] = "an object",
    };

    return words[type];
}

struct cor_view cor_gen_need(struct cor_gen_schemas *s, struct cor_view object, const char *key,
                             enum cor_json_type type)
{
    const struct cor_view nothing = {{NULL, 0}, 0};
    struct cor_view member = cor_view_member(object, cor_strz(key));
    size_t mark;

    if (s->error < 0)
        return nothing;
    if (cor_view_type(member) == type)
        return member;
    mark = cor_gen_path_enter(s, cor_strz(key));
    cor_gen_wrong(s, "%s was expected, but there is %s", type_words(type),
                  type_words(cor_view_type(member)));
    cor_gen_path_leave(s, mark);
    return nothing;
}

struct cor_str cor_gen_text(struct cor_gen_schemas *s, struct cor_view view)
{
    struct cor_str raw, text = {"", 0};
    char *buf;

    if (cor_view_raw(view, &raw) < 0 || raw.n > TEXT_MAX)
        return text;
    buf = cor_arena_alloc(&s->model->arena, raw.n + 1);
    if (!buf || cor_view_text(view, buf, raw.n + 1, &text) < 0)
        return COR_STR("");
    /* Text without escapes is borrowed from the input, which does not live as long. */
    return text.p == buf ? text : cor_arena_copy(&s->model->arena, text);
}

struct cor_str cor_gen_need_text(struct cor_gen_schemas *s, struct cor_view object, const char *key)
{
    struct cor_str text = cor_gen_text(s, cor_gen_need(s, object, key, COR_JSON_STRING));

    if (s->error == 0 && text.n == 0) {
        size_t mark = cor_gen_path_enter(s, cor_strz(key));

        cor_gen_wrong(s, "a text was expected, but it is empty");
        cor_gen_path_leave(s, mark);
    }
    return text;
}

bool cor_gen_is_name(struct cor_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '-' && c != '.' && c != '_')
            return false;
    }
    return true;
}

struct cor_str cor_gen_need_name(struct cor_gen_schemas *s, struct cor_view object, const char *key)
{
    struct cor_str text = cor_gen_need_text(s, object, key);

    if (s->error == 0 && !cor_gen_is_name(text)) {
        size_t mark = cor_gen_path_enter(s, cor_strz(key));

        cor_gen_wrong(s, COR_GEN_NAME_EXPECTED);
        cor_gen_path_leave(s, mark);
    }
    return text;
}

struct cor_gen_package *cor_gen_package_of(struct cor_gen_schemas *s, const char *prefix,
                                           struct cor_str folder, struct cor_str group,
                                           struct cor_str version)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf stem;
    struct cor_str symbols;
    int r;

    cor_buf_init(&stem, STEM_MAX);
    r = cor_gen_snake(group, &stem);
    if (r == 0)
        r = cor_buf_addc(&stem, '_');
    if (r == 0)
        r = cor_gen_snake(version, &stem);
    if (r < 0) {
        s->error = r;
        return NULL;
    }
    symbols = cor_gen_printf(s->model, "%s%s_", prefix, cor_buf_z(&stem));
    if (symbols.n > 0 && symbols.p[0] >= '0' && symbols.p[0] <= '9') {
        cor_gen_wrong(s, "a group that begins with a letter was expected, or a --prefix that does");
        return NULL;
    }
    return cor_gen_package(s->model, cor_buf_str(&stem), symbols, folder);
}

static struct cor_view member(struct cor_view object, const char *key)
{
    return cor_view_member(object, cor_strz(key));
}

static bool says(struct cor_view schema, const char *key, const char *value)
{
    return cor_str_eqz(cor_view_text_or(member(schema, key), NULL, 0, ""), value);
}

bool cor_gen_schema_is_struct(struct cor_view schema)
{
    return cor_view_type(member(schema, "properties")) == COR_JSON_OBJECT &&
           !cor_view_bool_or(member(schema, "x-kubernetes-embedded-resource"), false);
}

/* The parent's name with the field's behind it: WebsiteSpec and ports make WebsiteSpecPorts. */
static struct cor_str inner_name(struct cor_gen_schemas *s, struct cor_str parent,
                                 struct cor_str field)
{
    char first = field.n > 0 ? field.p[0] : '\0';

    if (first >= 'a' && first <= 'z')
        first = (char)(first - 'a' + 'A');
    return cor_gen_printf(s->model, "%.*s%c%.*s", COR_STR_ARG(parent), first,
                          field.n > 0 ? (int)field.n - 1 : 0, field.p + (field.n > 0 ? 1 : 0));
}

static const struct cor_gen_type *plain(struct cor_gen_schemas *s, enum cor_shape shape)
{
    return cor_gen_plain_type(s->model, shape, NULL);
}

static void read_values(struct cor_gen_schemas *s, struct cor_view list, struct cor_gen_type *to)
{
    size_t n = cor_view_len(list), i = 0;
    struct cor_str *values = cor_arena_alloc(&s->model->arena, n * sizeof(*values));
    struct cor_view_iter it = cor_view_iter(list);

    while (values && cor_view_next(&it)) {
        if (cor_view_type(it.value) == COR_JSON_STRING)
            values[i++] = cor_gen_text(s, it.value);
    }
    to->values = values;
    to->nvalues = values ? i : 0;
}

static bool is_taken(const struct cor_gen_schemas *s, const struct cor_gen_package *package,
                     struct cor_str name)
{
    return cor_str_eq(name, s->reserved) || cor_gen_find_type(s->model, package, name);
}

/* A text with known values becomes a type of its package, so that the values get constants. */
static const struct cor_gen_type *read_string(struct cor_gen_schemas *s, struct cor_view schema,
                                              struct cor_gen_package *package, struct cor_str name)
{
    struct cor_view values = member(schema, "enum");
    struct cor_gen_type *type;

    if (says(schema, "format", "byte"))
        return plain(s, COR_SHAPE_BYTES);
    if (says(schema, "format", "date-time"))
        return plain(s, COR_SHAPE_TIME);
    if (cor_view_len(values) == 0 || is_taken(s, package, name))
        return plain(s, COR_SHAPE_STRING);
    type = cor_gen_add_type(s->model, package, name, COR_SHAPE_STRING);
    if (type)
        read_values(s, values, type);
    return type;
}

static const struct cor_gen_type *read_list(struct cor_gen_schemas *s, struct cor_view schema,
                                            struct cor_gen_package *package, struct cor_str name)
{
    struct cor_view items = cor_gen_need(s, schema, "items", COR_JSON_OBJECT);
    size_t mark = cor_gen_path_enter(s, COR_STR("items"));
    const struct cor_gen_type *element =
        s->error == 0 ? cor_gen_schema(s, items, package, name) : NULL;

    cor_gen_path_leave(s, mark);
    return element ? cor_gen_plain_type(s->model, COR_SHAPE_LIST, (struct cor_gen_type *)element)
                   : NULL;
}

static const struct cor_gen_type *read_object(struct cor_gen_schemas *s, struct cor_view schema,
                                              struct cor_gen_package *package, struct cor_str name)
{
    struct cor_view values = member(schema, "additionalProperties");
    const struct cor_gen_type *element;
    struct cor_gen_type *type;
    size_t mark;

    if (cor_gen_schema_is_struct(schema)) {
        for (unsigned i = 2; is_taken(s, package, name); i++)
            name = cor_gen_printf(s->model, "%.*s%u", COR_STR_ARG(name), i);
        type = cor_gen_add_type(s->model, package, name, COR_SHAPE_STRUCT);
        if (!type)
            return NULL;
        type->words = cor_gen_text(s, member(schema, "description"));
        cor_gen_schema_fields(s, schema, type);
        return type;
    }
    if (cor_view_type(values) != COR_JSON_OBJECT)
        return plain(s, COR_SHAPE_RAW);
    mark = cor_gen_path_enter(s, COR_STR("additionalProperties"));
    element = cor_gen_schema(s, values, package, name);
    cor_gen_path_leave(s, mark);
    return element ? cor_gen_plain_type(s->model, COR_SHAPE_MAP, (struct cor_gen_type *)element)
                   : NULL;
}

static const struct cor_gen_type *read_reference(struct cor_gen_schemas *s, struct cor_view ref)
{
    struct cor_str text = cor_gen_text(s, ref);

    if (s->refer)
        return s->refer(s, text);
    cor_gen_wrong(s, "a schema without $ref was expected, but it refers to \"%.*s\"",
                  COR_STR_ARG(text));
    return NULL;
}

static const struct cor_gen_type *read_schema(struct cor_gen_schemas *s, struct cor_view schema,
                                              struct cor_gen_package *package, struct cor_str name)
{
    struct cor_view all = member(schema, "allOf"), type = member(schema, "type");
    struct cor_view_iter it = cor_view_iter(all);
    struct cor_str text;

    if (cor_view_exists(member(schema, "$ref")))
        return read_reference(s, member(schema, "$ref"));
    /* A reference with something beside it, such as a default, is the one schema of allOf. */
    if (!cor_view_exists(type) && cor_view_type(all) == COR_JSON_ARRAY && cor_view_len(all) == 1 &&
        cor_view_next(&it) && cor_view_exists(member(it.value, "$ref")))
        return read_reference(s, member(it.value, "$ref"));
    if (cor_view_bool_or(member(schema, "x-kubernetes-int-or-string"), false) ||
        says(schema, "format", "int-or-string"))
        return plain(s, COR_SHAPE_INT_OR_STRING);
    if (!cor_view_exists(type) && cor_gen_schema_is_struct(schema))
        return read_object(s, schema, package, name);
    if (!cor_view_exists(type))
        return plain(s, COR_SHAPE_JSON);
    text = cor_gen_need_text(s, schema, "type");
    if (cor_str_eqz(text, "object"))
        return read_object(s, schema, package, name);
    if (cor_str_eqz(text, "array"))
        return read_list(s, schema, package, name);
    if (cor_str_eqz(text, "string"))
        return read_string(s, schema, package, name);
    if (cor_str_eqz(text, "boolean"))
        return plain(s, COR_SHAPE_BOOL);
    if (cor_str_eqz(text, "integer"))
        return plain(s, says(schema, "format", "int32") ? COR_SHAPE_INT32 : COR_SHAPE_INT64);
    if (cor_str_eqz(text, "number"))
        return plain(s, COR_SHAPE_FLOAT64);
    if (s->error == 0) {
        size_t mark = cor_gen_path_enter(s, COR_STR("type"));

        cor_gen_wrong(s,
                      "array, boolean, integer, number, object or string was expected, but it is "
                      "\"%.*s\"",
                      COR_STR_ARG(text));
        cor_gen_path_leave(s, mark);
    }
    return NULL;
}

const struct cor_gen_type *cor_gen_schema(struct cor_gen_schemas *s, struct cor_view schema,
                                          struct cor_gen_package *package, struct cor_str name)
{
    const struct cor_gen_type *type;

    if (s->error < 0)
        return NULL;
    if (cor_view_type(schema) != COR_JSON_OBJECT) {
        cor_gen_wrong(s, "a schema was expected, but there is %s",
                      type_words(cor_view_type(schema)));
        return NULL;
    }
    if (++s->depth > COR_GEN_SCHEMA_DEPTH_MAX) {
        cor_gen_wrong(s, "at most %u nested schemas were expected", COR_GEN_SCHEMA_DEPTH_MAX);
        return NULL;
    }
    type = read_schema(s, schema, package, name);
    s->depth--;
    if (!type && s->error == 0)
        s->error = cor_gen_model_error(s->model);
    return type;
}

static bool has_field(const struct cor_gen_type *type, struct cor_str name)
{
    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        if (cor_str_eq(f->name, name))
            return true;
    }
    return false;
}

static bool is_required(struct cor_view schema, struct cor_str name)
{
    struct cor_view_iter it = cor_view_iter(member(schema, "required"));

    while (cor_view_next(&it)) {
        if (cor_str_eq(cor_view_text_or(it.value, NULL, 0, ""), name))
            return true;
    }
    return false;
}

/* The key of a list of the kind map that has one. */
static struct cor_str list_key(struct cor_gen_schemas *s, struct cor_view schema)
{
    struct cor_view keys = member(schema, "x-kubernetes-list-map-keys");
    struct cor_view_iter it = cor_view_iter(keys);

    if (!says(schema, "x-kubernetes-list-type", "map") || cor_view_len(keys) != 1 ||
        !cor_view_next(&it))
        return COR_STR("");
    return cor_gen_text(s, it.value);
}

static void read_default(struct cor_gen_schemas *s, struct cor_view value,
                         struct cor_gen_type *type, struct cor_str name)
{
    struct cor_gen_default *added =
        cor_view_exists(value) ? cor_gen_add_default(s->model, type) : NULL;

    if (!added)
        return;
    added->path.names[0] = name;
    added->path.n = 1;
    added->value = cor_arena_copy(&s->model->arena, value.json);
}

void cor_gen_schema_fields(struct cor_gen_schemas *s, struct cor_view schema,
                           struct cor_gen_type *type)
{
    size_t outer = cor_gen_path_enter(s, COR_STR("properties"));
    struct cor_view_iter it = cor_view_iter(member(schema, "properties"));

    while (s->error == 0 && cor_view_next(&it)) {
        const struct cor_view key = {cor_str(it.key.p - 1, it.key.n + 2), 0};
        struct cor_str name = cor_gen_text(s, key);
        size_t mark = cor_gen_path_enter(s, name);
        const struct cor_gen_type *of =
            has_field(type, name)
                ? NULL
                : cor_gen_schema(s, it.value, type->package, inner_name(s, type->name, name));
        struct cor_gen_field *field = of ? cor_gen_add_field(s->model, type, name, of) : NULL;

        if (field) {
            field->is_pointer = !is_required(schema, name);
            field->words = cor_gen_text(s, member(it.value, "description"));
            field->key = list_key(s, it.value);
            read_default(s, member(it.value, "default"), type, name);
        }
        cor_gen_path_leave(s, mark);
    }
    cor_gen_path_leave(s, outer);
}
