#include "test.h"

#include "client_fixture.h"
#include "raw_server.h"

/* An HTTP/2 server that does what a test wants: it keeps requests for /hold, answers others,
 * refuses as many as it is told to, leaves as many with a GOAWAY, takes so many streams. */
struct peer {
    struct raw_server raw;
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_h2_limits limits;
    struct cor_http_client *client;
    struct cor_h2_stream *held[100];
    size_t nheld, nrequests, refusals, goaways, nends;
    size_t nreads;                      /* pieces that came */
    bool is_mute, answers_early, drops; /* the connection of the next request */
    bool sends_no_resets;
    struct cor_buf body; /* of all requests */
    size_t nclosed;
    uint32_t code;   /* of the last stream that was closed */
    char method[16]; /* of the last request that was not sent elsewhere */
    bool client_closed, net_closed;
};

static struct peer *peer_of(struct raw_conn *c)
{
    return COR_CONTAINER_OF(c->server, struct peer, raw);
}

static int on_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    return 0;
}

static int on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct peer *p = peer_of(arg);

    cor_h2_consume(s, piece.n);
    return cor_buf_adds(&p->body, piece);
}

static void on_end(struct cor_h2_stream *s, void *arg)
{
    cor_h2_respond(s, 200, NULL, 0, false);
}

static void on_writable(struct cor_h2_stream *s, void *arg)
{
}

static void on_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    struct peer *p = peer_of(arg);

    p->nclosed++;
    p->code = code;
    for (size_t i = 0; i < p->nheld; i++)
        if (p->held[i] == s)
            p->held[i] = NULL;
}

static const struct cor_h2_stream_cbs stream_cbs = {on_head, on_body,     NULL,
                                                    on_end,  on_writable, on_closed};
static void on_end_hold(struct cor_h2_stream *s, void *arg)
{
}

static const struct cor_h2_stream_cbs hold_cbs = {on_head,     on_body,     NULL,
                                                  on_end_hold, on_writable, on_closed};

#define GOAWAY_BEFORE_ALL "\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\0"

static int on_request(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct peer *p = peer_of(arg);

    p->nrequests++;
    if (p->drops) {
        p->drops = false;
        cor_stream_fail(((struct raw_conn *)arg)->stream, -COR_EIO);
        return -COR_EINTERNAL;
    }
    if (p->goaways > 0) {
        p->goaways--;
        cor_h2_stream_set_cbs(s, &hold_cbs, arg);
        return cor_stream_write(((struct raw_conn *)arg)->stream, &COR_STR(GOAWAY_BEFORE_ALL), 1);
    }
    if (p->refusals > 0) {
        p->refusals--;
        return -COR_EBUSY;
    }
    if (cor_str_eqz(head->path, "/hold")) {
        cor_h2_stream_set_cbs(s, &hold_cbs, arg);
        p->held[p->nheld++] = s;
        return cor_h2_respond(s, 200, NULL, 0, true);
    }
    cor_h2_stream_set_cbs(s, &stream_cbs, arg);
    if (cor_str_starts(head->path, COR_STR("/moved/"))) {
        static const struct cor_http_header location = {COR_STR("location"), COR_STR("/ok")};

        return cor_h2_respond(s, cor_str_eqz(head->path, "/moved/303") ? 303 : 307, &location, 1,
                              false);
    }
    snprintf(p->method, sizeof(p->method), "%.*s", COR_STR_ARG(head->method));
    return p->answers_early ? cor_h2_respond(s, 200, NULL, 0, false) : 0;
}

static size_t h2_room(void *arg)
{
    struct raw_conn *c = arg;

    return c->stream ? cor_stream_room(c->stream) / 2 : 0;
}

#define FRAME_HEAD 9
#define RST_STREAM 3

static size_t frame_bytes(const unsigned char *head)
{
    return FRAME_HEAD + ((size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2]);
}

/* What is sent at a time are whole frames, but for large bodies, which this server has not. */
static int send_no_resets(struct raw_conn *c, const struct cor_str *spans, size_t n)
{
    struct cor_buf bytes;
    int r = 0;

    cor_buf_init(&bytes, 1u << 20);
    for (size_t i = 0; i < n; i++)
        cor_buf_adds(&bytes, spans[i]);
    for (size_t at = 0, len; r == 0 && at < bytes.n; at += len) {
        struct cor_str frame = {bytes.p + at, frame_bytes((unsigned char *)bytes.p + at)};

        len = frame.n;
        assert_true(at + len <= bytes.n);
        if (frame.p[3] != RST_STREAM)
            r = cor_stream_write(c->stream, &frame, 1);
    }
    cor_buf_deinit(&bytes);
    return r;
}

