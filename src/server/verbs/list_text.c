/* A list as text. The head is an open object: `{"kind":…,"metadata":…,"items":[`, and items follow
 * it with commas between them. An item is made from the object in the version of the request,
 * except for the cells of a table, which are those of the stored object (docs/internals/tables.md).
 *
 * Failures: no memory, or the maximum of the buffer; what the buffer has is of no use then.
 * Thread: the thread that has the call (its loop, or an offload thread during a stage). */
#include "server/verbs/list_text.h"
#include "base/limits.h"
#include "schema/kinds/custom_row.h"

#include <stdio.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "server/api/heavy.h"
#include "json/write/pretty.h"

struct cor_str cor_list_item_json(const struct cor_call *call, const struct cor_object *object)
{
    struct cor_str json = cor_object_json(object);

    return cor_str_from(json, call->res->custom ? 1 : object->type_end);
}

static void list_write_meta(struct cor_json_writer *w, const struct cor_list_cursor *cursor,
                            bool has_continue)
{
    char rv[24];

    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)cursor->rev);
    cor_json_begin_object(w);
    if (cursor->rev > 0)
        cor_json_member(w, COR_STR("resourceVersion"), cor_strz(rv));
    if (cursor->continue_token[0] || has_continue)
        cor_json_member(w, COR_STR("continue"), cor_strz(cursor->continue_token));
    if (cursor->remaining >= 0) {
        cor_json_key(w, COR_STR("remainingItemCount"));
        cor_json_i64(w, cursor->remaining);
    }
    cor_json_end_object(w);
}

void cor_list_write_meta(struct cor_json_writer *w, const struct cor_list_cursor *cursor)
{
    list_write_meta(w, cursor, false);
}

int cor_list_write_head(struct cor_list_call *list)
{
    struct cor_call *call = &list->call;
    const struct cor_list_cursor *cursor = list->cursor;
    struct cor_json_writer w;

    cor_json_writer_init(&w, &call->out);
    cor_json_begin_object(&w);
    switch (call->accept.view) {
    case COR_VIEW_OBJECT:
        cor_json_member(&w, COR_STR("kind"), call->res->list_kind);
        cor_json_member(&w, COR_STR("apiVersion"), call->res->api_version);
        break;
    case COR_VIEW_TABLE:
        cor_table_type(&w, call->accept.is_v1beta1);
        break;
    case COR_VIEW_PARTIAL:
        cor_json_member(&w, COR_STR("kind"), COR_STR("PartialObjectMetadataList"));
        cor_json_member(&w, COR_STR("apiVersion"),
                        call->accept.is_v1beta1 ? COR_STR("meta.k8s.io/v1beta1")
                                                : COR_STR("meta.k8s.io/v1"));
        break;
    }
    cor_json_key(&w, COR_STR("metadata"));
    /* Upstream has no type for a list of custom resources that would leave an empty text out. */
    list_write_meta(&w, cursor, call->res->custom && call->accept.view == COR_VIEW_OBJECT);
    if (call->accept.view == COR_VIEW_TABLE) {
        cor_json_key(&w, COR_STR("columnDefinitions"));
        cor_table_columns(&w, call->columns);
        cor_json_key(&w, COR_STR("rows"));
    } else {
        cor_json_key(&w, COR_STR("items"));
    }
    cor_json_begin_array(&w);
    /* Object and array stay open: the tail closes them. */
    return w.error;
}

/* The row of an object, which is `shown` in the version of the request. */
static int text_write_row(struct cor_list_call *list, const struct cor_object *object,
                          const struct cor_object *shown, struct cor_buf *out)
{
    struct cor_call *call = &list->call;
    const struct cor_table_opts opts = {.columns = call->columns,
                                        .include = list->include,
                                        .now_us = cor_call_now_ms(call) * 1000,
                                        .is_v1beta1 = call->accept.is_v1beta1,
                                        .shows_cells = call->res->custom,
                                        .work = &list->work};
    struct cor_json_writer w;

    list->work = cor_heavy_work_of(call);
    cor_json_writer_init(&w, out);
    cor_table_row(&w, &opts, object, shown);
    return cor_json_writer_finish(&w);
}

