/* The canonical writer: the members of each object are collected, sorted and written in one pass,
 * which is also where equal keys meet. Strings are read in place, so a key's address tells its
 * place in the input: it breaks ties in the order, and gives the offsets that are reported. */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/text/json_int.h"

#define PATH_BYTES_MAX  1024
#define SORT_SIMPLE_MAX 24

struct member {
    uint64_t prefix; /* first bytes of the key as a big-endian number */
    yyjson_val *key;
    yyjson_val *val;
};

/* The way from the root to a value, for reports. */
struct step {
    const struct step *up;
    struct cor_str key; /* p is NULL for an array's element */
    size_t index;
};

struct emitter {
    char *w;
    const char *base;
    struct member *members; /* of all open objects, the innermost last */
    size_t n, cap;
    struct cor_json_dups *dups;
    const struct cor_json_guide *guide; /* NULL: no value is raw */
    struct cor_str in;                  /* with a guide: what `base` was copied from */
    int error;                          /* 0 or -COR_ENOMEM; nothing more is written after it */
};

static void *alc_malloc(__attribute__((unused)) void *ctx, size_t n)
{
    return cor_alloc(n);
}

static void *alc_realloc(__attribute__((unused)) void *ctx, void *p,
                         __attribute__((unused)) size_t old_n, size_t n)
{
    return cor_realloc(p, n);
}

static void alc_free(__attribute__((unused)) void *ctx, void *p)
{
    cor_free(p);
}

const yyjson_alc cor_json_alc = {alc_malloc, alc_realloc, alc_free, NULL};

void cor_json_dups_init(struct cor_json_dups *dups)
{
    dups->n = 0;
}

void cor_json_dups_deinit(struct cor_json_dups *dups)
{
    for (size_t i = 0; i < dups->n; i++)
        cor_free(dups->v[i].path);
    dups->n = 0;
}

static int add_path(struct cor_buf *b, const struct step *step)
{
    int r = step->up ? add_path(b, step->up) : 0;

    if (r < 0)
        return r;
    if (!step->key.p)
        return cor_buf_addf(b, "[%zu]", step->index);
    r = b->n ? cor_buf_addc(b, '.') : 0;
    return r < 0 ? r : cor_buf_adds(b, step->key);
}

int cor_json_dups_add(struct cor_json_dups *d, size_t offset, bool is_unknown, struct cor_buf *path)
{
    size_t at = d->n;
    char *text;

    while (at > 0 && d->v[at - 1].offset > offset)
        at--;
    for (size_t i = 0; i < d->n; i++) {
        if (cor_str_eqz(cor_buf_str(path), d->v[i].path))
            return 0;
    }
    if (at == COR_JSON_DUPS_MAX)
        return 0;
    text = cor_buf_steal(path, NULL);
    if (!text)
        return -COR_ENOMEM;
    if (d->n == COR_JSON_DUPS_MAX)
        cor_free(d->v[--d->n].path);
    memmove(&d->v[at + 1], &d->v[at], (d->n - at) * sizeof(d->v[0]));
    d->v[at] = (struct cor_json_dup){offset, text, is_unknown};
    d->n++;
    return 0;
}

void cor_json_dups_remove(struct cor_json_dups *d, size_t from, size_t to)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i].offset >= from && d->v[i].offset < to)
            cor_free(d->v[i].path);
        else
            d->v[kept++] = d->v[i];
    }
    d->n = kept;
}

/* Equal paths are met in the order of the input, so the one that is there already is the one to
 * keep. */
static int report(struct cor_json_dups *d, size_t offset, const struct step *step)
{
    struct cor_buf path;
    int r;

    if (d->n == COR_JSON_DUPS_MAX && d->v[d->n - 1].offset < offset)
        return 0;
    cor_buf_init(&path, PATH_BYTES_MAX);
    r = add_path(&path, step);
    if (r != -COR_ENOMEM)
        r = cor_json_dups_add(d, offset, false, &path);
    cor_buf_deinit(&path);
    return r;
}

static struct cor_str val_str(yyjson_val *val)
{
    return cor_str(unsafe_yyjson_get_str(val), unsafe_yyjson_get_len(val));
}

