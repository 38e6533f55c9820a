#include "test.h"

#include "http/client.h"
#include "http_fixture.h"

/* What one call has come to: "200 body" and the end. */
struct ask {
    struct cor_http_call *call;
    struct cor_buf text;
    bool is_done;
    int r;
};

static int ask_on_head(void *arg, int status, const struct cor_http_header *headers, size_t n)
{
    return cor_buf_addf(&((struct ask *)arg)->text, "%d ", status);
}

static int ask_on_body(void *arg, struct cor_str piece)
{
    return cor_buf_adds(&((struct ask *)arg)->text, piece);
}

static void ask_on_done(void *arg, int r, const char *text)
{
    struct ask *a = arg;

    assert_false(a->is_done);
    a->is_done = true;
    a->r = r;
}

static const struct cor_http_call_cbs ask_cbs = {ask_on_head, ask_on_body, ask_on_done};

static bool ask_is_done(void *arg)
{
    return ((struct ask *)arg)->is_done;
}

static bool ask_has_head(void *arg)
{
    return ((struct ask *)arg)->text.n > 0 || ((struct ask *)arg)->is_done;
}

struct fix {
    struct http h;
    struct cor_http_client *client;
    bool is_closed;
};

static void on_client_closed(void *arg)
{
    ((struct fix *)arg)->is_closed = true;
}

static bool client_gone(void *arg)
{
    return ((struct fix *)arg)->is_closed;
}

static void fix_init(struct fix *f, struct cor_http_limits limits)
{
    struct cor_http_client_opts opts = {.host = "127.0.0.1"};

    f->is_closed = false;
    http_init(&f->h, limits, NULL);
    opts.port = f->h.port;
    assert_int_equal(cor_http_client_open(f->h.net, &opts, &f->client), 0);
}

static void fix_deinit(struct fix *f)
{
    cor_http_client_close(f->client, on_client_closed, f);
    assert_true(cor_loop_run_until(f->h.loop, client_gone, f, PATIENCE_MS));
    http_deinit(&f->h);
}

static int ask(struct fix *f, struct ask *a, const char *method, const char *target,
               const char *body, uint64_t deadline_ms)
{
    struct cor_http_call_opts opts = {.method = cor_strz(method),
                                      .target = cor_strz(target),
                                      .body = cor_strz(body),
                                      .deadline_ms = deadline_ms,
                                      .cbs = &ask_cbs,
                                      .arg = a};

    *a = (struct ask){0};
    cor_buf_init(&a->text, 8u << 20);
    return cor_http_call_open(f->client, &opts, &a->call);
}

static void assert_answer(struct fix *f, const char *method, const char *target, const char *body,
                          int r, const char *text)
{
    struct ask a;

    assert_int_equal(ask(f, &a, method, target, body, 0), 0);
    assert_false(a.is_done);
    assert_true(cor_loop_run_until(f->h.loop, ask_is_done, &a, PATIENCE_MS));
    assert_int_equal(a.r, r);
    assert_str(cor_buf_str(&a.text), text);
    cor_buf_deinit(&a.text);
}

TEST(http_client, asks_and_is_answered_on_one_connection)
{
    struct cor_http_server_stats stats;
    struct fix f;

    fix_init(&f, (struct cor_http_limits){0});
    assert_answer(&f, "POST", "/echo?x=1", "hello", 0, "200 hello");
    assert_answer(&f, "GET", "/send/3", "", 0, "200 yyy");
    assert_answer(&f, "HEAD", "/send/3", "", 0, "200 ");
    assert_answer(&f, "GET", "/send/2", "", 0, "200 yy");
    cor_http_server_stats(f.h.server, &stats);
    assert_int_equal(stats.accepted, 1);
    fix_deinit(&f);
}

TEST(http_client, calls_side_by_side_have_connections_of_their_own)
{
    struct fix f;
    struct ask hold, other;

    fix_init(&f, (struct cor_http_limits){0});
    assert_int_equal(ask(&f, &hold, "GET", "/watch", "", 0), 0);
    assert_true(cor_loop_run_until(f.h.loop, ask_has_head, &hold, PATIENCE_MS));
    assert_int_equal(ask(&f, &other, "GET", "/send/1", "", 0), 0);
    assert_true(cor_loop_run_until(f.h.loop, ask_is_done, &other, PATIENCE_MS));
    assert_str(cor_buf_str(&other.text), "200 y");
    cor_http_response_write(f.h.held, COR_STR("event"));
    cor_http_response_end(f.h.held);
    assert_true(cor_loop_run_until(f.h.loop, ask_is_done, &hold, PATIENCE_MS));
    assert_int_equal(hold.r, 0);
    assert_str(cor_buf_str(&hold.text), "200 event");
    cor_buf_deinit(&hold.text);
    cor_buf_deinit(&other.text);
    fix_deinit(&f);
}

