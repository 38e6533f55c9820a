/* Writes the views of a package.
 *
 * Flow: the functions of all types are collected first, each with its prototype and its body, so
 * that the header and the source have the same ones in the same order; a name that is taken gets an
 * underscore behind it. Then the header is written (constants, structs, prototypes) and the source
 * (bodies). The first failure sticks to the arena or to the writer and is returned at the end. */
#include "gen/views.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gen/c_text.h"
#include "gen/wire_tables.h"

#define FUNCTIONS_MAX 200000

struct function {
    const struct cor_gen_type *type;
    struct cor_str words; /* the comment before it; may be empty */
    struct cor_str ret, name, params, body;
    struct function *next;
};

struct views {
    struct cor_gen_model *model;
    const struct cor_gen_package *package;
    const struct cor_gen_views_opts *opts;
    struct cor_map names;     /* of functions: their structs */
    struct cor_map constants; /* names of values: their types */
    struct function *first, **end;
};

/* The struct of a type, those of lists and maps of it, and the others that are named after it: the
 * struct with its values (gen/structs.h), and what a client has of a kind (gen/client_text.h). */
static const char *const struct_suffixes[] = {
    "",        "_array", "_map",   "_own",      "_own_list", "_own_map", "_own_entry",
    "_object", "_items", "_watch", "_informer", "_handler",  "_index",   "_each"};
#define KIND_SUFFIX 7

/* Is there a struct with this suffix? */
static bool has_struct(const struct cor_gen_type *type, size_t suffix)
{
    if (suffix == 1)
        return type->is_element;
    if (suffix == 2)
        return type->is_map_value;
    if (suffix == 0)
        return true;
    return suffix < KIND_SUFFIX ? type->shape == COR_SHAPE_STRUCT : type->is_kind;
}

/* Notes the names of a type's structs, or notes nothing and returns false when one is taken. */
static bool take_names(struct cor_gen_model *model, struct cor_map *names,
                       struct cor_gen_type *type)
{
    struct cor_str full[COR_ARRAY_LEN(struct_suffixes)];

    for (size_t i = 0; i < COR_ARRAY_LEN(full); i++) {
        full[i] = COR_STR("");
        if (!has_struct(type, i))
            continue;
        full[i] = cor_gen_printf(model, "%.*s%s", COR_STR_ARG(type->c_name), struct_suffixes[i]);
        if (cor_map_peek(names, full[i]))
            return false;
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(full); i++) {
        if (full[i].n > 0 && cor_map_put(names, full[i], type, NULL) < 0)
            model->arena.error = -COR_ENOMEM;
    }
    return true;
}

int cor_gen_name(struct cor_gen_model *model)
{
    struct cor_map names;

    cor_map_init(&names, FUNCTIONS_MAX);
    for (struct cor_gen_package *p = model->packages; p; p = p->next) {
        for (struct cor_gen_type *t = p->types; t; t = t->next) {
            struct cor_str name = cor_gen_snake_of(model, t->name);

            t->c_name =
                cor_gen_printf(model, "%.*s%.*s", COR_STR_ARG(p->prefix), COR_STR_ARG(name));
            while (cor_gen_model_error(model) == 0 && !take_names(model, &names, t))
                t->c_name = cor_gen_printf(model, "%.*s_", COR_STR_ARG(t->c_name));
        }
    }
    cor_map_deinit(&names);
    return cor_gen_model_error(model);
}

/* What an accessor of a type returns, and the function of coracle/value.h that reads it. */
struct form {
    struct cor_str ret;
    const char *read;
    bool is_wrapped; /* `read` returns the value that `ret` holds */
    bool is_scalar;  /* absent reads as zero */
};

static bool is_text(enum cor_shape shape)
{
    return shape == COR_SHAPE_STRING || shape == COR_SHAPE_TIME || shape == COR_SHAPE_MICRO_TIME ||
           shape == COR_SHAPE_DURATION || shape == COR_SHAPE_QUANTITY;
}

static struct form container_form(struct cor_gen_model *model, const struct cor_gen_type *type)
{
    const char *what = type->shape == COR_SHAPE_LIST ? "array" : "map";
    const struct cor_gen_type *element = type->element;
    struct form form = {.read = "cor_value_member", .is_wrapped = true};

