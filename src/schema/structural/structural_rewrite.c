/* clang-format off */
/* Rewrites an object by its schema, in one walk over its bytes and the nodes of the schema side by
 * side. Upstream has three walks, one behind the other; what each of them does at a member depends
 * on the member and its schema alone, so that one walk does the same:
 *
 *   prune     a member that the schema does not know is cut out, and its path is noted
 *   nulls     null is cut out where the schema allows none and has no default
 *   default   null is replaced by the default, and an absent property is inserted with it; the
 *             default is walked as well, because its own members may have defaults
 *
 * The output is made of edits: bytes that stay are copied in long runs, when the next edit is met
 * or at the end. An object without an edit is not copied at all.
 *
 *   source   {"a":1,"b":{"x":2},"d":4}
 *   edits           cut ────────┘ └─ insert "c":3 before this member
 *
 * Failures: out of memory, or the output's maximum; both stick, and the output is cut back.
 * Recursion is bounded by the depth of JSON and, for defaults, by the depth of the schema.
 * Thread: any. */
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/go/go_text.h"
#include "schema/structural/embedded.h"
#include "schema/structural/numbers.h"
#include "schema/structural/structural_int.h"
#include "schema/structural/way.h"
#include "json/text/scan.h"

/* The texts of all unknown paths together. */
#define UNKNOWN_BYTES_MAX (4u << 20)
#define WHY_MAX           (64u << 10)
#define METADATA_MAX      (4u << 20)

struct rewrite {
    const struct cor_structural *schema;
    unsigned steps;
    struct cor_buf *out;
    const char *copied; /* the source up to here is in the output, or was cut out */
    bool is_changed;
    bool is_root; /* the next object is the outermost one */
    struct cor_structural_unknown *unknown;
    struct cor_structural_unknown *unknown_meta; /* of embedded resources; NULL: nobody asks */
    int error;
};

/* How a value is pruned. */
enum mode {
    MODE_PRUNE,    /* members that the schema does not know are dropped */
    MODE_PRESERVE, /* they are kept; what the schema knows is pruned */
    MODE_KEEP,     /* nothing is dropped, the schema does not know the value */
};

static void rewrite_note(struct rewrite *w, int r)
{
    if (r < 0 && w->error == 0)
        w->error = r;
}

/* --- Edits -------------------------------------------------------------------------------------
 */

/* Copies the source up to `to`. */
static void copy_up_to(struct rewrite *w, const char *to)
{
    assert(to >= w->copied);
    rewrite_note(w, cor_buf_add(w->out, w->copied, (size_t)(to - w->copied)));
    w->copied = to;
    w->is_changed = true;
}

static void cut(struct rewrite *w, const char *from, const char *to)
{
    copy_up_to(w, from);
    w->copied = to;
}

static void insert(struct rewrite *w, const char *at, struct cor_str text)
{
    copy_up_to(w, at);
    rewrite_note(w, cor_buf_adds(w->out, text));
}

static void rewrite_value(struct rewrite *w, const struct cor_structural_node *node, enum mode mode,
                          struct cor_json_iter *it, const struct cor_way *way);

/* Appends the default of a node with the defaults that its own members lack. */
static void write_default(struct rewrite *w, const struct cor_structural_node *node)
{
    struct cor_str json = cor_structural_text(w->schema, node->default_json);
    struct rewrite inner = {.schema = w->schema,
                            .steps = COR_STRUCTURAL_DEFAULT,
                            .out = w->out,
                            .copied = json.p,
                            .error = w->error};
    struct cor_json_iter it = {.p = json.p, .end = json.p + json.n, .value = json.p};

    if (cor_structural_is(node, COR_STRUCTURAL_DEFAULTS_BELOW))
        rewrite_value(&inner, node, MODE_KEEP, &it, NULL);
    copy_up_to(&inner, json.p + json.n);
    w->error = inner.error;
}

/* --- Unknown fields ----------------------------------------------------------------------------
 */

