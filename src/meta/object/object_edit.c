#include "meta/object/object_edit.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

int cor_object_edit(const struct cor_object_edit *edit, struct cor_object **ret_object,
                    struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf metadata = {0}, whole = {0};
    struct cor_edits top = edit->top_edits, meta = edit->meta_edits;
    struct cor_json_writer w;
    size_t rest, room;
    int r;

    cor_edits_drop(&meta, COR_STR("resourceVersion"));
    cor_buf_init(&metadata, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&whole, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_edits_apply(&meta, edit->metadata, &metadata);
    /* The old metadata is a part of `top` that goes. What is still too much shows in the writing.
     */
    rest = edit->top.n > edit->metadata.n ? edit->top.n - edit->metadata.n : 0;
    room = rest + metadata.n;
    if (r == 0)
        r = cor_buf_reserve(&whole, room < whole.max ? room : whole.max);
    if (r == 0) {
        cor_edits_set(&top, COR_STR("metadata"), cor_buf_str(&metadata));
        cor_json_writer_init(&w, &whole);
        cor_json_begin_object(&w);
        cor_json_member(&w, COR_STR("kind"), edit->kind);
        cor_json_member(&w, COR_STR("apiVersion"), edit->api_version);
        cor_edits_write(&top, edit->top, true, &w);
        cor_json_end_object(&w);
        r = cor_json_writer_finish(&w);
    }
    /* Edits of canonical bytes are canonical: they are not checked again. */
    if (r == 0)
        r = cor_object_from_sorted(cor_buf_str(&whole), ret_object);
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

struct cor_str cor_object_metadata(const struct cor_object *object)
{
    struct cor_json_iter rest;
    struct cor_str key;

    if (object->order != COR_JSON_SORTED)
        return cor_json_first_value(
            cor_str(object->bytes + object->meta_at, object->len - object->meta_at));
    /* Where resourceVersion stands is known, and few members are behind it. */
    rest = (struct cor_json_iter){.p = object->bytes + object->rv_at + object->rv_len,
                                  .end = object->bytes + object->len};
    while (cor_json_iter_member(&rest, &key))
        ;
    return cor_str(object->bytes + object->meta_at,
                   (size_t)(rest.p + 1 - (object->bytes + object->meta_at)));
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

void cor_object_meta_members(const struct cor_object *object, const struct cor_str *keys, size_t n,
                             struct cor_str *ret_values)
{
    assert(object->order == COR_JSON_SORTED);
    cor_json_get_each(cor_str(object->bytes + object->meta_at, object->len - object->meta_at), keys,
                      n, ret_values);
    for (size_t i = 0; i < n; i++)
        if (cor_json_type(ret_values[i]) == COR_JSON_NULL)
            ret_values[i] = cor_str(NULL, 0);
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

struct cor_str cor_object_next_generation(const struct cor_object *object, char *out)
{
    int64_t now = cor_object_meta_int(object, COR_STR("generation"), 0);
    int n = snprintf(out, COR_GENERATION_TEXT_MAX, "%lld",
                     now < 0 ? 1 : (long long)(now < INT64_MAX ? now + 1 : now));

    return cor_str(out, (size_t)n);
}
