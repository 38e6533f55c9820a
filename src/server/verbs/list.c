/* clang-format off */
/* LIST: reads a cursor from the reader of the resource, and writes its objects as they are asked
 * for by the sink. DELETECOLLECTION and ComponentStatus write their lists through the same
 * functions.
 *
 *   list_run ──► cor_reader_list ──► on a cursor, which is sorted first where a table has an order of
 *   its own (list_sorted.h): head `{...,"items":[` ──► list_refill, again and
 *   again: the next items, and at the end the tail `]}`
 *
 * The text of head and items is made in list_text.c. Five ways to write items, chosen by list_refill() and cor_list_call_reply():
 *   - to a sink that takes objects (server/request/sink.h): the objects in the version of the
 *     request; head and tail are bytes and make a list without items (list_refill_objects);
 *   - plain JSON of the stored version: spans of the objects' own bytes, nothing is copied
 *     (list_refill_spans);
 *   - indented JSON, tables, other versions: text in `call->out`, about BYTES_AT_ONCE at a time
 *     (list_refill_text); an item over COR_HEAVY_BYTES is written by an offload thread between two
 *     pieces;
 *   - protobuf: pieces of the same kind, but the length of the list precedes its items. So the
 *     pieces are made twice: list_count() makes and drops them, one in each turn of the loop, and
 *     the cursor goes back to its first object; then they are sent. A list that fits into the first
 *     FIRST_BYTES is kept while it is counted, and sent at once. Items of objects that a watch cache
 *     has are kept (server/shared/protobuf_cache.h): the second pass, and the next list, copy them;
 *   - YAML, which cannot be written item by item: the whole list is gathered first, by an offload
 *     thread when it is more than COR_HEAVY_BYTES (list_reply_whole).
 *
 * A selector may look at COR_LIST_LOOKS_AT_ONCE objects in one turn of the loop, and rows of a table
 * may be made of READ_AT_ONCE bytes, or with COR_WORK_SLICE steps, beyond which one row is written by
 * a thread as a large item is; then the cursor is paused, and the list goes on in the next turn
 * (list_wait_for_turn).
 *
 * While a list is counted it is charged for what it holds between its turns (server/api/held.h), and
 * refused with 429 when the answers of all calls hold too much.
 *
 * Failures: before the head is sent, a Status; afterwards the answer is cut, so that it cannot be
 * mistaken for a whole list. The same happens when the cache ends a list whose reader is too slow
 * (cor_list_call_lost).
 * Thread: the call's loop, except list_write_large() and list_write_rest(). */
/* clang-format on */
#include "server/verbs/list.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object_edit.h"
#include "schema/print/custom_columns.h"
#include "server/api/heavy.h"
#include "server/verbs/list_sorted.h"
#include "server/verbs/list_text.h"
#include "json/write/pretty.h"

/* Items per refill: each takes up to four spans. */
#define ITEMS_AT_ONCE (COR_LIST_SPANS_MAX / 4 - 2)
/* How soon an item is offered to the threads again that had no place among their work. */
#define RETRY_LARGE_MS 20
/* Bytes per refill when the text is made in a buffer. */
#define BYTES_AT_ONCE (64u * 1024)
/* Bytes of objects that rows of a table are made of in one turn of the loop. */
#define READ_AT_ONCE (1024u * 1024)
/* The bytes that the stage which gathers a whole list is charged with: its size is not known yet.
 */
#define WHOLE_BYTES (8u << 20)
/* Items per refill that may be kept ones, which a list that is counted adds no bytes for. */
#define KEPT_AT_ONCE 1024
/* A list in protobuf that has no more bytes of items than this is made once. */
#define FIRST_BYTES (256u * 1024)

static struct cor_list_call *list_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_list || call->verb == &cor_verb_delete_collection ||
           call->verb == &cor_verb_component_status);
    return COR_CONTAINER_OF(call, struct cor_list_call, call);
}

/* An item as spans of the object's own bytes. */
static void list_add_item_spans(struct cor_list_call *list, const struct cor_object *object)
{
    struct cor_call *call = &list->call;

    if (call->accept.view == COR_VIEW_PARTIAL) {
        if (list->is_begun)
            cor_call_add_span(call, COR_STR(","));
        cor_call_add_span(call, cor_partial_head(call->accept.is_v1beta1));
        cor_call_add_span(call, cor_object_metadata(object));
        cor_call_add_span(call, COR_STR("}"));
    } else {
        cor_call_add_span(call, list->is_begun ? COR_STR(",{") : COR_STR("{"));
        cor_call_add_span(call, cor_list_item_json(call, object));
    }
    list->is_begun = true;
}