static int h2_send(const struct cor_str *spans, size_t n, void *arg)
{
    struct raw_conn *c = arg;

    if (c->stream && peer_of(c)->sends_no_resets)
        return send_no_resets(c, spans, n);
    return c->stream ? cor_stream_write(c->stream, spans, n) : -COR_ECANCELED;
}

static void h2_want_turn(void *arg)
{
    struct raw_conn *c = arg;

    if (c->stream)
        cor_stream_want_writable(c->stream);
}

static const struct cor_h2_cbs h2_cbs = {
    .room = h2_room, .send = h2_send, .want_turn = h2_want_turn, .on_request = on_request};

static void raw_on_open(struct raw_conn *c)
{
    assert_int_equal(
        cor_h2_new(COR_H2_SERVER, &peer_of(c)->limits, &h2_cbs, c, (struct cor_h2 **)&c->user), 0);
    assert_int_equal(cor_h2_turn(c->user, 0), 0);
}

static void raw_on_data(struct raw_conn *c, struct cor_str bytes)
{
    struct peer *p = peer_of(c);

    p->nreads++;
    if (p->is_mute)
        return;
    cor_h2_feed(c->user, bytes, 0);
    if (cor_h2_is_done(c->user))
        raw_close(c);
}

static void raw_on_writable(struct raw_conn *c)
{
    cor_h2_turn(c->user, 0);
    if (cor_h2_is_done(c->user))
        raw_close(c);
}

static void raw_on_end(struct raw_conn *c)
{
    peer_of(c)->nends++;
    cor_h2_drop_all(c->user, COR_H2_LOST);
}

static void peer_init(struct peer *p, uint32_t streams_max, uint64_t silence_ms, uint64_t ping_ms)
{
    struct cor_http_client_opts opts = {
        .host = "127.0.0.1", .knows_h2 = true, .silence_ms = silence_ms, .ping_ms = ping_ms};

    memset(p, 0, sizeof(*p));
    p->limits = (struct cor_h2_limits){
        .streams_max = streams_max, .window = 4096, .head_max = 4096, .headers_max = 20};
    p->raw.on_open = raw_on_open;
    p->raw.on_data = raw_on_data;
    p->raw.on_end = raw_on_end;
    p->raw.on_writable = raw_on_writable;
    cor_buf_init(&p->body, 16u << 20);
    assert_int_equal(cor_loop_new(64, &p->loop), 0);
    assert_int_equal(cor_net_open(p->loop, &p->net), 0);
    raw_listen(&p->raw, p->loop, p->net);
    opts.port = p->raw.port;
    assert_int_equal(cor_http_client_open(p->net, &opts, &p->client), 0);
}

static void on_flag(void *arg)
{
    *(bool *)arg = true;
}

static bool is_set(void *arg)
{
    return *(bool *)arg;
}

static void peer_deinit(struct peer *p)
{
    cor_http_client_close(p->client, on_flag, &p->client_closed);
    assert_true(cor_loop_run_until(p->loop, is_set, &p->client_closed, PATIENCE_MS));
    for (size_t i = 0; i < p->raw.nconns; i++)
        cor_h2_drop_all(p->raw.conns[i]->user, COR_H2_LOST);
    for (size_t i = 0; i < p->raw.nconns; i++)
        cor_h2_free(p->raw.conns[i]->user);
    p->raw.on_end = NULL;
    p->raw.on_data = NULL;
    p->raw.on_writable = NULL;
    raw_deinit(&p->raw);
    cor_net_close(p->net, on_flag, &p->net_closed);
    assert_true(cor_loop_run_until(p->loop, is_set, &p->net_closed, PATIENCE_MS));
    cor_loop_free(p->loop);
    cor_buf_deinit(&p->body);
}

static void call(struct peer *p, struct ask *a, const char *method, const char *target,
                 struct cor_str body)
{
    struct cor_http_call_opts opts = {.method = cor_strz(method),
                                      .target = cor_strz(target),
                                      .body = body,
                                      .cbs = &ask_cbs,
                                      .arg = a};

    *a = (struct ask){0};
    cor_buf_init(&a->text, 1u << 20);
    assert_int_equal(cor_http_call_open(p->client, &opts, &a->call), 0);
}

