/* Reads CustomResourceDefinitions into a model. A file is cut into its documents; each is turned
 * into canonical JSON, so that fields are sorted by their names, and walked version by version.
 * Nothing here judges whether an API server accepts the definition; what the views need must be
 * there. */
#include "gen/from_crd.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/yaml.h"
#include "gen/c_name.h"
#include "gen/from_schema.h"
#include "gen/from_tables.h"
#include "gen/input_json.h"

/* The package of a group and version. */
static struct cor_gen_package *package_of(struct cor_gen_schemas *s,
                                          const struct cor_gen_input *input, struct cor_str group,
                                          struct cor_str version)
{
    struct cor_gen_package *package;
    struct cor_str rest = group, label = cor_str_cut(&rest, '.');

    package = cor_gen_package_of(s, input->prefix, input->folder, label, version);
    if (!package)
        return NULL;
    if (package->version.n > 0 && !cor_str_eq(package->group, group)) {
        cor_gen_wrong(s, "another first label than that of the group %.*s was expected",
                      COR_STR_ARG(package->group));
        return NULL;
    }
    package->group = group;
    package->version = version;
    package->is_structural = true;
    return package;
}

/* What the definition says about requests. A custom resource has all verbs, and a subresource for
 * each member of `subresources`. */
static void read_resource(struct cor_gen_schemas *s, struct cor_view spec, struct cor_view version,
                          struct cor_gen_type *kind)
{
    static const char *const names[] = {"scale", "status"};
    struct cor_view subresources = cor_view_member(version, COR_STR("subresources"));

    kind->plural = cor_gen_text(
        s, cor_view_member(cor_view_member(spec, COR_STR("names")), COR_STR("plural")));
    kind->is_namespaced = !cor_str_eqz(
        cor_view_text_or(cor_view_member(spec, COR_STR("scope")), NULL, 0, ""), "Cluster");
    kind->verbs = COR_API_VERBS_ALL;
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        const struct cor_gen_type *type = kind;
        struct cor_gen_subresource *made;

        if (cor_view_type(cor_view_member(subresources, cor_strz(names[i]))) != COR_JSON_OBJECT)
            continue;
        if (strcmp(names[i], "scale") == 0)
            type = cor_gen_builtin_scale(s->model);
        made = type ? cor_gen_subresource(s->model, kind, cor_strz(names[i]), type) : NULL;
        if (made)
            made->verbs =
                COR_API_VERB_BIT(GET) | COR_API_VERB_BIT(PATCH) | COR_API_VERB_BIT(UPDATE);
    }
}

static void add_kind(struct cor_gen_schemas *s, struct cor_gen_package *package,
                     struct cor_view spec, struct cor_view version, struct cor_view schema)
{
    struct cor_view names = cor_view_member(spec, COR_STR("names"));
    struct cor_gen_model *m = s->model;
    struct cor_gen_package *meta = cor_gen_builtin_meta(m);
    struct cor_str name = cor_gen_text(s, cor_view_member(names, COR_STR("kind")));
    struct cor_str list = cor_gen_text(s, cor_view_member(names, COR_STR("listKind")));
    const struct cor_gen_type *text = cor_gen_plain_type(m, COR_SHAPE_STRING, NULL);
    struct cor_gen_type *kind;

    if (!meta || !package)
        return;
    if (list.n == 0)
        list = cor_gen_printf(m, "%.*sList", COR_STR_ARG(name));
    if (cor_gen_find_type(m, package, name)) {
        cor_gen_wrong(s, "a kind that the group does not have yet was expected, not %.*s",
                      COR_STR_ARG(name));
        return;
    }
    if (cor_str_eq(list, name) || cor_gen_find_type(m, package, list)) {
        cor_gen_wrong(s, "a listKind that the group does not have yet was expected, not %.*s",
                      COR_STR_ARG(list));
        return;
    }
    kind = cor_gen_add_type(m, package, name, COR_SHAPE_STRUCT);
    if (!kind)
        return;
    kind->is_kind = true;
    read_resource(s, spec, version, kind);
    kind->words = cor_gen_text(s, cor_view_member(schema, COR_STR("description")));
    cor_gen_add_field(m, kind, COR_STR("apiVersion"), text);
    cor_gen_add_field(m, kind, COR_STR("kind"), text);
    cor_gen_add_field(m, kind, COR_STR("metadata"),
                      cor_gen_find_type(m, meta, COR_STR("ObjectMeta")));
    s->reserved = list;
    cor_gen_schema_fields(s, schema, kind);
    s->reserved = COR_STR("");
    if (s->error == 0)
        cor_gen_add_list_kind(m, kind, list, cor_gen_find_type(m, meta, COR_STR("ListMeta")));
}

