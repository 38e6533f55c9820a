/* clang-format off */
/* Get, change, update; after a conflict a pause, and again from the get.
 *
 *   retry_get() ──► on_got() ──► change() of the program ──► write_changed() ──► on_written()
 *       ▲                           │ nothing to change                           │ conflict, and
 *       └────── timer ◄─────────────┼─────────────────────────────────────────────┘ a try is left
 *                                   └──► retry_finish() ◄── every other end
 *
 * Any other error of a request, and an error of change(), ends the retry with it; so does the end
 * of the time, which all requests share. The timer is always set, so that moving it cannot fail.
 * Thread: the REST client's loop. */
/* clang-format on */
#include "kit/dynamic/retry_on_conflict.h"

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"

#define NEVER UINT64_MAX

const struct cor_backoff_opts COR_RETRY_DEFAULT = {
    .initial_ms = 10, .factor = 1.0, .jitter = 0.1, .steps = 5};
const struct cor_backoff_opts COR_RETRY_BACKOFF = {
    .initial_ms = 10, .factor = 5.0, .jitter = 0.1, .steps = 4};

struct cor_conflict_retry {
    struct cor_conflict_retry_opts opts; /* the strings are in `text` */
    char *text;
    struct cor_backoff backoff;
    uint64_t end_ms;        /* as cor_rest_client_end_ms() has it */
    struct cor_timer timer; /* always set, so that moving it cannot fail */
    struct cor_dynamic_request *req;
};

static void retry_free(struct cor_conflict_retry *retry)
{
    cor_timer_cancel(&retry->timer);
    cor_free(retry->text);
    cor_free(retry);
}

const char *cor_conflict_retry_failure(const struct cor_conflict_retry *retry)
{
    return retry->req ? cor_dynamic_failure(retry->req) : "";
}

void cor_conflict_retry_cancel(struct cor_conflict_retry *retry)
{
    if (retry->req)
        cor_dynamic_cancel(retry->req);
    retry_free(retry);
}

static void retry_finish(struct cor_conflict_retry *retry, struct cor_object *object,
                         const struct cor_status *error)
{
    retry->opts.on_done(retry->opts.arg, object, error);
    retry_free(retry);
}

static uint64_t now_ms(const struct cor_conflict_retry *retry)
{
    return cor_loop_now_ms(cor_rest_client_loop(retry->opts.client));
}

/* Sends the next request, with what is left of the time. */
static int retry_send(struct cor_conflict_retry *retry, const struct cor_api_operation *op,
                      const struct cor_dynamic_cbs *cbs, struct cor_status *reterr)
{
    uint64_t left = 0;
    int r = cor_rest_client_left_ms(retry->opts.client, retry->end_ms, &left);
    const struct cor_dynamic_call call = {.client = retry->opts.client,
                                          .timeout_ms = left,
                                          .deadline_ms = left,
                                          .cbs = cbs,
                                          .arg = retry};

    return r < 0 ? cor_status_set(reterr, r, "the deadline of the change has passed")
                 : cor_dynamic_send(&call, op, &retry->req, reterr);
}

static void on_written(void *arg, const struct cor_response *response)
{
    struct cor_conflict_retry *retry = arg;
    const struct cor_status *error = response->error;
    uint64_t delay_ms;

    retry->req = NULL;
    if (error && error->err == -COR_ECONFLICT &&
        cor_backoff_retry(&retry->backoff, now_ms(retry), retry->opts.rand, &delay_ms))
        cor_timer_set(&retry->timer, delay_ms);
    else
        retry_finish(retry, response->object, error);
}

static int write_changed(struct cor_conflict_retry *retry, struct cor_object *object,
                         struct cor_status *reterr)
{
    static const struct cor_dynamic_cbs cbs = {.on_done = on_written};
    const struct cor_api_operation op = {.verb = COR_API_VERB_UPDATE,
                                         .at = retry->opts.at,
                                         .object = object,
                                         .write = retry->opts.write};

    return retry_send(retry, &op, &cbs, reterr);
}

static void on_got(void *arg, const struct cor_response *response)
{
    struct cor_conflict_retry *retry = arg;
    struct cor_object *current = response->object;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *changed = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r;

    retry->req = NULL;
    if (response->error) {
        retry_finish(retry, NULL, response->error);
        return;
    }
    r = retry->opts.change(retry->opts.arg, current, &changed, &why);
    if (r > 0 || (r == 0 && !changed))
        r = -COR_EINVAL;
    if (r == 0 && changed == current) {
        retry_finish(retry, current, NULL);
        return;
    }
    if (r == 0)
        r = write_changed(retry, changed, &why);
    else if (why.err == 0)
        cor_status_set(&why, r, "%s", cor_err_text(r));
    if (r < 0)
        retry_finish(retry, NULL, &why);
}

static int retry_get(struct cor_conflict_retry *retry, struct cor_status *reterr)
{
    static const struct cor_dynamic_cbs cbs = {.on_done = on_got};
    struct cor_api_operation op = {.verb = COR_API_VERB_GET, .at = retry->opts.at};

    op.at.subresource = COR_STR("");
    return retry_send(retry, &op, &cbs, reterr);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_conflict_retry *retry = COR_CONTAINER_OF(timer, struct cor_conflict_retry, timer);
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    cor_timer_set(&retry->timer, NEVER);
    if (retry_get(retry, &why) < 0)
        retry_finish(retry, NULL, &why);
}

static int copy_strings(struct cor_conflict_retry *retry)
{
    struct cor_conflict_retry_opts *o = &retry->opts;
    struct cor_str *strings[] = {
        &o->at.gvr.group, &o->at.gvr.version, &o->at.gvr.resource,     &o->at.ns,
        &o->at.name,      &o->at.subresource, &o->write.field_manager, &o->write.field_validation,
    };

    return cor_str_gather(strings, COR_ARRAY_LEN(strings), &retry->text);
}

int cor_conflict_retry_open(const struct cor_conflict_retry_opts *opts,
                            struct cor_conflict_retry **ret_retry, struct cor_status *reterr)
{
    struct cor_loop *loop = cor_rest_client_loop(opts->client);
    struct cor_conflict_retry *retry = cor_calloc(1, sizeof(*retry));
    int r;

    if (!retry)
        return cor_status_set(reterr, -COR_ENOMEM, "no memory for an update");
    retry->opts = *opts;
    retry->end_ms = cor_rest_client_end_ms(opts->client, opts->timeout_ms);
    cor_backoff_init(&retry->backoff, &opts->backoff, cor_loop_now_ms(loop));
    cor_timer_init(&retry->timer, loop, on_timer);
    r = copy_strings(retry);
    if (r == 0)
        r = cor_timer_set(&retry->timer, NEVER);
    if (r < 0)
        cor_status_set(reterr, r, "no memory for an update");
    else
        r = retry_get(retry, reterr);
    if (r < 0) {
        retry_free(retry);
        return r;
    }
    *ret_retry = retry;
    return 0;
}