static uint64_t key_prefix(struct cor_str key)
{
    uint64_t x = 0;

    if (key.n >= 8)
        return __builtin_bswap64(cor_json_load8(key.p));
    for (size_t i = 0; i < key.n; i++)
        x |= (uint64_t)(unsigned char)key.p[i] << (56 - 8 * i);
    return x;
}

static inline int compare_keys(const struct member *a, const struct member *b)
{
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    return cor_str_cmp(val_str(a->key), val_str(b->key));
}

static inline bool stands_before(const struct member *a, const struct member *b)
{
    int c = compare_keys(a, b);

    return c < 0 || (c == 0 && a->key < b->key);
}

static void sort_few(struct member *m, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct member x = m[i];
        size_t at = i;

        for (; at > 0 && stands_before(&x, &m[at - 1]); at--)
            m[at] = m[at - 1];
        m[at] = x;
    }
}

static void sift_down(struct member *m, size_t at, size_t n)
{
    struct member x = m[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && stands_before(&m[child], &m[child + 1]))
            child++;
        if (!stands_before(&x, &m[child]))
            break;
        m[at] = m[child];
    }
    m[at] = x;
}

/* Heap sort: in place and O(n log n) whatever the input, which an outsider chooses. */
static void sort_many(struct member *m, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(m, i, n);
    for (size_t i = n - 1; i > 0; i--) {
        struct member x = m[0];

        m[0] = m[i];
        m[i] = x;
        sift_down(m, 0, i);
    }
}

static int collect(struct emitter *e, yyjson_val *object, bool *ret_sorted)
{
    size_t n = unsafe_yyjson_get_len(object), i, max;
    yyjson_val *key, *val;
    struct member *m;

    *ret_sorted = true;
    if (n == 0)
        return 0;
    if (COR_ARRAY_RESERVE_MORE(&e->members, e->n, n, &e->cap, COR_ARRAY_NO_MAX) < 0)
        return -COR_ENOMEM;
    m = e->members + e->n;
    yyjson_obj_foreach(object, i, max, key, val) {
        m[i] = (struct member){key_prefix(val_str(key)), key, val};
        if (i > 0 && *ret_sorted && !stands_before(&m[i - 1], &m[i]))
            *ret_sorted = false;
    }
    e->n += n;
    return 0;
}

static char *put_string(char *w, struct cor_str s)
{
    const char *p = s.p, *end = s.p + s.n;

    *w++ = '"';
    for (;;) {
        const char *stop = cor_json_find_special(p, end);

        memcpy(w, p, (size_t)(stop - p));
        w += stop - p;
        if (stop == end)
            break;
        w = cor_json_put_escape(w, (unsigned char)*stop);
        p = stop + 1;
    }
    *w++ = '"';
    return w;
}

static void put_raw(struct emitter *e, struct cor_str s)
{
    memcpy(e->w, s.p, s.n);
    e->w += s.n;
}

static void emit_value(struct emitter *e, yyjson_val *val, const struct step *up, const void *node);

const char cor_json_raw_node[] = "";

/* Writes the value of a member as the source has it, without the spaces between its tokens. A key
 * is in the tree where it is in the source. */
static void emit_raw(struct emitter *e, struct cor_str key)
{
    struct cor_str rest = cor_str_from(e->in, (size_t)(key.p - e->base) - 1), value;
    bool in_text = false;

    rest = cor_json_skip_space(cor_str_from(rest, cor_json_first_value(rest).n));
    value = cor_json_first_value(cor_str_from(rest, 1));
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];

        if (!in_text && cor_json_is_space(c))
            continue;
        *e->w++ = c;
        if (c == '"')
            in_text = !in_text;
        else if (c == '\\')
            *e->w++ = value.p[++i];
    }
}

/* Writes a member, or only reports what is repeated in it when an equal key follows. `node` is the
 * guide's for the object. */
static void emit_member(struct emitter *e, struct member m, bool overridden, const struct step *up,
                        bool *need_comma, const void *node)
{
    struct step step = {up, val_str(m.key), 0};
    char *start = e->w;

    if (!overridden && *need_comma)
        *e->w++ = ',';
    e->w = put_string(e->w, step.key);
    *e->w++ = ':';
    if (node)
        node = e->guide->of_member(node, step.key);
    if (node == cor_json_raw_node)
        emit_raw(e, step.key);
    else
        emit_value(e, m.val, &step, node);
    if (overridden)
        e->w = start;
    else
        *need_comma = true;
}

