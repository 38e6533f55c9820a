/* Writes the typed clients of a package.
 *
 * Flow: the names that the views have are noted. First every kind with metadata gets the struct of
 * its objects, since the functions of one kind may speak of another (pods/binding). Then each kind
 * with a resource gets its functions, by the verbs of the resource and of its subresources: a text
 * of client_text.c, whose places are filled. A name that is taken gets an underscore behind it. The
 * first failure sticks to the arena or to the lines and is returned at the end. */
#include "gen/clients.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gen/c_text.h"
#include "gen/client_text.h"
#include "gen/structs.h"

#define NAMES_MAX 200000

struct clients {
    struct cor_gen_model *model;
    const struct cor_gen_package *package;
    struct cor_map functions; /* names that are taken */
    struct cor_map structs;
    struct cor_gen_lines lines;
};

/* What the places of a text are filled with. */
struct places {
    const struct cor_gen_type *kind;
    const struct cor_gen_type *speaks; /* the kind of bodies and answers */
    struct cor_str function;
    struct cor_str subresource; /* empty: none */
};

static void note(struct clients *c, struct cor_map *names, struct cor_str name)
{
    if (name.n > 0 && cor_map_put(names, name, c, NULL) < 0)
        c->model->arena.error = -COR_ENOMEM;
}

/* The names of structs and accessors of views. */
static void note_views(struct clients *c)
{
    static const char *const suffixes[] = {"", "_array", "_map"};
    struct cor_gen_model *m = c->model;

    for (const struct cor_gen_type *t = c->package->types; t; t = t->next) {
        if (t->shape != COR_SHAPE_STRUCT)
            continue;
        for (size_t i = 0; i < COR_ARRAY_LEN(suffixes); i++)
            note(c, &c->structs, cor_gen_printf(m, "%.*s%s", COR_STR_ARG(t->c_name), suffixes[i]));
        if (t->is_kind)
            note(c, &c->functions, t->c_name);
        for (const struct cor_gen_field *f = t->fields; f; f = f->next)
            note(c, &c->functions,
                 cor_gen_printf(m, "%.*s_%.*s", COR_STR_ARG(t->c_name),
                                COR_STR_ARG(cor_gen_snake_of(m, f->name))));
    }
}

static bool is_taken(struct clients *c, struct cor_map *names, struct cor_str base,
                     const char *suffix)
{
    return cor_map_peek(names, cor_gen_printf(c->model, "%.*s%s", COR_STR_ARG(base), suffix));
}

/* The beginning of the names of a kind's own structs and of the functions on them. It depends on
 * the views of the kind's package alone, so that another package finds the same. */
static struct cor_str base_of(struct clients *c, const struct cor_gen_type *kind)
{
    static const char *const structs[] = {"_object",  "_items",   "_watch", "_informer",
                                          "_handler", "_each_fn", "_index", "_each"};
    static const char *const functions[] = {
        "_object_view",
        "_object_of",
        "_object_build",
        "_object_unref",
        "_object_of_own",
        "_object_own",
        "_items_at",
        "_items_deinit",
        "_watch_on_event",
        "_watch_on_done",
        "_handler_on_add",
        "_handler_on_update",
        "_each_call",
        "_handler_on_delete",
        "_handler_on_removed",
        "_index_call",
        "_handler_on_behind",
        "_informer_get",
        "_informer_each",
        "_informer_add_handler",
        "_informer_get_by_key",
        "_each_fn",
        "_informer_get_by_index",
        "_informer_add_index",
        "_informer_each_by_index",
    };
    struct cor_str base = kind->c_name;
    bool taken = kind->package == c->package;

    while (taken && cor_gen_model_error(c->model) == 0) {
        taken = false;
        for (size_t i = 0; i < COR_ARRAY_LEN(structs); i++)
            taken |= is_taken(c, &c->structs, base, structs[i]);
        for (size_t i = 0; i < COR_ARRAY_LEN(functions); i++)
            taken |= is_taken(c, &c->functions, base, functions[i]);
        if (taken)
            base = cor_gen_printf(c->model, "%.*s_", COR_STR_ARG(base));
    }
    return base;
}

static struct cor_str resource_constant(struct clients *c, const struct cor_gen_type *kind)
{
    return cor_gen_printf(c->model, "%.*s_RESOURCE",
                          COR_STR_ARG(cor_gen_upper_of(c->model, kind->c_name)));
}

static struct cor_str fill(struct clients *c, const struct places *at, char place)
{
    struct cor_gen_model *m = c->model;
    const bool has_ns = at->kind->is_namespaced;

