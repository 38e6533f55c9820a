/* clang-format off */
/* Merges documents of version 2.
 *
 *   local ──► items of three parts (paths, definitions, parameters), by name
 *   each other document:
 *     room_for        is there room for it?
 *     names_choose    each of its definitions and parameters: equal to one that is there, new, or
 *                     renamed
 *     part_take       its items join the parts; references are renamed in a copy of the bytes
 *   ──► the members of local as they are, with the items of the three parts
 *
 * An item is a span of the bytes of its document, unless it was changed: then it is a copy in the
 * arena. Items keep the order in which they came.
 *
 * Failures: no memory. A list of kinds that is none is not joined; a document for whose members there are
 * no names is left out. */
/* clang-format on */
#include "server/docs/openapi_merge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/docs/openapi_docs.h"
#include "server/docs/openapi_same.h"
#include "server/docs/openapi_spec.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define NAME_TRIES 100 /* numbers that are tried for a name */
#define KINDS_MAX  256 /* that one definition may stand for; more are not joined */

/* A path, a definition or a parameter of the result. */
struct item {
    struct cor_str name; /* raw text */
    struct cor_str bytes;
    bool is_local;
    struct item *next; /* in the order of the result */
};

struct items {
    struct item *first, **end;
    struct cor_map by_name;
};

struct merge {
    struct cor_arena arena;
    struct items paths, definitions, parameters;
    size_t bytes; /* of the result, at most */
};

/* A document that is merged in. */
struct source {
    struct cor_openapi_spec spec;
    /* For each of its definitions and parameters: its name in the result; p == NULL: the same. */
    struct cor_str *definition_names, *parameter_names;
};

static void items_init(struct items *items)
{
    *items = (struct items){.end = &items->first};
    cor_map_init(&items->by_name, 4 * COR_OPENAPI_MEMBERS_MAX);
}

static int items_add(struct merge *m, struct items *items, struct cor_str name,
                     struct cor_str bytes, bool is_local)
{
    struct item *item = cor_arena_alloc(&m->arena, sizeof(*item));
    int r;

    if (!item)
        return m->arena.error;
    *item = (struct item){.name = name, .bytes = bytes, .is_local = is_local};
    r = cor_map_put(&items->by_name, name, item, NULL);
    if (r < 0)
        return r;
    *items->end = item;
    items->end = &item->next;
    return 0;
}

static int items_add_local(struct merge *m, struct items *items,
                           const struct cor_openapi_spec *spec, const struct cor_openapi_part *part)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < part->n; i++)
        r = items_add(m, items, part->v[i].name,
                      cor_json_node_bytes(&spec->nodes, part->v[i].value), true);
    return r;
}

/* --- Names ------------------------------------------------------------------------------------ */

/* Is the item the same as `bytes`? An item of our own document is not canonical. */
static int item_same(const struct item *item, struct cor_str bytes, bool *ret_same)
{
    static const struct cor_json_limits limits = {.bytes_max = COR_OPENAPI_BYTES_MAX,
                                                  .depth_max = COR_JSON_DEPTH_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical = {0};
    int r;

    if (!item->is_local) {
        *ret_same = cor_openapi_same(item->bytes, bytes, false);
        return 0;
    }
    cor_buf_init(&canonical, COR_OPENAPI_BYTES_MAX);
    r = cor_json_canonicalize(item->bytes, &limits, &canonical, NULL, NULL);
    if (r == 0)
        *ret_same = cor_openapi_same(cor_buf_str(&canonical), bytes, true);
    return r;
}

static struct cor_str name_numbered(struct merge *m, struct cor_str name, unsigned number)
{
    char suffix[16];
    int n = snprintf(suffix, sizeof(suffix), "_v%u", number);
    char *p = cor_arena_alloc(&m->arena, name.n + (size_t)n);

    if (!p)
        return (struct cor_str){0};
    memcpy(p, name.p, name.n);
    memcpy(p + name.n, suffix, (size_t)n);
    return cor_str(p, name.n + (size_t)n);
}

/* Chooses the name of an item that is there with other content. The first number whose item is the
 * same is taken; else the first that neither the result nor the source has. */
static int name_rename(struct merge *m, const struct items *items,
                       const struct cor_openapi_part *part, const struct cor_openapi_member *member,
                       struct cor_str bytes, struct cor_str *ret_name)
{
    bool is_same = false;
    int r = 0;

    for (unsigned number = 2; number < NAME_TRIES; number++) {
        struct cor_str name = name_numbered(m, member->name, number);
        const struct item *item;

        if (!name.p)
            return m->arena.error;
        item = cor_map_peek(&items->by_name, name);
        if (item)
            r = item_same(item, bytes, &is_same);
        if (r < 0)
            return r;
        if ((item && is_same) || (!item && !cor_map_peek(&part->by_name, name))) {
            *ret_name = name;
            return 0;
        }
    }
    return -COR_ETOOBIG;
}

/* Chooses names for all members of a part. */
static int names_choose(struct merge *m, const struct items *items, const struct source *s,
                        const struct cor_openapi_part *part, struct cor_str *ret_names)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < part->n; i++) {
        const struct item *item = cor_map_peek(&items->by_name, part->v[i].name);
        struct cor_str bytes = cor_json_node_bytes(&s->spec.nodes, part->v[i].value);
        bool is_same = true;

        if (item)
            r = item_same(item, bytes, &is_same);
        if (r == 0 && !is_same)
            r = name_rename(m, items, part, &part->v[i], bytes, &ret_names[i]);
    }
    return r;
}

