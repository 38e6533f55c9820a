/* clang-format off */
/* One product:
 *
 *   cor_event_order ──► a job among event_jobs ──► thread: convert, set the revision, encode
 *     the next watch that wants the same joins the job       │
 *                                                            ▼
 *                         loop: the frame is kept (frames.h) ──► on_made of each watch, as many as
 *                         the turn has time for; the others in the next turns
 *
 * Failures: without memory for the job nothing is ordered. A product that cannot be made is a
 * failure of each watch that waits for it; one for which no watch waits any more, and which no thread
 * has begun, is not made. When the threads have too much to do, the job waits
 * RETRY_MS and is submitted again; without memory for that timer it runs on the loop.
 * Thread: see the header; maker_run_job() on an offload thread. */
/* clang-format on */
#include "server/api/event_maker.h"
#include "schema/kinds/custom_row.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/offload.h"
#include "meta/object/object_edit.h"
#include "server/api/api_int.h"
#include "server/docs/table.h"

#define RETRY_MS 20
/* What giving products to watches takes of each turn of a loop. */
#define GIVEN_US  4000
#define BYTES_MAX (64u << 20) /* of a frame */

struct cor_event_job {
    struct cor_job job;
    struct cor_dlist link; /* in the loop's event_jobs */
    struct cor_api_loop *loop;
    struct cor_event_order order; /* with references to the source and the row */
    struct cor_dlist waits;
    struct cor_timer retry;
    /* What the thread made. */
    struct cor_buf bytes;
    struct cor_object *made;
    struct cor_pb_error why;
    int err;                      /* -COR_ECANCELED: nothing was made yet */
    struct cor_event_made result; /* of all that, for the watches */
    struct cor_mail turn;         /* goes on with them */
    bool is_over;                 /* they are being given it */
};

static const char *const names[] = {
    [COR_WATCH_ADDED] = "ADDED",
    [COR_WATCH_MODIFIED] = "MODIFIED",
    [COR_WATCH_DELETED] = "DELETED",
    [COR_WATCH_BOOKMARK] = "BOOKMARK",
};

static int write_partial_frame(const struct cor_frame_key *key, const struct cor_object *object,
                               struct cor_buf *out, struct cor_pb_error *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    int r;

    cor_buf_init(&json, BYTES_MAX);
    r = cor_buf_adds(&json, cor_partial_head(key->is_v1beta1));
    if (r == 0)
        r = cor_buf_adds(&json, cor_object_metadata(object));
    if (r == 0)
        r = cor_buf_addc(&json, '}');
    if (r < 0)
        return r;
    return cor_protobuf_add_frame(
        cor_strz(names[key->event]), cor_partial_api_version(key->is_v1beta1),
        COR_STR("PartialObjectMetadata"), cor_type_named(COR_STR("meta_v1.PartialObjectMetadata")),
        cor_buf_str(&json), out, reterr);
}

int cor_event_write_frame(const struct cor_frame_key *key, const struct cor_type *schema,
                          const struct cor_object *object, struct cor_buf *out,
                          struct cor_pb_error *reterr)
{
    assert(key->event < COR_ARRAY_LEN(names) && names[key->event]);
    if (key->view != COR_VIEW_OBJECT)
        return write_partial_frame(key, object, out, reterr);
    if (!schema) {
        *reterr = (struct cor_pb_error){.message = "the kind has no protobuf message"};
        return -COR_EINVAL;
    }
    return cor_protobuf_add_frame(cor_strz(names[key->event]), key->type->api_version,
                                  key->type->kind, schema, cor_object_json(object), out, reterr);
}

static struct cor_event_job *maker_free_job(struct cor_event_job *job)
{
    cor_object_unref(job->order.key.source);
    cor_row_unref(job->order.key.type);
    cor_object_unref(job->made);
    cor_buf_deinit(&job->bytes);
    return cor_free(job);
}

