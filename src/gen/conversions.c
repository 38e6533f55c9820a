/* Writes conversions.
 *
 * Flow: the fields of the two types are compared by their names, and those of structs inside them,
 * and what was declared to be renamed is one; what differs is listed in a comment, and then both
 * directions have a function of the program, whose name ends in _rest, which is called when the
 * fields that agree have been copied. The header declares four functions or two, the source has
 * two, and the test goes from a sample of each kind to the other one and back. */
#include "gen/conversions.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gen/c_text.h"
#include "gen/structs.h"
#include "schema/types/conversion_data.h"

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

static struct cor_str joined(struct cor_gen_model *m, struct cor_str parent, struct cor_str name)
{
    return cor_gen_printf(m, "%.*s%s%.*s", COR_STR_ARG(parent), parent.n > 0 ? "." : "",
                          COR_STR_ARG(name));
}

static bool is_same_shape(const struct cor_gen_field *f, const struct cor_gen_field *g)
{
    return f->type->shape == g->type->shape && inner(f->type)->shape == inner(g->type)->shape;
}

/* Two structs that were compared. */
struct pair {
    const struct cor_gen_type *here, *there;
    struct pair *next;
};

/* What the differences of one side are looked for with. */
struct walk {
    struct cor_gen_model *m;
    const struct cor_gen_conversion *c;
    struct cor_gen_lines *l; /* NULL: they are only counted */
    bool is_b;               /* of b, to a */
    struct pair *seen;       /* in the model's arena */
};

/* Is this the first time that the two are met? Types may hold each other and themselves, and all
 * ways through them are more than can be gone. */
static bool see(struct walk *w, const struct cor_gen_type *here, const struct cor_gen_type *there)
{
    struct pair *p = w->seen;

    while (p && !(p->here == here && p->there == there))
        p = p->next;
    if (p)
        return false;
    p = cor_arena_alloc(&w->m->arena, sizeof(*p));
    if (!p)
        return false;
    *p = (struct pair){here, there, w->seen};
    w->seen = p;
    return true;
}

/* The field of `other`, a struct at `path`, that has the content of `name`. NULL: there is none, as
 * where another field is renamed to this name. */
static const struct cor_gen_field *counterpart(const struct walk *w, struct cor_str path,
                                               struct cor_str name,
                                               const struct cor_gen_type *other)
{
    bool is_taken = false;

    for (const struct cor_gen_rename *r = w->c->renames; r; r = r->next) {
        if (!cor_str_eq(r->parent, path))
            continue;
        if (cor_str_eq(w->is_b ? r->b : r->a, name))
            return field_named(other, w->is_b ? r->a : r->b);
        is_taken |= cor_str_eq(w->is_b ? r->a : r->b, name);
    }
    return is_taken ? NULL : field_named(other, name);
}

/* Lists the fields of `here` that `there` does not have, or has in another shape; the latter are of
 * both, and listed with a's. Those of two structs are listed where these are met first. Returns
 * their number. */
static size_t put_differences(struct walk *w, struct cor_str path, const struct cor_gen_type *here,
                              const struct cor_gen_type *there, unsigned depth)
{
    size_t n = 0;

    if (here == there || depth == DEPTH_MAX || !see(w, here, there))
        return 0;
    for (const struct cor_gen_field *f = here->fields; f; f = f->next) {
        const struct cor_gen_field *g = counterpart(w, path, f->name, there);
        bool is_same = g && is_same_shape(f, g);
        struct cor_str whole = joined(w->m, path, f->name);

        if (is_same && inner(f->type)->shape == COR_SHAPE_STRUCT)
            n += put_differences(w, whole, inner(f->type), inner(g->type), depth + 1);
        if (is_same || (g && w->is_b))
            continue;
        if (w->l) {
            cor_gen_put(w->l, " *   ");
            cor_gen_put_in_comment(w->l, whole);
            cor_gen_put(w->l, ": %s\n", g ? "of different kinds" : "not in the other one");
        }
        n++;
    }
    return n;
}

/* The differences of both; `l` NULL: they are only counted. */
static size_t differences(const struct cor_gen_conversion *c, struct cor_gen_model *m,
                          struct cor_gen_lines *l)
{
    size_t n = 0;

    for (int is_b = 0; is_b < 2; is_b++) {
        const struct cor_gen_type *here = is_b ? c->b : c->a, *there = is_b ? c->a : c->b;
        struct walk w = {.m = m, .c = c, .is_b = is_b};
        size_t found = put_differences(&w, COR_STR(""), here, there, 0);

        n += found;
        if (!l || found == 0)
            continue;
        cor_gen_put(l, " * Of %.*s:\n", COR_STR_ARG(here->package->stem));
        w.l = l;
        w.seen = NULL;
        put_differences(&w, COR_STR(""), here, there, 0);
    }
    return n;
}