/* --- References ---------------------------------------------------------------------------------
 */

/* Copies a value while references are renamed. */
struct renaming {
    const struct source *source;
    struct cor_buf out;
    const char *from; /* what comes next */
};

static int renaming_on_ref(void *arg, struct cor_openapi_spec *spec, uint32_t node)
{
    const struct cor_openapi_member *member = cor_openapi_referred(spec, node);
    struct cor_str raw = cor_json_node_raw(&spec->nodes, node), name = {0};
    struct renaming *renaming = arg;
    bool is_definition;
    int r;

    if (!member)
        return 0;
    is_definition = cor_str_starts(raw, COR_STR(COR_OPENAPI_DEFINITION_PREFIX));
    name = is_definition ? renaming->source->definition_names[member - spec->definitions.v]
                         : renaming->source->parameter_names[member - spec->parameters.v];
    if (!name.p)
        return 0;
    /* The reference ends with the old name. */
    r = cor_buf_add(&renaming->out, renaming->from,
                    (size_t)(raw.p + raw.n - member->name.n - renaming->from));
    if (r == 0)
        r = cor_buf_adds(&renaming->out, name);
    renaming->from = raw.p + raw.n;
    return r;
}

/* The bytes of a value with its references renamed: a span of the source, or a copy. */
static int value_rename(struct merge *m, struct source *s, uint32_t node, struct cor_str *ret_bytes)
{
    struct cor_str bytes = cor_json_node_bytes(&s->spec.nodes, node);
    struct renaming renaming = {.source = s, .from = bytes.p};
    int r;

    cor_buf_init(&renaming.out, COR_OPENAPI_BYTES_MAX);
    r = cor_openapi_each_ref(&s->spec, node, renaming_on_ref, &renaming);
    *ret_bytes = bytes;
    if (r == 0 && renaming.from != bytes.p) {
        r = cor_buf_add(&renaming.out, renaming.from, (size_t)(bytes.p + bytes.n - renaming.from));
        if (r == 0) {
            *ret_bytes = cor_arena_copy(&m->arena, cor_buf_str(&renaming.out));
            r = m->arena.error;
        }
    }
    cor_buf_deinit(&renaming.out);
    return r;
}

/* --- Kinds --------------------------------------------------------------------------------------
 */

/* A kind that a definition stands for, by "group/version.kind". */
struct kind {
    struct cor_str bytes;
    struct cor_str group, version, name; /* raw texts */
};

/* Adds what there is room for; how much? */
static size_t text_add(char *to, size_t n, size_t max, struct cor_str text)
{
    size_t more = text.n < max - n ? text.n : max - n;

    memcpy(to + n, text.p, more);
    return more;
}

static bool kind_eq(const struct kind *a, const struct kind *b)
{
    return cor_str_eq(a->name, b->name) && cor_str_eq(a->group, b->group) &&
           cor_str_eq(a->version, b->version);
}

static int kind_cmp(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    const struct cor_str xs[] = {x->group, COR_STR("/"), x->version, COR_STR("."), x->name};
    const struct cor_str ys[] = {y->group, COR_STR("/"), y->version, COR_STR("."), y->name};
    char x_key[512], y_key[512];
    size_t nx = 0, ny = 0;

    /* As upstream compares: one text. */
    for (size_t i = 0; i < COR_ARRAY_LEN(xs); i++) {
        nx += text_add(x_key, nx, sizeof(x_key), xs[i]);
        ny += text_add(y_key, ny, sizeof(y_key), ys[i]);
    }
    return cor_str_cmp(cor_str(x_key, nx), cor_str(y_key, ny));
}

