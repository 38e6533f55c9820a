/* clang-format off */
/* WATCH: a stream of events that lasts until its time is over, the client leaves or the server
 * ends.
 *
 *   watch_run ──► cor_reader_watch ──► watch_on_open: the head ──► watch_on_event, one at a time:
 *   spans ──► sink ──► all taken: the next event; not all taken: the watch is paused until the sink
 *   has taken the rest (watch_refill)
 *
 * An event is three spans: `{"type":...,"object":`, the object's own bytes, `}`. A DELETED event is
 * the last state with the revision of the deletion in place: two more spans. Tables, and objects in
 * another version, are made for each event; a table is not kept, because it has ages. A thread makes
 * the table of a large object, of one whose columns take long, and of what comes when the loop has
 * made enough rows in a turn (watch_make_table). In protobuf an
 * event is one span, a frame that all watches of the loop share (frames.h). A thread makes what an
 * object over COR_HEAVY_BYTES is shown as (event_maker.h); the watch is paused until the thread has
 * ended (watch_on_made). The spans of an event are given to the sink together, because over
 * WebSocket an event is a message.
 *
 * A sink that takes objects (server/request/sink.h) gets the object of an event in the version of
 * the watch; an object that fills the sink pauses the watch (watch_hand_over).
 *
 * How a watch ends:
 *   - the reader sends an ERROR event or the end: written as the last event (watch_end_with);
 *   - an event cannot be made (no memory): an ERROR event, never a gap. Within a revision of
 *     several events the client is told to list again (410), because it would resume after that
 *     revision;
 *   - timeoutSeconds or shutdown: after the revision that was begun is complete (watch_end_now);
 *   - the definition of a custom resource has changed or is gone: after everything that was written
 *     before, which a client who comes again may not find any more (watch_on_retired). A client that
 *     does not read, or a store that does not tell, is waited for no longer than
 *     COR_RETIRED_WATCH_MS;
 *   - timeoutSeconds before the store has told where the watch begins, as an etcd without a quorum
 *     does not: an ERROR event with 504 (watch_end_unbegun);
 *   - the client is gone, or is cut for being too slow: closed (watch_gone). may_cut is false
 *     inside a revision, for the same reason.
 * Before the head is sent a failure is answered as a Status.
 *
 * A watch that no cache serves, because the resource has none or because the watch covers a value
 * that cannot be decoded, has a feed of the store, and takes a share of the user's feeds
 * (feed_shares.h). A cache asks for such a share by itself when it reads history for a watch.
 * Thread: the call's loop. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "loop/timer.h"
#include "meta/object/object_edit.h"
#include "schema/print/custom_columns.h"
#include "schema/protobuf/protobuf.h"
#include "server/api/call.h"
#include "server/api/event_maker.h"
#include "server/api/heavy.h"
#include "server/docs/table.h"
#include "json/write/writer.h"

/* A year. A client may ask for any number of seconds; larger ones could overflow. */
#define WATCH_SECONDS_MAX (366 * 24 * 3600)
/* The event is being made by a thread. */
#define WATCH_AWAITS 1

struct watch_call {
    struct cor_call call;
    struct cor_call_link of_backing; /* of a custom resource; `end` is NULL until it is open */
    struct cor_predicate predicate;
    struct cor_watch *watch;      /* NULL: closed, or never opened */
    struct cor_feed_share *share; /* NULL: the watch has no feed of its own */
    struct cor_timer timer;       /* the end of the stream */
    uint64_t deadline_ms;         /* that the client asked for */
    struct cor_frame *frame; /* what the spans hold in protobuf, or a table that a thread has made;
                                NULL: other bytes */
    struct cor_event_wait wait;      /* for what a thread makes of a large object */
    struct cor_reader_event awaited; /* the event that it belongs to, with a reference */
    bool is_awaiting;                /* the watch is paused meanwhile */
    bool ends_after;                 /* the time was over meanwhile, or the server shut down */
    enum cor_table_include include;
    bool is_websocket; /* each event is a message of its own */
    bool has_columns;  /* of the table: they are sent once */
    bool is_ending;    /* the spans hold the last event */
    bool is_paused;
    cor_rev last_rev; /* of the last event */
    bool is_inside;   /* the last event was not the first of its revision */
    char rv[24];      /* of a DELETED event */
};