    assert(element);
    if (element->shape == COR_SHAPE_STRUCT)
        form.ret = cor_gen_printf(model, "struct %.*s_%s", COR_STR_ARG(element->c_name), what);
    else if (is_text(element->shape))
        form.ret = cor_gen_printf(model, "struct cor_text_%s", what);
    else if (type->shape == COR_SHAPE_LIST &&
             (element->shape == COR_SHAPE_INT32 || element->shape == COR_SHAPE_INT64))
        form.ret = COR_STR("struct cor_int_array");
    else
        form.ret = cor_gen_printf(model, "struct cor_view_%s", what);
    return form;
}

static struct form form_of(struct cor_gen_model *model, const struct cor_gen_type *type)
{
    switch (type->shape) {
    case COR_SHAPE_STRUCT:
        return (struct form){cor_gen_printf(model, "struct %.*s", COR_STR_ARG(type->c_name)),
                             "cor_value_member", true, false};
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
        return container_form(model, type);
    case COR_SHAPE_STRING:
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
    case COR_SHAPE_DURATION:
    case COR_SHAPE_QUANTITY:
        return (struct form){COR_STR("struct cor_text"), "cor_value_string", false, false};
    case COR_SHAPE_BOOL:
        return (struct form){COR_STR("bool"), "cor_value_bool", false, true};
    case COR_SHAPE_INT32:
        return (struct form){COR_STR("int32_t"), "cor_value_int32", false, true};
    case COR_SHAPE_INT64:
        return (struct form){COR_STR("int64_t"), "cor_value_int64", false, true};
    case COR_SHAPE_FLOAT64:
        return (struct form){COR_STR("double"), "cor_value_double", false, true};
    case COR_SHAPE_BYTES:
    case COR_SHAPE_INT_OR_STRING:
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
    case COR_SHAPES:
        break;
    }
    return (struct form){COR_STR("struct cor_view"), "cor_value_any", false, false};
}

static struct function *add(struct views *v, const struct cor_gen_type *type, struct cor_str ret,
                            struct cor_str name, struct cor_str params, struct cor_str body)
{
    struct function *f = cor_arena_alloc(&v->model->arena, sizeof(*f));

    while (name.n > 0 && cor_map_peek(&v->names, name))
        name = cor_gen_printf(v->model, "%.*s_", COR_STR_ARG(name));
    if (!f || name.n == 0)
        return NULL;
    *f = (struct function){type, {"", 0}, ret, name, params, body, NULL};
    if (cor_map_put(&v->names, name, f, NULL) < 0) {
        v->model->arena.error = -COR_ENOMEM;
        return NULL;
    }
    *v->end = f;
    v->end = &f->next;
    return f;
}

/* `ret` is a struct around what `call` returns. */
static struct cor_str wrapped_body(struct cor_gen_model *model, struct cor_str ret,
                                   struct cor_str call)
{
    bool is_long = ret.n + call.n + sizeof("     ret = {};") > COR_GEN_COLUMNS_MAX;

    return cor_gen_printf(model, "    %.*s ret = {%s%.*s};\n\n    return ret;\n", COR_STR_ARG(ret),
                          is_long ? "\n        " : "", COR_STR_ARG(call));
}

static struct cor_str plain_body(struct cor_gen_model *model, struct cor_str call)
{
    return cor_gen_printf(model, "    return %.*s;\n", COR_STR_ARG(call));
}

/* The field of a list's elements that tells them apart. NULL: there is none. */
static const struct cor_gen_field *key_field(const struct cor_gen_field *field)
{
    const struct cor_gen_type *element =
        field->type->shape == COR_SHAPE_LIST ? field->type->element : NULL;
    const struct cor_gen_field *f = element ? element->fields : NULL;

    while (f && !cor_str_eq(f->name, field->key))
        f = f->next;
    return f;
}

static bool has_key_of_text(const struct cor_gen_field *field)
{
    const struct cor_gen_field *key = key_field(field);

    return key && is_text(key->type->shape);
}