static void list_count(struct cor_list_call *list);
static int list_refill(struct cor_call *call);

/* What the list waited for has happened. */
static void list_go_on(struct cor_list_call *list)
{
    if (list->protobuf.is_counting)
        list_count(list);
    else
        cor_call_pump(&list->call);
}

static void list_on_turn(struct cor_mail *mail)
{
    struct cor_list_call *list = COR_CONTAINER_OF(mail, struct cor_list_call, turn);

    if (!cor_call_takes_slice(&list->call, mail))
        return;
    list->is_waiting = false;
    if (cor_call_end_op(&list->call))
        list_go_on(list);
}

/* The selector has looked at enough objects for one turn: goes on in the next one. */
static int list_wait_for_turn(struct cor_list_call *list)
{
    assert(!list->is_waiting);
    list->cursor->is_paused = false;
    list->cursor->looks_left = COR_LIST_LOOKS_AT_ONCE;
    list->nread = 0;
    list->nsteps = 0;
    list->is_waiting = true;
    list->turn.on_mail = list_on_turn;
    cor_call_begin_op(&list->call);
    cor_loop_post_always(list->call.loop->loop, &list->turn);
    return COR_REFILL_WAIT;
}

static int list_refill_spans(struct cor_list_call *list)
{
    struct cor_call *call = &list->call;
    struct cor_object *object;
    size_t n = 0;

    while (n++ < ITEMS_AT_ONCE && (object = cor_list_cursor_next(list->cursor)))
        list_add_item_spans(list, object);
    if (list->cursor->is_paused)
        return call->nspans > 0 ? 1 : list_wait_for_turn(list);
    if (n <= ITEMS_AT_ONCE) {
        cor_call_add_span(call, COR_STR("]}\n"));
        list->is_done = true;
    }
    return 1;
}

/* A kept item takes the place of one that would be made. While a list is counted whose pieces are
 * dropped, its length is enough. 1: the item is written or counted; 0: it must be made; else a
 * failure. */
static int list_write_kept_item(struct cor_list_call *list, struct cor_object *object)
{
    struct cor_list_protobuf *protobuf = &list->protobuf;
    struct cor_protobuf_item *item;
    int r = 0;

    if (!protobuf->cache)
        return 0;
    item = cor_list_protobuf_use_kept(protobuf, &list->call, object);
    if (!item)
        return 0;
    if (protobuf->is_counting && protobuf->counted > 0)
        protobuf->counted += item->n;
    else
        r = cor_buf_adds(&list->call.out, cor_protobuf_item_bytes(item));
    cor_protobuf_item_unref(item);
    return r < 0 ? r : 1;
}

/* The item of `object` was made at the end of the output, from `at` on. */
static void list_keep_item(struct cor_list_call *list, struct cor_object *object, size_t at)
{
    if (list->protobuf.cache)
        cor_list_protobuf_keep(&list->protobuf, &list->call, object,
                               cor_str_from(cor_buf_str(&list->call.out), at));
}

static void list_counted(struct cor_list_call *list, int r);

/* A stage (server/api/heavy.h). */
static int list_write_large(struct cor_call *call)
{
    struct cor_list_call *list = list_of(call);

    assert(!list->made);
    return call->takes_objects ? cor_call_convert(call, list->large, &list->made)
                               : cor_list_write_text_item(list, list->large);
}

static void list_on_large(struct cor_call *call, int r)
{
    struct cor_list_call *list = list_of(call);
    struct cor_object *object = COR_STEAL(list->large);

    if (call->is_over)
        return;
    if (r == 0)
        list_keep_item(list, object, list->protobuf.large_at);
    if (list->protobuf.is_counting) {
        list_counted(list, r);
        return;
    }
    if (r < 0) {
        cor_call_abort(call);
        return;
    }
    if (list->made) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *made = COR_STEAL(list->made);

        if (cor_sink_take_object(call->sink, COR_WATCH_ADDED, made))
            cor_call_pump(call);
        return;
    }
    list->protobuf.sent += call->out.n;
    cor_call_add_span(call, cor_buf_str(&call->out));
    cor_call_pump(call);
}

