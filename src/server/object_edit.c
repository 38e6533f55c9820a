#include "server/object_edit.h"

#include <assert.h>

#include "base/err.h"
#include "json/json.h"
#include "json/scan.h"
#include "json/writer.h"

void cor_edits_set(struct cor_edits *edits, struct cor_str key, struct cor_str value)
{
    size_t at = edits->n;

    while (at > 0 && cor_str_cmp(edits->v[at - 1].key, key) > 0)
        at--;
    if (at > 0 && cor_str_eq(edits->v[at - 1].key, key)) {
        edits->v[at - 1].value = value;
        return;
    }
    assert(edits->n < COR_EDITS_MAX);
    memmove(edits->v + at + 1, edits->v + at, (edits->n - at) * sizeof(edits->v[0]));
    edits->v[at] = (struct cor_edit){key, value};
    edits->n++;
}

static void write_edit(struct cor_json_writer *w, const struct cor_edit *edit)
{
    if (!edit->value.p)
        return;
    cor_json_key(w, edit->key);
    cor_json_raw(w, edit->value);
}

/* The members of `json`, merged with the edits; both are in order of their keys. */
static void write_members(struct cor_json_writer *w, const struct cor_edits *edits,
                          struct cor_str json, bool is_top)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_str key;
    size_t i = 0;

    while (cor_json_iter_member(&it, &key)) {
        if (is_top && (cor_str_eq(key, COR_STR("kind")) || cor_str_eq(key, COR_STR("apiVersion"))))
            continue;
        while (i < edits->n && cor_json_raw_cmp_text(key, edits->v[i].key) > 0)
            write_edit(w, &edits->v[i++]);
        if (i < edits->n && cor_json_raw_eq(key, edits->v[i].key)) {
            write_edit(w, &edits->v[i++]);
            continue;
        }
        cor_json_raw_key(w, key);
        cor_json_raw(w, cor_json_iter_value(&it));
    }
    while (i < edits->n)
        write_edit(w, &edits->v[i++]);
}

int cor_edits_apply(const struct cor_edits *edits, struct cor_str json, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    write_members(&w, edits, json, false);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_object_edit(const struct cor_object_edit *edit, struct cor_object **ret_object,
                    struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf metadata = {0}, whole = {0};
    struct cor_edits top = edit->top_edits, meta = edit->meta_edits;
    struct cor_json_writer w;
    int r;

    cor_edits_drop(&meta, COR_STR("resourceVersion"));
    cor_buf_init(&metadata, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&whole, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_edits_apply(&meta, edit->metadata, &metadata);
    if (r == 0)
        r = cor_buf_reserve(&whole, edit->top.n + metadata.n);
    if (r == 0) {
        cor_edits_set(&top, COR_STR("metadata"), cor_buf_str(&metadata));
        cor_json_writer_init(&w, &whole);
        cor_json_begin_object(&w);
        cor_json_member(&w, COR_STR("kind"), edit->kind);
        cor_json_member(&w, COR_STR("apiVersion"), edit->api_version);
        write_members(&w, &top, edit->top, true);
        cor_json_end_object(&w);
        r = cor_json_writer_finish(&w);
    }
    if (r < 0)
        return cor_status_set(reterr_status, r, "%s", cor_err_text(r));
    return cor_object_from_stored(cor_buf_str(&whole), 0, ret_object, NULL, reterr_status);
}

struct cor_str cor_object_metadata(const struct cor_object *object)
{
    return cor_json_first_value(
        cor_str(object->bytes + object->meta_at, object->len - object->meta_at));
}

static struct cor_str member_of(struct cor_str object, struct cor_str key)
{
    struct cor_str value;

    if (cor_json_get(object, key, COR_JSON_SORTED, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL)
        return (struct cor_str){NULL, 0};
    return value;
}

struct cor_str cor_object_meta_member(const struct cor_object *object, struct cor_str key)
{
    return member_of(cor_str(object->bytes + object->meta_at, object->len - object->meta_at), key);
}

struct cor_str cor_object_member(const struct cor_object *object, struct cor_str key)
{
    return member_of(cor_object_json(object), key);
}

int64_t cor_object_meta_int(const struct cor_object *object, struct cor_str key, int64_t otherwise)
{
    struct cor_str value = cor_object_meta_member(object, key);
    int64_t v;

    return value.p && cor_json_to_i64(value, &v) == 0 ? v : otherwise;
}