static struct watch_call *watch_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_watch);
    return COR_CONTAINER_OF(call, struct watch_call, call);
}

static const char *const heads[] = {
    [COR_WATCH_ADDED] = "{\"type\":\"ADDED\",\"object\":",
    [COR_WATCH_MODIFIED] = "{\"type\":\"MODIFIED\",\"object\":",
    [COR_WATCH_DELETED] = "{\"type\":\"DELETED\",\"object\":",
    [COR_WATCH_BOOKMARK] = "{\"type\":\"BOOKMARK\",\"object\":",
    [COR_WATCH_ERROR] = "{\"type\":\"ERROR\",\"object\":",
};

static void watch_on_made(struct cor_event_wait *wait, const struct cor_event_made *made);
static void watch_end_now(struct watch_call *w);

static void watch_on_closed(void *arg)
{
    (void)cor_call_end_op(arg);
}

static void watch_close(struct watch_call *w)
{
    cor_timer_cancel(&w->timer);
    if (w->of_backing.end)
        cor_dlist_remove(&w->of_backing.link);
    if (w->is_awaiting) {
        cor_event_wait_cancel(&w->wait);
        w->awaited.object = cor_object_unref(w->awaited.object);
        w->is_awaiting = false;
    }
    if (w->watch)
        cor_watch_close(COR_STEAL(w->watch), watch_on_closed, w);
}

static int watch_refill(struct cor_call *call)
{
    struct watch_call *w = watch_of(call);

    call->out_object = cor_object_unref(call->out_object);
    if (w->frame)
        w->frame = cor_frame_unref(w->frame);
    if (w->is_ending) {
        watch_close(w);
        return 0;
    }
    if (w->is_paused && !w->is_awaiting) {
        w->is_paused = false;
        cor_watch_resume(w->watch);
    }
    return COR_REFILL_WAIT;
}

/* A frame as it is sent: over WebSocket the length before it is that of the message. */
static struct cor_str watch_frame(const struct watch_call *w, struct cor_str frame)
{
    assert(frame.n > COR_PROTOBUF_FRAME_HEAD);
    return w->is_websocket ? cor_str_from(frame, COR_PROTOBUF_FRAME_HEAD) : frame;
}

/* Writes what the spans hold. When the sink does not take all of it, the watch is paused. */
static void watch_send(struct watch_call *w)
{
    bool ending = w->is_ending;

    cor_call_pump(&w->call);
    if (ending || w->call.nspans == 0)
        return;
    w->is_paused = true;
    cor_watch_pause(w->watch);
}

static void watch_add_object_spans(struct watch_call *w, const struct cor_reader_event *event)
{
    struct cor_call *call = &w->call;
    struct cor_object *object = event->object;
    struct cor_str json = cor_object_json(object), rv;

    if (call->accept.view == COR_VIEW_PARTIAL) {
        cor_call_add_span(call, cor_partial_head(call->accept.is_v1beta1));
        cor_call_add_span(call, cor_object_metadata(object));
        cor_call_add_span(call, COR_STR("}"));
        return;
    }
    if (event->type != COR_WATCH_DELETED || event->rev == object->rev) {
        cor_call_add_span(call, json);
        return;
    }
    rv = cor_object_resource_version(object);
    cor_call_add_span(call, cor_str(json.p, (size_t)(rv.p - json.p)));
    cor_call_add_span(call, cor_str(w->rv, (size_t)snprintf(w->rv, sizeof(w->rv), "%llu",
                                                            (unsigned long long)event->rev)));
    cor_call_add_span(call, cor_str_from(json, (size_t)(rv.p - json.p) + rv.n));
}

/* A bookmark's annotation marks the end of the initial events; a row without metadata would lose
 * it.
 */
static enum cor_table_include include_of(const struct watch_call *w, enum cor_watch_type type)
{
    return type == COR_WATCH_BOOKMARK && w->include == COR_TABLE_NONE ? COR_TABLE_METADATA
                                                                      : w->include;
}