/* The run of members with one key, from `i` to the returned end; the last of them is the one. */
static size_t emit_equal(struct emitter *e, size_t i, size_t end, const struct step *up,
                         bool *need_comma, const void *node)
{
    size_t last = i;

    while (last + 1 < end && compare_keys(&e->members[last], &e->members[last + 1]) == 0)
        last++;
    if (last > i && e->dups) {
        struct cor_str again = val_str(e->members[i + 1].key);
        struct step step = {up, again, 0};

        if (report(e->dups, (size_t)(again.p - e->base), &step) < 0)
            e->error = -COR_ENOMEM;
    }
    for (; i <= last && !e->error; i++) {
        if (i == last || e->dups)
            emit_member(e, e->members[i], i < last, up, need_comma, node);
    }
    return last + 1;
}

static void emit_type_keys(struct emitter *e, size_t start, size_t end, bool *need_comma)
{
    static const struct cor_str first[] = {{"kind", 4}, {"apiVersion", 10}};

    for (size_t f = 0; f < 2; f++) {
        for (size_t i = start; i < end && !e->error; i++) {
            if (cor_str_eq(val_str(e->members[i].key), first[f])) {
                emit_equal(e, i, end, NULL, need_comma, NULL);
                break;
            }
        }
    }
}

static const void *find_root(struct emitter *e, yyjson_val *object)
{
    yyjson_val *kind = yyjson_obj_get(object, "kind");
    yyjson_val *version = yyjson_obj_get(object, "apiVersion");

    return yyjson_is_str(kind) && yyjson_is_str(version)
               ? e->guide->of_kind(val_str(kind), val_str(version))
               : NULL;
}

static void emit_object(struct emitter *e, yyjson_val *object, const struct step *up,
                        bool outermost, const void *node)
{
    size_t start = e->n, end;
    bool need_comma = false, sorted;

    if (unsafe_yyjson_get_len(object) == 0) {
        put_raw(e, COR_STR("{}"));
        return;
    }
    e->error = collect(e, object, &sorted);
    if (e->error)
        return;
    end = e->n;
    if (!sorted) {
        if (end - start <= SORT_SIMPLE_MAX)
            sort_few(e->members + start, end - start);
        else
            sort_many(e->members + start, end - start);
    }
    *e->w++ = '{';
    if (outermost)
        emit_type_keys(e, start, end, &need_comma);
    for (size_t i = start; i < end && !e->error;) {
        struct cor_str key = val_str(e->members[i].key);

        if (outermost &&
            (cor_str_eq(key, COR_STR("kind")) || cor_str_eq(key, COR_STR("apiVersion"))))
            i++;
        else
            i = emit_equal(e, i, end, up, &need_comma, node);
    }
    *e->w++ = '}';
    e->n = start;
}

static void emit_array(struct emitter *e, yyjson_val *array, const struct step *up,
                       const void *node)
{
    const void *element = node ? e->guide->of_element(node) : NULL;
    struct step step = {up, {NULL, 0}, 0};
    yyjson_val *val;
    size_t max;

    *e->w++ = '[';
    yyjson_arr_foreach(array, step.index, max, val) {
        if (step.index > 0)
            *e->w++ = ',';
        emit_value(e, val, &step, element);
        if (e->error)
            return;
    }
    *e->w++ = ']';
}

static void emit_value(struct emitter *e, yyjson_val *val, const struct step *up, const void *node)
{
    switch (unsafe_yyjson_get_type(val)) {
    case YYJSON_TYPE_OBJ:
        emit_object(e, val, up, !up, node);
        break;
    case YYJSON_TYPE_ARR:
        emit_array(e, val, up, node);
        break;
    case YYJSON_TYPE_STR:
        e->w = put_string(e->w, val_str(val));
        break;
    case YYJSON_TYPE_RAW:
        put_raw(e, val_str(val));
        break;
    case YYJSON_TYPE_BOOL:
        put_raw(e, unsafe_yyjson_get_bool(val) ? COR_STR("true") : COR_STR("false"));
        break;
    default:
        put_raw(e, COR_STR("null"));
        break;
    }
}