static bool text_of(struct cor_str object, const char *key, struct cor_str *ret_raw)
{
    struct cor_str value;

    return cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0 &&
           cor_json_to_raw(value, ret_raw) == 0;
}

/* Adds the kinds of a list to `kinds`; those that are there already only once. False: it is not a
 * list of kinds, or there are too many. */
static bool kinds_add(struct kind *kinds, size_t *n, struct cor_str list)
{
    struct cor_json_iter it = cor_json_iter(list);

    if (cor_json_type(list) != COR_JSON_ARRAY)
        return false;
    while (cor_json_iter_elem(&it)) {
        struct kind kind = {.bytes = cor_json_iter_value(&it)};
        size_t i = 0;

        if (!text_of(kind.bytes, "group", &kind.group) ||
            !text_of(kind.bytes, "version", &kind.version) ||
            !text_of(kind.bytes, "kind", &kind.name))
            return false;
        while (i < *n && !kind_eq(&kinds[i], &kind))
            i++;
        if (i < *n)
            continue;
        if (*n == KINDS_MAX)
            return false;
        kinds[(*n)++] = kind;
    }
    return true;
}

/* The object with another list of kinds. */
static int write_kinds(struct cor_str object, const struct kind *kinds, size_t n,
                       struct cor_buf *out)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_json_writer w;
    struct cor_str key;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (cor_str_eq(key, COR_STR(COR_OPENAPI_GVK)))
            continue;
        cor_json_raw_key(&w, key);
        cor_json_raw(&w, value);
    }
    cor_json_key(&w, COR_STR(COR_OPENAPI_GVK));
    cor_json_begin_array(&w);
    for (size_t i = 0; i < n; i++)
        cor_json_raw(&w, kinds[i].bytes);
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* Joins the kinds of an equal definition with those of the item. */
static int item_join_kinds(struct merge *m, struct item *item, struct cor_str other)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};
    struct cor_str own = {0}, more;
    struct kind *kinds;
    size_t n = 0, nown;
    int r = 0;

    if (cor_json_get(other, COR_STR(COR_OPENAPI_GVK), COR_JSON_ANY_ORDER, &more) < 0)
        return 0;
    kinds = cor_calloc(KINDS_MAX, sizeof(*kinds));
    if (!kinds)
        return -COR_ENOMEM;
    if (cor_json_get(item->bytes, COR_STR(COR_OPENAPI_GVK), COR_JSON_ANY_ORDER, &own) < 0 ||
        kinds_add(kinds, &n, own)) {
        nown = n;
        if (kinds_add(kinds, &n, more) && n > nown) {
            qsort(kinds, n, sizeof(*kinds), kind_cmp);
            cor_buf_init(&out, COR_OPENAPI_BYTES_MAX);
            r = write_kinds(item->bytes, kinds, n, &out);
            if (r == 0) {
                item->bytes = cor_arena_copy(&m->arena, cor_buf_str(&out));
                r = m->arena.error;
            }
        }
    }
    cor_free(kinds);
    return r;
}

/* --- Documents ----------------------------------------------------------------------------------
 */

/* Takes the members of a part that are not there yet. `names` are those in the result; NULL: the
 * part has no others. */
static int part_take(struct merge *m, struct items *items, struct source *s,
                     const struct cor_openapi_part *part, const struct cor_str *names)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < part->n; i++) {
        struct cor_str name = names && names[i].p ? names[i] : part->v[i].name, bytes;
        struct item *item = cor_map_peek(&items->by_name, name);

        if (item && items == &m->definitions)
            r = item_join_kinds(m, item, cor_json_node_bytes(&s->spec.nodes, part->v[i].value));
        if (item)
            continue;
        r = value_rename(m, s, part->v[i].value, &bytes);
        if (r == 0)
            r = items_add(m, items, name, bytes, false);
    }
    return r;
}

static bool has_new_path(const struct merge *m, const struct source *s)
{
    for (size_t i = 0; i < s->spec.paths.n; i++) {
        if (!cor_map_peek(&m->paths.by_name, s->spec.paths.v[i].name))
            return true;
    }
    return false;
}