/* The source in the version and at the revision that the event shows: a new reference. */
static int maker_convert(const struct cor_event_order *order, struct cor_object **ret_object)
{
    const struct cor_frame_key *key = &order->key;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *made = NULL;
    int r = 0;

    if (order->conversion)
        r = cor_row_convert(key->type, order->conversion, key->source, &made);
    else
        made = cor_object_ref(key->source);
    if (r < 0)
        return r;
    if (order->product != COR_EVENT_CONVERTED && key->event == COR_WATCH_DELETED &&
        key->rev != made->rev)
        return cor_object_at(made, key->rev, ret_object);
    *ret_object = COR_STEAL(made);
    return 0;
}

/* The row has the whole budget of a request; cells for which nothing is left are null. */
static int maker_write_table(const struct cor_event_order *order, struct cor_object *shown,
                             struct cor_buf *out)
{
    const struct cor_frame_key *key = &order->key;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *source = NULL;
    struct cor_work work = cor_work_new(false);
    struct cor_table_opts opts = order->table;
    struct cor_json_writer w;
    int r = 0;

    opts.work = &work;
    if (key->event == COR_WATCH_DELETED && key->rev != key->source->rev)
        r = cor_object_at(key->source, key->rev, &source);
    else
        source = cor_object_ref(key->source);
    if (r < 0)
        return r;
    cor_json_writer_init(&w, out);
    cor_table_of_object(&w, &opts, source, shown);
    return cor_json_writer_finish(&w);
}

/* On a thread. */
static void maker_run_job(struct cor_job *base)
{
    struct cor_event_job *job = COR_CONTAINER_OF(base, struct cor_event_job, job);

    job->err = maker_convert(&job->order, &job->made);
    if (job->err == 0 && job->order.product == COR_EVENT_FRAME)
        job->err = cor_event_write_frame(&job->order.key, job->order.schema, job->made, &job->bytes,
                                         &job->why);
    if (job->err == 0 && job->order.product == COR_EVENT_TABLE)
        job->err = maker_write_table(&job->order, job->made, &job->bytes);
}

/* A watch may end in on_made, and others with it: each leaves the list before it is called. */
static void maker_give(struct cor_mail *mail)
{
    struct cor_event_job *job = COR_CONTAINER_OF(mail, struct cor_event_job, turn);
    struct cor_api_loop *loop = job->loop;

    while (!cor_dlist_empty(&job->waits)) {
        struct cor_event_wait *wait;

        if (!cor_turn_share_take(&cor_loop_part(loop)->events_given, loop->loop, GIVEN_US, true)) {
            cor_loop_post_always(loop->loop, mail);
            return;
        }
        wait = COR_CONTAINER_OF(cor_dlist_pop(&job->waits), struct cor_event_wait, link);
        wait->on_made(wait, &job->result);
    }
    cor_frame_unref(job->result.frame);
    maker_free_job(job);
    loop->ncalls--;
}

static void maker_on_job_done(struct cor_job *base)
{
    struct cor_event_job *job = COR_CONTAINER_OF(base, struct cor_event_job, job);
    struct cor_api_loop *loop = job->loop;
    struct cor_event_made *made = &job->result;

    assert(cor_loop_is_current(loop->loop));
    cor_dlist_remove(&job->link);
    job->is_over = true;
    *made = (struct cor_event_made){.err = job->err, .why = job->why.message};
    if (made->err == 0 && job->order.product == COR_EVENT_CONVERTED)
        made->object = job->made;
    else if (made->err == 0 && job->order.product == COR_EVENT_TABLE)
        made->frame = cor_frame_new(&job->bytes); /* it has ages, and is not kept */
    else if (made->err == 0)
        made->frame = cor_frames_add(&loop->frames, &job->order.key, &job->bytes);
    if (made->err == 0 && !made->object && !made->frame)
        made->err = -COR_ENOMEM;
    job->turn.on_mail = maker_give;
    maker_give(&job->turn);
}

static void maker_on_retry(struct cor_timer *timer);

