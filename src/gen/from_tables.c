/* Copies the built-in tables into a model: first all types, so that fields can refer to each other,
 * then their members. The members of inlined structs are members of the struct around them, as in
 * JSON. Failures are the arena's. */
#include "gen/from_tables.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/kinds/resource_row.h"
#include "schema/types/rules.h"

/* The names of what is written. */
struct naming {
    struct cor_str prefix, folder;
};

static struct cor_gen_package *package_of(struct cor_gen_model *model, const struct naming *naming,
                                          struct cor_str stem)
{
    struct cor_str prefix =
        cor_gen_printf(model, "%.*s%.*s_", COR_STR_ARG(naming->prefix), COR_STR_ARG(stem));

    return cor_gen_package(model, stem, prefix, naming->folder);
}

/* The resource whose objects are of this kind. NULL: there is none. */
static const struct cor_resource_row *row_of(const struct cor_type *type)
{
    const struct cor_resource_row *rows;
    size_t n;

    rows = cor_api_builtins(&n);
    for (size_t i = 0; i < n; i++) {
        if (cor_str_eq(rows[i].group, cor_type_group(type)) &&
            cor_str_eq(rows[i].version, cor_type_version(type)) &&
            cor_str_eq(rows[i].kind, cor_type_name(type)))
            return &rows[i];
    }
    return NULL;
}

static void copy_values(struct cor_gen_model *model, const struct cor_type *from,
                        struct cor_gen_type *to)
{
    size_t n = cor_type_is(from, COR_TYPE_ENUM) ? cor_type_nvalues(from) : 0;
    struct cor_str *values = n > 0 ? cor_arena_alloc(&model->arena, n * sizeof(*values)) : NULL;

    if (!values)
        return;
    for (size_t i = 0; i < n; i++)
        values[i] = cor_type_value(from, i);
    to->values = values;
    to->nvalues = n;
}

/* A struct or a named string becomes a type of its package; a list with a name of its own is a list
 * like any other. */
static struct cor_gen_type *declare(struct cor_gen_model *model, const struct naming *naming,
                                    const struct cor_type *from)
{
    enum cor_shape shape = cor_type_shape(from);
    bool is_declared =
        cor_type_name(from).n > 0 && shape != COR_SHAPE_LIST && shape != COR_SHAPE_MAP;
    const struct cor_resource_row *row;
    struct cor_gen_package *package;
    struct cor_gen_type *to;

    if (!is_declared) {
        to = (struct cor_gen_type *)cor_gen_plain_type(model, shape, NULL);
        if (to)
            to->is_wrapped = cor_type_is(from, COR_TYPE_WRAPPED);
        return to;
    }
    package = package_of(model, naming, cor_type_package(from));
    to = package ? cor_gen_add_type(model, package, cor_type_name(from), shape) : NULL;
    if (!to)
        return NULL;
    package->group = cor_type_group(from);
    package->version = cor_type_version(from);
    package->is_wire = true;
    to->is_kind = cor_type_is(from, COR_TYPE_KIND);
    row = to->is_kind ? row_of(from) : NULL;
    if (row) {
        to->plural = row->plural;
        to->is_namespaced = cor_api_is_namespaced(row);
        to->verbs = row->verbs;
    }
    to->words = cor_type_words(from);
    copy_values(model, from, to);
    return to;
}

static size_t index_of(const struct cor_type *type)
{
    for (size_t i = 0; i < cor_types_count(); i++) {
        if (cor_type_at(i) == type)
            return i;
    }
    return SIZE_MAX;
}

/* The members of a struct that is inlined in JSON are in a message of its own in protobuf, or,
 * those of TypeMeta, in none. */
static void copy_number(const struct cor_member *member, struct cor_gen_field *to)
{
    to->number = cor_type_field_number(member->field);
    for (size_t i = 0; i < COR_TYPE_INLINE_MAX && member->via[i]; i++) {
        to->via[i] = cor_type_field_number(member->via[i]);
        if (to->via[i] == 0)
            to->number = 0;
    }
}

static bool is_wrapped(const struct cor_type *type)
{
    if (cor_type_shape(type) == COR_SHAPE_MAP)
        type = cor_type_element(type);
    return cor_type_shape(type) == COR_SHAPE_LIST && cor_type_is(type, COR_TYPE_WRAPPED);
}