static struct cor_table_opts watch_table_opts(const struct watch_call *w, enum cor_watch_type type)
{
    const struct cor_call *call = &w->call;

    return (struct cor_table_opts){
        .columns = call->columns,
        .include = include_of(w, type),
        .now_us = cor_call_now_ms(call) * 1000,
        .is_v1beta1 = call->accept.is_v1beta1,
        .has_columns = !w->has_columns,
        .shows_cells = call->res->custom,
    };
}

/* The cells are those of the stored object, or of a custom resource those of the version of the
 * watch; a row with whole objects has it in that version. COR_WORK_YIELD: it is too much for the
 * loop. */
static int watch_write_table(struct watch_call *w, enum cor_watch_type type,
                             struct cor_object *object)
{
    struct cor_call *call = &w->call;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *shown = NULL;
    struct cor_table_opts opts = watch_table_opts(w, type);
    struct cor_work work = cor_heavy_work_of(call);
    struct cor_json_writer writer;
    int r = 0;

    opts.work = &work;
    if (cor_call_converts_rows(call, opts.include))
        r = cor_call_convert(call, object, &shown);
    if (r < 0)
        return r;
    cor_buf_reset(&call->out);
    cor_json_writer_init(&writer, &call->out);
    cor_table_of_object(&writer, &opts, object, shown ? shown : object);
    call->loop->rows.steps += work.steps;
    return cor_json_writer_finish(&writer);
}

/* Replaces the event's object by one that the call owns until the sink has taken it. */
static void watch_replace_object(struct watch_call *w, struct cor_reader_event *event,
                                 struct cor_object *take_object)
{
    cor_object_unref(w->call.out_object);
    w->call.out_object = take_object;
    event->object = take_object;
}

/* Tables, partial metadata and frames of a deletion are made from the object, which must have the
 * deletion's revision: the call holds a copy with it. */
static int watch_set_revision(struct watch_call *w, struct cor_reader_event *event)
{
    struct cor_object *at;
    int r;

    if ((w->call.accept.view == COR_VIEW_OBJECT && !w->call.accept.is_protobuf &&
         !w->call.takes_objects) ||
        event->type != COR_WATCH_DELETED || event->rev == event->object->rev)
        return 0;
    r = cor_object_at(event->object, event->rev, &at);
    if (r == 0)
        watch_replace_object(w, event, at);
    return r;
}

/* The event's object in the version that was asked for. */
static int watch_convert(struct watch_call *w, struct cor_reader_event *event)
{
    struct cor_object *made;
    int r;

    if (!w->call.conversion)
        return 0;
    r = cor_call_convert(&w->call, event->object, &made);
    if (r == 0)
        watch_replace_object(w, event, made);
    return r;
}

/* Is what the event shows made by a thread? */
static bool watch_is_large(const struct watch_call *w, const struct cor_reader_event *event)
{
    return cor_object_json(event->object).n > COR_HEAVY_BYTES && cor_heavy_has_threads(&w->call);
}

/* Orders what the event shows, and pauses the watch until it is made: see watch_on_made(). */
static int watch_order(struct watch_call *w, const struct cor_reader_event *event,
                       enum cor_event_product product, const struct cor_frame_key *key)
{
    struct cor_call *call = &w->call;
    struct cor_event_order order = {product, *key, call->schema, call->conversion, {0}};
    int r;

    if (product == COR_EVENT_TABLE) {
        order.table = watch_table_opts(w, event->type);
        if (!cor_call_converts_rows(call, order.table.include))
            order.conversion = NULL;
    }

    assert(!w->is_awaiting && !w->frame && !call->out_object);
    w->wait.on_made = watch_on_made;
    r = cor_event_order(call->loop, &order, &w->wait);
    if (r < 0)
        return r;
    w->awaited = *event;
    w->awaited.object = cor_object_ref(event->object);
    w->is_awaiting = w->is_paused = true;
    cor_watch_pause(w->watch);
    return WATCH_AWAITS;
}

/* Is the row that the event shows made by a thread? It is when it is known to be too much for the
 * loop, or when the watches of the loop have made enough rows in this turn. */
