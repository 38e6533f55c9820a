/* Both sides are canonical, so their members are in the same order: the patch is written in one
 * walk over two sorted sequences, and no tree is built. Canonical objects whose bytes differ have a
 * member that differs, so a member of the patch is never an empty object. Recursion is bounded by
 * the depth that canonical bytes may have (COR_JSON_DEPTH_MAX). */
#include "json/patch/merge_diff.h"

#include <string.h>

#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

/* One side of the walk: the member that it is at. */
struct side {
    struct cor_json_iter it;
    struct cor_str key, value; /* key.p NULL: no member is left */
};

static void side_next(struct side *s)
{
    if (cor_json_iter_member(&s->it, &s->key))
        s->value = cor_json_iter_value(&s->it);
    else
        s->key = cor_str(NULL, 0);
}

static struct side side_of(struct cor_str object)
{
    struct side s = {.it = cor_json_iter(object)};

    side_next(&s);
    return s;
}

/* In the outermost object `kind` and `apiVersion` come first. */
static int key_rank(struct cor_str key, bool is_outermost)
{
    return !is_outermost                    ? 0
           : cor_str_eqz(key, "kind")       ? -2
           : cor_str_eqz(key, "apiVersion") ? -1
                                            : 0;
}

static int key_cmp(const struct side *a, const struct side *b, bool is_outermost)
{
    int of_a, of_b;

    if (!a->key.p || !b->key.p)
        return a->key.p ? -1 : 1;
    of_a = key_rank(a->key, is_outermost);
    of_b = key_rank(b->key, is_outermost);
    return of_a != of_b ? of_a - of_b : cor_json_raw_cmp(a->key, b->key);
}

static void write_object(struct cor_json_writer *w, struct cor_str before, struct cor_str after);

static void write_change(struct cor_json_writer *w, const struct side *before,
                         const struct side *after)
{
    if (cor_str_eq(before->value, after->value))
        return;
    cor_json_raw_key(w, after->key);
    if (cor_json_type(before->value) == COR_JSON_OBJECT &&
        cor_json_type(after->value) == COR_JSON_OBJECT)
        write_object(w, before->value, after->value);
    else
        cor_json_raw(w, after->value);
}

struct choice {
    enum cor_merge_diff_part part;
    struct cor_str key;
};

/* `choice` is NULL below the outermost object. */
static bool is_chosen(const struct choice *choice, struct cor_str raw_key)
{
    if (!choice || choice->part == COR_MERGE_DIFF_ALL)
        return true;
    return cor_json_raw_eq(raw_key, choice->key) == (choice->part == COR_MERGE_DIFF_ONLY);
}

static void write_chosen(struct cor_json_writer *w, struct cor_str before, struct cor_str after,
                         const struct choice *choice)
{
    struct side a = side_of(before), b = side_of(after);

    cor_json_begin_object(w);
    while (a.key.p || b.key.p) {
        int order = key_cmp(&a, &b, choice != NULL);
        bool chosen = is_chosen(choice, order <= 0 ? a.key : b.key);

        if (chosen && order < 0) {
            cor_json_raw_key(w, a.key);
            cor_json_null(w);
        } else if (chosen && order > 0) {
            cor_json_raw_key(w, b.key);
            cor_json_raw(w, b.value);
        } else if (chosen) {
            write_change(w, &a, &b);
        }
        if (order <= 0)
            side_next(&a);
        if (order >= 0)
            side_next(&b);
    }
    cor_json_end_object(w);
}

static void write_object(struct cor_json_writer *w, struct cor_str before, struct cor_str after)
{
    write_chosen(w, before, after, NULL);
}

int cor_json_merge_diff(struct cor_str before, struct cor_str after, enum cor_merge_diff_part part,
                        struct cor_str key, struct cor_buf *out)
{
    const struct choice choice = {part, key};
    size_t n = out->n;
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, out);
    write_chosen(&w, before, after, &choice);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        cor_buf_truncate(out, n);
    return r;
}
