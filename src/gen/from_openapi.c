/* Reads an OpenAPI v3 document into a model: each of components.schemas becomes a type, and what it
 * refers to is read when the reference is met. A struct is registered before its fields are read,
 * so a type may hold itself. The paths tell which kinds have a resource, and which verbs and
 * subresources it has. A model may be filled from several documents: a schema that two of them have
 * is one type, as the first describes it.
 * Thread: one at a time. */
#include "gen/from_openapi.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gen/c_name.h"
#include "gen/from_schema.h"
#include "gen/input_json.h"

#define REFERENCE "#/components/schemas/"

struct document {
    const struct cor_gen_input *input;
    struct cor_view schemas;
};

/* The last `n` words of a name between dots, without the first ones. */
static struct cor_str tail(struct cor_str name, unsigned n)
{
    size_t at = name.n;

    while (at > 0 && (name.p[at - 1] != '.' || --n > 0))
        at--;
    return cor_str_from(name, at);
}

/* "io.k8s.api.apps.v1.Deployment" in three. */
struct parts {
    struct cor_str group, version, type;
};

static bool split_name(struct cor_str name, struct parts *ret)
{
    struct cor_str rest = tail(name, 3);

    ret->group = cor_str_cut(&rest, '.');
    ret->version = cor_str_cut(&rest, '.');
    ret->type = rest.p ? rest : COR_STR("");
    return ret->group.n > 0 && ret->version.n > 0 && ret->type.n > 0 && cor_gen_is_name(name);
}

static struct cor_gen_package *package_of(struct cor_gen_schemas *s, const struct parts *parts)
{
    const struct document *d = s->arg;
    struct cor_gen_package *package =
        cor_gen_package_of(s, d->input->prefix, d->input->folder, parts->group, parts->version);

    if (package)
        package->is_structural = true;
    return package;
}

/* A kind says of which group and version it is. Options that every group has say it of all. */
static void mark_kind(struct cor_gen_schemas *s, struct cor_gen_type *type,
                      const struct parts *parts, struct cor_view schema)
{
    struct cor_view gvks = cor_view_member(schema, COR_STR("x-kubernetes-group-version-kind"));
    struct cor_view_iter it = cor_view_iter(gvks);
    struct cor_gen_package *package = type->package;

    if (cor_view_len(gvks) != 1 || !cor_view_next(&it))
        return;
    type->is_kind =
        cor_str_eq(cor_gen_text(s, cor_view_member(it.value, COR_STR("kind"))), type->name) &&
        cor_str_eq(cor_gen_text(s, cor_view_member(it.value, COR_STR("version"))), parts->version);
    if (!type->is_kind)
        return;
    package->group = cor_gen_text(s, cor_view_member(it.value, COR_STR("group")));
    if (!cor_gen_is_name(package->group)) {
        size_t mark = cor_gen_path_enter(s, COR_STR("x-kubernetes-group-version-kind"));

        cor_gen_wrong(s, COR_GEN_NAME_EXPECTED);
        cor_gen_path_leave(s, mark);
    }
    package->version = cor_arena_copy(&s->model->arena, parts->version);
}

static const struct cor_gen_type *read_struct(struct cor_gen_schemas *s, struct cor_str name,
                                              struct cor_view schema)
{
    struct cor_gen_package *package;
    struct cor_gen_type *type;
    struct parts parts;

    if (!split_name(name, &parts)) {
        cor_gen_wrong(s, "a name as GROUP.VERSION.TYPE was expected");
        return NULL;
    }
    package = package_of(s, &parts);
    if (!package)
        return NULL;
    if (cor_gen_find_type(s->model, package, parts.type)) {
        cor_gen_wrong(s, "a name that differs from others in its last three words was expected");
        return NULL;
    }
    type = cor_gen_add_type(s->model, package, parts.type, COR_SHAPE_STRUCT);
    name = cor_arena_copy(&s->model->arena, name);
    if (!type || !name.p)
        return NULL;
    if (cor_map_put(&s->model->schemas, name, type, NULL) < 0) {
        s->error = -COR_ENOMEM;
        return NULL;
    }
    type->words = cor_gen_text(s, cor_view_member(schema, COR_STR("description")));
    mark_kind(s, type, &parts, schema);
    cor_gen_schema_fields(s, schema, type);
    return type;
}

/* A text, a list or a map with a name of its own: what is inside it belongs to the package of the
 * name. */
static const struct cor_gen_type *read_unnamed(struct cor_gen_schemas *s, struct cor_str name,
                                               struct cor_view schema)
{
    struct cor_gen_package *package;
    struct parts parts;

    if (!split_name(name, &parts)) {
        cor_gen_wrong(s, "a name as GROUP.VERSION.TYPE was expected");
        return NULL;
    }
    package = package_of(s, &parts);
    return package ? cor_gen_schema(s, schema, package, parts.type) : NULL;
}