static bool watch_row_is_large(const struct watch_call *w, const struct cor_reader_event *event)
{
    size_t n = cor_object_json(event->object).n;
    struct cor_api_loop *loop = w->call.loop;
    uint64_t now_ms = cor_loop_now_ms(loop->loop), steps = cor_columns_steps(w->call.columns, n);

    /* The time stands still during a turn. */
    if (loop->rows.now_ms != now_ms) {
        loop->rows.now_ms = now_ms;
        loop->rows.steps = 0;
    }
    loop->rows.steps += steps;
    return cor_heavy_has_threads(&w->call) &&
           (n > COR_HEAVY_BYTES || loop->rows.steps > COR_WORK_SLICE);
}

/* Makes the table of the event in `out`, or orders it: 0, WATCH_AWAITS, or a failure. */
static int watch_make_table(struct watch_call *w, struct cor_reader_event *event)
{
    const struct cor_frame_key key = {.source = event->object,
                                      .rev = event->rev,
                                      .event = event->type,
                                      .type = w->call.type,
                                      .view = COR_VIEW_TABLE};
    const struct cor_reader_event delivered = *event;
    int r = COR_WORK_YIELD;

    if (!watch_row_is_large(w, event)) {
        r = watch_set_revision(w, event);
        if (r == 0)
            r = watch_write_table(w, event->type, event->object);
    }
    if (r == 0)
        w->has_columns = true;
    if (r != COR_WORK_YIELD)
        return r;
    *event = delivered;
    w->call.out_object = cor_object_unref(w->call.out_object);
    return watch_order(w, event, COR_EVENT_TABLE, &key);
}

/* Sets the frame of the event: one that another watch of the loop has made, or a new one. 0,
 * WATCH_AWAITS, or a failure; of -COR_EINVAL the call's status names the object's key. */
static int watch_set_frame(struct watch_call *w, struct cor_reader_event *event)
{
    struct cor_call *call = &w->call;
    struct cor_frames *frames = &call->loop->frames;
    const struct cor_frame_key key = {event->object, event->rev,        event->type,
                                      call->type,    call->accept.view, call->accept.is_v1beta1};
    struct cor_frame *frame = cor_frames_find(frames, &key);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes = {0};
    struct cor_pb_error why = {.message = ""};
    int r;

    assert(!w->frame);
    if (frame) {
        w->frame = cor_frame_ref(frame);
        return 0;
    }
    if (watch_is_large(w, event))
        return watch_order(w, event, COR_EVENT_FRAME, &key);
    cor_buf_init(&bytes, COR_CALL_OUT_MAX);
    r = watch_convert(w, event);
    if (r == 0)
        r = watch_set_revision(w, event);
    if (r == 0)
        r = cor_event_write_frame(&key, call->schema, event->object, &bytes, &why);
    if (r == -COR_EINVAL)
        cor_call_unencodable(call, event->object, why.message);
    if (r == 0)
        w->frame = cor_frames_add(frames, &key, &bytes);
    call->out_object = cor_object_unref(call->out_object);
    return r == 0 && !w->frame ? -COR_ENOMEM : r;
}

/* Keeps the object of an event that the sink has not taken whole. Most events are taken at once and
 * need no reference: all loops would contend for its count. */
static void watch_hold_rest(struct watch_call *w, const struct cor_reader_event *event)
{
    if (w->call.nspans == 0)
        return;
    if (!w->call.out_object && !w->frame)
        w->call.out_object = cor_object_ref(event->object);
    cor_call_weigh(&w->call);
}

/* The Status as an ERROR event in protobuf, in `out`. */
static int watch_write_status(struct watch_call *w, struct cor_status *status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    int r;

    cor_buf_init(&json, COR_CALL_OUT_MAX);
    r = cor_status_write(status, &json);
    return r < 0 ? r
                 : cor_protobuf_add_frame(COR_STR("ERROR"), COR_STR("v1"), COR_STR("Status"),
                                          cor_type_named(COR_STR("meta_v1.Status")),
                                          cor_buf_str(&json), &w->call.out, NULL);
}