static void until(struct peer *p, bool (*is_so)(void *arg), void *arg)
{
    assert_true(cor_loop_run_until(p->loop, is_so, arg, PATIENCE_MS));
}

TEST(http_client_h2, another_connection_is_made_when_the_servers_limit_is_reached)
{
    struct peer p;
    struct ask a[5];

    peer_init(&p, 2, 0, 0);
    for (int i = 0; i < 5; i++)
        call(&p, &a[i], "GET", "/hold", COR_STR(""));
    for (int i = 0; i < 5; i++)
        until(&p, ask_has_head, &a[i]);
    assert_int_equal(p.raw.nconns, 3);
    assert_int_equal(p.nrequests, 5);
    peer_deinit(&p);
    for (int i = 0; i < 5; i++)
        ask_deinit(&a[i]);
}

static bool first_conn_is_gone(void *arg)
{
    return ((struct peer *)arg)->raw.conns[0]->stream == NULL;
}

TEST(http_client_h2, after_a_goaway_new_calls_go_elsewhere_and_old_ones_go_on)
{
    struct peer p;
    struct ask old, new;

    peer_init(&p, 10, 0, 0);
    call(&p, &old, "GET", "/hold", COR_STR(""));
    until(&p, ask_has_head, &old);
    cor_h2_shutdown(p.raw.conns[0]->user);
    /* What is asked before the client has heard of it is served, too. */
    do {
        call(&p, &new, "GET", "/ok", COR_STR(""));
        until(&p, ask_is_done, &new);
        assert_int_equal(new.r, 0);
        ask_deinit(&new);
    } while (p.raw.nconns < 2);
    assert_false(old.is_done);
    cor_h2_write(p.held[0], &COR_STR("x"), 1, 0, true);
    until(&p, ask_is_done, &old);
    assert_int_equal(old.r, 0);
    assert_str(cor_buf_str(&old.text), "200 x");
    until(&p, first_conn_is_gone, &p);
    ask_deinit(&old);
    peer_deinit(&p);
}

TEST(http_client_h2, a_refused_request_is_sent_again_once_whatever_its_method)
{
    struct peer p;
    struct ask a;

    for (size_t refusals = 1; refusals < 3; refusals++) {
        peer_init(&p, 10, 0, 0);
        p.refusals = refusals;
        call(&p, &a, "POST", "/ok", COR_STR("body"));
        until(&p, ask_is_done, &a);
        assert_int_equal(a.r, refusals == 1 ? 0 : -COR_EUNREACHABLE);
        assert_str(cor_buf_str(&a.text), refusals == 1 ? "200 " : "");
        assert_str(cor_buf_str(&p.body), refusals == 1 ? "body" : "");
        assert_int_equal(p.nrequests, 2);
        ask_deinit(&a);
        peer_deinit(&p);
    }
}

/* Go's client tries as often, with pauses. */
TEST(http_client_h2, a_request_that_meets_goaways_is_sent_again_up_to_seven_times)
{
    struct peer p;
    struct ask a;

    for (size_t goaways = 7; goaways <= 8; goaways++) {
        peer_init(&p, 10, 0, 0);
        p.goaways = goaways;
        call(&p, &a, "POST", "/ok", COR_STR("body"));
        until(&p, ask_is_done, &a);
        assert_int_equal(a.r, goaways == 7 ? 0 : -COR_EUNREACHABLE);
        assert_int_equal(p.nrequests, 8);
        assert_int_equal(p.raw.nconns, 8);
        ask_deinit(&a);
        peer_deinit(&p);
    }
}

/* Contract client 4.12.2. */
TEST(http_client_h2, a_server_that_answers_no_ping_loses_its_calls)
{
    struct peer p;
    struct ask a, b;

    peer_init(&p, 10, 20, 20);
    call(&p, &a, "GET", "/hold", COR_STR(""));
    until(&p, ask_has_head, &a);
    p.is_mute = true;
    until(&p, ask_is_done, &a);
    assert_int_equal(a.r, -COR_EBROKEN);
    assert_string_equal(a.why, "the server does not answer pings");
    p.is_mute = false;
    call(&p, &b, "GET", "/ok", COR_STR(""));
    until(&p, ask_is_done, &b);
    assert_int_equal(b.r, 0);
    assert_int_equal(p.raw.nconns, 2);
    ask_deinit(&a);
    ask_deinit(&b);
    peer_deinit(&p);
}

static bool has_read_much(void *arg)
{
    return ((struct peer *)arg)->nreads > 6;
}