/* One item as text without indentation, at the end of `out`. */
static int text_write_item(struct cor_list_call *list, const struct cor_object *object,
                           struct cor_buf *out)
{
    struct cor_call *call = &list->call;
    int r;

    switch (call->accept.view) {
    case COR_VIEW_OBJECT:
        r = cor_buf_addc(out, '{');
        return r < 0 ? r : cor_buf_adds(out, cor_list_item_json(call, object));
    case COR_VIEW_TABLE:
        return text_write_row(list, object, object, out);
    case COR_VIEW_PARTIAL:
        r = cor_buf_adds(out, cor_partial_head(call->accept.is_v1beta1));
        if (r == 0)
            r = cor_buf_adds(out, cor_object_metadata(object));
        return r < 0 ? r : cor_buf_addc(out, '}');
    }
    return 0;
}

/* Everything is made from the object in the version of the request, except for the cells of a
 * table. */
int cor_list_write_item(struct cor_list_call *list, const struct cor_object *object,
                        struct cor_buf *out)
{
    struct cor_call *call = &list->call;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *made = NULL;
    int r;

    if (!call->conversion ||
        (call->accept.view == COR_VIEW_TABLE && !cor_call_converts_rows(call, list->include)))
        return text_write_item(list, object, out);
    r = cor_row_convert(call->type, call->conversion, object, &made);
    if (r < 0)
        return r;
    return call->accept.view == COR_VIEW_TABLE ? text_write_row(list, object, made, out)
                                               : text_write_item(list, made, out);
}

static int text_write_pretty_item(struct cor_list_call *list, const struct cor_object *object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf item = {0};
    int r;

    cor_buf_init(&item, COR_CALL_OUT_MAX);
    r = cor_list_write_item(list, object, &item);
    if (r == 0)
        r = cor_buf_addz(&list->call.out, list->is_begun ? ",\n    " : "\n    ");
    list->is_begun = true;
    return r < 0 ? r : cor_json_pretty(cor_buf_str(&item), 2, &list->call.out);
}

/* The item in protobuf. An object that is not converted is read where it stands. */
static int text_write_protobuf_item(struct cor_list_call *list, const struct cor_object *object)
{
    struct cor_call *call = &list->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    int r;

    if (call->accept.view == COR_VIEW_OBJECT && !call->conversion)
        return cor_list_protobuf_add_item(&list->protobuf, call, object, cor_object_json(object),
                                          &call->out);
    cor_buf_init(&json, COR_CALL_OUT_MAX);
    r = cor_list_write_item(list, object, &json);
    return r < 0 ? r
                 : cor_list_protobuf_add_item(&list->protobuf, call, object, cor_buf_str(&json),
                                              &call->out);
}

int cor_list_write_text_item(struct cor_list_call *list, const struct cor_object *object)
{
    struct cor_call *call = &list->call;
    int r = 0;

    if (call->accept.is_protobuf)
        return text_write_protobuf_item(list, object);
    if (call->accept.is_pretty)
        return text_write_pretty_item(list, object);
    if (list->is_begun)
        r = cor_buf_addc(&call->out, ',');
    list->is_begun = true;
    return r < 0 ? r : cor_list_write_item(list, object, &call->out);
}

/* The table of a list that is known to be empty. Upstream's converter for kinds without columns of
 * their own leaves the rows nil, others make an empty list. */
int cor_list_write_no_rows(struct cor_list_call *list)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, &list->call.out);
    cor_json_begin_object(&w);
    cor_table_type(&w, list->call.accept.is_v1beta1);
    cor_json_key(&w, COR_STR("metadata"));
    cor_list_write_meta(&w, list->cursor);
    cor_json_key(&w, COR_STR("columnDefinitions"));
    cor_table_columns(&w, list->call.columns);
    cor_json_key(&w, COR_STR("rows"));
    cor_json_null(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}