static void note_unknown(struct rewrite *w, struct cor_structural_unknown *unknown,
                         const struct cor_way *way, enum cor_way_style style)
{
    struct cor_str text;

    if (!unknown || unknown->n >= COR_STRUCTURAL_UNKNOWN_MAX || w->error < 0)
        return;
    rewrite_note(
        w, COR_ARRAY_RESERVE(&unknown->v, unknown->n, &unknown->cap, COR_STRUCTURAL_UNKNOWN_MAX));
    text = cor_way_print(way, style, &unknown->text);
    if (text.p && w->error == 0)
        unknown->v[unknown->n++] = text;
    else if (unknown->text.error != -COR_ETOOBIG) /* paths past the maximum are left out */
        rewrite_note(w, -COR_ENOMEM);
}

static int compare_paths(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* Sorts the paths of `more` and copies them behind those of `unknown`. */
static int append_unknown(struct cor_structural_unknown *unknown,
                          struct cor_structural_unknown *more)
{
    qsort(more->v, more->n, sizeof(more->v[0]), compare_paths);
    for (size_t i = 0; i < more->n && unknown->n < COR_STRUCTURAL_UNKNOWN_MAX; i++) {
        int r =
            COR_ARRAY_RESERVE(&unknown->v, unknown->n, &unknown->cap, COR_STRUCTURAL_UNKNOWN_MAX);
        struct cor_str path = cor_arena_copy(&unknown->text, more->v[i]);

        if (r < 0 || !path.p)
            return unknown->text.error == -COR_ETOOBIG ? 0 : -COR_ENOMEM;
        unknown->v[unknown->n++] = path;
    }
    return 0;
}

struct cor_structural_unknown *cor_structural_unknown_new(void)
{
    struct cor_structural_unknown *unknown = cor_calloc(1, sizeof(*unknown));

    if (unknown)
        cor_arena_init(&unknown->text, UNKNOWN_BYTES_MAX);
    if (unknown)
        cor_buf_init(&unknown->why, WHY_MAX);
    return unknown;
}

struct cor_structural_unknown *cor_structural_unknown_free(struct cor_structural_unknown *unknown)
{
    if (!unknown)
        return NULL;
    cor_arena_deinit(&unknown->text);
    cor_buf_deinit(&unknown->why);
    cor_free(unknown->v);
    return cor_free(unknown);
}

/* --- Embedded resources ------------------------------------------------------------------------
 */

/* The unknown fields of one metadata. */
struct meta_fields {
    struct rewrite *w;
    const struct cor_way *way; /* of the metadata */
};

static int note_unknown_meta(void *arg, struct cor_str path)
{
    struct meta_fields *fields = arg;
    struct cor_way step = {.up = fields->way, .raw_key = path};

    note_unknown(fields->w, fields->w->unknown_meta, &step, COR_WAY_BRACKETS);
    return fields->w->error;
}

/* Refuses a value that an embedded resource cannot have, in the words of a field error. */
static void refuse_embedded(struct rewrite *w, const struct cor_way *way, struct cor_str value,
                            const char *why)
{
    struct cor_buf *words;
    struct cor_str path;

    rewrite_note(w, -COR_EINVAL);
    if (!w->unknown)
        return;
    words = &w->unknown->why;
    path = cor_way_print(way, COR_WAY_BRACKETS, &w->unknown->text);
    cor_buf_reset(words);
    (void)cor_buf_addf(words, "%.*s: Invalid value: ", COR_STR_ARG(path));
    (void)(cor_json_type(value) == COR_JSON_NUMBER ? cor_go_text(value, words)
                                                   : cor_buf_adds(words, value));
    (void)cor_buf_addf(words, ": %s", why);
}

/* Rewrites apiVersion, kind or metadata of an embedded resource; `it` is at the value, and behind
 * it afterwards. */
static void rewrite_embedded(struct rewrite *w, struct cor_json_iter *it, const struct cor_way *way)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal = {.max = METADATA_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WHY_MAX};
    bool drops_invalid = w->steps & COR_STRUCTURAL_EMBEDDED_STORED;
    struct meta_fields fields = {w, way};
    struct cor_str value;
    int r;

    value = cor_json_iter_value(it);
    if (!cor_str_eqz(way->raw_key, "metadata")) {
        if (value.p[0] != '"')
            refuse_embedded(w, way, value, "must be a string");
        return;
    }
    r = cor_embedded_metadata(value, drops_invalid, &normal, &why,
                              w->unknown_meta ? note_unknown_meta : NULL, &fields);
    if (r == 1) {
        cut(w, value.p, value.p + value.n);
        rewrite_note(w, cor_buf_adds(w->out, cor_buf_str(&normal)));
    } else if (r == -COR_EINVAL) {
        if (!drops_invalid) /* upstream leaves stored metadata that is not an object as it is */
            refuse_embedded(w, way, value, cor_buf_z(&why));
    } else {
        rewrite_note(w, r);
    }
}