static void watch_end_with(struct watch_call *w, struct cor_status *status)
{
    struct cor_call *call = &w->call;

    w->is_ending = true;
    cor_buf_reset(&call->out);
    if (status && call->accept.is_protobuf) {
        if (watch_write_status(w, status) == 0)
            cor_call_add_span(call, watch_frame(w, cor_buf_str(&call->out)));
    } else if (status && cor_status_write(status, &call->out) == 0) {
        cor_call_add_span(call, cor_strz(heads[COR_WATCH_ERROR]));
        cor_call_add_span(call, cor_buf_str(&call->out));
        cor_call_add_span(call, COR_STR("}\n"));
    }
    watch_send(w);
}

/* An event that cannot be made must not be left out: the stream ends with an error, and the client
 * resumes. Inside a revision the client would resume after that revision and miss events: it gets
 * 410, and lists again. */
static void watch_end_without(struct watch_call *w, int err, cor_rev rev)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    if (err == -COR_EINVAL && rev != w->last_rev && w->call.status.err < 0)
        cor_status_move(&status, &w->call.status);
    else if (rev == w->last_rev)
        (void)cor_status_expired(&status, "unable to encode watch object: %s", cor_err_text(err));
    else
        (void)cor_status_internal(&status, "unable to encode watch object: %s", cor_err_text(err));
    watch_end_with(w, &status);
}

/* Gives the event's object to a sink that takes objects. */
static void watch_hand_over(struct watch_call *w, const struct cor_reader_event *event)
{
    if (cor_sink_take_object(w->call.sink, event->type, event->object)) {
        cor_call_pump(&w->call);
    } else if (!w->is_paused) {
        w->is_paused = true;
        cor_watch_pause(w->watch);
    }
}

/* Counts an event for the metrics. The loop alone writes the number. */
static void watch_count_event(const struct watch_call *w)
{
    const struct cor_call *call = &w->call;

    if (!call->res->life) {
        _Atomic uint64_t *n = &call->loop->watch_events[cor_row_place(call->res)];

        atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    }
}

/* Sends the event of revision `event->rev`, whose frame is set, or whose object is in the version
 * of the watch. */
static void watch_send_event(struct watch_call *w, struct cor_reader_event *event)
{
    struct cor_call *call = &w->call;
    bool is_table = call->accept.view == COR_VIEW_TABLE;
    int r = w->frame || is_table ? 0 : watch_set_revision(w, event);

    if (r < 0) {
        watch_end_without(w, r, event->rev);
        return;
    }
    watch_count_event(w);
    w->is_inside = event->rev == w->last_rev;
    w->last_rev = event->rev;
    if (call->takes_objects) {
        watch_hand_over(w, event);
        return;
    }
    if (w->frame && !is_table) {
        cor_call_add_span(call, watch_frame(w, cor_buf_str(&w->frame->bytes)));
    } else {
        cor_call_add_span(call, cor_strz(heads[event->type]));
        if (is_table)
            cor_call_add_span(call, cor_buf_str(w->frame ? &w->frame->bytes : &call->out));
        else
            watch_add_object_spans(w, event);
        cor_call_add_span(call, COR_STR("}\n"));
    }
    watch_send(w);
    watch_hold_rest(w, event);
}

/* What a thread made of the event that the watch waits for. The watch is paused; watch_refill()
 * resumes it when the event has been taken. */
static void watch_on_made(struct cor_event_wait *wait, const struct cor_event_made *made)
{
    struct watch_call *w = COR_CONTAINER_OF(wait, struct watch_call, wait);
    struct cor_call *call = &w->call;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *source = w->awaited.object;
    struct cor_reader_event event = w->awaited;

    assert(w->is_awaiting && w->is_paused && !call->is_over && call->nspans == 0);
    w->is_awaiting = false;
    w->awaited.object = NULL;
    if (made->err == -COR_EINVAL)
        cor_call_unencodable(call, source, made->why);
    if (made->err < 0) {
        watch_end_without(w, made->err, event.rev);
        return;
    }
    if (made->frame)
        w->frame = cor_frame_ref(made->frame);
    if (call->accept.view == COR_VIEW_TABLE)
        w->has_columns = true;
    else if (!made->frame)
        watch_replace_object(w, &event, cor_object_ref(made->object));
    cor_call_begin_op(call);
    watch_send_event(w, &event);
    /* What ends the watch has come meanwhile. */
    if (cor_call_end_op(call) && w->ends_after && !w->is_ending)
        watch_end_now(w);
}

