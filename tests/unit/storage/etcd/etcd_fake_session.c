#include "etcd_fake_session.h"

#include "base/err.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "test.h"

#define TIMEOUT_MS        60000
#define PROGRESS_RETRY_MS 100 /* as src/storage/etcd/etcd_watch_stream.c has it */

/* The linker brings the library's calls here. */
int __wrap_cor_timer_set(struct cor_timer *timer, uint64_t delay_ms);
int __real_cor_timer_set(struct cor_timer *timer, uint64_t delay_ms);

static bool repeats_questions;

void fake_session_repeat_questions(void)
{
    repeats_questions = true;
}

int __wrap_cor_timer_set(struct cor_timer *timer, uint64_t delay_ms)
{
    bool is_never = delay_ms == PROGRESS_RETRY_MS && !repeats_questions;

    return __real_cor_timer_set(timer, is_never ? UINT64_MAX : delay_ms);
}

struct cor_loop *cor_etcd_session_loop(const struct etcd_session *s)
{
    return s->loop;
}

int cor_etcd_session_new(const struct cor_etcd_config *config, struct cor_loop *loop,
                         struct etcd_session **ret_session, struct cor_status *reterr_status)
{
    fail();
    return -COR_EINTERNAL;
}

void cor_etcd_session_close(struct etcd_session *s, void (*on_closed)(void *arg), void *arg)
{
    fail();
}

const char *cor_etcd_session_trouble(const struct etcd_session *s)
{
    return "";
}

bool cor_etcd_session_has_progress(const struct etcd_session *s)
{
    return s->has_progress;
}

bool cor_etcd_session_keeps_deletions(const struct etcd_session *s)
{
    return s->keeps_deletions;
}

void cor_etcd_waiter_init(struct etcd_waiter *waiter, void (*on_up)(struct etcd_waiter *waiter))
{
    cor_dlist_init(&waiter->link);
    waiter->on_up = on_up;
}

void cor_etcd_session_wait(struct etcd_session *s, struct etcd_waiter *waiter,
                           enum etcd_wait_when when)
{
    s->when = when;
    cor_dlist_push(&s->waiting, &waiter->link);
}

void cor_etcd_waiter_leave(struct etcd_waiter *waiter)
{
    cor_dlist_remove(&waiter->link);
}

bool cor_etcd_session_wants_login(const struct etcd_session *s, const char *message)
{
    return s->has_user && strstr(message, "invalid auth token");
}

bool cor_etcd_is_refusal(const char *message)
{
    return strstr(message, "permission denied") != NULL;
}

void cor_etcd_session_blame_member(struct etcd_session *s, const struct etcd_failure *why)
{
    s->blamed++;
}

int cor_etcd_session_start(struct etcd_session *s)
{
    fail();
    return -COR_EINTERNAL;
}

/* What is asked is kept without the allocations that tests make fail. */
static void keep_request(struct etcd_stream *stream, struct cor_str message)
{
    assert_true(message.n <= sizeof(stream->request));
    memcpy(stream->request, message.p, message.n);
    stream->request_len = message.n;
}

static struct etcd_stream *stream_new(struct etcd_session *s, const char *method, void *arg)
{
    struct etcd_stream *stream = calloc(1, sizeof(*stream));

    stream->session = s;
    stream->method = method;
    stream->arg = arg;
    cor_dlist_push(&s->streams, &stream->link);
    return stream;
}

int cor_etcd_session_unary(struct etcd_session *s, const char *method, struct cor_str message,
                           uint64_t timeout_ms, etcd_reply_cb on_reply, void *arg,
                           struct etcd_stream **ret_stream)
{
    *ret_stream = stream_new(s, method, arg);
    keep_request(*ret_stream, message);
    (*ret_stream)->on_reply = on_reply;
    return 0;
}

int cor_etcd_session_open_stream(struct etcd_session *s, const char *method,
                                 const struct etcd_stream_cbs *cbs, void *arg,
                                 struct etcd_stream **ret_stream)
{
    *ret_stream = stream_new(s, method, arg);
    (*ret_stream)->cbs = cbs;
    return 0;
}