/* --- Objects -----------------------------------------------------------------------------------
 */

/* An object that is being walked. Members come in the order of the source, properties with a
 * default in the same order. */
struct members {
    bool has_any;          /* the output has a member of this object already */
    bool is_first;         /* the next member is the first of the source */
    bool is_outermost;     /* kind and apiVersion come before all other members */
    uint32_t next_default; /* the next property whose default may be missing */
};

/* The two members that canonical JSON has first, whatever their names are. */
static bool is_type_key(struct cor_str raw_key)
{
    return cor_str_eq(raw_key, COR_STR("kind")) || cor_str_eq(raw_key, COR_STR("apiVersion"));
}

/* Inserts the defaults of the properties that come before `raw_key`; p == NULL: of all that are
 * left. `at` is where the next member begins with its comma, or the end of the object. */
static void insert_defaults(struct rewrite *w, const struct cor_structural_node *node,
                            struct members *m, struct cor_str raw_key, const char *at)
{
    while (m->next_default < node->ndefaulted && w->error == 0) {
        uint32_t number = w->schema->numbers[node->first_defaulted + m->next_default];
        const struct cor_structural_property *property = &w->schema->properties[number];
        struct cor_str name = cor_structural_text(w->schema, property->name);
        int order = raw_key.p ? cor_json_raw_cmp(name, raw_key) : -1;

        if (order > 0)
            return;
        m->next_default++;
        if (m->is_outermost && is_type_key(name)) /* the object has them, before all others */
            continue;
        if (order == 0) /* the object has the member; what null becomes is decided there */
            return;
        insert(w, at, m->has_any ? COR_STR(",\"") : COR_STR("\""));
        rewrite_note(w, cor_buf_adds(w->out, name));
        rewrite_note(w, cor_buf_addz(w->out, "\":"));
        write_default(w, &w->schema->nodes[property->node]);
        m->has_any = true;
    }
}

/* Keeps the comma between members right when a member stays. `key` is its opening quote. */
static void keep_member(struct rewrite *w, struct members *m, const char *key)
{
    if (m->is_first && m->has_any)
        insert(w, key, COR_STR(","));
    else if (!m->is_first && !m->has_any)
        cut(w, key - 1, key);
    m->has_any = true;
    m->is_first = false;
}

/* Cuts a member out; `it` is at its value. */
static void drop_member(struct rewrite *w, struct members *m, const char *key,
                        struct cor_json_iter *it)
{
    struct cor_str value = cor_json_iter_value(it);

    cut(w, m->is_first ? key : key - 1, value.p + value.n);
    m->is_first = false;
}

/* The schema of a member and how it is pruned; false: the member is dropped. */
static bool find_member(const struct rewrite *w, const struct cor_structural_node *node,
                        enum mode mode, struct cor_str raw_key, bool is_resource,
                        const struct cor_structural_node **ret_node, enum mode *ret_mode,
                        bool *ret_additional)
{
    const struct cor_structural_node *property =
        node ? cor_structural_find(w->schema, node, raw_key) : NULL;
    bool is_pruned = w->steps & COR_STRUCTURAL_PRUNE && mode != MODE_KEEP;

    *ret_node = property || !node ? property : cor_structural_node(w->schema, node->additional);
    *ret_additional = *ret_node && !property;
    *ret_mode = MODE_KEEP;
    if (is_resource && cor_structural_is_meta(raw_key))
        return true;
    if (!is_pruned)
        return true;
    if (property || (node && cor_structural_is(node, COR_STRUCTURAL_ADDITIONAL))) {
        *ret_mode = MODE_PRUNE; /* without a schema, all members of the value are unknown */
        return true;
    }
    return mode == MODE_PRESERVE;
}