/* The struct at a path; NULL: there is none. */
static const struct cor_gen_type *struct_at(const struct cor_gen_type *type, struct cor_str path)
{
    while (type && path.n > 0) {
        const struct cor_gen_field *f = field_named(type, cor_str_cut(&path, '.'));

        type = f ? inner(f->type) : NULL;
    }
    return type && type->shape == COR_SHAPE_STRUCT ? type : NULL;
}

static void add_rename(struct cor_gen_model *model, struct cor_gen_conversion *c,
                       struct cor_str parent, struct cor_str a, struct cor_str b)
{
    struct cor_gen_rename **end = &c->renames;
    struct cor_gen_rename *made = cor_arena_alloc(&model->arena, sizeof(*made));

    if (!made)
        return;
    *made = (struct cor_gen_rename){.parent = parent,
                                    .a = a,
                                    .b = b,
                                    .a_type = struct_at(c->a, parent),
                                    .b_type = struct_at(c->b, parent)};
    while (*end)
        end = &(*end)->next;
    *end = made;
}

/* "spec" and "crew" of "spec.crew". */
static struct cor_str cut_parent(struct cor_str *path)
{
    size_t n = path->n;
    struct cor_str parent;

    while (n > 0 && path->p[n - 1] != '.')
        n--;
    parent = cor_str(path->p, n > 0 ? n - 1 : 0);
    *path = cor_str(path->p + n, path->n - n);
    return parent;
}

static int refuse_rename(struct cor_gen_error *reterr, struct cor_str words, const char *why)
{
    snprintf(reterr->message, sizeof(reterr->message),
             "--convert: %s, but it is \"%.*s\": convert it in the function that ends in _rest",
             why, COR_STR_ARG(words));
    return -COR_EINVAL;
}

/* Reads one part of a conversion, a word behind the names of its two kinds. */
static int read_part(struct cor_gen_model *model, struct cor_gen_conversion *c,
                     struct cor_str words, struct cor_gen_error *reterr)
{
    struct cor_str b = words, a = cor_str_cut(&b, '='), a_parent, b_parent;
    const struct cor_gen_type *at_a, *at_b;
    const struct cor_gen_field *f, *g;

    if (cor_str_eqz(words, "settles")) {
        c->settles = true;
        return 0;
    }
    a_parent = cut_parent(&a);
    b_parent = cut_parent(&b);
    if (!cor_str_eq(a_parent, b_parent))
        return refuse_rename(reterr, words, "two members of one struct were expected");
    at_a = struct_at(c->a, a_parent);
    at_b = struct_at(c->b, b_parent);
    f = at_a ? field_named(at_a, a) : NULL;
    g = at_b ? field_named(at_b, b) : NULL;
    if (!f || !g || at_a == at_b)
        return refuse_rename(reterr, words,
                             "a member of the first kind and one of the second were expected");
    if (!is_same_shape(f, g))
        return refuse_rename(reterr, words, "two members of the same shape were expected");
    add_rename(model, c, a_parent, a, b);
    return 0;
}

/* What the project's data says of the two kinds. */
static void take_declared(struct cor_gen_model *model, struct cor_gen_conversion *c,
                          struct cor_str a, struct cor_str b)
{
    if (c->a->package->is_structural || c->b->package->is_structural)
        return;
    for (size_t i = 0; cor_conversions_declared[i]; i++) {
        const struct cor_conversion_data *d = cor_conversions_declared[i];
        bool is_turned = cor_str_eq(d->a, b) && cor_str_eq(d->b, a);

        if (!is_turned && !(cor_str_eq(d->a, a) && cor_str_eq(d->b, b)))
            continue;
        c->settles = d->settles && !is_turned;
        for (size_t j = 0; j < d->nrenamed; j++)
            add_rename(model, c, d->renamed[j].parent,
                       is_turned ? d->renamed[j].b : d->renamed[j].a,
                       is_turned ? d->renamed[j].a : d->renamed[j].b);
    }
}

int cor_gen_conversion_read(struct cor_gen_model *model, struct cor_str words,
                            struct cor_gen_conversion *ret, struct cor_gen_error *reterr)
{
    struct cor_str parts = words, rest = cor_str_cut(&parts, ':'), first;
    struct cor_str kind;
    int r = 0;