static void watch_on_event(void *arg, const struct cor_reader_event *event)
{
    struct watch_call *w = arg;
    struct cor_call *call = &w->call;
    struct cor_reader_event own;
    int r = 0;

    if (!event || event->type == COR_WATCH_ERROR) {
        struct cor_gr gr = cor_api_gr(call->res);

        if (event)
            cor_storage_error_to_api(event->status, COR_STORAGE_OP_WATCH, &gr, call->name);
        watch_end_with(w, event ? event->status : NULL);
        return;
    }
    assert(w->call.refill && w->call.nspans == 0 && event->object);
    own = *event;
    if (call->accept.is_protobuf) {
        r = watch_set_frame(w, &own);
    } else if (call->accept.view == COR_VIEW_TABLE) {
        r = watch_make_table(w, &own);
    } else if (call->conversion && watch_is_large(w, &own)) {
        const struct cor_frame_key key = {.source = own.object, .type = call->type};

        r = watch_order(w, &own, COR_EVENT_CONVERTED, &key);
    } else {
        r = watch_convert(w, &own);
    }
    if (r == WATCH_AWAITS)
        return;
    if (r < 0)
        watch_end_without(w, r, event->rev);
    else
        watch_send_event(w, &own);
}

static size_t watch_held(struct cor_call *call)
{
    const struct watch_call *w = watch_of(call);

    return (w->watch ? cor_watch_held(w->watch) : 0) + (w->frame ? w->frame->bytes.n : 0);
}

/* A client resumes after the last revision that it saw: it must have seen all events of it. */
static bool watch_may_cut(struct cor_call *call)
{
    return !watch_of(call)->is_inside;
}

static void watch_on_held(void *arg)
{
    struct watch_call *w = arg;

    if (w->is_paused && !w->call.is_over)
        cor_call_weigh(&w->call);
}

static void watch_begin(struct watch_call *w)
{
    assert(!w->call.refill);
    cor_sink_no_deadline(w->call.sink);
    w->call.refill = watch_refill;
    cor_call_start(&w->call, 200,
                   w->call.accept.is_protobuf ? "application/vnd.kubernetes.protobuf;stream=watch"
                                              : "application/json",
                   NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
}

/* The time is over, or the server shuts down. When the client has seen a part of a revision, the
 * rest of that revision is delivered first, and the watch then ends by itself. */
static void watch_end_now(struct watch_call *w)
{
    /* The event that the watch waits for counts as delivered there: it is sent first. */
    if (w->is_awaiting) {
        w->ends_after = true;
        return;
    }
    if (w->watch && w->call.refill && !w->is_ending && !cor_watch_finish(w->watch, 0))
        return;
    w->is_ending = true;
    if (!w->call.refill)
        watch_begin(w);
    if (w->call.nspans == 0)
        cor_call_pump(&w->call);
}

/* The time is over before the store has told anything: a plain end would say that all is well, and
 * that nothing has happened. */
static void watch_end_unbegun(struct watch_call *w)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    cor_status_timeout(&status, 0, "%s", COR_ALLOTTED_TEXT);
    if (!w->call.refill)
        watch_begin(w);
    watch_end_with(w, &status);
}

static void watch_on_timer(struct cor_timer *timer)
{
    struct watch_call *w = COR_CONTAINER_OF(timer, struct watch_call, timer);

    if (w->watch && !w->is_ending && w->call.opts.timeout_seconds >= 0 && cor_watch_waits(w->watch))
        watch_end_unbegun(w);
    else
        watch_end_now(w);
}

/* The definition of the resource has changed at this revision, or is gone: the client watches
 * again. A timer that is set can be moved without memory, and this one is, before the deadline. */
static void watch_on_retired(struct cor_dlist *link, cor_rev upto)
{
    struct watch_call *w = COR_CONTAINER_OF(link, struct watch_call, of_backing.link);
    uint64_t end_ms = cor_loop_now_ms(w->call.loop->loop) + COR_RETIRED_WATCH_MS;

    if (w->is_ending)
        return;
    if (upto == 0 || cor_watch_finish(w->watch, upto))
        watch_end_now(w);
    else if (end_ms < w->deadline_ms)
        (void)cor_timer_set(&w->timer, COR_RETIRED_WATCH_MS);
}

