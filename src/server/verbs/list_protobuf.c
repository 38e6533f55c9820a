/* The parts of a list in protobuf.
 *
 *   k8s\0  apiVersion, kind, length of the message | metadata | items … | end of the envelope
 *
 * A list of meta.k8s.io/v1beta1 has its metadata after its items: that message numbers them so.
 * Nothing is kept but the metadata and the frame, whose sizes do not depend on the items.
 * Failures: memory, and objects that were stored with a value that their type does not have.
 * Thread: the call's loop, or the thread that has the call. */
#include "server/verbs/list_protobuf.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "schema/protobuf/protobuf.h"
#include "server/verbs/list_text.h"
#include "json/write/writer.h"

/* The metadata has a continue token, whose length a key's maximum bounds. */
#define META_BYTES_MAX (64u * 1024)

enum { LIST_META = 1, LIST_ITEMS = 2 };

static bool is_v1beta1_list(const struct cor_call *call)
{
    return call->accept.view == COR_VIEW_PARTIAL && call->accept.is_v1beta1;
}

static struct cor_str list_api_version(const struct cor_call *call)
{
    return call->accept.view == COR_VIEW_PARTIAL ? cor_partial_api_version(call->accept.is_v1beta1)
                                                 : call->type->api_version;
}

static int write_meta_json(const struct cor_list_cursor *cursor, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_list_write_meta(&w, cursor);
    return cor_json_writer_finish(&w);
}

int cor_list_protobuf_init(struct cor_list_protobuf *list, struct cor_call *call,
                           const struct cor_list_cursor *cursor)
{
    const struct cor_type *meta_type = cor_type_named(COR_STR("meta_v1.ListMeta"));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    int r;

    assert(meta_type && call->type && !list->item);
    if (call->accept.view == COR_VIEW_PARTIAL)
        list->item = cor_type_named(COR_STR("meta_v1.PartialObjectMetadata"));
    else
        list->item = call->schema;
    if (!list->item)
        return cor_status_internal(&call->status, "there is no protobuf message for the kind %.*s",
                                   COR_STR_ARG(call->type->kind));
    /* The rows of other kinds may be freed, and are not safe names. */
    if (cursor->is_cached && !call->type->life && call->loop->shared->protobuf_cache.bytes_max > 0)
        list->cache = &call->loop->protobuf_cache;
    list->since_ms = cor_loop_now_ms(call->loop->loop);
    cor_buf_init(&list->meta, META_BYTES_MAX);
    cor_buf_init(&list->frame, 2 * META_BYTES_MAX);
    cor_buf_init(&json, META_BYTES_MAX);
    r = write_meta_json(cursor, &json);
    if (r == 0)
        r = cor_protobuf_add_field(is_v1beta1_list(call) ? LIST_ITEMS : LIST_META, meta_type,
                                   cor_buf_str(&json), &list->meta, NULL);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

void cor_list_protobuf_deinit(struct cor_list_protobuf *list)
{
    cor_buf_deinit(&list->meta);
    cor_buf_deinit(&list->frame);
}

static uint32_t items_number(const struct cor_call *call)
{
    return is_v1beta1_list(call) ? LIST_META : LIST_ITEMS;
}

static struct cor_protobuf_item_key item_key(const struct cor_list_protobuf *list,
                                             const struct cor_call *call, struct cor_object *object)
{
    return (struct cor_protobuf_item_key){object, call->type, list->item, items_number(call)};
}

struct cor_protobuf_item *cor_list_protobuf_use_kept(const struct cor_list_protobuf *list,
                                                     const struct cor_call *call,
                                                     struct cor_object *object)
{
    struct cor_protobuf_item_key key = item_key(list, call, object);

    assert(list->cache);
    return cor_protobuf_cache_use(list->cache, &key);
}

void cor_list_protobuf_keep(const struct cor_list_protobuf *list, const struct cor_call *call,
                            struct cor_object *object, struct cor_str item)
{
    struct cor_protobuf_item_key key = item_key(list, call, object);

    assert(list->cache);
    cor_protobuf_cache_add(list->cache, &key, item, list->since_ms);
}

int cor_list_protobuf_add_item(const struct cor_list_protobuf *list, struct cor_call *call,
                               const struct cor_object *object, struct cor_str json,
                               struct cor_buf *out)
{
    struct cor_pb_error why = {.message = ""};
    int r = cor_protobuf_add_field(items_number(call), list->item, json, out, &why);

    if (r == -COR_EINVAL)
        cor_call_unencodable(call, object, why.message);
    return r;
}

int cor_list_protobuf_make_frame(struct cor_list_protobuf *list, const struct cor_call *call)
{
    bool is_meta_last = is_v1beta1_list(call);
    int r;

    assert(list->item && list->frame.n == 0);
    r = cor_protobuf_add_head(list_api_version(call),
                              call->accept.view == COR_VIEW_PARTIAL
                                  ? COR_STR("PartialObjectMetadataList")
                                  : call->res->list_kind,
                              list->meta.n + list->counted, &list->frame);
    if (r == 0 && !is_meta_last)
        r = cor_buf_adds(&list->frame, cor_buf_str(&list->meta));
    list->head_bytes = list->frame.n;
    if (r == 0 && is_meta_last)
        r = cor_buf_adds(&list->frame, cor_buf_str(&list->meta));
    return r < 0 ? r : cor_buf_adds(&list->frame, COR_PROTOBUF_TAIL);
}

struct cor_str cor_list_protobuf_head(const struct cor_list_protobuf *list)
{
    return cor_str(list->frame.p, list->head_bytes);
}

struct cor_str cor_list_protobuf_tail(const struct cor_list_protobuf *list)
{
    return cor_str_from(cor_buf_str(&list->frame), list->head_bytes);
}