static void list_on_retry(struct cor_timer *timer)
{
    struct cor_list_call *list = COR_CONTAINER_OF(timer, struct cor_list_call, retry);

    list->is_waiting = false;
    if (cor_call_end_op(&list->call))
        list_go_on(list);
}

/* Lets a thread write an item whose text takes too long for the loop. The head of the list has been
 * sent, so that a 429 is not possible any more: when too many stages wait, the list waits too,
 * until its own deadline breaks it off. */
static int list_start_large(struct cor_list_call *list, struct cor_object *object)
{
    struct cor_call *call = &list->call;
    int r;

    list->large = object;
    list->protobuf.large_at = call->out.n;
    if (list->protobuf.is_counting)
        cor_call_weigh(call);
    r = cor_heavy_start(call, cor_object_json(object).n, list_write_large, list_on_large);
    if (r == 0)
        return COR_REFILL_WAIT;
    if (r != -COR_EBUSY)
        return r;
    assert(!list->is_waiting);
    cor_timer_init(&list->retry, call->loop->loop, list_on_retry);
    r = cor_timer_set(&list->retry, RETRY_LARGE_MS);
    if (r < 0)
        return r;
    list->is_waiting = true;
    cor_call_begin_op(call);
    return COR_REFILL_WAIT;
}

static bool is_large(const struct cor_call *call, const struct cor_object *object)
{
    if (call->accept.view == COR_VIEW_TABLE && cor_heavy_has_threads(call) &&
        cor_columns_steps(call->columns, cor_object_json(object).n) > COR_WORK_SLICE)
        return true;
    return (call->accept.is_pretty || call->accept.is_protobuf || call->conversion ||
            call->accept.view == COR_VIEW_TABLE) &&
           cor_heavy_has_threads(call) && cor_object_json(object).n > COR_HEAVY_BYTES;
}

/* Appends items to `out` until it has `bytes_max` bytes, or KEPT_AT_ONCE items were taken. 1: there
 * are more than before, or the list is done, or the cursor paused behind some items;
 * COR_REFILL_WAIT: a thread writes an item, or the next turn goes on; else a failure. */
static int list_fill(struct cor_list_call *list, size_t bytes_max)
{
    struct cor_call *call = &list->call;
    struct cor_object *object = NULL;
    size_t n = 0;
    int r = 0;

    if (list->large)
        return list_start_large(list, list->large);
    while (r >= 0 && call->out.n < bytes_max && n++ < KEPT_AT_ONCE &&
           (object = cor_list_cursor_next(list->cursor))) {
        size_t at = call->out.n;
        bool is_begun = list->is_begun;

        r = list_write_kept_item(list, object);
        if (r != 0)
            continue;
        if (is_large(call, object))
            return list_start_large(list, object);
        r = cor_list_write_text_item(list, object);
        if (r == COR_WORK_YIELD) {
            cor_buf_truncate(&call->out, at);
            list->is_begun = is_begun;
            return list_start_large(list, object);
        }
        if (r == 0)
            list_keep_item(list, object, at);
        /* A row is much shorter than the object that it is made of. */
        list->nread += cor_object_json(object).n;
        list->nsteps += list->work.steps;
        if (call->accept.view == COR_VIEW_TABLE &&
            (list->nread >= READ_AT_ONCE || list->nsteps >= COR_WORK_SLICE)) {
            list->cursor->is_paused = true;
            break;
        }
    }
    if (r < 0)
        return r;
    if (list->cursor->is_paused && call->out.n == 0)
        return list_wait_for_turn(list);
    list->is_done = !object && !list->cursor->is_paused;
    return 1;
}

/* Hands objects over until the sink has no room, and then the tail. */
static int list_refill_objects(struct cor_list_call *list)
{
    struct cor_call *call = &list->call;
    struct cor_object *object;

    if (list->large)
        return list_start_large(list, list->large);
    while ((object = cor_list_cursor_next(list->cursor))) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *answer = NULL;

        if (is_large(call, object))
            return list_start_large(list, object);
        if (cor_call_convert(call, object, &answer) < 0)
            return -COR_ENOMEM;
        if (!cor_sink_take_object(call->sink, COR_WATCH_ADDED, answer))
            return COR_REFILL_WAIT;
    }
    if (list->cursor->is_paused)
        return list_wait_for_turn(list);
    cor_call_add_span(call, COR_STR("]}\n"));
    list->is_done = true;
    return 1;
}