    first = cor_str_cut(&rest, '=');
    *ret = (struct cor_gen_conversion){.a = cor_gen_find_kind(model, first),
                                       .b = cor_gen_find_kind(model, rest)};
    if (cor_str_find(first, '.') >= 0 && cor_str_find(rest, '.') >= 0 && (!ret->a || !ret->b)) {
        struct cor_str missing = ret->a ? rest : first;

        snprintf(reterr->message, sizeof(reterr->message),
                 "--convert: the input has no kind %.*s; --list prints those of it",
                 COR_STR_ARG(missing));
        return -COR_EINVAL;
    }
    if (!ret->a || !ret->b || ret->a == ret->b) {
        snprintf(reterr->message, sizeof(reterr->message),
                 "--convert: two kinds as PACKAGE.KIND=PACKAGE.KIND were expected, but it is "
                 "\"%.*s\"",
                 COR_STR_ARG(words));
        return -COR_EINVAL;
    }
    take_declared(model, ret, first, rest);
    while (r == 0 && parts.n > 0)
        r = read_part(model, ret, cor_str_cut(&parts, ':'), reterr);
    if (r < 0)
        return r;
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
                          const char *api, const char *suffix, const char *end)
{
    struct cor_str name = function_name(m, from, to);

    cor_gen_put(
        l,
        "%sint %.*s%s(\n    struct cor_pool *pool, const struct %.*s_own *from,\n    struct "
        "%.*s_own *ret)%s",
        api, COR_STR_ARG(name), suffix, COR_STR_ARG(from->c_name), COR_STR_ARG(to->c_name), end);
}

static void put_head(const struct cor_gen_conversion *c, const struct cor_gen_views_opts *opts,
                     struct cor_gen_lines *l, const char *what)
{
    cor_gen_put(l, "/* %s between %.*s %.*s and %.*s %.*s, read from %s.\n", what,
                COR_STR_ARG(c->a->package->stem), COR_STR_ARG(c->a->name),
                COR_STR_ARG(c->b->package->stem), COR_STR_ARG(c->b->name), opts->source);
    cor_gen_put(l, " * Made by coracle-gen %s; do not edit.", opts->version);
}

static void put_test_prototype(struct cor_gen_lines *l, const struct cor_gen_conversion *c)
{
    cor_gen_put(
        l,
        "\n/* Converts an object of each kind with all members set to the other one and back. 0, or\n"
        " * -COR_EINVAL: what came back is not equal. */\nint %.*s_test(void);\n",
        COR_STR_ARG(c->stem));
}

static void write_header(struct cor_gen_model *m, const struct cor_gen_conversion *c,
                         const struct cor_gen_views_opts *opts, struct cor_gen_lines *l)
{
    struct cor_str guard = cor_gen_upper_of(m, cor_gen_printf(m, "%.*s_h", COR_STR_ARG(c->stem)));
    bool has_rest = differences(c, m, NULL) > 0;
    const char *api = opts->is_exported ? "COR_API " : "";

    put_head(c, opts, l, "Conversions");
    cor_gen_put(
        l, " What they make is in the pool.\n"
           " * 0, -COR_ENOMEM, -COR_ETOOBIG, or what a function of the program returned. */\n");
    cor_gen_put(l, "#ifndef %.*s\n#define %.*s\n\n#include \"%.*s\"\n", COR_STR_ARG(guard),
                COR_STR_ARG(guard), COR_STR_ARG(cor_gen_structs_header(m, c->a->package)));
    if (c->a->package != c->b->package)
        cor_gen_put(l, "#include \"%.*s\"\n",
                    COR_STR_ARG(cor_gen_structs_header(m, c->b->package)));
    cor_gen_put(l, "\n#ifdef __cplusplus\nextern \"C\" {\nCOR_STRUCT_NAMES_BEGIN\n#endif\n\n");
    put_prototype(m, l, c->a, c->b, api, "", ";\n");
    put_prototype(m, l, c->b, c->a, api, "", ";\n");
    if (has_rest) {
        cor_gen_put(l,
                    "\n/* %s: they are called when what agrees has been copied, and convert "
                    "the\n * rest.\n",
                    opts->is_exported ? "The library has these two" : "Write these two");
        differences(c, m, l);
        cor_gen_put(l, " */\n");
        put_prototype(m, l, c->a, c->b, "", "_rest", ";\n");
        put_prototype(m, l, c->b, c->a, "", "_rest", ";\n");
    }
    if (!opts->is_exported)
        put_test_prototype(l, c);
    cor_gen_put(l, "\n#ifdef __cplusplus\nCOR_STRUCT_NAMES_END\n}\n#endif\n\n#endif\n");
}
static void put_renames(struct cor_gen_lines *l, const struct cor_gen_conversion *c)
{
    if (!c->renames)
        return;
    cor_gen_put(l, "\nstatic const struct cor_own_rename %.*s_renames[] = {\n",
                COR_STR_ARG(c->stem));
    for (const struct cor_gen_rename *r = c->renames; r; r = r->next)
        cor_gen_put(l, "    {&%.*s_own_type, \"%.*s\", &%.*s_own_type, \"%.*s\"},\n",
                    COR_STR_ARG(r->a_type->c_name), COR_STR_ARG(r->a),
                    COR_STR_ARG(r->b_type->c_name), COR_STR_ARG(r->b));
    cor_gen_put(l, "};\n");
}

