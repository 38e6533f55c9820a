/* A list is read in pieces of any size: the splitter finds each item, on_value() makes it an
 * object, on_member() keeps what the list has of its own (kind, apiVersion, resourceVersion,
 * continue token).
 *
 * What fails: bytes that are not JSON, a document without items (or a Status), an item that is not
 * an object, or one larger than COR_LIST_READER_OBJECT_MAX, end the reading with a message in
 * `reterr`; a code that on_item returned ends it without, since its user knows why.
 * Thread: one at a time. */
#include "kit/dynamic/list_reader.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/wire.h"
#include "meta/object/object_received.h"
#include "meta/object/object_wire.h"
#include "meta/select/page_walk.h"
#include "json/text/scan.h"

#define TYPE_MAX 256
#define RV_MAX   128
#define ROOM     (60u * 1024)

struct reading {
    struct cor_list_reader *lr;
    struct cor_status *reterr;
    bool is_told; /* `reterr` is written, or on_item returned the error */
};

/* Lets the heap grow for many items at once. The C library grows the heap of a thread by no more
 * than each block needs, which is a system call for every object of a list. A block that is freed
 * at once leaves its room at the end of the heap; it is too small for the C library to give it
 * back. An allocator without such a heap loses one pair of calls for many objects. */
static void make_room(struct cor_list_reader *lr, size_t item)
{
    if (item > lr->room) {
        cor_free(cor_alloc(ROOM));
        lr->room = ROOM;
    }
    lr->room -= item < lr->room ? item : lr->room;
}

static int on_value(void *arg, struct cor_str json)
{
    struct reading *now = arg;
    struct cor_list_reader *lr = now->lr;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r;

    make_room(lr, json.n);
    r = lr->splitter.is_checked
            ? cor_object_received_checked(
                  json, lr->splitter.is_canonical ? COR_JSON_SORTED : COR_JSON_FIRST,
                  cor_buf_str(&lr->kind), cor_buf_str(&lr->api_version), &object, now->reterr)
            : cor_object_received(json, cor_buf_str(&lr->kind), cor_buf_str(&lr->api_version),
                                  &object, now->reterr);
    r = cor_status_received(now->reterr, r);
    if (r == 0)
        r = lr->on_item(lr->arg, object);
    now->is_told = r < 0;
    return r;
}

static int keep_member_text(struct cor_buf *to, struct cor_str value)
{
    struct cor_str raw;

    cor_buf_reset(to);
    return cor_json_to_raw(value, &raw) == 0 ? cor_buf_adds(to, raw) : 0;
}

/* "PodList" is a list of "Pod". The kind of a list that does not end in "List" says nothing about
 * its items. */
static int keep_kind(struct cor_list_reader *lr, struct cor_str value)
{
    int r = keep_member_text(&lr->kind, value);
    size_t n = lr->kind.n, tail = sizeof("List") - 1;

    lr->is_status = cor_str_eqz(cor_buf_str(&lr->kind), "Status");
    if (r == 0)
        cor_buf_truncate(&lr->kind,
                         cor_str_ends(cor_buf_str(&lr->kind), COR_STR("List")) ? n - tail : 0);
    return r;
}

static int keep_meta(struct cor_list_reader *lr, struct cor_str metadata)
{
    struct cor_str field;
    int r = 0;

    if (cor_json_get(metadata, COR_STR("resourceVersion"), COR_JSON_ANY_ORDER, &field) == 0)
        r = keep_member_text(&lr->rv, field);
    if (r == 0 && cor_json_get(metadata, COR_STR("continue"), COR_JSON_ANY_ORDER, &field) == 0)
        r = keep_member_text(&lr->token, field);
    if (cor_json_get(metadata, COR_STR("remainingItemCount"), COR_JSON_ANY_ORDER, &field) == 0)
        cor_json_to_i64(field, &lr->remaining);
    return r;
}

static int on_member(void *arg, struct cor_str raw_key, struct cor_str value)
{
    struct cor_list_reader *lr = ((struct reading *)arg)->lr;

    if (cor_str_eqz(raw_key, "kind"))
        return keep_kind(lr, value);
    if (cor_str_eqz(raw_key, "apiVersion"))
        return keep_member_text(&lr->api_version, value);
    if (cor_str_eqz(raw_key, "metadata"))
        return keep_meta(lr, value);
    if (cor_str_eqz(raw_key, "items"))
        lr->has_null_items = cor_json_type(value) == COR_JSON_NULL;
    return 0;
}