static void add_field(struct views *v, const struct cor_gen_type *type,
                      const struct cor_gen_field *field)
{
    struct cor_gen_model *m = v->model;
    struct form form = form_of(m, field->type);
    struct cor_str key = cor_gen_literal(m, field->name), member = cor_gen_snake_of(m, field->name);
    struct cor_str params = cor_gen_printf(m, "struct %.*s v", COR_STR_ARG(type->c_name));
    struct cor_str code = cor_gen_wire_field(m, field);
    struct cor_str call =
        cor_gen_printf(m, "%s(v.at, %.*s, %.*s)", form.read, COR_STR_ARG(key), COR_STR_ARG(code));
    struct cor_str name =
        cor_gen_printf(m, "%.*s_%.*s", COR_STR_ARG(type->c_name), COR_STR_ARG(member));
    struct function *f =
        add(v, type, form.ret, name, params,
            form.is_wrapped ? wrapped_body(m, form.ret, call) : plain_body(m, call));

    if (f)
        f->words = field->words;
    if (form.is_scalar && field->is_pointer) {
        call = cor_gen_printf(m, "cor_value_has(v.at, %.*s, %.*s)", COR_STR_ARG(key),
                              COR_STR_ARG(code));
        add(v, type, COR_STR("bool"),
            cor_gen_printf(m, "%.*s_has_%.*s", COR_STR_ARG(type->c_name), COR_STR_ARG(member)),
            params, plain_body(m, call));
    }
    if (field->key.n > 0 && field->type->shape == COR_SHAPE_LIST &&
        field->type->element->shape == COR_SHAPE_STRUCT) {
        struct cor_str of = cor_gen_literal(m, field->key), is = cor_gen_snake_of(m, field->key);
        struct cor_str key_code = cor_gen_wire_field(m, key_field(field));

        form.ret = cor_gen_printf(m, "struct %.*s", COR_STR_ARG(field->type->element->c_name));
        call = cor_gen_printf(
            m, "cor_value_find(cor_value_member(v.at, %.*s, %.*s), %.*s, %.*s, is)",
            COR_STR_ARG(key), COR_STR_ARG(code), COR_STR_ARG(of), COR_STR_ARG(key_code));
        f = add(v, type, form.ret,
                cor_gen_printf(m, "%.*s_%.*s_by_%.*s", COR_STR_ARG(type->c_name),
                               COR_STR_ARG(member), COR_STR_ARG(is)),
                cor_gen_printf(m, "%.*s, struct cor_str is", COR_STR_ARG(params)),
                wrapped_body(m, form.ret, call));
    }
}

static void add_iterators(struct views *v, const struct cor_gen_type *type)
{
    struct cor_gen_model *m = v->model;
    struct cor_str c = type->c_name, ret = cor_gen_printf(m, "struct %.*s", COR_STR_ARG(c));

    if (type->is_element)
        add(v, type, COR_STR("bool"), cor_gen_printf(m, "%.*s_array_next", COR_STR_ARG(c)),
            cor_gen_printf(m, "struct %.*s_array *array, struct %.*s *ret", COR_STR_ARG(c),
                           COR_STR_ARG(c)),
            plain_body(m, COR_STR("cor_value_next(&array->at, &ret->at)")));
    if (!type->is_map_value)
        return;
    add(v, type, COR_STR("bool"), cor_gen_printf(m, "%.*s_map_next", COR_STR_ARG(c)),
        cor_gen_printf(m, "struct %.*s_map *map, struct cor_text *ret_key, struct %.*s *ret",
                       COR_STR_ARG(c), COR_STR_ARG(c)),
        plain_body(m, COR_STR("cor_value_next_member(&map->at, ret_key, &ret->at)")));
    add(v, type, ret, cor_gen_printf(m, "%.*s_map_get", COR_STR_ARG(c)),
        cor_gen_printf(m, "struct %.*s_map map, struct cor_str key", COR_STR_ARG(c)),
        wrapped_body(m, ret, COR_STR("cor_value_entry(map.at, key)")));
}

static void collect(struct views *v)
{
    struct cor_gen_model *m = v->model;

    for (const struct cor_gen_type *t = v->package->types; t; t = t->next) {
        struct cor_str ret = cor_gen_printf(m, "struct %.*s", COR_STR_ARG(t->c_name));

        if (t->shape != COR_SHAPE_STRUCT)
            continue;
        if (t->is_kind && v->package->version.n > 0) {
            struct cor_str av = cor_gen_api_version(m, v->package);

            add(v, t, ret, t->c_name, COR_STR("const struct cor_object *object"),
                wrapped_body(m, ret,
                             cor_gen_printf(m, "cor_value_of_%s(object, \"%.*s\", \"%.*s\")",
                                            v->package->is_wire ? "wire_object" : "object",
                                            COR_STR_ARG(av), COR_STR_ARG(t->name))));
        }
        for (struct cor_gen_field *f = t->fields; f; f = f->next) {
            if (f->key.n > 0 && !has_key_of_text(f))
                f->key = COR_STR("");
            add_field(v, t, f);
        }
        add_iterators(v, t);
    }
}