static int list_write_tail(struct cor_list_call *list)
{
    struct cor_call *call = &list->call;

    if (call->accept.is_pretty)
        return cor_buf_addz(&call->out, list->is_begun ? "\n  ]\n}" : "]\n}");
    return cor_buf_addz(&call->out, "]}\n");
}

static int list_refill_text(struct cor_list_call *list)
{
    struct cor_call *call = &list->call;
    int r;

    /* What precedes an item that no thread had room for is not sent yet. */
    if (!list->large)
        cor_buf_reset(&call->out);
    r = list_fill(list, BYTES_AT_ONCE);
    if (r == 1 && list->is_done && !call->accept.is_protobuf && list_write_tail(list) < 0)
        return -COR_ENOMEM;
    if (r != 1)
        return r;
    cor_call_add_span(call, cor_buf_str(&call->out));
    if (!call->accept.is_protobuf)
        return 1;
    list->protobuf.sent += call->out.n;
    /* The length that was sent in front must be true. */
    if (list->is_done && list->protobuf.sent != list->protobuf.counted)
        return -COR_EINVAL;
    if (list->is_done)
        cor_call_add_span(call, cor_list_protobuf_tail(&list->protobuf));
    return 1;
}

/* Every item is counted. The items are sent now, those that are still in `out` or all of them once
 * more. */
static void list_send_counted(struct cor_list_call *list)
{
    struct cor_call *call = &list->call;
    struct cor_list_protobuf *protobuf = &list->protobuf;
    bool is_kept = protobuf->counted == 0;
    uint64_t length = COR_HTTP_LENGTH_UNKNOWN;
    int r;

    protobuf->is_counting = false;
    protobuf->counted += call->out.n;
    /* From now on the list is charged while it waits for its reader. */
    if (call->held.bytes > 0)
        cor_held_set(call, 0);
    r = cor_list_protobuf_make_frame(protobuf, call);
    if (r < 0) {
        cor_status_set_err(&call->status, r);
        cor_call_fail(call);
        return;
    }
    call->refill = list_refill;
    call->nspans = 0;
    cor_call_add_span(call, cor_list_protobuf_head(protobuf));
    if (is_kept) {
        cor_call_add_span(call, cor_buf_str(&call->out));
        cor_call_add_span(call, cor_list_protobuf_tail(protobuf));
        length = protobuf->frame.n + call->out.n;
    } else {
        cor_list_cursor_rewind(list->cursor);
        list->cursor->looks_left = COR_LIST_LOOKS_AT_ONCE;
        list->is_done = false;
    }
    list->cursor->on_lost = cor_list_call_lost;
    list->cursor->lost_arg = list;
    cor_call_start(call, 200, "application/vnd.kubernetes.protobuf", NULL, 0, length);
    cor_call_pump(call);
}

/* A piece of the list is made, with the result `r` of list_fill() or of a stage. */
static void list_counted(struct cor_list_call *list, int r)
{
    struct cor_call *call = &list->call;

    if (r == COR_REFILL_WAIT)
        return;
    if (r < 0) {
        if (r != -COR_EINVAL)
            cor_status_set_err(&call->status, r);
        cor_call_fail(call);
        return;
    }
    if (list->is_done) {
        list_send_counted(list);
        return;
    }
    cor_call_weigh(call);
    /* What a DELETECOLLECTION has deleted cannot be refused any more. */
    if (call->verb != &cor_verb_list || !cor_held_must_give_up(call)) {
        (void)list_wait_for_turn(list);
        return;
    }
    (void)cor_held_refuse(call);
    cor_call_fail(call);
}

/* Makes the next piece of a list in protobuf, and drops the pieces before it when the list is
 * longer than FIRST_BYTES. */
static void list_count(struct cor_list_call *list)
{
    struct cor_list_protobuf *protobuf = &list->protobuf;
    struct cor_buf *out = &list->call.out;

    assert(protobuf->is_counting && !list->is_done);
    if (!list->large && (protobuf->counted > 0 || out->n >= FIRST_BYTES)) {
        protobuf->counted += out->n;
        cor_buf_truncate(out, 0);
    }
    list_counted(list, list_fill(list, out->n + BYTES_AT_ONCE));
}

