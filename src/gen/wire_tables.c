/* Writes the tables of a package's types for protobuf: of each its fields, sorted by their names.
 * Lists of a resource's objects have none, since their items are taken one by one.
 * Failures stick to the arena or to the lines. */
#include "gen/wire_tables.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static const char *shape_of(enum cor_shape shape)
{
    switch (shape) {
    case COR_SHAPE_STRUCT:
        return "STRUCT";
    case COR_SHAPE_STRING:
        return "STRING";
    case COR_SHAPE_BOOL:
        return "BOOL";
    case COR_SHAPE_INT32:
        return "INT32";
    case COR_SHAPE_INT64:
        return "INT64";
    case COR_SHAPE_FLOAT64:
        return "DOUBLE";
    case COR_SHAPE_BYTES:
        return "BYTES";
    case COR_SHAPE_TIME:
        return "TIME";
    case COR_SHAPE_MICRO_TIME:
        return "MICRO_TIME";
    case COR_SHAPE_QUANTITY:
        return "QUANTITY";
    case COR_SHAPE_INT_OR_STRING:
        return "INT_OR_STRING";
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
        return "RAW";
    case COR_SHAPE_SCHEMA_OR_BOOL:
        return "SCHEMA_OR_BOOL";
    case COR_SHAPE_SCHEMA_OR_ARRAY:
        return "SCHEMA_OR_ARRAY";
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        return "SCHEMA_OR_STRINGS";
    case COR_SHAPE_LIST: /* wrapped */
        return "TEXTS";
    case COR_SHAPE_MAP:
    case COR_SHAPE_DURATION:
    case COR_SHAPES:
        break;
    }
    assert(!"a shape that no built-in type has in protobuf");
    return "";
}

/* A list in a message of its own is a value, not items of the message around it. */
static bool is_list(const struct cor_gen_field *field)
{
    return field->type->shape == COR_SHAPE_LIST && !field->is_wrapped;
}

/* The type of the value, or of the elements. */
static const struct cor_gen_type *value_of(const struct cor_gen_field *field)
{
    return is_list(field) || field->type->shape == COR_SHAPE_MAP ? field->type->element
                                                                 : field->type;
}

/* Has protobuf no text for it? The rule is that of the converter (meta/value/wire_json.c). */
static bool is_json(const struct cor_gen_field *field)
{
    enum cor_shape shape = value_of(field)->shape;
    bool is_map = field->type->shape == COR_SHAPE_MAP;

    if (is_list(field) || is_map)
        return shape != COR_SHAPE_STRUCT && shape != COR_SHAPE_STRING &&
               !(is_map && shape == COR_SHAPE_QUANTITY);
    return shape != COR_SHAPE_STRUCT && shape != COR_SHAPE_STRING && shape != COR_SHAPE_QUANTITY &&
           shape != COR_SHAPE_BOOL && shape != COR_SHAPE_INT32 && shape != COR_SHAPE_INT64 &&
           shape != COR_SHAPE_FLOAT64;
}

static struct cor_str flags_of(struct cor_gen_model *m, const struct cor_gen_field *field,
                               bool is_accessor)
{
    bool is_quantity =
        is_accessor && !is_json(field) && value_of(field)->shape == COR_SHAPE_QUANTITY;
    const struct {
        bool is_set;
        const char *name;
    } flags[] = {
        {is_list(field), "COR_WIRE_LIST"},
        {field->type->shape == COR_SHAPE_MAP, "COR_WIRE_MAP"},
        {field->is_pointer, "COR_WIRE_POINTER"},
        {field->is_omitempty, "COR_WIRE_OMITEMPTY"},
        {field->is_omitzero, "COR_WIRE_OMITZERO"},
        {is_accessor && is_json(field), "COR_VALUE_JSON"},
        {is_quantity, "COR_VALUE_QUANTITY"},
    };
    struct cor_str all = COR_STR("");

    for (size_t i = 0; i < COR_ARRAY_LEN(flags); i++) {
        if (flags[i].is_set)
            all = cor_gen_printf(m, "%.*s%s%s", COR_STR_ARG(all), all.n > 0 ? " | " : "",
                                 flags[i].name);
    }
    return all.n > 0 ? all : COR_STR("0");
}