static void watch_on_open(void *arg, int err, struct cor_status *status)
{
    struct watch_call *w = arg;

    if (err == 0) {
        watch_begin(w);
        return;
    }
    cor_status_move(&w->call.status, status);
    watch_close(w);
    cor_call_fail_storage(&w->call, COR_STORAGE_OP_WATCH);
}

static uint64_t watch_duration_ms(struct cor_call *call)
{
    uint64_t min_ms = (uint64_t)call->loop->settings->min_request_timeout_s * 1000;

    /* Upstream's deadline has passed before the watch begins: 200, and the end. */
    if (call->opts.timeout_seconds < 0)
        return 0;
    if (call->opts.timeout_seconds > WATCH_SECONDS_MAX)
        return (uint64_t)WATCH_SECONDS_MAX * 1000;
    if (call->opts.timeout_seconds > 0)
        return (uint64_t)call->opts.timeout_seconds * 1000;
    return min_ms + cor_rand_below(&call->loop->rand, min_ms);
}

/* The watch will have a feed of the store. The server's own watches do not count against any user.
 */
static int watch_on_feed(void *arg, struct cor_status *reterr_status)
{
    struct watch_call *w = arg;
    struct cor_call *call = &w->call;

    assert(!w->share);
    if (!call->req->user)
        return 0;
    return cor_feed_share_take(&call->loop->shared->feeds, call->req->user->name, &w->share,
                               reterr_status);
}

static void watch_run(struct cor_call *call)
{
    struct watch_call *w = watch_of(call);
    struct cor_reader_watch_opts opts = {
        .predicate = &w->predicate,
        .client = call->req->user ? call->req->user->name : COR_STR(""),
        .on_open = watch_on_open,
        .on_event = watch_on_event,
        .on_feed = watch_on_feed,
        .on_held = watch_on_held,
        .arg = w,
    };
    uint64_t duration;
    int r;

    cor_timer_init(&w->timer, call->loop->loop, watch_on_timer);
    w->is_websocket = call->req->is_websocket;
    call->accept.is_pretty = false;
    r = cor_call_list_options(call, true, &opts.options, &w->predicate, &w->include);
    if (r < 0) {
        cor_call_fail(call);
        return;
    }
    duration = watch_duration_ms(call);
    w->deadline_ms = cor_loop_now_ms(call->loop->loop) + duration;
    opts.deadline_ms = w->deadline_ms;
    r = cor_timer_set(&w->timer, duration);
    if (r < 0)
        cor_status_set_err(&call->status, r);
    else
        r = cor_reader_watch(call->backing->reader, cor_buf_str(&call->key), &opts, &w->watch,
                             &call->status);
    if (r < 0) {
        cor_timer_cancel(&w->timer);
        cor_call_fail_storage(call, COR_STORAGE_OP_WATCH);
        return;
    }
    if (call->res->life) {
        w->of_backing.end = watch_on_retired; /* from now on the link is in the list, or in none */
        cor_dlist_push(&call->backing->watches, &w->of_backing.link);
    }
    cor_call_begin_op(call);
}

static void watch_gone(struct cor_call *call)
{
    watch_close(watch_of(call));
}

static void watch_drain(struct cor_call *call)
{
    watch_end_now(watch_of(call));
}

static void watch_deinit(struct cor_call *call)
{
    struct watch_call *w = watch_of(call);

    if (w->of_backing.end)
        cor_dlist_remove(&w->of_backing.link);
    w->frame = cor_frame_unref(w->frame);
    w->share = cor_feed_share_give(&call->loop->shared->feeds, w->share);
    cor_predicate_deinit(&watch_of(call)->predicate);
}

const struct cor_verb_ops cor_verb_watch = {.size = sizeof(struct watch_call),
                                            .run = watch_run,
                                            .deinit = watch_deinit,
                                            .gone = watch_gone,
                                            .drain = watch_drain,
                                            .held = watch_held,
                                            .may_cut = watch_may_cut};