/* A line that is too long is broken behind the return type, else before the parameters, else
 * behind each of them. */
static void put_prototype(struct cor_gen_lines *l, const char *mark, const struct function *f,
                          const char *end)
{
    size_t head = strlen(mark) + f->ret.n + 1, rest = f->name.n + f->params.n + 3;
    bool is_long = head + rest > COR_GEN_COLUMNS_MAX,
         is_split = is_long && rest > COR_GEN_COLUMNS_MAX;
    bool is_alone = is_split ? head + f->name.n + 1 > COR_GEN_COLUMNS_MAX : is_long;
    struct cor_str params = f->params;

    cor_gen_put(l, "%s%.*s%c%.*s(", mark, COR_STR_ARG(f->ret), is_alone ? '\n' : ' ',
                COR_STR_ARG(f->name));
    if (is_split)
        cor_gen_put(l, "\n    ");
    while (is_split && params.n + 6 > COR_GEN_COLUMNS_MAX && cor_str_find(params, ',') >= 0) {
        struct cor_str first = cor_str_cut(&params, ',');

        cor_gen_put(l, "%.*s,\n    ", COR_STR_ARG(first));
        params = cor_str_trim(params);
    }
    cor_gen_put(l, "%.*s)%s", COR_STR_ARG(params), end);
}

static void put_values(struct views *v, struct cor_gen_lines *l, const struct cor_gen_type *type)
{
    struct cor_gen_model *m = v->model;
    struct cor_str name = cor_gen_upper_of(m, type->c_name);

    cor_gen_put(l, "\n");
    cor_gen_put_comment(l, type->name);
    for (size_t i = 0; i < type->nvalues; i++) {
        struct cor_str value = cor_gen_upper_of(m, type->values[i]);
        struct cor_str whole =
            cor_gen_printf(m, "%.*s_%.*s", COR_STR_ARG(name), COR_STR_ARG(value));

        /* A value without a letter or a digit, or one whose name is another one's except for signs,
         * has no constant: the program writes the text. */
        if (value.n == 0 || cor_map_peek(&v->constants, whole))
            continue;
        if (cor_map_put(&v->constants, whole, (void *)type, NULL) < 0)
            m->arena.error = -COR_ENOMEM;
        cor_gen_put(l, "#define %.*s %.*s\n", COR_STR_ARG(whole),
                    COR_STR_ARG(cor_gen_literal(m, type->values[i])));
    }
}

static void put_struct(struct cor_gen_lines *l, struct cor_str name, const char *suffix)
{
    cor_gen_put(l, "struct %.*s%s {\n    struct cor_value at;\n};\n", COR_STR_ARG(name), suffix);
}

/* The other packages whose structs the functions return, in the order of the model. */
static void put_includes(struct views *v, struct cor_gen_lines *l)
{
    for (const struct cor_gen_package *p = v->model->packages; p; p = p->next) {
        bool is_used = false;

        for (const struct cor_gen_type *t = v->package->types; t && p != v->package; t = t->next) {
            for (const struct cor_gen_field *f = t->fields; f && !is_used; f = f->next) {
                const struct cor_gen_type *to = f->type->element ? f->type->element : f->type;

                is_used = to->package == p && to->shape == COR_SHAPE_STRUCT;
            }
        }
        if (is_used)
            cor_gen_put(l, "#include \"%.*s\"\n", COR_STR_ARG(p->header));
    }
}

void cor_gen_put_head(struct cor_gen_lines *l, const struct cor_gen_package *package,
                      const struct cor_gen_views_opts *opts, const char *what)
{
    cor_gen_put(l, "/* %s of %.*s%s%.*s, read from %s.\n * Made by coracle-gen %s; do not edit. ",
                what, COR_STR_ARG(package->group), package->group.n > 0 ? "/" : "",
                COR_STR_ARG(package->version.n > 0 ? package->version : package->stem),
                opts->source, opts->version);
}