static int source_merge(struct merge *m, struct source *s)
{
    struct cor_openapi_spec *spec = &s->spec;
    int r;

    if (!has_new_path(m, s))
        return 0;
    s->definition_names = cor_calloc(spec->definitions.n + 1, sizeof(struct cor_str));
    s->parameter_names = cor_calloc(spec->parameters.n + 1, sizeof(struct cor_str));
    if (!s->definition_names || !s->parameter_names)
        return -COR_ENOMEM;
    r = names_choose(m, &m->definitions, s, &spec->definitions, s->definition_names);
    if (r == 0)
        r = names_choose(m, &m->parameters, s, &spec->parameters, s->parameter_names);
    if (r == -COR_ETOOBIG) /* no name is free for one of its members: it is left out */
        return 0;
    if (r == 0)
        r = part_take(m, &m->definitions, s, &spec->definitions, s->definition_names);
    if (r == 0)
        r = part_take(m, &m->parameters, s, &spec->parameters, s->parameter_names);
    if (r == 0)
        r = part_take(m, &m->paths, s, &spec->paths, NULL);
    return r;
}

static void write_items(struct cor_json_writer *w, const struct items *items)
{
    cor_json_begin_object(w);
    for (const struct item *item = items->first; item; item = item->next) {
        cor_json_raw_key(w, item->name);
        cor_json_raw(w, item->bytes);
    }
    cor_json_end_object(w);
}

static int merge_write(const struct merge *m, const struct cor_openapi_spec *local,
                       struct cor_buf *out)
{
    const struct cor_json_nodes *nodes = &local->nodes;
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    for (uint32_t i = 1; i < nodes->v[0].end; i = cor_json_node_next(nodes, i + 1)) {
        cor_json_raw_key(&w, cor_json_node_raw(nodes, i));
        if (i + 1 == local->paths.node)
            write_items(&w, &m->paths);
        else if (i + 1 == local->definitions.node)
            write_items(&w, &m->definitions);
        else if (i + 1 == local->parameters.node)
            write_items(&w, &m->parameters);
        else
            cor_json_raw(&w, cor_json_node_bytes(nodes, i + 1));
    }
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* A document may grow by the numbers of its references, and its kinds join those of others. */
static bool room_for(const struct merge *m, struct cor_str other, const struct cor_buf *out)
{
    size_t n = m->bytes + 2 * other.n;

    return n <= COR_OPENAPI_BYTES_MAX && out->n + n <= out->max;
}

static int merge_others(struct merge *m, struct source *sources, const struct cor_str *others,
                        size_t n, const struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (!room_for(m, others[i], out))
            continue;
        m->bytes += 2 * others[i].n;
        r = cor_openapi_spec_init(&sources[i].spec, others[i]);
        if (r == 0)
            r = source_merge(m, &sources[i]);
    }
    return r;
}

static void source_deinit(struct source *s)
{
    cor_free(s->definition_names);
    cor_free(s->parameter_names);
    if (s->spec.nodes.v)
        cor_openapi_spec_deinit(&s->spec);
}

int cor_openapi_merge(struct cor_str local, const struct cor_str *others, size_t n,
                      struct cor_buf *out)
{
    struct merge m = {.bytes = local.n};
    struct source *sources = cor_calloc(n + 1, sizeof(*sources));
    int r;

    assert(out && (others || n == 0));
    if (!sources)
        return -COR_ENOMEM;
    /* Copies of changed values, and an item for each member. */
    cor_arena_init(&m.arena, 8 * COR_OPENAPI_BYTES_MAX);
    items_init(&m.paths);
    items_init(&m.definitions);
    items_init(&m.parameters);
    r = cor_openapi_spec_init(&sources[n].spec, local);
    if (r == 0)
        r = items_add_local(&m, &m.paths, &sources[n].spec, &sources[n].spec.paths);
    if (r == 0)
        r = items_add_local(&m, &m.definitions, &sources[n].spec, &sources[n].spec.definitions);
    if (r == 0)
        r = items_add_local(&m, &m.parameters, &sources[n].spec, &sources[n].spec.parameters);
    if (r == 0)
        r = merge_others(&m, sources, others, n, out);
    if (r == 0)
        r = merge_write(&m, &sources[n].spec, out);
    for (size_t i = 0; i <= n; i++)
        source_deinit(&sources[i]);
    cor_free(sources);
    cor_map_deinit(&m.paths.by_name);
    cor_map_deinit(&m.definitions.by_name);
    cor_map_deinit(&m.parameters.by_name);
    cor_arena_deinit(&m.arena);
    return r;
}