TEST(http_client_h2, a_quiet_watch_lives_on_when_pings_are_answered)
{
    struct peer p;
    struct ask a;

    peer_init(&p, 10, 20, 20000);
    call(&p, &a, "GET", "/hold", COR_STR(""));
    until(&p, ask_has_head, &a);
    until(&p, has_read_much, &p);
    assert_false(a.is_done);
    ask_deinit(&a);
    peer_deinit(&p);
}

static bool stream_was_closed(void *arg)
{
    return ((struct peer *)arg)->nclosed > 0;
}

TEST(http_client_h2, a_cancelled_call_resets_its_stream_only)
{
    struct peer p;
    struct ask a, b;

    peer_init(&p, 10, 0, 0);
    call(&p, &a, "GET", "/hold", COR_STR(""));
    call(&p, &b, "GET", "/hold", COR_STR(""));
    until(&p, ask_has_head, &a);
    until(&p, ask_has_head, &b);
    cor_http_call_cancel(a.call);
    until(&p, stream_was_closed, &p);
    assert_int_equal(p.code, COR_H2_CANCEL);
    assert_int_equal(p.raw.nconns, 1);
    assert_non_null(p.raw.conns[0]->stream);
    assert_false(b.is_done);
    ask_deinit(&a);
    ask_deinit(&b);
    peer_deinit(&p);
}

TEST(http_client_h2, an_answer_may_come_before_the_request_was_taken)
{
    size_t n = 1u << 20;
    char *body = cor_calloc(1, n);
    struct peer p;
    struct ask a;

    peer_init(&p, 10, 0, 0);
    p.answers_early = true;
    call(&p, &a, "POST", "/ok", cor_str(body, n));
    until(&p, ask_is_done, &a);
    assert_int_equal(a.r, 0);
    assert_str(cor_buf_str(&a.text), "200 ");
    ask_deinit(&a);
    call(&p, &a, "GET", "/ok", COR_STR(""));
    until(&p, ask_is_done, &a);
    assert_int_equal(a.r, 0);
    ask_deinit(&a);
    peer_deinit(&p);
    cor_free(body);
}

/* A server may end its answer and leave the request open: the call goes on elsewhere without having
 * sent the rest. */
static void check_redirected_upload(const char *target, const char *method)
{
    size_t n = 1u << 20;
    char *body = cor_calloc(1, n);
    struct peer p;
    struct ask a;

    peer_init(&p, 10, 0, 0);
    p.sends_no_resets = true;
    call(&p, &a, "POST", target, cor_str(body, n));
    until(&p, ask_is_done, &a);
    assert_int_equal(a.r, 0);
    assert_str(cor_buf_str(&a.text), "200 ");
    assert_string_equal(p.method, method);
    ask_deinit(&a);
    peer_deinit(&p);
    cor_free(body);
}

TEST(http_client_h2, a_redirection_may_come_before_the_request_was_taken)
{
    check_redirected_upload("/moved/303", "GET");
    check_redirected_upload("/moved/307", "POST");
}

TEST(http_client_h2, a_server_that_never_takes_a_stream_is_not_dialled_again)
{
    struct peer p;
    struct ask a;

    peer_init(&p, 0, 0, 0);
    call(&p, &a, "GET", "/ok", COR_STR(""));
    until(&p, ask_is_done, &a);
    assert_int_equal(a.r, -COR_EUNREACHABLE);
    assert_string_equal(a.why, "the server takes no requests");
    assert_int_equal(p.raw.nconns, 1);
    ask_deinit(&a);
    peer_deinit(&p);
}

TEST(http_client_h2, only_an_idempotent_request_is_sent_again_when_its_connection_breaks)
{
    static const char *const methods[] = {"GET", "POST"};
    struct peer p;
    struct ask a;

    for (int i = 0; i < 2; i++) {
        peer_init(&p, 10, 0, 0);
        call(&p, &a, "GET", "/ok", COR_STR(""));
        until(&p, ask_is_done, &a);
        assert_int_equal(a.r, 0);
        ask_deinit(&a);
        p.drops = true;
        call(&p, &a, methods[i], "/ok", COR_STR(""));
        until(&p, ask_is_done, &a);
        assert_int_equal(a.r, i == 0 ? 0 : -COR_EBROKEN);
        assert_int_equal(p.nrequests, i == 0 ? 3 : 2);
        ask_deinit(&a);
        peer_deinit(&p);
    }
}
