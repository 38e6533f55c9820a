/* Writes conversions.
 *
 * Flow: the fields of the two types are compared by their names, and those of structs inside of
 * them; what differs is listed in a comment, and then both directions have a function of the
 * program, whose name ends in _rest, which is called when the fields that agree have been copied.
 * The header declares four functions or two, the source has two, and the test goes from a sample of
 * each kind to the other one and back. */
#include "gen/conversions.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gen/c_text.h"
#include "gen/structs.h"

#define DEPTH_MAX 16

static const struct cor_gen_field *field_named(const struct cor_gen_type *type, struct cor_str name)
{
    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        if (cor_str_eq(f->name, name))
            return f;
    }
    return NULL;
}

static const struct cor_gen_type *inner(const struct cor_gen_type *type)
{
    return type->element ? type->element : type;
}

/* Lists the fields of `a` that `b` does not have, or has in another shape. With `both`, those of
 * different shapes as well, which the other direction finds, too. Returns their number. */
static size_t put_differences(struct cor_gen_model *m, struct cor_gen_lines *l, struct cor_str path,
                              const struct cor_gen_type *a, const struct cor_gen_type *b, bool both,
                              unsigned depth)
{
    size_t n = 0;

    if (a == b || depth == DEPTH_MAX)
        return 0;
    for (const struct cor_gen_field *f = a->fields; f; f = f->next) {
        const struct cor_gen_field *g = field_named(b, f->name);
        bool is_same =
            g && g->type->shape == f->type->shape && inner(g->type)->shape == inner(f->type)->shape;
        struct cor_str whole = cor_gen_printf(m, "%.*s%s%.*s", COR_STR_ARG(path),
                                              path.n > 0 ? "." : "", COR_STR_ARG(f->name));

        if (is_same && inner(f->type)->shape == COR_SHAPE_STRUCT)
            n += put_differences(m, l, whole, inner(f->type), inner(g->type), both, depth + 1);
        if (is_same || (g && !both))
            continue;
        if (l) {
            cor_gen_put(l, " *   ");
            cor_gen_put_in_comment(l, whole);
            cor_gen_put(l, ": %s\n", g ? "of different kinds" : "not in the other one");
        }
        n++;
    }
    return n;
}

/* The differences of both; `l` NULL: they are only counted. */
static size_t differences(const struct cor_gen_conversion *c, struct cor_gen_model *m,
                          struct cor_gen_lines *l)
{
    size_t a = put_differences(m, NULL, COR_STR(""), c->a, c->b, true, 0);
    size_t b = put_differences(m, NULL, COR_STR(""), c->b, c->a, false, 0);

    if (l && a > 0) {
        cor_gen_put(l, " * Of %.*s:\n", COR_STR_ARG(c->a->package->stem));
        put_differences(m, l, COR_STR(""), c->a, c->b, true, 0);
    }
    if (l && b > 0) {
        cor_gen_put(l, " * Of %.*s:\n", COR_STR_ARG(c->b->package->stem));
        put_differences(m, l, COR_STR(""), c->b, c->a, false, 0);
    }
    return a + b;
}

int cor_gen_conversion_read(struct cor_gen_model *model, struct cor_str words,
                            struct cor_gen_conversion *ret, struct cor_gen_error *reterr)
{
    struct cor_str rest = words, first = cor_str_cut(&rest, '=');
    struct cor_str kind;

    *ret = (struct cor_gen_conversion){
        cor_gen_find_kind(model, first), cor_gen_find_kind(model, rest), {"", 0}};
    if (!ret->a || !ret->b || ret->a == ret->b) {
        snprintf(reterr->message, sizeof(reterr->message),
                 "--convert: two kinds as PACKAGE.KIND=PACKAGE.KIND were expected, but it is "
                 "\"%.*s\"",
                 COR_STR_ARG(words));
        return -COR_EINVAL;
    }
    kind = cor_gen_snake_of(model, ret->a->name);
    ret->stem = cor_gen_printf(model, "%.*s_%.*s_conversion", COR_STR_ARG(ret->a->package->stem),
                               COR_STR_ARG(kind));
    return cor_gen_structs_choose(
        model, cor_gen_printf(model, "%.*s,%.*s", COR_STR_ARG(first), COR_STR_ARG(rest)), reterr);
}

