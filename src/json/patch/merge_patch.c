/* Both sides are canonical, so a merge patch is a merge of two sorted sequences, written as it is
 * read; no tree is built. */
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/work.h"
#include "json/patch/patch_int.h"
#include "json/text/json_int.h"
#include "json/write/writer.h"

#define STEP_BYTES 8 /* of both sides, which are gone over a few times, in the time of a step */

int cor_json_patch_fail(struct cor_json_patch_error *reterr, int r, const char *fmt, ...)
{
    va_list ap;

    if (reterr) {
        va_start(ap, fmt);
        vsnprintf(reterr->message, sizeof(reterr->message), fmt, ap);
        va_end(ap);
    }
    return r;
}

int cor_json_patch_read(struct cor_str patch, const struct cor_json_limits *limits,
                        struct cor_buf *out, struct cor_json_dups *dups,
                        struct cor_json_patch_error *reterr)
{
    struct cor_json_error err = {0};
    int r = cor_json_canonicalize(patch, limits, out, dups, &err);

    if (r == -COR_EINVAL)
        return cor_json_patch_fail(reterr, r, "error decoding patch: %s", err.message);
    if (r == -COR_ETOOBIG)
        return cor_json_patch_fail(reterr, r, "%s", err.message);
    return r;
}

/* Writes the current value of `it` without null members, also of objects in its arrays, and moves
 * behind it; null elements stay. Values are entered where they begin, so that every byte is scanned
 * once, however deep it stands. */
static void write_pruned(struct cor_json_writer *w, struct cor_json_iter *it)
{
    struct cor_str open = cor_json_iter_open_value(it), raw;
    struct cor_json_iter inner = cor_json_iter(open);

    switch (cor_json_type(open)) {
    case COR_JSON_OBJECT:
        cor_json_begin_object(w);
        while (cor_json_iter_member(&inner, &raw)) {
            if (cor_json_type(cor_json_iter_open_value(&inner)) == COR_JSON_NULL)
                continue;
            cor_json_raw_key(w, raw);
            write_pruned(w, &inner);
        }
        cor_json_end_object(w);
        cor_json_iter_leave(it, &inner);
        break;
    case COR_JSON_ARRAY:
        cor_json_begin_array(w);
        while (cor_json_iter_elem(&inner))
            write_pruned(w, &inner);
        cor_json_end_array(w);
        cor_json_iter_leave(it, &inner);
        break;
    default:
        cor_json_raw(w, cor_json_iter_value(it));
        break;
    }
}

/* One side of the merge: the member at which it stands. */
struct side {
    struct cor_json_iter it;
    struct cor_str key;
    bool has;
};

static void advance(struct side *s)
{
    s->has = cor_json_iter_member(&s->it, &s->key);
}

static enum cor_json_type side_type(const struct side *s)
{
    return cor_json_type(cor_json_iter_open_value(&s->it));
}

static int compare_sides(const struct side *a, const struct side *b, bool outermost)
{
    if (!a->has || !b->has)
        return a->has ? -1 : 1;
    return outermost ? cor_json_outermost_cmp(a->key, b->key) : cor_json_raw_cmp(a->key, b->key);
}

static void merge_objects(struct cor_json_writer *w, struct side *a, struct side *b,
                          bool outermost);

/* The values of two members with one key. */
static void write_merged(struct cor_json_writer *w, struct side *cur, struct side *patch)
{
    bool patch_object = side_type(patch) == COR_JSON_OBJECT;

    if (side_type(cur) == COR_JSON_OBJECT && patch_object) {
        struct side a = {.it = cor_json_iter(cor_json_iter_open_value(&cur->it))};
        struct side b = {.it = cor_json_iter(cor_json_iter_open_value(&patch->it))};

        merge_objects(w, &a, &b, false);
        cor_json_iter_leave(&cur->it, &a.it);
        cor_json_iter_leave(&patch->it, &b.it);
    } else if (side_type(cur) == COR_JSON_OBJECT) {
        cor_json_raw(w, cor_json_iter_value(&patch->it));
    } else {
        write_pruned(w, &patch->it);
    }
}

static void merge_objects(struct cor_json_writer *w, struct side *a, struct side *b, bool outermost)
{
    cor_json_begin_object(w);
    advance(a);
    advance(b);
    while (a->has || b->has) {
        int c = compare_sides(a, b, outermost);

        if (c < 0) {
            cor_json_raw_key(w, a->key);
            cor_json_raw(w, cor_json_iter_value(&a->it));
        } else if (side_type(b) != COR_JSON_NULL) {
            cor_json_raw_key(w, b->key);
            if (c == 0)
                write_merged(w, a, b);
            else
                write_pruned(w, &b->it);
        }
        if (c >= 0)
            advance(b);
        if (c <= 0)
            advance(a);
    }
    cor_json_end_object(w);
}

static int merge(struct cor_str doc, struct cor_str patch, struct cor_buf *out,
                 struct cor_json_patch_error *reterr)
{
    struct side a = {.it = cor_json_iter(doc)}, b = {.it = cor_json_iter(patch)};
    enum cor_json_type type = cor_json_type(patch);
    struct cor_json_writer w;
    size_t before = out->n;
    int r;

    if (cor_json_type(doc) != COR_JSON_OBJECT)
        return cor_json_patch_fail(reterr, -COR_EINVAL, "Invalid JSON Document");
    if (type == COR_JSON_NULL)
        return cor_json_patch_fail(reterr, -COR_EINVAL, "Invalid JSON Patch");
    if (type != COR_JSON_OBJECT)
        return cor_json_patch_fail(reterr, -COR_EINVAL,
                                   "error decoding patch: json: cannot unmarshal %s into Go value "
                                   "of type map[string]interface {}",
                                   cor_json_go_type(type));
    cor_json_writer_init(&w, out);
    merge_objects(&w, &a, &b, true);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        cor_buf_truncate(out, before);
    return r;
}

int cor_json_merge_patch(struct cor_str doc, struct cor_str patch,
                         const struct cor_json_limits *limits, struct cor_buf *out,
                         struct cor_json_dups *dups, struct cor_json_patch_error *reterr)
{
    struct cor_buf canonical;
    int r = limits->work ? cor_work_charge(limits->work, (doc.n + patch.n) / STEP_BYTES) : 0;

    if (r < 0)
        return r;
    cor_buf_init(&canonical, limits->bytes_max);
    r = cor_json_patch_read(patch, limits, &canonical, dups, reterr);
    if (r == 0)
        r = merge(doc, cor_buf_str(&canonical), out, reterr);
    cor_buf_deinit(&canonical);
    return r;
}
