/* One loop's client of the server that decides for this one.
 *
 * An attempt is a request of the API port over HTTP, whose REST client has the credentials of the
 * kubeconfig and repeats nothing by itself. A pause between attempts is upstream's backoff for
 * webhooks (500 ms, times 1.5, 20 % jitter, 5 attempts), or longer when the answer says so. */
#include "server/access/delegate.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "kit/config/kubeconfig.h"
#include "kit/dynamic/api_port_http.h"
#include "loop/loop.h"
#include "meta/object/object_received.h"
#include "net/crypto/crypto.h"

#define TEXT_MAX 2048

struct cor_delegate {
    struct cor_rest_client *rest;
    struct cor_http_port http;
    size_t ncalls;
    struct cor_circuit circuit;
    char why[TEXT_MAX]; /* of the last failure */
    struct cor_rand rand;
    struct cor_mail closing;
    void (*on_closed)(void *arg);
    void *arg;
};

/* --- the client ------------------------------------------------------------------------------- */

static int check_config(const struct cor_client_config *c, const char *path, const char *flag,
                        struct cor_status *st)
{
    if (c->exec.command)
        return cor_status_set(st, -COR_EINVAL,
                              "--%s %s: credential plugins (exec) are not supported here", flag,
                              path);
    if (cor_config_has(c->impersonate_user) || cor_config_has(c->impersonate_uid) ||
        c->impersonate_groups.n > 0 || c->impersonate_extra.n > 0)
        return cor_status_set(st, -COR_EINVAL, "--%s %s: impersonation is not supported here", flag,
                              path);
    return 0;
}

int cor_delegate_config_load(const char *path, const char *flag,
                             struct cor_client_config *ret_config, struct cor_status *reterr_status)
{
    const struct cor_kubeconfig_files files = {.explicit_path = path};
    COR_CLEANUP(cor_client_config_deinit) struct cor_client_config config = {0};
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    int r;

    if (!kc)
        return cor_status_no_memory(reterr_status);
    r = cor_kubeconfig_load(kc, &files, NULL, reterr_status);
    if (r == 0)
        r = cor_kubeconfig_resolve(kc, NULL, &config, reterr_status);
    if (r == 0)
        r = check_config(&config, path, flag, reterr_status);
    if (r < 0)
        return r;
    *ret_config = config;
    config = (struct cor_client_config){0};
    return 0;
}

int cor_delegate_open(struct cor_net *net, const struct cor_client_config *config,
                      struct cor_delegate **ret_delegate, struct cor_status *reterr_status)
{
    static const struct cor_circuit_opts circuit = {.failures = COR_DELEGATE_FAILURES,
                                                    .open_ms = COR_DELEGATE_OPEN_MS,
                                                    .open_max_ms = COR_DELEGATE_OPEN_MAX_MS};
    const struct cor_rest_client_opts opts = {
        .config = config, .retries_max = -1, .body_max = COR_DELEGATE_ANSWER_MAX};
    struct cor_delegate *d = cor_calloc(1, sizeof(*d));
    int r;

    if (!d)
        return cor_status_no_memory(reterr_status);
    r = cor_rest_client_open(net, &opts, &d->rest, reterr_status);
    if (r < 0) {
        cor_free(d);
        return r;
    }
    cor_http_port_init(&d->http, d->rest);
    cor_circuit_init(&d->circuit, &circuit);
    cor_rand_init(&d->rand);
    *ret_delegate = d;
    return 0;
}

static void delegate_on_rest_closed(void *arg)
{
    struct cor_delegate *d = arg;
    void (*on_closed)(void *arg) = d->on_closed;
    void *closed_arg = d->arg;

    cor_free(d);
    on_closed(closed_arg);
}

/* Mails of the port, which were posted before, have come. */
static void delegate_on_closing(struct cor_mail *mail)
{
    struct cor_delegate *d = COR_CONTAINER_OF(mail, struct cor_delegate, closing);

    cor_http_port_deinit(&d->http);
    cor_rest_client_close(d->rest, delegate_on_rest_closed, d);
}

void cor_delegate_close(struct cor_delegate *d, void (*on_closed)(void *arg), void *arg)
{
    assert(d->ncalls == 0);
    d->on_closed = on_closed;
    d->arg = arg;
    d->closing.on_mail = delegate_on_closing;
    cor_loop_post_always(d->http.port.loop, &d->closing);
}

struct cor_api_port *cor_delegate_port(struct cor_delegate *d)
{
    return &d->http.port;
}

const char *cor_delegate_why(const struct cor_delegate *d)
{
    return d->why;
}

static uint64_t now_ms(const struct cor_delegate *d)
{
    return cor_loop_now_ms(d->http.port.loop);
}

/* --- a call ----------------------------------------------------------------------------------- */

static void call_release(struct cor_delegate_call *call)
{
    struct cor_delegate *d = COR_STEAL(call->delegate);

    cor_circuit_left(&d->circuit, &call->pass);
    cor_timer_cancel(&call->timer);
    if (call->question && cor_ref_is_sole(&call->question->ref))
        cor_secret_wipe(call->question->bytes, call->question->len);
    call->question = cor_object_unref(call->question);
    d->ncalls--;
}