    switch (place) {
    case 'b':
        return base_of(c, at->kind);
    case 'v':
        return at->kind->c_name;
    case 'f':
        return at->function;
    case 'o':
        return base_of(c, at->speaks);
    case 'k':
        return at->kind->name;
    case 'a':
        return cor_gen_api_version(m, at->kind->package);
    case 'r':
        return resource_constant(c, at->kind);
    case 'n':
        return has_ns ? COR_STR("const char *ns, ") : COR_STR("");
    case 'N':
        return has_ns ? COR_STR("ns") : COR_STR("NULL");
    case 'm':
        return has_ns ? COR_STR("struct cor_str ns, ") : COR_STR("");
    case 'M':
        return has_ns ? COR_STR("ns") : COR_STR("COR_STR(\"\")");
    case 'w':
        return at->kind->package->is_wire
                   ? cor_gen_printf(m, "&%.*s_wire", COR_STR_ARG(at->kind->c_name))
                   : COR_STR("NULL");
    case 's':
        return at->subresource.n > 0 ? cor_gen_literal(m, at->subresource) : COR_STR("NULL");
    default:
        assert(!"a place that is not described");
        return COR_STR("");
    }
}

static void put_text(struct clients *c, const struct places *at, const char *text)
{
    struct cor_str rest = cor_strz(text);

    while (rest.n > 0) {
        ptrdiff_t n = cor_str_find(rest, '$');
        struct cor_str plain = n < 0 ? rest : cor_str(rest.p, (size_t)n);

        cor_gen_put(&c->lines, "%.*s", COR_STR_ARG(plain));
        rest = cor_str_from(rest, plain.n);
        if (rest.n < 2)
            continue;
        cor_gen_put(&c->lines, "%.*s", COR_STR_ARG(fill(c, at, rest.p[1])));
        rest = cor_str_from(rest, 2);
    }
}

/* A function of a verb on the resource, or on one of its subresources: pods_get, pods_get_status.
 */
static void put_verb(struct clients *c, struct places *at, const char *verb, const char *text)
{
    struct cor_gen_model *m = c->model;
    struct cor_str plural = cor_gen_snake_of(m, at->kind->plural);
    struct cor_str name = cor_gen_printf(m, "%.*s%.*s_%s", COR_STR_ARG(c->package->prefix),
                                         COR_STR_ARG(plural), verb);

    if (at->subresource.n > 0)
        name = cor_gen_printf(m, "%.*s_%.*s", COR_STR_ARG(name),
                              COR_STR_ARG(cor_gen_snake_of(m, at->subresource)));
    while (name.n > 0 && cor_map_peek(&c->functions, name))
        name = cor_gen_printf(m, "%.*s_", COR_STR_ARG(name));
    note(c, &c->functions, name);
    at->function = name;
    put_text(c, at, text);
}

struct verb_text {
    unsigned verb;
    const char *name, *text;
};

static void put_verbs(struct clients *c, struct places *at, unsigned verbs,
                      const struct verb_text *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (verbs & texts[i].verb)
            put_verb(c, at, texts[i].name, texts[i].text);
    }
}

static void put_subresources(struct clients *c, const struct cor_gen_type *kind)
{
    static const struct verb_text texts[] = {
        {COR_API_VERB_BIT(GET), "get", cor_gen_get_text},
        {COR_API_VERB_BIT(CREATE), "create", cor_gen_create_of_text},
        {COR_API_VERB_BIT(UPDATE), "update", cor_gen_update_text},
        {COR_API_VERB_BIT(PATCH), "patch", cor_gen_patch_text},
        {COR_API_VERB_BIT(PATCH), "apply", cor_gen_apply_text},
    };

    for (const struct cor_gen_subresource *s = kind->subresources; s; s = s->next) {
        struct places at = {.kind = kind, .speaks = s->type, .subresource = s->name};

        put_verbs(c, &at, s->verbs, texts, COR_ARRAY_LEN(texts));
    }
}

static void put_resource(struct clients *c, const struct cor_gen_type *kind)
{
    static const struct verb_text texts[] = {
        {COR_API_VERB_BIT(GET), "get", cor_gen_get_text},
        {COR_API_VERB_BIT(CREATE), "create", cor_gen_create_text},
        {COR_API_VERB_BIT(UPDATE), "update", cor_gen_update_text},
        {COR_API_VERB_BIT(PATCH), "patch", cor_gen_patch_text},
        {COR_API_VERB_BIT(PATCH), "apply", cor_gen_apply_text},
        {COR_API_VERB_BIT(DELETE), "delete", cor_gen_delete_text},
        {COR_API_VERB_BIT(DELETECOLLECTION), "delete_collection", cor_gen_delete_collection_text},
    };
    const unsigned follows = COR_API_VERB_BIT(LIST) | COR_API_VERB_BIT(WATCH);
    struct places at = {.kind = kind, .speaks = kind};

    put_verbs(c, &at, kind->verbs, texts, COR_ARRAY_LEN(texts));
    put_subresources(c, kind);
    if (kind->verbs & COR_API_VERB_BIT(LIST)) {
        put_text(c, &at, cor_gen_items_text);
        put_verb(c, &at, "list", cor_gen_list_text);
    }
    if (kind->verbs & COR_API_VERB_BIT(WATCH)) {
        put_text(c, &at, cor_gen_watch_struct_text);
        put_verb(c, &at, "watch", cor_gen_watch_text);
    }
    if ((kind->verbs & follows) == follows) {
        put_text(c, &at, cor_gen_informer_struct_text);
        put_verb(c, &at, "informer", cor_gen_informer_text);
    }
}