int cor_etcd_stream_send(struct etcd_stream *stream, struct cor_str message)
{
    Etcd__WatchRequest *m;

    if (stream->session->send_err)
        return stream->session->send_err;
    if (strstr(stream->method, "LeaseKeepAlive")) {
        keep_request(stream, message);
        stream->nkept++;
        return 0;
    }
    m = etcd__watch_request__unpack(NULL, message.n, (const uint8_t *)message.p);
    assert_non_null(m);
    switch (m->request_union_case) {
    case ETCD__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST:
        assert_true(stream->ncreates < FAKE_WATCHES_MAX);
        stream->creates[stream->ncreates++] = m;
        assert_int_equal(m->create_request->watch_id, stream->ncreates);
        return 0;
    case ETCD__WATCH_REQUEST__REQUEST_UNION_CANCEL_REQUEST:
        stream->canceled = m->cancel_request->watch_id;
        break;
    case ETCD__WATCH_REQUEST__REQUEST_UNION_PROGRESS_REQUEST:
        stream->progress++;
        break;
    default:
        fail();
    }
    etcd__watch_request__free_unpacked(m, NULL);
    return 0;
}

void cor_etcd_stream_cancel(struct etcd_stream *stream)
{
    cor_dlist_remove(&stream->link);
    for (size_t i = 0; i < stream->ncreates; i++)
        etcd__watch_request__free_unpacked(stream->creates[i], NULL);
    free(stream);
}

static bool is_marked(void *arg)
{
    return *(bool *)arg;
}

struct mark {
    struct cor_mail mail;
    bool done;
};

static void on_mark(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct mark, mail)->done = true;
}

void fake_session_turn(struct etcd_session *s)
{
    struct mark mark = {.mail.on_mail = on_mark};
    struct cor_dlist told, *link;

    cor_loop_post_always(s->loop, &mark.mail);
    assert_true(cor_loop_run_until(s->loop, is_marked, &mark.done, TIMEOUT_MS));
    cor_dlist_init(&told);
    cor_dlist_splice(&told, &s->waiting);
    while ((link = cor_dlist_pop(&told))) {
        struct etcd_waiter *waiter = COR_CONTAINER_OF(link, struct etcd_waiter, link);

        waiter->on_up(waiter);
    }
}

struct etcd_stream *fake_session_stream(struct etcd_session *s, size_t n)
{
    COR_DLIST_FOREACH(link, &s->streams) {
        if (n-- == 0)
            return COR_CONTAINER_OF(link, struct etcd_stream, link);
    }
    return NULL;
}

void fake_session_open(struct etcd_session *s)
{
    *s = (struct etcd_session){.has_progress = true, .keeps_deletions = true};
    cor_dlist_init(&s->waiting);
    cor_dlist_init(&s->streams);
    assert_int_equal(cor_loop_new(64, &s->loop), 0);
}

void fake_session_close(struct etcd_session *s)
{
    assert_true(cor_dlist_empty(&s->streams));
    assert_true(cor_dlist_empty(&s->waiting));
    cor_loop_free(s->loop);
    repeats_questions = false;
}

void fake_stream_reply(struct etcd_stream *stream, struct cor_str message)
{
    etcd_reply_cb on_reply = stream->on_reply;
    void *arg = stream->arg;

    assert_non_null(on_reply);
    cor_etcd_stream_cancel(stream);
    on_reply(arg, NULL, message);
}

void fake_stream_fail(struct etcd_stream *stream, enum cor_grpc_code code, const char *message,
                      bool is_untouched)
{
    const struct etcd_failure why = {code, message, is_untouched};
    const struct etcd_stream_cbs *cbs = stream->cbs;
    etcd_reply_cb on_reply = stream->on_reply;
    void *arg = stream->arg;

    cor_etcd_stream_cancel(stream);
    if (on_reply)
        on_reply(arg, &why, cor_str("", 0));
    else
        cbs->on_closed(arg, &why);
}