static void copy_members(struct cor_gen_model *model, const struct cor_type *from,
                         struct cor_gen_type *to, struct cor_gen_type *const *made)
{
    for (size_t i = 0; i < cor_type_nmembers(from); i++) {
        struct cor_gen_field *field;
        struct cor_member member;

        cor_type_member(from, i, &member);
        field = cor_gen_add_field(model, to, cor_type_field_name(member.field),
                                  made[index_of(cor_type_field_type(member.field))]);
        if (!field)
            return;
        field->is_pointer = cor_type_field_is(member.field, COR_FIELD_POINTER);
        field->is_omitempty = cor_type_field_is(member.field, COR_FIELD_OMITEMPTY);
        field->is_omitzero = cor_type_field_is(member.field, COR_FIELD_OMITZERO);
        field->is_wrapped = is_wrapped(cor_type_field_type(member.field));
        field->words = cor_type_field_words(member.field);
        copy_number(&member, field);
        if (cor_type_field_list_kind(member.field) == COR_LIST_KIND_MAP &&
            cor_type_field_nkeys(member.field) == 1)
            field->key = cor_type_field_key(member.field, 0);
    }
}

static const struct cor_gen_type *find_kind(const struct cor_gen_model *model, struct cor_str group,
                                            struct cor_str version, struct cor_str name)
{
    for (const struct cor_gen_package *p = model->packages; p; p = p->next) {
        const struct cor_gen_type *type =
            cor_str_eq(p->group, group) && cor_str_eq(p->version, version)
                ? cor_gen_find_type(model, p, name)
                : NULL;

        if (type && type->is_kind)
            return type;
    }
    return NULL;
}

/* Copies the subresources that speak of objects. Those that connect the client with something have
 * no body that a type describes. */
static void copy_subresources(struct cor_gen_model *model, const struct cor_type *from,
                              struct cor_gen_type *to)
{
    const struct cor_resource_row *row = row_of(from);

    for (size_t i = 0; row && i < row->nsubresources; i++) {
        const struct cor_api_subresource *sub = &row->subresources[i];
        const struct cor_gen_type *type = to;
        struct cor_gen_subresource *made;

        if (sub->connect != COR_CONNECT_NONE)
            continue;
        if (sub->kind)
            type = find_kind(model, sub->group ? cor_strz(sub->group) : row->group,
                             sub->version ? cor_strz(sub->version) : row->version,
                             cor_strz(sub->kind));
        made = type ? cor_gen_subresource(model, to, cor_strz(sub->name), type) : NULL;
        if (made)
            made->verbs = sub->verbs;
    }
}

/* The names of a path, whose steps are places of members. */
static struct cor_gen_path path_of(const struct cor_type *type, size_t depth, const void *of,
                                   size_t (*step)(const void *of, size_t i))
{
    struct cor_gen_path path = {.n = depth};

    for (size_t i = 0; i < depth; i++) {
        struct cor_member member;

        cor_type_member(type, step(of, i), &member);
        path.names[i] = cor_type_field_name(member.field);
        type = cor_type_field_type(member.field);
    }
    return path;
}

static size_t rule_step(const void *of, size_t i)
{
    return cor_rule_step(of, i);
}

static size_t source_step(const void *of, size_t i)
{
    return cor_rule_source_step(of, i);
}

static size_t condition_step(const void *of, size_t i)
{
    return cor_condition_step(of, i);
}

/* Texts that a field may have, without their quotes. */
static struct cor_str condition_values(struct cor_gen_model *model,
                                       const struct cor_rule_condition *condition)
{
    struct cor_str all = COR_STR("");

    for (size_t i = 0; i < cor_condition_nvalues(condition); i++) {
        struct cor_str value = cor_condition_value(condition, i);

        assert(value.n >= 2 && value.p[0] == '"');
        all = cor_gen_printf(model, "%.*s%s%.*s", COR_STR_ARG(all), i > 0 ? "|" : "",
                             (int)value.n - 2, value.p + 1);
    }
    return all;
}

/* What a hook does, and what clears a field or follows another one, is not a default of a client.
 */
static void copy_defaults(struct cor_gen_model *model, const struct cor_type *from,
                          struct cor_gen_type *to)
{
    static const enum cor_gen_test tests[] = {[COR_RULE_TEST_IS] = COR_GEN_IS,
                                              [COR_RULE_TEST_SET] = COR_GEN_IS_SET,
                                              [COR_RULE_TEST_UNSET] = COR_GEN_IS_UNSET};

