#include "json/write/editor.h"

#include <string.h>

#include "base/err.h"
#include "json/path/path_int.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

int cor_json_editor_init(struct cor_json_editor *e, struct cor_str json, size_t max)
{
    *e = (struct cor_json_editor){0};
    cor_buf_init(&e->bytes, max);
    return cor_buf_adds(&e->bytes, json);
}

void cor_json_editor_deinit(struct cor_json_editor *e)
{
    cor_buf_deinit(&e->bytes);
}

static int refuse(struct cor_json_editor *e, int r, const char *why)
{
    e->why = why;
    return r;
}

/* Tells why a buffer did not take something. */
static int full(struct cor_json_editor *e, int r)
{
    return r == -COR_ETOOBIG ? refuse(e, r, "the object grows too large") : r;
}

/* How far a path leads into the bytes. */
struct place {
    const struct step *step, *end; /* the first that found nothing; end: all did */
    struct cor_str value;          /* what the steps before it lead to */
    struct cor_str member;         /* the last of them, with its key */
};

static bool find_element(struct cor_str array, int64_t index, struct cor_str *ret)
{
    struct cor_json_iter it = cor_json_iter(array);
    int64_t n = 0;

    if (cor_json_type(array) != COR_JSON_ARRAY)
        return false;
    while (cor_json_iter_elem(&it)) {
        *ret = cor_json_iter_value(&it);
        if (n++ == index)
            return true;
    }
    return index == -1 && n > 0;
}

static bool find_member(struct cor_str object, struct cor_str key, struct cor_str *ret,
                        struct cor_str *ret_member)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str raw;

    if (cor_json_type(object) != COR_JSON_OBJECT)
        return false;
    while (cor_json_iter_member(&it, &raw)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (cor_json_raw_eq(raw, key)) {
            *ret = value;
            *ret_member = cor_str(raw.p - 1, (size_t)(value.p + value.n - raw.p) + 1);
            return true;
        }
    }
    return false;
}

static void follow(struct cor_json_editor *e, const struct cor_json_path *path, struct place *ret)
{
    struct place at = {path->steps,
                       path->steps + path->n,
                       cor_json_first_value(cor_buf_str(&e->bytes)),
                       {NULL, 0}};

    for (; at.step < at.end; at.step++) {
        if (at.step->kind == STEP_KEY) {
            if (!find_member(at.value, at.step->text, &at.value, &at.member))
                break;
        } else if (find_element(at.value, at.step->index, &at.member)) {
            at.value = at.member;
        } else {
            break;
        }
    }
    *ret = at;
}

/* Does the path lead through a member of metadata.labels or metadata.annotations? Those are texts
 * in every Kubernetes object, so such a path is a key with dots that was not quoted. */
static bool splits_a_key(const struct cor_json_path *path)
{
    for (unsigned i = 0; i + 3 < path->n; i++) {
        const struct step *at = &path->steps[i];

        if (at[0].kind == STEP_KEY && at[1].kind == STEP_KEY &&
            cor_str_eqz(at[0].text, "metadata") &&
            (cor_str_eqz(at[1].text, "labels") || cor_str_eqz(at[1].text, "annotations")))
            return true;
    }
    return false;
}

static int read_path(struct cor_json_editor *e, struct cor_str text, struct cor_json_path **ret)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *path = NULL;
    int r = cor_json_path_new(text, &path, NULL);

    if (r == -COR_ENOMEM)
        return r;
    if (r < 0)
        return refuse(e, -COR_EINVAL, "not a path");
    for (unsigned i = 0; i < path->n; i++) {
        const struct step *step = &path->steps[i];

        if (step->kind != STEP_KEY && (step->kind != STEP_INDEX || step->index < -1))
            return refuse(e, -COR_EINVAL, "only keys and indexes can be changed");
    }
    if (splits_a_key(path))
        return refuse(e, -COR_EINVAL, "a key with dots is quoted: ['example.com/name']");
    *ret = COR_STEAL(path);
    return 0;
}

/* Replaces `old`, a part of the bytes, by `text`, which is not. */
static int splice(struct cor_json_editor *e, struct cor_str old, struct cor_str text)
{
    size_t at = (size_t)(old.p - e->bytes.p), tail = e->bytes.n - at - old.n;
    int r = text.n > old.n ? cor_buf_reserve(&e->bytes, text.n - old.n) : 0;

    if (r < 0)
        return full(e, r);
    memmove(e->bytes.p + at + text.n, e->bytes.p + at + old.n, tail);
    if (text.n > 0)
        memcpy(e->bytes.p + at, text.p, text.n);
    e->bytes.n = at + text.n + tail;
    e->bytes.p[e->bytes.n] = '\0';
    return 0;
}