static struct cor_str function_name(struct cor_gen_model *m, const struct cor_gen_type *from,
                                    const struct cor_gen_type *to)
{
    return cor_gen_printf(m, "%.*s_own_to_%.*s", COR_STR_ARG(from->c_name),
                          COR_STR_ARG(to->package->stem));
}

static void put_prototype(struct cor_gen_model *m, struct cor_gen_lines *l,
                          const struct cor_gen_type *from, const struct cor_gen_type *to,
                          const char *suffix, const char *end)
{
    struct cor_str name = function_name(m, from, to);

    cor_gen_put(l,
                "int %.*s%s(\n    struct cor_pool *pool, const struct %.*s_own *from,\n    struct "
                "%.*s_own *ret)%s",
                COR_STR_ARG(name), suffix, COR_STR_ARG(from->c_name), COR_STR_ARG(to->c_name), end);
}

static void put_head(const struct cor_gen_conversion *c, const struct cor_gen_views_opts *opts,
                     struct cor_gen_lines *l, const char *what)
{
    cor_gen_put(l, "/* %s between %.*s %.*s and %.*s %.*s, read from %s.\n", what,
                COR_STR_ARG(c->a->package->stem), COR_STR_ARG(c->a->name),
                COR_STR_ARG(c->b->package->stem), COR_STR_ARG(c->b->name), opts->source);
    cor_gen_put(l, " * Made by coracle-gen %s; do not edit.", opts->version);
}