static const struct cor_json_splitter_cbs cbs = {on_value, on_member};

void cor_list_reader_init(struct cor_list_reader *lr, cor_list_item_cb on_item, void *arg)
{
    *lr = (struct cor_list_reader){.on_item = on_item, .arg = arg, .remaining = -1};
    cor_json_splitter_init(&lr->splitter, COR_JSON_SPLIT_ITEMS, COR_LIST_READER_OBJECT_MAX, &cbs,
                           NULL);
    lr->splitter.checks = true;
    cor_buf_init(&lr->kind, TYPE_MAX);
    cor_buf_init(&lr->api_version, TYPE_MAX);
    cor_buf_init(&lr->rv, RV_MAX);
    cor_buf_init(&lr->token, COR_PAGE_TOKEN_MAX);
    cor_wire_list_init(&lr->wire, COR_LIST_READER_OBJECT_MAX);
}

void cor_list_reader_deinit(struct cor_list_reader *lr)
{
    cor_json_splitter_deinit(&lr->splitter);
    cor_buf_deinit(&lr->kind);
    cor_buf_deinit(&lr->api_version);
    cor_buf_deinit(&lr->rv);
    cor_buf_deinit(&lr->token);
    cor_wire_list_deinit(&lr->wire);
}

static int reading_fail(const struct reading *now, int r)
{
    if (r < 0 && !now->is_told)
        cor_status_untyped(now->reterr, r, "unable to decode the list: %s",
                           r == -COR_EINVAL ? "it is not the JSON of a list" : cor_err_text(r));
    return now->is_told ? r : cor_status_received(now->reterr, r);
}

static int on_wire_item(void *arg, struct cor_str message)
{
    struct reading *now = arg;
    struct cor_list_reader *lr = now->lr;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r;

    make_room(lr, message.n);
    r = cor_status_received(now->reterr,
                            cor_object_received_wire(message, lr->wire.type, &object, now->reterr));
    if (r == 0)
        r = lr->on_item(lr->arg, object);
    now->is_told = r < 0;
    return r;
}

static int on_wire_metadata(void *arg, struct cor_str message)
{
    struct cor_list_reader *lr = ((struct reading *)arg)->lr;
    struct cor_wire_item remaining;
    int r;

    cor_buf_reset(&lr->rv);
    cor_buf_reset(&lr->token);
    r = cor_buf_adds(&lr->rv, cor_wire_bytes(message, 2));
    if (r == 0)
        r = cor_buf_adds(&lr->token, cor_wire_bytes(message, 3));
    if (cor_wire_find(message, 4, &remaining))
        lr->remaining = (int64_t)remaining.value;
    return r;
}

static const struct cor_wire_list_cbs wire_cbs = {on_wire_item, on_wire_metadata};

/* Says what is wrong with a list in protobuf. */
static int wire_fail(const struct reading *now, int r)
{
    if (r < 0 && !now->is_told) {
        cor_status_untyped(now->reterr, r, "unable to decode the list: %s",
                           r == -COR_EINVAL ? "it is not the protobuf of such a list"
                                            : cor_err_text(r));
        return cor_status_received(now->reterr, r);
    }
    return r;
}

int cor_list_reader_feed(struct cor_list_reader *lr, struct cor_str piece,
                         struct cor_status *reterr)
{
    struct reading now = {lr, reterr, false};

    if (lr->wire.type)
        return wire_fail(&now, cor_wire_list_feed(&lr->wire, piece, &wire_cbs, &now));
    lr->splitter.arg = &now;
    return reading_fail(&now, cor_json_splitter_feed(&lr->splitter, piece));
}

int cor_list_reader_end(struct cor_list_reader *lr, struct cor_status *reterr)
{
    struct reading now = {lr, reterr, false};
    int r;

    if (lr->wire.type)
        return wire_fail(&now, cor_wire_list_is_whole(&lr->wire) ? 0 : -COR_EINVAL);
    r = cor_json_splitter_end(&lr->splitter);
    if (r == 0 && (lr->is_status || !(lr->has_null_items || lr->splitter.has_items)))
        r = -COR_EINVAL;
    return reading_fail(&now, r);
}

struct cor_list_meta cor_list_reader_meta(const struct cor_list_reader *lr)
{
    return (struct cor_list_meta){cor_buf_str(&lr->rv), cor_buf_str(&lr->token), lr->remaining};
}