static int list_refill(struct cor_call *call)
{
    struct cor_list_call *list = list_of(call);

    if (list->is_done)
        return 0;
    if (list->is_waiting)
        return COR_REFILL_WAIT;
    if (list->cursor->is_paused)
        return list_wait_for_turn(list);
    if (call->takes_objects)
        return list_refill_objects(list);
    if (call->accept.is_pretty || call->accept.is_protobuf || call->accept.view == COR_VIEW_TABLE ||
        call->conversion)
        return list_refill_text(list);
    return list_refill_spans(list);
}

/* The open head `{…:[` becomes indented text that the items follow. */
static int list_indent_head(struct cor_call *call)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pretty = {0};
    size_t n = call->out.n - 1; /* the bracket */
    int r;

    cor_buf_init(&pretty, COR_CALL_OUT_MAX);
    r = cor_json_pretty(cor_str(call->out.p, n), 0, &pretty);
    if (r == 0)
        r = cor_buf_addc(&pretty, '[');
    cor_buf_reset(&call->out);
    return r < 0 ? r : cor_buf_adds(&call->out, cor_buf_str(&pretty));
}

/* Gathers the list as one text in `out`, until that is longer than `bytes_max`. */
static int list_write_whole(struct cor_list_call *list, size_t bytes_max)
{
    struct cor_call *call = &list->call;
    struct cor_object *object = NULL;
    int r = 0;

    while (r == 0 && call->out.n <= bytes_max && (object = cor_list_cursor_next(list->cursor))) {
        if (list->is_begun)
            r = cor_buf_addc(&call->out, ',');
        list->is_begun = true;
        if (r == 0)
            r = cor_list_write_item(list, object, &call->out);
    }
    if (r < 0 || object || list->cursor->is_paused)
        return r;
    list->is_done = true;
    return cor_buf_addz(&call->out, "]}");
}

/* A stage (server/api/heavy.h). The cursor is a snapshot, which any thread may read. */
static int list_write_rest(struct cor_call *call)
{
    struct cor_list_call *list = list_of(call);

    list->cursor->is_bounded = list->cursor->is_paused = false;
    return list_write_whole(list, SIZE_MAX);
}

static void list_on_whole(struct cor_call *call, int r)
{
    struct cor_list_call *list = list_of(call);

    if (call->is_over)
        return;
    if (r < 0) {
        if (r != -COR_EBUSY)
            cor_status_set_err(&call->status, r);
        cor_call_fail(call);
        return;
    }
    list->cursor = cor_list_cursor_free(list->cursor);
    cor_call_reply_json(call, 200);
}

/* Gathers a short list on the loop; a thread goes on with a long one. */
static void list_reply_whole(struct cor_list_call *list)
{
    /* Rows are short, and may be long in the making: a thread has them from the first one on. */
    bool are_rows = list->call.accept.view == COR_VIEW_TABLE && cor_heavy_has_threads(&list->call);
    int r = are_rows ? 0 : list_write_whole(list, COR_HEAVY_BYTES);

    if (r < 0 || list->is_done)
        list_on_whole(&list->call, r);
    else
        cor_heavy_owe(&list->call, WHOLE_BYTES, list_write_rest, list_on_whole);
}

/* A list that is cut short must not look whole, so that the client repeats it. A list whose output
 * does not wait for its reader is still being made, and is not cut. */
bool cor_list_call_lost(void *arg)
{
    struct cor_list_call *list = arg;

    if (list->call.held.bytes == 0)
        return false;
    cor_call_abort(&list->call);
    return true;
}