char *cor_json_emit(yyjson_val *root, const char *base, char *dst, struct cor_json_dups *dups)
{
    struct emitter e = {.w = dst, .base = base, .dups = dups};

    emit_value(&e, root, NULL, NULL);
    cor_free(e.members);
    return e.error ? NULL : e.w;
}

/* The same by a guide, for a tree that was read from a copy of `in`. */
static char *emit_guided(const struct cor_json_tree *tree, struct cor_str in,
                         const struct cor_json_limits *limits, char *dst,
                         struct cor_json_dups *dups)
{
    struct emitter e = {
        .w = dst, .base = tree->text, .dups = dups, .guide = limits->guide, .in = in};
    yyjson_val *root = yyjson_doc_get_root(tree->doc);
    const void *node = limits->root;

    if (!node && limits->guide)
        node = find_root(&e, root);
    emit_value(&e, root, NULL, node);
    cor_free(e.members);
    return e.error ? NULL : e.w;
}

/* Writes \ufffd over each escaped surrogate without a partner; the length stays. */
static void replace_lone_surrogates(char *p, char *end)
{
    while ((p = memchr(p, '\\', (size_t)(end - p)))) {
        int u;

        if (p[1] != 'u') {
            p += 2;
            continue;
        }
        u = cor_json_hex4(p + 2);
        if (cor_json_is_high_surrogate(u) && end - p >= 12 && p[6] == '\\' && p[7] == 'u' &&
            cor_json_is_low_surrogate(cor_json_hex4(p + 8))) {
            p += 12;
            continue;
        }
        if (cor_json_is_high_surrogate(u) || cor_json_is_low_surrogate(u)) {
            p[2] = p[3] = p[4] = 'f';
            p[5] = 'd';
        }
        p += 6;
    }
}

int cor_json_tree_init(struct cor_json_tree *t, struct cor_str in,
                       const struct cor_json_traits *traits)
{
    t->doc = NULL;
    t->text = cor_alloc(in.n + YYJSON_PADDING_SIZE);
    if (!t->text)
        return -COR_ENOMEM;
    memcpy(t->text, in.p, in.n);
    memset(t->text + in.n, 0, YYJSON_PADDING_SIZE);
    if (traits->lone_surrogate)
        replace_lone_surrogates(t->text, t->text + in.n);
    t->doc = yyjson_read_opts(t->text, in.n, YYJSON_READ_INSITU | YYJSON_READ_NUMBER_AS_RAW,
                              &cor_json_alc, NULL);
    if (!t->doc) {
        cor_json_tree_deinit(t);
        return -COR_ENOMEM;
    }
    return 0;
}

void cor_json_tree_deinit(struct cor_json_tree *t)
{
    yyjson_doc_free(t->doc);
    t->doc = NULL;
    t->text = cor_free(t->text);
}

int cor_json_rewrite(struct cor_str in, const struct cor_json_traits *traits,
                     const struct cor_json_limits *limits, struct cor_buf *out,
                     struct cor_json_dups *dups)
{
    struct cor_json_tree tree;
    char *end;
    int r = cor_buf_reserve(out, in.n);

    if (r < 0)
        return r;
    r = cor_json_tree_init(&tree, in, traits);
    if (r < 0)
        return r;
    end = emit_guided(&tree, in, limits, out->p + out->n, dups);
    cor_json_tree_deinit(&tree);
    if (end)
        out->n = (size_t)(end - out->p);
    cor_buf_truncate(out, out->n);
    return end ? 0 : -COR_ENOMEM;
}

int cor_json_canonicalize(struct cor_str in, const struct cor_json_limits *limits,
                          struct cor_buf *out, struct cor_json_dups *dups,
                          struct cor_json_error *reterr)
{
    struct cor_json_traits traits;
    int r = cor_json_check_traits(in, limits, &traits, reterr);

    if (r < 0)
        return r;
    return traits.canonical ? cor_buf_adds(out, in)
                            : cor_json_rewrite(in, &traits, limits, out, dups);
}