/* The type of components.schemas[name]. Messages name the path of the schema itself, not the one of
 * the reference that led to it. */
static const struct cor_gen_type *read_named(struct cor_gen_schemas *s, struct cor_str name,
                                             struct cor_view schema)
{
    const struct cor_gen_type *type = cor_map_peek(&s->model->schemas, name);
    struct cor_buf outer = s->path;

    if (type)
        return type;
    cor_buf_init(&s->path, outer.max);
    cor_gen_path_enter(s, COR_STR("components.schemas"));
    cor_gen_path_enter(s, name);
    if (cor_str_eqz(tail(name, 3), "api.resource.Quantity"))
        type = cor_gen_plain_type(s->model, COR_SHAPE_QUANTITY, NULL);
    else if (cor_gen_schema_is_struct(schema))
        type = read_struct(s, name, schema);
    else
        type = read_unnamed(s, name, schema);
    cor_buf_deinit(&s->path);
    s->path = outer;
    if (!type && s->error == 0)
        s->error = cor_gen_model_error(s->model);
    return type;
}

static const struct cor_gen_type *refer(struct cor_gen_schemas *s, struct cor_str ref)
{
    const struct document *d = s->arg;
    struct cor_str name = ref;
    struct cor_view schema;

    if (!cor_str_starts(ref, COR_STR(REFERENCE))) {
        cor_gen_wrong(s, "a reference that begins with %s was expected, but it is \"%.*s\"",
                      REFERENCE, COR_STR_ARG(ref));
        return NULL;
    }
    name = cor_str_from(ref, sizeof(REFERENCE) - 1);
    schema = cor_view_member(d->schemas, name);
    if (!cor_view_exists(schema)) {
        cor_gen_wrong(s, "a schema of the document was expected, but there is no %.*s",
                      COR_STR_ARG(name));
        return NULL;
    }
    return read_named(s, name, schema);
}

static struct cor_str text_member(struct cor_view object, const char *key)
{
    return cor_view_text_or(cor_view_member(object, cor_strz(key)), NULL, 0, "");
}

/* The kind that an operation names. NULL: the document has none, or it is not an operation. */
static struct cor_gen_type *kind_of_operation(const struct cor_gen_model *model,
                                              struct cor_view operation)
{
    struct cor_view gvk = cor_view_member(operation, COR_STR("x-kubernetes-group-version-kind"));

    COR_MAP_FOREACH(it, &model->schemas) {
        struct cor_gen_type *type = it.value;

        if (type->is_kind && cor_str_eq(type->package->group, text_member(gvk, "group")) &&
            cor_str_eq(type->package->version, text_member(gvk, "version")) &&
            cor_str_eq(type->name, text_member(gvk, "kind")))
            return type;
    }
    return NULL;
}

/* A path of a resource: /apis/GROUP/VERSION[/namespaces/{namespace}]/PLURAL[/{name}[/SUB]]. */
struct resource_path {
    struct cor_str group, version, plural, sub; /* sub: empty if there is none */
    bool is_namespaced, has_name;
};

static bool split_path(struct cor_str path, struct resource_path *ret)
{
    struct cor_str rest = path, root, last;

    *ret = (struct resource_path){.group = COR_STR("")};
    cor_str_cut(&rest, '/');
    root = cor_str_cut(&rest, '/');
    if (cor_str_eqz(root, "apis"))
        ret->group = cor_str_cut(&rest, '/');
    else if (!cor_str_eqz(root, "api"))
        return false;
    ret->version = cor_str_cut(&rest, '/');
    if (rest.p && cor_str_starts(rest, COR_STR("namespaces/{namespace}/"))) {
        ret->is_namespaced = true;
        rest = cor_str_from(rest, sizeof("namespaces/{namespace}/") - 1);
    }
    ret->plural = rest.p ? cor_str_cut(&rest, '/') : COR_STR("");
    last = rest.p ? cor_str_cut(&rest, '/') : COR_STR("");
    ret->has_name = cor_str_eqz(last, "{name}");
    ret->sub = rest.p ? rest : COR_STR("");
    /* The deprecated paths below /watch/ have the shape of a name that is another text. */
    return ret->plural.n > 0 && cor_gen_is_name(ret->plural) && (last.n == 0 || ret->has_name) &&
           cor_str_find(ret->sub, '/') < 0;
}

static bool has_parameter(struct cor_view operation, const char *name)
{
    struct cor_view_iter it = cor_view_iter(cor_view_member(operation, COR_STR("parameters")));

    while (cor_view_next(&it)) {
        if (cor_str_eqz(text_member(it.value, "name"), name))
            return true;
    }
    return false;
}