static bool server_lost_it(void *arg)
{
    return ((struct http *)arg)->ngone > 0;
}

TEST(http_client, a_cancelled_call_says_no_more_and_ends_its_connection)
{
    struct fix f;
    struct ask a;

    fix_init(&f, (struct cor_http_limits){0});
    assert_int_equal(ask(&f, &a, "GET", "/watch", "", 0), 0);
    assert_true(cor_loop_run_until(f.h.loop, ask_has_head, &a, PATIENCE_MS));
    cor_http_call_cancel(a.call);
    assert_true(cor_loop_run_until(f.h.loop, server_lost_it, &f.h, PATIENCE_MS));
    assert_false(a.is_done);
    cor_buf_deinit(&a.text);
    assert_answer(&f, "GET", "/send/1", "", 0, "200 y");
    fix_deinit(&f);
}

TEST(http_client, a_deadline_ends_a_call)
{
    struct fix f;
    struct ask a;

    fix_init(&f, (struct cor_http_limits){0});
    assert_int_equal(ask(&f, &a, "GET", "/hold", "", 30), 0);
    assert_true(cor_loop_run_until(f.h.loop, ask_is_done, &a, PATIENCE_MS));
    assert_int_equal(a.r, -COR_ETIMEOUT);
    cor_buf_deinit(&a.text);
    fix_deinit(&f);
}

TEST(http_client, a_broken_answer_is_told)
{
    struct fix f;

    fix_init(&f, (struct cor_http_limits){0});
    assert_answer(&f, "GET", "/abort", "", -COR_EIO, "");
    fix_deinit(&f);
}

TEST(http_client, a_get_is_sent_again_when_the_idle_connection_was_just_closed)
{
    struct fix f;

    fix_init(&f, (struct cor_http_limits){.idle_timeout_ms = 20});
    for (int i = 0; i < 20; i++) {
        struct ask pause;

        assert_answer(&f, "GET", "/send/1", "", 0, "200 y");
        assert_int_equal(ask(&f, &pause, "GET", "/hold", "", 15 + (uint64_t)i % 10), 0);
        assert_true(cor_loop_run_until(f.h.loop, ask_is_done, &pause, PATIENCE_MS));
        cor_buf_deinit(&pause.text);
    }
    fix_deinit(&f);
}

TEST(http_client, nobody_at_the_address_is_unreachable)
{
    struct cor_http_client_opts opts = {.host = "127.0.0.1", .port = 1};
    struct cor_http_client *real;
    struct fix f;

    fix_init(&f, (struct cor_http_limits){0});
    real = f.client;
    assert_int_equal(cor_http_client_open(f.h.net, &opts, &f.client), 0);
    assert_answer(&f, "GET", "/", "", -COR_EUNREACHABLE, "");
    cor_http_client_close(f.client, on_client_closed, &f);
    assert_true(cor_loop_run_until(f.h.loop, client_gone, &f, PATIENCE_MS));
    f.is_closed = false;
    f.client = real;
    fix_deinit(&f);
}

TEST(http_client, closing_cancels_what_is_under_way)
{
    struct fix f;
    struct ask a, b;

    fix_init(&f, (struct cor_http_limits){0});
    assert_int_equal(ask(&f, &a, "GET", "/watch", "", 0), 0);
    assert_true(cor_loop_run_until(f.h.loop, ask_has_head, &a, PATIENCE_MS));
    assert_int_equal(ask(&f, &b, "GET", "/hold", "", 0), 0);
    fix_deinit(&f);
    assert_true(a.is_done && b.is_done);
    assert_int_equal(a.r, -COR_ECANCELED);
    assert_int_equal(b.r, -COR_ECANCELED);
    cor_buf_deinit(&a.text);
    cor_buf_deinit(&b.text);
}

TEST(http_client, any_allocation_of_a_call_may_fail)
{
    struct fix f;

    fix_init(&f, (struct cor_http_limits){0});
    FOR_EACH_FAILED_ALLOC(n) {
        struct ask a;
        int r = ask(&f, &a, "GET", "/send/1", "", 0);

        if (r == 0)
            assert_true(cor_loop_run_until(f.h.loop, ask_is_done, &a, PATIENCE_MS));
        assert_true((r == 0 && a.r == 0) || test_alloc_failed());
        test_fail_alloc(0, false);
        cor_buf_deinit(&a.text);
    }
    assert_answer(&f, "GET", "/send/1", "", 0, "200 y");
    fix_deinit(&f);
}