static void maker_submit(struct cor_event_job *job)
{
    if (cor_offload_submit(job->loop->settings->offload, &job->job) == 0 ||
        cor_timer_set(&job->retry, RETRY_MS) == 0)
        return;
    maker_run_job(&job->job);
    maker_on_job_done(&job->job);
}

static void maker_on_retry(struct cor_timer *timer)
{
    maker_submit(COR_CONTAINER_OF(timer, struct cor_event_job, retry));
}

static bool is_same_table(const struct cor_table_opts *a, const struct cor_table_opts *b)
{
    return a->columns == b->columns && a->include == b->include && a->is_v1beta1 == b->is_v1beta1 &&
           a->has_columns == b->has_columns && a->shows_cells == b->shows_cells;
}

static bool is_same_order(const struct cor_event_order *a, const struct cor_event_order *b)
{
    if (a->product != b->product || a->key.source != b->key.source || a->key.type != b->key.type)
        return false;
    if (a->product == COR_EVENT_TABLE &&
        (a->conversion != b->conversion || !is_same_table(&a->table, &b->table)))
        return false;
    return a->product == COR_EVENT_CONVERTED || cor_frame_key_is_same(&a->key, &b->key);
}

static struct cor_event_job *maker_find(struct cor_api_loop *loop,
                                        const struct cor_event_order *order)
{
    COR_DLIST_FOREACH(link, &cor_loop_part(loop)->event_jobs) {
        struct cor_event_job *job = COR_CONTAINER_OF(link, struct cor_event_job, link);

        if (is_same_order(&job->order, order))
            return job;
    }
    return NULL;
}

int cor_event_order(struct cor_api_loop *loop, const struct cor_event_order *order,
                    struct cor_event_wait *wait)
{
    struct cor_event_job *job = maker_find(loop, order);
    int r;

    assert(cor_loop_is_current(loop->loop) && loop->settings->offload && order->key.type);
    assert(order->product != COR_EVENT_CONVERTED || order->conversion);
    cor_dlist_init(&wait->link);
    wait->job = job;
    if (job) {
        cor_dlist_push(&job->waits, &wait->link);
        return 0;
    }
    job = cor_calloc(1, sizeof(*job));
    if (!job)
        return -COR_ENOMEM;
    wait->job = job;
    job->loop = loop;
    job->err = -COR_ECANCELED;
    job->order = *order;
    job->job = (struct cor_job){.run = maker_run_job,
                                .on_done = maker_on_job_done,
                                .loop = loop->loop,
                                .bytes = order->key.source->len};
    cor_buf_init(&job->bytes, BYTES_MAX);
    cor_dlist_init(&job->waits);
    cor_timer_init(&job->retry, loop->loop, maker_on_retry);
    /* Before a thread has the job. */
    (void)cor_object_ref(job->order.key.source);
    (void)cor_row_ref(job->order.key.type);
    r = cor_offload_submit(loop->settings->offload, &job->job);
    if (r < 0)
        r = cor_timer_set(&job->retry, RETRY_MS);
    if (r < 0) {
        maker_free_job(job);
        return r;
    }
    cor_dlist_push(&cor_loop_part(loop)->event_jobs, &job->link);
    cor_dlist_push(&job->waits, &wait->link);
    loop->ncalls++;
    return 0;
}

/* Nobody waits for the product any more. What a thread makes already may be wanted by the next one.
 */
static void maker_give_up(struct cor_event_job *job)
{
    if (cor_timer_is_set(&job->retry)) {
        cor_timer_cancel(&job->retry);
        maker_on_job_done(&job->job);
    } else if (cor_offload_withdraw(job->loop->settings->offload, &job->job)) {
        cor_dlist_remove(&job->link);
    }
}

void cor_event_wait_cancel(struct cor_event_wait *wait)
{
    struct cor_event_job *job = wait->job;

    cor_dlist_remove(&wait->link);
    if (!job->is_over && cor_dlist_empty(&job->waits))
        maker_give_up(job);
}