/* A stage (server/api/heavy.h). The cursor is a snapshot, which any thread may read. */
static int list_sort(struct cor_call *call)
{
    struct cor_list_call *list = list_of(call);
    int r = cor_list_sorted_open(list->cursor, call->columns, &list->cursor);

    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Returns whether the list is a table whose rows are null. The first object is read for this, and
 * comes again. */
static bool list_has_nil_rows(struct cor_list_call *list)
{
    bool is_empty;

    if (list->call.accept.view != COR_VIEW_TABLE || !cor_columns_are_of_others(list->call.columns))
        return false;
    is_empty = !cor_list_cursor_next(list->cursor) && !list->cursor->is_paused;
    cor_list_cursor_rewind(list->cursor);
    list->cursor->looks_left = COR_LIST_LOOKS_AT_ONCE;
    return is_empty;
}

static void list_reply_cursor(struct cor_list_call *list);

static void list_on_sorted(struct cor_call *call, int r)
{
    if (call->is_over)
        return;
    if (r < 0)
        cor_call_fail(call);
    else
        list_reply_cursor(list_of(call));
}

void cor_list_call_reply(struct cor_list_call *list)
{
    struct cor_call *call = &list->call;

    /* What a DELETECOLLECTION has deleted is not sorted: it cannot be refused any more. */
    if (call->accept.view == COR_VIEW_TABLE && call->columns->order > 0 &&
        call->verb == &cor_verb_list)
        cor_heavy_run(call, WHOLE_BYTES, list_sort, list_on_sorted);
    else
        list_reply_cursor(list);
}

/* Answers with the cursor's objects in its order. */
static void list_reply_cursor(struct cor_list_call *list)
{
    struct cor_call *call = &list->call;
    int r;

    assert(list->cursor && !list->is_begun && !call->refill);
    cor_buf_reset(&call->out);
    list->cursor->is_bounded = true;
    list->cursor->looks_left = COR_LIST_LOOKS_AT_ONCE;
    if (call->accept.is_protobuf) {
        list->protobuf.is_counting = true;
        if (cor_list_protobuf_init(&list->protobuf, call, list->cursor) < 0)
            cor_call_fail(call);
        else
            list_count(list);
        return;
    }
    if (list_has_nil_rows(list)) {
        list_on_whole(call, cor_list_write_no_rows(list));
        return;
    }
    r = cor_list_write_head(list);
    if (r == 0 && call->accept.is_yaml) {
        list_reply_whole(list);
        return;
    }
    if (r == 0 && call->accept.is_pretty)
        r = list_indent_head(call);
    if (r < 0) {
        cor_status_set_err(&call->status, r);
        cor_call_fail(call);
        return;
    }
    call->refill = list_refill;
    call->nspans = 0;
    cor_call_add_span(call, cor_buf_str(&call->out));
    list->cursor->on_lost = cor_list_call_lost;
    list->cursor->lost_arg = list;
    cor_call_start(call, 200, "application/json", NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
    cor_call_pump(call);
}

static void list_on_cursor(void *arg, int err, struct cor_status *status,
                           struct cor_list_cursor *take_cursor)
{
    struct cor_list_call *list = arg;

    list->cursor = take_cursor;
    if (!cor_call_end_op(&list->call))
        return;
    if (err < 0) {
        cor_status_move(&list->call.status, status);
        cor_call_fail_storage(&list->call, COR_STORAGE_OP_LIST);
        return;
    }
    cor_list_call_reply(list);
}

int cor_list_call_options(struct cor_list_call *list, struct cor_store_list_opts *ret_opts)
{
    struct cor_call *call = &list->call;

    *ret_opts = (struct cor_store_list_opts){.predicate = &list->predicate,
                                             .deadline_ms = call->req->deadline_ms};
    return cor_call_list_options(call, false, &ret_opts->options, &list->predicate, &list->include);
}

static void list_run(struct cor_call *call)
{
    struct cor_list_call *list = list_of(call);
    struct cor_store_list_opts opts;
    int r = cor_list_call_options(list, &opts);

    if (r < 0) {
        cor_call_fail(call);
        return;
    }
    r = cor_reader_list(call->backing->reader, cor_buf_str(&call->key), &opts, list_on_cursor, list,
                        &call->status);
    if (r < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_LIST);
    else
        cor_call_begin_op(call);
}

void cor_list_call_deinit(struct cor_call *call)
{
    struct cor_list_call *list = list_of(call);

    cor_list_cursor_free(list->cursor);
    cor_object_unref(list->made);
    cor_list_protobuf_deinit(&list->protobuf);
    cor_predicate_deinit(&list->predicate);
}

/* A list that is counted has no answer to cut: it looks for itself whether it must give up. */
bool cor_list_call_may_cut(struct cor_call *call)
{
    return !list_of(call)->protobuf.is_counting;
}

size_t cor_list_call_held(struct cor_call *call)
{
    const struct cor_list_cursor *cursor = list_of(call)->cursor;

    return cursor ? cursor->bytes : 0;
}

const struct cor_verb_ops cor_verb_list = {.size = sizeof(struct cor_list_call),
                                           .spans_max = COR_LIST_SPANS_MAX,
                                           .run = list_run,
                                           .deinit = cor_list_call_deinit,
                                           .held = cor_list_call_held,
                                           .may_cut = cor_list_call_may_cut};