/* Returns whether the kind has objects. Lists and options are not objects. */
static bool has_objects(const struct cor_gen_type *type)
{
    if (!type->is_kind || type->package->version.n == 0)
        return false;
    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        if (cor_str_eqz(f->name, "metadata"))
            return cor_str_eqz(f->type->name, "ObjectMeta");
    }
    return false;
}

/* The header of clients beside that of views: "coracle/types/apps_v1_client.h". */
static struct cor_str client_header(struct clients *c, const struct cor_gen_package *package)
{
    return cor_gen_printf(c->model, "%.*s_client.h",
                          COR_STR_ARG(cor_str(package->header.p, package->header.n - 2)));
}

static bool speaks_of(const struct cor_gen_package *package, const struct cor_gen_package *other)
{
    for (const struct cor_gen_type *t = package->types; t && package != other; t = t->next) {
        for (const struct cor_gen_subresource *s = t->subresources; s; s = s->next) {
            if (s->type->package == other)
                return true;
        }
    }
    return false;
}

static void put_head(struct clients *c, const struct cor_gen_views_opts *opts, struct cor_str guard)
{
    const struct cor_gen_package *p = c->package;

    cor_gen_put(&c->lines,
                "/* Clients, listers and informers of %.*s, read from %s.\n"
                " * Made by coracle-gen %s; do not edit. coracle/typed.h explains how they are\n"
                " * used. */\n#ifndef %.*s\n#define %.*s\n\n#include \"coracle/typed.h\"\n",
                COR_STR_ARG(cor_gen_api_version(c->model, p)), opts->source, opts->version,
                COR_STR_ARG(guard), COR_STR_ARG(guard));
    cor_gen_put(&c->lines, "#include \"%.*s\"\n", COR_STR_ARG(p->header));
    if (cor_gen_has_structs(p))
        cor_gen_put(&c->lines, "#include \"%.*s_structs.h\"\n",
                    COR_STR_ARG(cor_str(p->header.p, p->header.n - 2)));
    for (const struct cor_gen_package *other = c->model->packages; other; other = other->next) {
        if (speaks_of(p, other))
            cor_gen_put(&c->lines, "#include \"%.*s\"\n", COR_STR_ARG(client_header(c, other)));
    }
    cor_gen_put(&c->lines,
                "\n#ifdef __cplusplus\nextern \"C\" {\nCOR_STRUCT_NAMES_BEGIN\n#endif\n");
}

int cor_gen_clients(struct cor_gen_model *model, const struct cor_gen_package *package,
                    const struct cor_gen_views_opts *opts, struct cor_buf *header,
                    struct cor_buf *source)
{
    struct clients c = {.model = model, .package = package, .lines = {header, 0}};
    struct cor_str guard = cor_gen_upper_of(
        model, cor_gen_printf(model, "%.*sclient_h", COR_STR_ARG(package->prefix)));

    cor_map_init(&c.functions, NAMES_MAX);
    cor_map_init(&c.structs, NAMES_MAX);
    note_views(&c);
    put_head(&c, opts, guard);
    for (const struct cor_gen_type *t = package->types; t; t = t->next) {
        const struct places at = {.kind = t, .speaks = t};

        if (has_objects(t))
            put_text(&c, &at, cor_gen_object_text);
        if (has_objects(t) && t->is_owned)
            put_text(&c, &at, cor_gen_own_text);
    }
    for (const struct cor_gen_type *t = package->types; t; t = t->next) {
        if (has_objects(t) && t->plural.n > 0)
            put_resource(&c, t);
    }
    cor_gen_put(&c.lines, "\n#ifdef __cplusplus\nCOR_STRUCT_NAMES_END\n}\n#endif\n\n#endif\n");
    cor_map_deinit(&c.functions);
    cor_map_deinit(&c.structs);
    return cor_gen_model_error(model) < 0 ? cor_gen_model_error(model) : c.lines.error;
}