static void put_function(struct cor_gen_model *m, struct cor_gen_lines *l,
                         const struct cor_gen_conversion *c, bool is_back, bool has_rest)
{
    const struct cor_gen_type *from = is_back ? c->b : c->a, *to = is_back ? c->a : c->b;

    cor_gen_put(l, "\n");
    put_prototype(m, l, from, to, "", "", "\n{\n");
    if (c->renames)
        cor_gen_put(
            l,
            "    int r = cor_own_convert_renamed(\n        &%.*s_own_type, &%.*s_own_type,\n"
            "        %.*s_renames,\n        sizeof(%.*s_renames) / sizeof(*%.*s_renames),\n"
            "        pool, from, ret);\n\n",
            COR_STR_ARG(from->c_name), COR_STR_ARG(to->c_name), COR_STR_ARG(c->stem),
            COR_STR_ARG(c->stem), COR_STR_ARG(c->stem));
    else
        cor_gen_put(
            l, "    int r = cor_own_convert(&%.*s_own_type, &%.*s_own_type, pool, from, ret);\n\n",
            COR_STR_ARG(from->c_name), COR_STR_ARG(to->c_name));
    if (has_rest)
        cor_gen_put(l, "    if (r == 0)\n        r = %.*s_rest(pool, from, ret);\n",
                    COR_STR_ARG(function_name(m, from, to)));
    cor_gen_put(l, "    return r;\n}\n");
}

static void put_trip(struct cor_gen_model *m, struct cor_gen_lines *l,
                     const struct cor_gen_type *from, const struct cor_gen_type *to,
                     const char *first, const char *last)
{
    cor_gen_put(l,
                "    if (r == 0)\n        r = %.*s(pool, &%s, &between);\n"
                "    if (r == 0)\n        r = %.*s(pool, &between, &%s);\n",
                COR_STR_ARG(function_name(m, from, to)), first,
                COR_STR_ARG(function_name(m, to, from)), last);
}

/* One direction of the test. `settles`: what is compared has made the way once before. */
static void put_round_trip(struct cor_gen_model *m, struct cor_gen_lines *l,
                           const struct cor_gen_type *from, const struct cor_gen_type *to,
                           bool settles)
{
    cor_gen_put(l,
                "\nstatic int %.*s_there_and_back(struct cor_pool *pool)\n{\n"
                "    struct %.*s_own %sfirst, last;\n    struct %.*s_own between;\n"
                "    int r = cor_own_sample(&%.*s_own_type, pool, &%s);\n\n",
                COR_STR_ARG(from->c_name), COR_STR_ARG(from->c_name), settles ? "sample, " : "",
                COR_STR_ARG(to->c_name), COR_STR_ARG(from->c_name), settles ? "sample" : "first");
    if (settles)
        put_trip(m, l, from, to, "sample", "first");
    put_trip(m, l, from, to, "first", "last");
    cor_gen_put(l,
                "    if (r == 0 && !%.*s_own_equal(&first, &last))\n        r = -COR_EINVAL;\n"
                "    return r;\n}\n",
                COR_STR_ARG(from->c_name));
}

static void write_test(struct cor_gen_model *m, const struct cor_gen_conversion *c,
                       const struct cor_gen_views_opts *opts, struct cor_gen_lines *l,
                       struct cor_str include)
{
    put_head(c, opts, l, "A test of the conversions");
    cor_gen_put(l, " */\n#include \"%.*s\"\n\n#include \"coracle/err.h\"\n", COR_STR_ARG(include));
    if (opts->is_exported)
        put_test_prototype(l, c);
    put_round_trip(m, l, c->a, c->b, false);
    put_round_trip(m, l, c->b, c->a, c->settles);
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
    const struct cor_gen_package *package = c->a->package; /* its folder is the conversion's */
    struct cor_str include = cor_gen_printf(
        model, "%.*s%.*s.h", (int)(package->header.n - package->stem.n - strlen(".h")),
        package->header.p, COR_STR_ARG(c->stem));
    bool has_rest = differences(c, model, NULL) > 0;

    write_header(model, c, opts, &h);
    put_head(c, opts, &s, "Conversions");
    cor_gen_put(&s, " */\n#include \"%.*s\"\n", COR_STR_ARG(include));
    put_renames(&s, c);
    put_function(model, &s, c, false, has_rest);
    put_function(model, &s, c, true, has_rest);
    write_test(model, c, opts, &t, include);
    if (cor_gen_model_error(model) < 0)
        return cor_gen_model_error(model);
    return h.error < 0 ? h.error : s.error < 0 ? s.error : t.error;
}