/* Does an operation answer with an object? The log of a pod and connections do not. */
static bool answers_with_object(struct cor_view operation)
{
    struct cor_view_iter it = cor_view_iter(cor_view_member(operation, COR_STR("responses")));

    while (cor_view_next(&it)) {
        struct cor_view content = cor_view_member(it.value, COR_STR("content"));
        struct cor_view json = cor_view_member(content, COR_STR("application/json"));

        if (text_member(cor_view_member(json, COR_STR("schema")), "$ref").n > 0)
            return true;
    }
    return false;
}

/* What a method does: with a collection, and with one object or its subresource. 0: nothing. */
static const struct method {
    const char *name;
    unsigned of_all, of_one;
} methods[] = {
    {"delete", COR_API_VERB_BIT(DELETECOLLECTION), COR_API_VERB_BIT(DELETE)},
    {"get", COR_API_VERB_BIT(LIST), COR_API_VERB_BIT(GET)},
    {"patch", 0, COR_API_VERB_BIT(PATCH)},
    {"post", COR_API_VERB_BIT(CREATE), COR_API_VERB_BIT(CREATE)},
    {"put", 0, COR_API_VERB_BIT(UPDATE)},
};

static void read_resource(struct cor_gen_schemas *s, const struct resource_path *path,
                          const struct method *method, struct cor_view operation)
{
    struct cor_gen_type *type = kind_of_operation(s->model, operation);

    if (!type)
        return;
    if (type->plural.n == 0)
        type->plural = cor_arena_copy(&s->model->arena, path->plural);
    type->is_namespaced |= path->is_namespaced;
    type->verbs |= path->has_name ? method->of_one : method->of_all;
    if (!path->has_name && has_parameter(operation, "watch"))
        type->verbs |= COR_API_VERB_BIT(WATCH);
}

static void read_subresource(struct cor_gen_schemas *s, const struct resource_path *path,
                             const struct method *method, struct cor_view operation)
{
    const struct cor_gen_type *speaks =
        answers_with_object(operation) ? kind_of_operation(s->model, operation) : NULL;
    struct cor_gen_subresource *made;

    if (!speaks)
        return;
    COR_MAP_FOREACH(it, &s->model->schemas) {
        struct cor_gen_type *type = it.value;

        if (type->is_kind && cor_str_eq(type->plural, path->plural) &&
            cor_str_eq(type->package->group, path->group) &&
            cor_str_eq(type->package->version, path->version)) {
            made = cor_gen_subresource(s->model, type, path->sub, speaks);
            if (made)
                made->verbs |= method->of_one;
        }
    }
}

/* Reads the resources, or when all of them are known their subresources. */
static void read_paths(struct cor_gen_schemas *s, struct cor_view paths, bool of_subresources)
{
    struct cor_view_iter it = cor_view_iter(paths);

    while (cor_view_next(&it)) {
        struct resource_path path;

        if (!split_path(it.key, &path) || (path.sub.n > 0) != of_subresources)
            continue;
        for (size_t i = 0; i < COR_ARRAY_LEN(methods); i++) {
            struct cor_view operation = cor_view_member(it.value, cor_strz(methods[i].name));

            if (cor_view_exists(operation))
                (of_subresources ? read_subresource : read_resource)(s, &path, &methods[i],
                                                                     operation);
        }
    }
}

int cor_gen_from_openapi(struct cor_gen_model *model, const struct cor_gen_input *input,
                         struct cor_gen_error *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct document d = {.input = input};
    struct cor_gen_schemas s;
    struct cor_view whole, components;
    struct cor_view_iter it;
    size_t mark;

    cor_buf_init(&json, COR_GEN_INPUT_MAX);
    cor_gen_schemas_init(&s, model, input->file, reterr);
    s.refer = refer;
    s.arg = &d;
    s.error = cor_gen_input_json(input->file, input->text, &json, reterr);
    whole = cor_view(cor_buf_str(&json));
    if (s.error == 0)
        cor_gen_need_text(&s, whole, "openapi");
    components = cor_gen_need(&s, whole, "components", COR_JSON_OBJECT);
    mark = cor_gen_path_enter(&s, COR_STR("components"));
    d.schemas = cor_gen_need(&s, components, "schemas", COR_JSON_OBJECT);
    cor_gen_path_leave(&s, mark);
    it = cor_view_iter(d.schemas);
    while (s.error == 0 && cor_view_next(&it)) {
        /* Names of schemas that are not structs need no package. */
        if (cor_gen_schema_is_struct(it.value))
            read_named(&s, it.key, it.value);
    }
    for (int pass = 0; s.error == 0 && pass < 2; pass++)
        read_paths(&s, cor_view_member(whole, COR_STR("paths")), pass == 1);
    if (s.error == 0)
        s.error = cor_gen_model_error(model);
    cor_gen_schemas_deinit(&s);
    return s.error;
}