static bool is_null(const struct cor_json_iter *it)
{
    return *it->value == 'n';
}

/* Null where the schema has one and does not allow it. */
static bool is_bad_null(const struct cor_json_iter *it, const struct cor_structural_node *node)
{
    return is_null(it) && node && !cor_structural_is(node, COR_STRUCTURAL_NULLABLE);
}

/* Replaces null by the default of the node, if the node has one. Upstream replaces null by null
 * otherwise. */
static void replace_null(struct rewrite *w, const struct cor_structural_node *node,
                         struct cor_json_iter *it)
{
    struct cor_str value = cor_json_iter_value(it);

    if (!cor_structural_is(node, COR_STRUCTURAL_HAS_DEFAULT))
        return;
    cut(w, value.p, value.p + value.n);
    write_default(w, node);
}

static void rewrite_object(struct rewrite *w, const struct cor_structural_node *node,
                           enum mode mode, struct cor_json_iter *it, const struct cor_way *way)
{
    struct members m = {.is_first = true, .is_outermost = w->is_root};
    bool is_resource = w->is_root || (node && cor_structural_is(node, COR_STRUCTURAL_EMBEDDED));
    bool fills = node && node->ndefaulted > 0 && w->steps & COR_STRUCTURAL_DEFAULT;
    bool is_embedded =
        node && cor_structural_is(node, COR_STRUCTURAL_EMBEDDED) &&
        w->steps & (COR_STRUCTURAL_EMBEDDED_REQUEST | COR_STRUCTURAL_EMBEDDED_STORED);
    struct cor_str raw_key;

    w->is_root = false;
    while (w->error == 0 && cor_json_iter_member(it, &raw_key)) {
        const struct cor_structural_node *child;
        const char *key = raw_key.p - 1;
        struct cor_way step = {.up = way, .raw_key = raw_key};
        enum mode child_mode;

        if (fills && !(m.is_outermost && is_type_key(raw_key)))
            insert_defaults(w, node, &m, raw_key, m.is_first ? key : key - 1);
        if (!find_member(w, node, mode, raw_key, is_resource, &child, &child_mode,
                         &step.is_additional)) {
            note_unknown(w, w->unknown, &step, COR_WAY_PLAIN);
            drop_member(w, &m, key, it);
        } else if (is_bad_null(it, child) && w->steps & COR_STRUCTURAL_NULLS &&
                   !cor_structural_is(child, COR_STRUCTURAL_HAS_DEFAULT)) {
            drop_member(w, &m, key, it);
        } else if (is_embedded && cor_structural_is_meta(raw_key)) {
            /* The comma of the member is kept or cut out before its value is looked at. */
            if (*it->value != '"' && !cor_str_eqz(raw_key, "metadata") &&
                w->steps & COR_STRUCTURAL_EMBEDDED_STORED) {
                drop_member(w, &m, key, it);
            } else {
                keep_member(w, &m, key);
                rewrite_embedded(w, it, &step);
            }
        } else {
            keep_member(w, &m, key);
            if (is_bad_null(it, child) && w->steps & COR_STRUCTURAL_DEFAULT)
                replace_null(w, child, it);
            else
                rewrite_value(w, child, child_mode, it, &step);
        }
    }
    if (fills)
        insert_defaults(w, node, &m, cor_str(NULL, 0), it->p);
}

static void rewrite_array(struct rewrite *w, const struct cor_structural_node *node, enum mode mode,
                          struct cor_json_iter *it, const struct cor_way *way)
{
    const struct cor_structural_node *items =
        node ? cor_structural_node(w->schema, node->items) : NULL;
    struct cor_way step = {.up = way};