    for (size_t i = 0; i < cor_type_nrules(from); i++) {
        const struct cor_rule *rule = cor_type_rule(from, i);
        enum cor_rule_op op = cor_rule_op(rule);
        struct cor_gen_default *added;

        if ((op != COR_RULE_SET && op != COR_RULE_COPY) || cor_rule_is_late(rule))
            continue;
        added = cor_gen_add_default(model, to);
        if (!added)
            return;
        added->path = path_of(from, cor_rule_depth(rule), rule, rule_step);
        added->from =
            path_of(from, op == COR_RULE_COPY ? cor_rule_source_depth(rule) : 0, rule, source_step);
        if (op == COR_RULE_SET)
            added->value = cor_rule_value(rule);
        added->nwhen = cor_rule_nconditions(rule);
        assert(added->nwhen <= COR_GEN_WHEN_MAX);
        for (size_t j = 0; j < added->nwhen; j++) {
            const struct cor_rule_condition *condition = cor_rule_condition(rule, j);

            added->when[j].path =
                path_of(from, cor_condition_depth(condition), condition, condition_step);
            added->when[j].test = tests[cor_condition_test(condition)];
            added->when[j].values = condition_values(model, condition);
        }
    }
}

static void link_element(const struct cor_type *from, struct cor_gen_type *to,
                         struct cor_gen_type *element)
{
    to->element = element;
    element->is_element |= cor_type_shape(from) == COR_SHAPE_LIST;
    element->is_map_value |= cor_type_shape(from) == COR_SHAPE_MAP;
}

int cor_gen_from_tables(struct cor_gen_model *model, struct cor_str prefix, struct cor_str folder)
{
    const struct naming naming = {prefix, folder};
    size_t n = cor_types_count();
    struct cor_gen_type **made = cor_arena_alloc(&model->arena, n * sizeof(struct cor_gen_type *));

    if (!made)
        return cor_gen_model_error(model);
    for (size_t i = 0; i < n; i++) {
        made[i] = declare(model, &naming, cor_type_at(i));
        if (!made[i])
            return cor_gen_model_error(model);
    }
    for (size_t i = 0; i < n; i++) {
        const struct cor_type *from = cor_type_at(i), *element = cor_type_element(from);

        if (cor_type_shape(from) == COR_SHAPE_STRUCT)
            copy_members(model, from, made[i], made);
        if (cor_type_shape(from) == COR_SHAPE_STRUCT)
            copy_defaults(model, from, made[i]);
        if (made[i]->plural.n > 0)
            copy_subresources(model, from, made[i]);
        if (element)
            link_element(from, made[i], made[index_of(element)]);
    }
    return cor_gen_model_error(model);
}

/* A package of libcoracle-types that the model refers to. Its stem is the path of its header, which
 * is that of no group. `ret_is_new`: it has no types yet. */
static struct cor_gen_package *external(struct cor_gen_model *model, const char *name,
                                        bool *ret_is_new)
{
    struct cor_str stem = cor_gen_printf(model, "coracle/types/%s", name);
    struct cor_str prefix = cor_gen_printf(model, "cor_%s_", name);
    struct cor_gen_package *package;

    *ret_is_new = !cor_gen_find_package(model, stem);
    package = cor_gen_package(model, stem, prefix, COR_STR(""));
    if (package)
        package->is_external = true;
    return package;
}

struct cor_gen_package *cor_gen_builtin_meta(struct cor_gen_model *model)
{
    bool is_new;
    struct cor_gen_package *meta = external(model, "meta_v1", &is_new);

    if (meta && is_new) {
        cor_gen_add_type(model, meta, COR_STR("ObjectMeta"), COR_SHAPE_STRUCT);
        cor_gen_add_type(model, meta, COR_STR("ListMeta"), COR_SHAPE_STRUCT);
    }
    return meta;
}

const struct cor_gen_type *cor_gen_builtin_scale(struct cor_gen_model *model)
{
    const struct cor_resource_row *row = cor_api_scale_type();
    struct cor_gen_package *package;
    struct cor_gen_type *scale;
    bool is_new;

    package = external(model, "autoscaling_v1", &is_new);
    if (!package || !is_new)
        return package ? cor_gen_find_type(model, package, row->kind) : NULL;
    package->group = row->group;
    package->version = row->version;
    scale = cor_gen_add_type(model, package, row->kind, COR_SHAPE_STRUCT);
    if (scale)
        scale->is_kind = true;
    return scale;
}