static void put_types(struct views *v, struct cor_gen_lines *l)
{
    for (const struct cor_gen_type *t = v->package->types; t; t = t->next) {
        if (t->nvalues > 0)
            put_values(v, l, t);
    }
    cor_gen_put(l, "\n");
    for (const struct cor_gen_type *t = v->package->types; t; t = t->next) {
        if (t->shape != COR_SHAPE_STRUCT)
            continue;
        put_struct(l, t->c_name, "");
        if (t->is_element)
            put_struct(l, t->c_name, "_array");
        if (t->is_map_value)
            put_struct(l, t->c_name, "_map");
    }
}

static void put_functions(struct views *v, struct cor_gen_lines *l)
{
    const struct cor_gen_type *type = NULL;

    for (const struct function *f = v->first; f; f = f->next) {
        if (f->type != type) {
            type = f->type;
            cor_gen_put(l, "\n");
            cor_gen_put_comment(l, cor_gen_printf(v->model, "%.*s%s %.*s", COR_STR_ARG(type->name),
                                                  type->words.n > 0 ? ":" : ".",
                                                  COR_STR_ARG(type->words)));
            if (type->plural.n > 0)
                cor_gen_put(l, "#define %.*s_RESOURCE {\"%.*s\", \"%.*s\", \"%.*s\"}\n",
                            COR_STR_ARG(cor_gen_upper_of(v->model, type->c_name)),
                            COR_STR_ARG(v->package->group), COR_STR_ARG(v->package->version),
                            COR_STR_ARG(type->plural));
        }
        if (f->words.n > 0)
            cor_gen_put_comment(l, f->words);
        put_prototype(l, v->opts->is_exported ? "COR_API " : "", f, ";\n");
    }
}

static void write_header(struct views *v, struct cor_gen_lines *l)
{
    struct cor_str guard = cor_gen_upper_of(
        v->model, cor_gen_printf(v->model, "%.*sviews_h", COR_STR_ARG(v->package->prefix)));

    cor_gen_put_head(l, v->package, v->opts, "Views");
    cor_gen_put(l, "coracle/value.h explains how views are\n * used. */\n");
    cor_gen_put(l, "#ifndef %.*s\n#define %.*s\n\n#include \"coracle/value.h\"\n",
                COR_STR_ARG(guard), COR_STR_ARG(guard));
    put_includes(v, l);
    cor_gen_put(l, "\n#ifdef __cplusplus\nextern \"C\" {\nCOR_STRUCT_NAMES_BEGIN\n#endif\n");
    put_types(v, l);
    put_functions(v, l);
    cor_gen_wire_declarations(l, v->package, v->opts->is_exported ? "COR_API " : "");
    cor_gen_put(l, "\n#ifdef __cplusplus\nCOR_STRUCT_NAMES_END\n}\n#endif\n\n#endif\n");
}

static void write_source(struct views *v, struct cor_gen_lines *l, struct cor_str header)
{
    cor_gen_put_head(l, v->package, v->opts, "The functions");
    cor_gen_put(l, "Hash of the header: %016" PRIx64 ". */\n#include \"%.*s\"\n",
                cor_str_hash(header), COR_STR_ARG(v->package->header));
    for (const struct function *f = v->first; f; f = f->next) {
        cor_gen_put(l, "\n");
        put_prototype(l, "", f, "\n{\n");
        cor_gen_put(l, "%.*s}\n", COR_STR_ARG(f->body));
    }
    cor_gen_wire_tables(v->model, l, v->package);
}

int cor_gen_views(struct cor_gen_model *model, const struct cor_gen_package *package,
                  const struct cor_gen_views_opts *opts, struct cor_buf *header,
                  struct cor_buf *source)
{
    struct views v = {.model = model, .package = package, .opts = opts};
    struct cor_gen_lines h = {header, 0}, s = {source, 0};
    size_t start = header->n;

    v.end = &v.first;
    cor_map_init(&v.names, FUNCTIONS_MAX);
    cor_map_init(&v.constants, FUNCTIONS_MAX);
    collect(&v);
    write_header(&v, &h);
    if (h.error == 0)
        write_source(&v, &s, cor_str_from(cor_buf_str(header), start));
    cor_map_deinit(&v.names);
    cor_map_deinit(&v.constants);
    if (cor_gen_model_error(model) < 0)
        return cor_gen_model_error(model);
    return h.error < 0 ? h.error : s.error;
}