    /* Items of an array that preserves what is unknown preserve it, too; without a schema of their
     * own they are not looked into. */
    if (mode == MODE_PRESERVE && !items)
        mode = MODE_KEEP;
    for (; w->error == 0 && cor_json_iter_elem(it); step.index++) {
        if (is_bad_null(it, items) && w->steps & COR_STRUCTURAL_DEFAULT)
            replace_null(w, items, it);
        else
            rewrite_value(w, items, mode, it, &step);
    }
}

/* Rewrites the value that `it` is at, and moves `it` behind the value. */
static void rewrite_value(struct rewrite *w, const struct cor_structural_node *node, enum mode mode,
                          struct cor_json_iter *it, const struct cor_way *way)
{
    struct cor_json_iter inner;
    char first = *it->value;

    if (first != '{' && first != '[') {
        (void)cor_json_iter_value(it);
        return;
    }
    if (mode == MODE_KEEP && !node) { /* nothing in it can be dropped, replaced or inserted */
        (void)cor_json_iter_value(it);
        return;
    }
    if (mode == MODE_PRUNE && node && cor_structural_is(node, COR_STRUCTURAL_PRESERVE))
        mode = MODE_PRESERVE;
    inner = cor_json_iter(cor_json_iter_open_value(it));
    if (first == '{')
        rewrite_object(w, node, mode, &inner, way);
    else
        rewrite_array(w, node, mode, &inner, way);
    cor_json_iter_leave(it, &inner);
}

int cor_structural_rewrite_value(const struct cor_structural *schema,
                                 const struct cor_structural_node *node, bool is_resource,
                                 struct cor_str json, unsigned steps, struct cor_buf *out,
                                 struct cor_structural_unknown *unknown)
{
    struct rewrite w = {.schema = schema,
                        .steps = steps,
                        .out = out,
                        .copied = json.p,
                        .is_root = is_resource,
                        .unknown = unknown};
    COR_CLEANUP(cor_structural_unknown_freep) struct cor_structural_unknown *meta = NULL;
    struct cor_json_iter it = {.p = json.p, .end = json.p + json.n, .value = json.p};
    size_t mark = out->n;

    assert(json.n > 0);
    if (unknown && steps & COR_STRUCTURAL_EMBEDDED_REQUEST &&
        cor_structural_is(node, COR_STRUCTURAL_EMBEDDED_BELOW)) {
        meta = cor_structural_unknown_new();
        if (!meta)
            return -COR_ENOMEM;
        w.unknown_meta = meta;
    }
    if (schema->preserves_unknown)
        w.steps &= ~(unsigned)COR_STRUCTURAL_PRUNE;
    rewrite_value(&w, node, MODE_PRUNE, &it, NULL);
    if (w.is_changed)
        copy_up_to(&w, json.p + json.n);
    if (w.error < 0)
        cor_buf_truncate(out, mark);
    if (w.error < 0 || !w.is_changed)
        return w.error;
    if (unknown && unknown->n > 1)
        qsort(unknown->v, unknown->n, sizeof(unknown->v[0]), compare_paths);
    if (meta && meta->n > 0) {
        int r = append_unknown(unknown, meta);

        if (r < 0) {
            cor_buf_truncate(out, mark);
            return r;
        }
    }
    return 1;
}

int cor_structural_rewrite(const struct cor_structural *schema, struct cor_str json, unsigned steps,
                           struct cor_buf *out, struct cor_structural_unknown *unknown)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf numbers = {.max = out->max};
    int r, changed = 0;

    assert(json.n > 0 && json.p[0] == '{');
    if (steps & COR_STRUCTURAL_NUMBERS) {
        changed = cor_structural_write_numbers(json, &numbers);
        if (changed < 0)
            return changed;
    }
    r = steps == COR_STRUCTURAL_NUMBERS
            ? 0
            : cor_structural_rewrite_value(schema, cor_structural_root(schema), true,
                                           changed ? cor_buf_str(&numbers) : json, steps, out,
                                           unknown);
    if (r != 0 || !changed)
        return r;
    r = cor_buf_adds(out, cor_buf_str(&numbers));
    return r < 0 ? r : 1;
}