static void read_version(struct cor_gen_schemas *s, const struct cor_gen_input *input,
                         struct cor_view spec, struct cor_view version)
{
    struct cor_view schema, all;
    struct cor_str group = cor_gen_text(s, cor_view_member(spec, COR_STR("group")));
    struct cor_str name = cor_gen_need_name(s, version, "name");
    size_t outer, inner;

    schema = cor_gen_need(s, version, "schema", COR_JSON_OBJECT);
    outer = cor_gen_path_enter(s, COR_STR("schema"));
    all = cor_gen_need(s, schema, "openAPIV3Schema", COR_JSON_OBJECT);
    inner = cor_gen_path_enter(s, COR_STR("openAPIV3Schema"));
    if (s->error == 0)
        add_kind(s, package_of(s, input, group, name), spec, version, all);
    cor_gen_path_leave(s, inner);
    cor_gen_path_leave(s, outer);
}

static void read_definition(struct cor_gen_schemas *s, const struct cor_gen_input *input,
                            struct cor_view crd)
{
    struct cor_str kind = cor_gen_need_text(s, crd, "kind");
    struct cor_view spec, names;
    struct cor_view_iter it;
    size_t outer, mark, i = 0;

    if (s->error == 0 && !cor_str_eqz(kind, "CustomResourceDefinition")) {
        mark = cor_gen_path_enter(s, COR_STR("kind"));
        cor_gen_wrong(s, "CustomResourceDefinition was expected, but it is \"%.*s\"",
                      COR_STR_ARG(kind));
        cor_gen_path_leave(s, mark);
    }
    spec = cor_gen_need(s, crd, "spec", COR_JSON_OBJECT);
    outer = cor_gen_path_enter(s, COR_STR("spec"));
    cor_gen_need_name(s, spec, "group");
    names = cor_gen_need(s, spec, "names", COR_JSON_OBJECT);
    mark = cor_gen_path_enter(s, COR_STR("names"));
    cor_gen_need_name(s, names, "kind");
    cor_gen_need_name(s, names, "plural");
    if (cor_view_member(names, COR_STR("listKind")).json.p)
        cor_gen_need_name(s, names, "listKind");
    cor_gen_path_leave(s, mark);
    it = cor_view_iter(cor_gen_need(s, spec, "versions", COR_JSON_ARRAY));
    while (s->error == 0 && cor_view_next(&it)) {
        size_t list = cor_gen_path_enter(s, COR_STR("versions"));

        mark = cor_gen_path_enter_index(s, i++);
        read_version(s, input, spec, it.value);
        cor_gen_path_leave(s, mark);
        cor_gen_path_leave(s, list);
    }
    cor_gen_path_leave(s, outer);
}

/* Does a line that separates documents begin here? */
static bool is_separator(struct cor_str text, size_t at)
{
    return (at == 0 || text.p[at - 1] == '\n') && text.n - at >= 3 &&
           memcmp(text.p + at, "---", 3) == 0 &&
           (text.n - at == 3 || strchr(" \t\r\n", text.p[at + 3]));
}

static bool is_blank(struct cor_str text)
{
    while (text.n > 0) {
        struct cor_str line = cor_str_trim(cor_str_cut(&text, '\n'));

        if (line.n > 0 && line.p[0] != '#' && !cor_str_starts(line, COR_STR("---")))
            return false;
    }
    return true;
}

int cor_gen_from_crd(struct cor_gen_model *model, const struct cor_gen_input *input,
                     struct cor_gen_error *reterr)
{
    struct cor_gen_schemas s;
    size_t from = 0, n = 0;

    cor_gen_schemas_init(&s, model, input->file, reterr);
    for (size_t at = 0; s.error == 0 && at <= input->text.n; at++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
        struct cor_str document = cor_str(input->text.p + from, at - from);

        if (at < input->text.n && !is_separator(input->text, at))
            continue;
        from = at;
        if (is_blank(document))
            continue;
        cor_buf_init(&json, COR_GEN_INPUT_MAX);
        s.error = cor_gen_input_json(input->file, document, &json, reterr);
        if (s.error == 0)
            read_definition(&s, input, cor_view(cor_buf_str(&json)));
        n++;
    }
    if (s.error == 0 && n == 0)
        cor_gen_wrong(&s, "a CustomResourceDefinition was expected, but the file is empty");
    if (s.error == 0)
        s.error = cor_gen_model_error(model);
    cor_gen_schemas_deinit(&s);
    return s.error;
}