static void write_header(struct cor_gen_model *m, const struct cor_gen_conversion *c,
                         const struct cor_gen_views_opts *opts, struct cor_gen_lines *l)
{
    struct cor_str guard = cor_gen_upper_of(m, cor_gen_printf(m, "%.*s_h", COR_STR_ARG(c->stem)));
    bool has_rest = differences(c, m, NULL) > 0;

    put_head(c, opts, l, "Conversions");
    cor_gen_put(
        l, " What they make is in the pool.\n"
           " * 0, -COR_ENOMEM, -COR_ETOOBIG, or what a function of the program returned. */\n");
    cor_gen_put(l, "#ifndef %.*s\n#define %.*s\n\n#include \"%.*s\"\n", COR_STR_ARG(guard),
                COR_STR_ARG(guard), COR_STR_ARG(cor_gen_structs_header(m, c->a->package)));
    if (c->a->package != c->b->package)
        cor_gen_put(l, "#include \"%.*s\"\n",
                    COR_STR_ARG(cor_gen_structs_header(m, c->b->package)));
    cor_gen_put(l, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    put_prototype(m, l, c->a, c->b, "", ";\n");
    put_prototype(m, l, c->b, c->a, "", ";\n");
    if (has_rest) {
        cor_gen_put(l,
                    "\n/* Write these two: they are called when what agrees has been copied, and "
                    "convert the\n * rest.\n");
        differences(c, m, l);
        cor_gen_put(l, " */\n");
        put_prototype(m, l, c->a, c->b, "_rest", ";\n");
        put_prototype(m, l, c->b, c->a, "_rest", ";\n");
    }
    cor_gen_put(
        l,
        "\n/* Converts an object of each kind with all members set to the other one and back. 0, or\n"
        " * -COR_EINVAL: what came back is not equal. */\nint %.*s_test(void);\n",
        COR_STR_ARG(c->stem));
    cor_gen_put(l, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

static void put_function(struct cor_gen_model *m, struct cor_gen_lines *l,
                         const struct cor_gen_type *from, const struct cor_gen_type *to,
                         bool has_rest)
{
    cor_gen_put(l, "\n");
    put_prototype(m, l, from, to, "", "\n{\n");
    cor_gen_put(l,
                "    int r = cor_own_convert(&%.*s_own_type, &%.*s_own_type, pool, from, ret);\n\n",
                COR_STR_ARG(from->c_name), COR_STR_ARG(to->c_name));
    if (has_rest)
        cor_gen_put(l, "    if (r == 0)\n        r = %.*s_rest(pool, from, ret);\n",
                    COR_STR_ARG(function_name(m, from, to)));
    cor_gen_put(l, "    return r;\n}\n");
}

/* One direction of the test. */
static void put_round_trip(struct cor_gen_model *m, struct cor_gen_lines *l,
                           const struct cor_gen_type *from, const struct cor_gen_type *to)
{
    cor_gen_put(l,
                "\nstatic int %.*s_there_and_back(struct cor_pool *pool)\n{\n"
                "    struct %.*s_own first, last;\n    struct %.*s_own between;\n"
                "    int r = cor_own_sample(&%.*s_own_type, pool, &first);\n\n",
                COR_STR_ARG(from->c_name), COR_STR_ARG(from->c_name), COR_STR_ARG(to->c_name),
                COR_STR_ARG(from->c_name));
    cor_gen_put(l,
                "    if (r == 0)\n        r = %.*s(pool, &first, &between);\n"
                "    if (r == 0)\n        r = %.*s(pool, &between, &last);\n"
                "    if (r == 0 && !%.*s_own_equal(&first, &last))\n        r = -COR_EINVAL;\n"
                "    return r;\n}\n",
                COR_STR_ARG(function_name(m, from, to)), COR_STR_ARG(function_name(m, to, from)),
                COR_STR_ARG(from->c_name));
}

static void write_test(struct cor_gen_model *m, const struct cor_gen_conversion *c,
                       const struct cor_gen_views_opts *opts, struct cor_gen_lines *l,
                       struct cor_str include)
{
    put_head(c, opts, l, "A test of the conversions");
    cor_gen_put(l, " */\n#include \"%.*s\"\n\n#include \"coracle/err.h\"\n", COR_STR_ARG(include));
    put_round_trip(m, l, c->a, c->b);
    put_round_trip(m, l, c->b, c->a);
    cor_gen_put(
        l,
        "\nint %.*s_test(void)\n{\n    struct cor_pool *pool;\n    int r = cor_pool_new(0, &pool);\n\n"
        "    if (r < 0)\n        return r;\n    r = %.*s_there_and_back(pool);\n"
        "    if (r == 0)\n        r = %.*s_there_and_back(pool);\n"
        "    cor_pool_free(pool);\n    return r;\n}\n",
        COR_STR_ARG(c->stem), COR_STR_ARG(c->a->c_name), COR_STR_ARG(c->b->c_name));
}

int cor_gen_conversion_write(struct cor_gen_model *model, const struct cor_gen_conversion *c,
                             const struct cor_gen_views_opts *opts, struct cor_buf *header,
                             struct cor_buf *source, struct cor_buf *test)
{
    struct cor_gen_lines h = {header, 0}, s = {source, 0}, t = {test, 0};
    struct cor_str include = cor_gen_printf(model, "%.*s.h", COR_STR_ARG(c->stem));
    bool has_rest = differences(c, model, NULL) > 0;

    write_header(model, c, opts, &h);
    put_head(c, opts, &s, "Conversions");
    cor_gen_put(&s, " */\n#include \"%.*s\"\n", COR_STR_ARG(include));
    put_function(model, &s, c->a, c->b, has_rest);
    put_function(model, &s, c->b, c->a, has_rest);
    write_test(model, c, opts, &t, include);
    if (cor_gen_model_error(model) < 0)
        return cor_gen_model_error(model);
    return h.error < 0 ? h.error : s.error < 0 ? s.error : t.error;
}
