/* Writes the tables of a package's structs: of each its fields, sorted by their names, the order of
 * their protobuf numbers, and its defaults. Failures stick to the arena or to the lines. */
#include <inttypes.h>
#include <stdlib.h>

#include "gen/c_text.h"
#include "gen/structs.h"
#include "gen/structs_int.h"

static void put_field(const struct cor_gen_structs_of *s, struct cor_gen_lines *l,
                      const struct cor_gen_type *type, const struct cor_gen_member *member)
{
    struct cor_gen_model *m = s->model;
    const struct cor_gen_field *field = member->field;
    bool is_struct = member->value->shape == COR_SHAPE_STRUCT;
    bool is_narrow = member->value->shape == COR_SHAPE_INT_OR_STRING && !s->package->is_structural;
    bool is_wrapped = field->type->is_wrapped || member->value->is_wrapped;
    const char *flags = is_narrow && field->is_pointer ? "COR_OWN_POINTER | COR_OWN_NARROW"
                        : is_narrow                    ? "COR_OWN_NARROW"
                        : is_wrapped                   ? "COR_OWN_WRAPPED"
                        : field->is_pointer            ? "COR_OWN_POINTER"
                                                       : "0";
    struct cor_str of =
        is_struct ? cor_gen_printf(m, "&%.*s_own_type", COR_STR_ARG(member->value->c_name))
                  : COR_STR("NULL");

    cor_gen_put(l,
                "    {%.*s, %.*s,\n     offsetof(struct %.*s_own, %.*s), %zu, COR_OWN_%s, "
                "COR_OWN_%s, %s, {%u, %u}, %u},\n",
                COR_STR_ARG(cor_gen_literal(m, field->name)), COR_STR_ARG(of),
                COR_STR_ARG(type->c_name), COR_STR_ARG(member->name), field->name.n, member->kind,
                member->form, flags, field->via[0], field->via[1], field->number);
}

/* The order of protobuf: by the numbers of the messages around a field, then by its own. */
static int compare_numbers(const void *a, const void *b)
{
    const struct cor_gen_field *x = (*(const struct cor_gen_member *const *)a)->field;
    const struct cor_gen_field *y = (*(const struct cor_gen_member *const *)b)->field;
    const uint32_t xs[] = {x->via[0], x->via[1], x->number},
                   ys[] = {y->via[0], y->via[1], y->number};
    size_t i = 0, j = 0;

    for (;; i++, j++) {
        while (xs[i] == 0)
            i++;
        while (ys[j] == 0)
            j++;
        if (xs[i] != ys[j] || i == 2 || j == 2)
            return xs[i] < ys[j] ? -1 : xs[i] > ys[j];
    }
}

/* Returns how many fields have numbers. */
static size_t put_numbers(const struct cor_gen_structs_of *s, struct cor_gen_lines *l,
                          const struct cor_gen_type *type, const struct cor_gen_member *members,
                          size_t n)
{
    const struct cor_gen_member **sorted =
        cor_arena_alloc(&s->model->arena, n * sizeof(const struct cor_gen_member *));
    size_t found = 0;

    for (size_t i = 0; sorted && i < n; i++) {
        if (members[i].field->number > 0)
            sorted[found++] = &members[i];
    }
    if (found == 0)
        return 0;
    qsort(sorted, found, sizeof(const struct cor_gen_member *), compare_numbers);
    cor_gen_put(l, "\nstatic const uint16_t %.*s_own_by_number[] = {", COR_STR_ARG(type->c_name));
    for (size_t i = 0; i < found; i++)
        cor_gen_put(l, "%s%zu,", i % 16 == 0 ? "\n    " : " ", (size_t)(sorted[i] - members));
    cor_gen_put(l, "\n};\n");
    return found;
}

/* The place of a field among the members, which are sorted by their names. */
static size_t place_of(const struct cor_gen_type *type, struct cor_str name,
                       const struct cor_gen_type **ret_next)
{
    size_t place = 0;

    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        int order = cor_str_cmp(f->name, name);

        place += order < 0;
        if (order == 0)
            *ret_next = f->type;
    }
    return place;
}

static void put_path(struct cor_gen_lines *l, const struct cor_gen_type *type,
                     const struct cor_gen_path *path)
{
    cor_gen_put(l, "{%zu, {", path->n);
    for (size_t i = 0; i < path->n; i++)
        cor_gen_put(l, "%s%zu", i > 0 ? ", " : "", place_of(type, path->names[i], &type));
    cor_gen_put(l, path->n > 0 ? "}}" : "0}}");
}