struct cor_str cor_gen_wire_field(struct cor_gen_model *model, const struct cor_gen_field *field)
{
    if (field->number == 0)
        return cor_gen_printf(model, "%zu", field->name.n);
    return cor_gen_printf(model, "COR_VALUE_FIELD(%zu, %u, %u, %u, %.*s)", field->name.n,
                          field->number, field->via[0], field->via[1],
                          COR_STR_ARG(flags_of(model, field, true)));
}

static bool has_table(const struct cor_gen_type *type)
{
    bool has_list_meta = false, has_items = false;

    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        has_list_meta |= cor_str_eqz(f->name, "metadata") && cor_str_eqz(f->type->name, "ListMeta");
        has_items |= cor_str_eqz(f->name, "items");
    }
    return type->shape == COR_SHAPE_STRUCT && type->package->is_wire &&
           !(type->is_kind && has_list_meta && has_items);
}

static int compare_fields(const void *a, const void *b)
{
    return cor_str_cmp((*(const struct cor_gen_field *const *)a)->name,
                       (*(const struct cor_gen_field *const *)b)->name);
}

static void put_field(struct cor_gen_model *m, struct cor_gen_lines *l,
                      const struct cor_gen_field *field)
{
    const struct cor_gen_type *value = value_of(field);
    const struct cor_gen_type *of = value->shape == COR_SHAPE_LIST ? NULL : value->element;
    struct cor_str table = COR_STR("NULL");

    if (value->shape == COR_SHAPE_STRUCT)
        of = value;
    if (of)
        table = cor_gen_printf(m, "&%.*s_wire", COR_STR_ARG(of->c_name));
    cor_gen_put(l, "    {%.*s, %.*s, %u, {%u, %u},\n     %zu, COR_WIRE_%s, %.*s},\n",
                COR_STR_ARG(cor_gen_literal(m, field->name)), COR_STR_ARG(table), field->number,
                field->via[0], field->via[1], field->name.n, shape_of(value->shape),
                COR_STR_ARG(flags_of(m, field, false)));
}

static void put_table(struct cor_gen_model *m, struct cor_gen_lines *l,
                      const struct cor_gen_type *type)
{
    const struct cor_gen_field *sorted[COR_TYPE_MEMBERS_MAX];
    bool is_kind = type->is_kind && type->package->version.n > 0;
    size_t n = 0;

    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        assert(n < COR_ARRAY_LEN(sorted));
        if (f->number > 0)
            sorted[n++] = f;
    }
    qsort(sorted, n, sizeof(sorted[0]), compare_fields);
    if (n > 0)
        cor_gen_put(l, "\nstatic const struct cor_wire_field %.*s_wire_fields[] = {\n",
                    COR_STR_ARG(type->c_name));
    for (size_t i = 0; i < n; i++)
        put_field(m, l, sorted[i]);
    cor_gen_put(l, "%s\nconst struct cor_wire_type %.*s_wire = {\n", n > 0 ? "};\n" : "",
                COR_STR_ARG(type->c_name));
    if (is_kind)
        cor_gen_put(l, "    \"%.*s\", \"%.*s\",",
                    COR_STR_ARG(cor_gen_api_version(m, type->package)), COR_STR_ARG(type->name));
    else
        cor_gen_put(l, "    NULL, NULL,");
    if (n > 0)
        cor_gen_put(l, " %.*s_wire_fields, %zu,\n};\n", COR_STR_ARG(type->c_name), n);
    else
        cor_gen_put(l, " NULL, 0,\n};\n");
}

void cor_gen_wire_declarations(struct cor_gen_lines *l, const struct cor_gen_package *package,
                               const char *mark)
{
    bool is_first = true;

    for (const struct cor_gen_type *t = package->types; t; t = t->next) {
        if (!has_table(t))
            continue;
        if (is_first)
            cor_gen_put(l, "\n/* Tables of the types for protobuf (coracle/wire.h). */\n");
        is_first = false;
        cor_gen_put(l, "extern %sconst struct cor_wire_type %.*s_wire;\n", mark,
                    COR_STR_ARG(t->c_name));
    }
}

void cor_gen_wire_tables(struct cor_gen_model *model, struct cor_gen_lines *l,
                         const struct cor_gen_package *package)
{
    for (const struct cor_gen_type *t = package->types; t; t = t->next) {
        if (has_table(t))
            put_table(model, l, t);
    }
}