static bool is_empty(struct cor_str container)
{
    struct cor_json_iter it = cor_json_iter(container);

    return !cor_json_iter_elem(&it);
}

/* `"key":{"key":…value…}` for the steps from `step` on; each after the first must be a key. */
static int print_members(struct cor_json_editor *e, const struct place *at, struct cor_str value,
                         struct cor_buf *out)
{
    struct cor_json_writer w;
    size_t open = 0;

    cor_json_writer_init(&w, out);
    for (const struct step *step = at->step; step < at->end; step++, open++) {
        if (step->kind != STEP_KEY)
            return refuse(e, -COR_ENOTFOUND, "there is no such element");
        cor_json_begin_object(&w);
        cor_json_key(&w, step->text);
    }
    cor_json_raw(&w, value);
    for (; open > 0; open--)
        cor_json_end_object(&w);
    return full(e, cor_json_writer_finish(&w));
}

/* Adds `text`, a member or an element, at the end of the object or array. */
static int add_last(struct cor_json_editor *e, struct cor_str container, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf with_comma;
    int r = 0;

    cor_buf_init(&with_comma, text.n + 1);
    if (!is_empty(container))
        r = cor_buf_addc(&with_comma, ',');
    if (r == 0)
        r = cor_buf_adds(&with_comma, text);
    return r < 0 ? r
                 : splice(e, cor_str(container.p + container.n - 1, 0), cor_buf_str(&with_comma));
}

/* Sets what the steps from at->step on name, none of which is there. */
static int set_missing(struct cor_json_editor *e, const struct place *at, struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    enum cor_json_type type = cor_json_type(at->value);
    int r;

    cor_buf_init(&text, e->bytes.max + COR_JSON_PATH_BYTES_MAX * 8);
    if (at->step->kind == STEP_INDEX)
        return type == COR_JSON_ARRAY ? refuse(e, -COR_ENOTFOUND, "there is no such element")
                                      : refuse(e, -COR_EINVAL, "the value is not an array");
    if (type != COR_JSON_OBJECT && type != COR_JSON_NULL)
        return refuse(e, -COR_EINVAL, "the value is not an object");
    r = print_members(e, at, value, &text);
    if (r < 0)
        return r;
    if (type == COR_JSON_NULL)
        return splice(e, at->value, cor_buf_str(&text));
    return add_last(e, at->value, cor_str(text.p + 1, text.n - 2));
}

int cor_json_editor_set(struct cor_json_editor *e, struct cor_str path, struct cor_str value)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *compiled = NULL;
    struct place at;
    int r = read_path(e, path, &compiled);

    if (r < 0)
        return r;
    follow(e, compiled, &at);
    return at.step == at.end ? splice(e, at.value, value) : set_missing(e, &at, value);
}

int cor_json_editor_append(struct cor_json_editor *e, struct cor_str path, struct cor_str value)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *compiled = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf array;
    struct place at;
    int r = read_path(e, path, &compiled);

    cor_buf_init(&array, e->bytes.max);
    if (r < 0)
        return r;
    follow(e, compiled, &at);
    if (at.step == at.end && cor_json_type(at.value) == COR_JSON_ARRAY)
        return add_last(e, at.value, value);
    if (at.step == at.end && cor_json_type(at.value) != COR_JSON_NULL)
        return refuse(e, -COR_EINVAL, "the value is not an array");
    r = cor_buf_addf(&array, "[%.*s]", COR_STR_ARG(value));
    if (r < 0)
        return full(e, r);
    return at.step == at.end ? splice(e, at.value, cor_buf_str(&array))
                             : set_missing(e, &at, cor_buf_str(&array));
}

int cor_json_editor_remove(struct cor_json_editor *e, struct cor_str path)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *compiled = NULL;
    struct cor_str gone;
    struct place at;
    int r = read_path(e, path, &compiled);

    if (r < 0)
        return r;
    follow(e, compiled, &at);
    if (at.step < at.end)
        return 0;
    if (compiled->n == 0)
        return refuse(e, -COR_EINVAL, "the whole value cannot be removed");
    gone = at.member;
    if (gone.p[gone.n] == ',')
        gone.n++;
    else if (gone.p[-1] == ',')
        gone = cor_str(gone.p - 1, gone.n + 1);
    return splice(e, gone, COR_STR(""));
}