static void call_finish(struct cor_delegate_call *call, int r, struct cor_object *answer,
                        const char *text)
{
    call_release(call);
    call->on_done(call, r, answer, text);
}

/* Tells the circuit what came of an attempt; of a request that was not sent, or an answer that is
 * too large, nothing is known. */
static void call_learn(struct cor_delegate_call *call, const struct cor_api_answer *answer)
{
    struct cor_delegate *d = call->delegate;
    const struct cor_status *error = answer->error;
    const char *server = cor_rest_client_host(d->rest);

    if (answer->end == COR_API_ANSWERED) {
        if (cor_circuit_answered(&d->circuit, &call->pass))
            COR_LOG_INFO("the delegate answers again", COR_F_STR("server", server));
    } else if (answer->end == COR_API_UNANSWERED && error->err != -COR_ENOMEM &&
               error->err != -COR_ETOOBIG) {
        snprintf(d->why, sizeof(d->why), "%s", cor_status_message(error));
        if (cor_circuit_failed(&d->circuit, &call->pass, now_ms(d)))
            COR_LOG_ERROR("the delegate does not answer; it is asked now and then",
                          COR_F_STR("server", server), COR_F_STR("error", d->why));
    }
}

/* An answer that cannot be read is final, whatever status stands for it. */
static bool may_retry(const struct cor_api_answer *answer)
{
    const struct cor_status *error = answer->error;

    if (answer->end != COR_API_ANSWERED)
        return error->err == -COR_EBROKEN;
    return error->err != -COR_EPROTOCOL && (error->code == 429 || error->code == 500 ||
                                            error->code == 504 || error->retry_after_s > 0);
}

/* Waits for the next attempt. False: there is none. */
static bool call_pause(struct cor_delegate_call *call, int64_t retry_after_s)
{
    struct cor_delegate *d = call->delegate;
    uint64_t now = now_ms(d), asked_ms = retry_after_s > 0 ? (uint64_t)retry_after_s * 1000 : 0;
    uint64_t delay_ms;

    if (!cor_backoff_retry(&call->backoff, now, &d->rand, &delay_ms))
        return false;
    if (delay_ms < asked_ms)
        delay_ms = asked_ms;
    if (now + delay_ms >= call->until_ms || cor_timer_set(&call->timer, delay_ms) < 0)
        return false;
    cor_circuit_left(&d->circuit, &call->pass);
    return true;
}

static void call_on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_delegate_call *call = COR_CONTAINER_OF(req, struct cor_delegate_call, req);
    const struct cor_status *error = answer->error;

    call_learn(call, answer);
    if (!error)
        call_finish(call, 0, answer->object, "");
    else if (!may_retry(answer) || !call_pause(call, error->retry_after_s))
        call_finish(call, answer->end == COR_API_ANSWERED ? -COR_EINTERNAL : error->err, NULL,
                    cor_status_message(error));
}

/* 0, -COR_EUNREACHABLE: the circuit is open. */
static int call_attempt(struct cor_delegate_call *call)
{
    struct cor_delegate *d = call->delegate;
    uint64_t now = now_ms(d);

    if (!cor_circuit_enter(&d->circuit, &call->pass, now))
        return -COR_EUNREACHABLE;
    call->req.deadline_ms = call->until_ms > now ? call->until_ms - now : 1;
    if (call->question)
        cor_api_create(&d->http.port, &call->req, call->question, NULL);
    else
        cor_api_get(&d->http.port, &call->req, COR_STR(""));
    return 0;
}

static void call_on_timer(struct cor_timer *timer)
{
    struct cor_delegate_call *call = COR_CONTAINER_OF(timer, struct cor_delegate_call, timer);
    int r = call_attempt(call);

    if (r < 0)
        call_finish(call, r, NULL, call->delegate->why);
}

int cor_delegate_send(struct cor_delegate *d, struct cor_delegate_call *call,
                      struct cor_str question, uint64_t limit_ms)
{
    static const struct cor_api_request_cbs cbs = {.on_done = call_on_done};
    static const struct cor_backoff_opts backoff = {
        .initial_ms = 500, .factor = 1.5, .jitter = 0.2, .steps = 5};
    uint64_t now = now_ms(d);
    int r = 0;

    assert(call->on_done && !call->delegate);
    if (d->ncalls == COR_DELEGATE_CALLS_MAX)
        return -COR_EBUSY;
    if (question.n > 0)
        r = cor_object_received(question, COR_STR(""), COR_STR(""), &call->question, NULL);
    if (r < 0)
        return r;
    d->ncalls++;
    call->delegate = d;
    call->req.cbs = &cbs;
    call->req.timeout_ms = COR_DELEGATE_TIMEOUT_MS;
    call->until_ms = now + limit_ms;
    cor_timer_init(&call->timer, d->http.port.loop, call_on_timer);
    cor_backoff_init(&call->backoff, &backoff, now);
    r = call_attempt(call);
    if (r < 0)
        call_release(call);
    return r;
}

void cor_delegate_call_cancel(struct cor_delegate_call *call)
{
    if (!call->delegate)
        return;
    cor_api_cancel(&call->delegate->http.port, &call->req);
    call_release(call);
}