static size_t put_defaults(const struct cor_gen_structs_of *s, struct cor_gen_lines *l,
                           const struct cor_gen_type *type)
{
    static const char *const tests[] = {"IS", "IS_SET", "IS_UNSET"};
    struct cor_gen_model *m = s->model;
    size_t n = 0;

    for (const struct cor_gen_default *d = type->defaults; d; d = d->next, n++) {
        if (n == 0)
            cor_gen_put(l, "\nstatic const struct cor_own_default %.*s_own_defaults[] = {\n",
                        COR_STR_ARG(type->c_name));
        cor_gen_put(l, "    {");
        put_path(l, type, &d->path);
        cor_gen_put(l, ", ");
        put_path(l, type, &d->from);
        cor_gen_put(l, ", %.*s, %zu, {",
                    COR_STR_ARG(d->from.n > 0 ? COR_STR("NULL") : cor_gen_literal(m, d->value)),
                    d->nwhen);
        for (size_t i = 0; i < COR_GEN_WHEN_MAX; i++) {
            cor_gen_put(l, i > 0 ? ", {" : "{");
            put_path(l, type, &d->when[i].path);
            cor_gen_put(l, ", COR_OWN_%s, %.*s}", tests[d->when[i].test],
                        COR_STR_ARG(cor_gen_literal(m, d->when[i].values)));
        }
        cor_gen_put(l, "}},\n");
    }
    if (n > 0)
        cor_gen_put(l, "};\n");
    return n;
}

static void put_table(const struct cor_gen_structs_of *s, struct cor_gen_lines *l,
                      const struct cor_gen_type *type)
{
    size_t n, numbers = 0, defaults;
    const struct cor_gen_member *members = cor_gen_members_of(s, type, &n);
    struct cor_str c = type->c_name;

    if (n > 0) {
        cor_gen_put(l, "\nstatic const struct cor_own_field %.*s_own_fields[] = {\n",
                    COR_STR_ARG(c));
        for (size_t i = 0; i < n; i++)
            put_field(s, l, type, &members[i]);
        cor_gen_put(l, "};\n");
    }
    /* A kind without numbers has no protobuf, whatever it holds. */
    if (n > 0 && (!type->is_kind || cor_gen_has_protobuf(s, type)))
        numbers = put_numbers(s, l, type, members, n);
    defaults = put_defaults(s, l, type);
    cor_gen_put(l, "\nconst struct cor_own_type %.*s_own_type = {\n", COR_STR_ARG(c));
    if (type->is_kind && s->package->version.n > 0)
        cor_gen_put(l, "    \"%.*s\", \"%.*s\",\n", COR_STR_ARG(type->name),
                    COR_STR_ARG(cor_gen_api_version(s->model, s->package)));
    else
        cor_gen_put(l, "    NULL, NULL,\n");
    if (n > 0)
        cor_gen_put(l, "    %.*s_own_fields, %zu,\n", COR_STR_ARG(c), n);
    else
        cor_gen_put(l, "    NULL, 0,\n");
    cor_gen_put(l, "    sizeof(struct %.*s_own), offsetof(struct %.*s_own, unknown_fields),\n",
                COR_STR_ARG(c), COR_STR_ARG(c));
    if (numbers > 0)
        cor_gen_put(l, "    %zu, %.*s_own_by_number,\n", numbers, COR_STR_ARG(c));
    else
        cor_gen_put(l, "    0, NULL,\n");
    if (defaults > 0)
        cor_gen_put(l, "    %.*s_own_defaults, %zu,\n};\n", COR_STR_ARG(c), defaults);
    else
        cor_gen_put(l, "    NULL, 0,\n};\n");
}

void cor_gen_struct_tables(const struct cor_gen_structs_of *s, struct cor_gen_lines *l,
                           struct cor_str header)
{
    cor_gen_put_head(l, s->package, s->opts, "The tables");
    cor_gen_put(l, "Hash of the header: %016" PRIx64 ". */\n#include \"%.*s\"\n",
                cor_str_hash(header), COR_STR_ARG(cor_gen_structs_header(s->model, s->package)));
    for (const struct cor_gen_type *t = s->package->types; t; t = t->next) {
        if (t->is_owned)
            put_table(s, l, t);
    }
}
