#include "test.h"

#include "client_fixture.h"
#include "raw_server.h"

/* What a server says to one request, in each protocol: 200 and "hello". */
#define H1_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define H1_CHUNKS "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
#define H2_ANSWER                                                                                  \
    "\0\0\0\4\0\0\0\0\0"                                                                           \
    "\0\0\1\1\4\0\0\0\1\x88"                                                                       \
    "\0\0\5\0\1\0\0\0\1hello"

enum deed { CLOSES, CANCELS, CLOSES_CLIENT, PASSES_DEADLINE };

/* The answer is said up to `cut`, then the deed is done. */
struct cut {
    struct raw_server raw;
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_http_client *client;
    struct cor_str answer;
    size_t cut;
    enum deed deed;
    struct ask ask;
    bool is_h2, said, client_closed, net_closed;
};

static struct cut *cut_of(struct raw_conn *c)
{
    return COR_CONTAINER_OF(c->server, struct cut, raw);
}

static bool has_request(struct cut *t, struct raw_conn *c)
{
    struct cor_str in = cor_buf_str(&c->in);

    /* The client's preface and SETTINGS, and its HEADERS when the server's have come. */
    if (t->is_h2)
        return t->cut < 9 || memmem(in.p, in.n, "\1\5\0\0\0\1", 6);
    return memmem(in.p, in.n, "\r\n\r\n", 4);
}

static void on_data(struct raw_conn *c, struct cor_str bytes)
{
    struct cut *t = cut_of(c);
    size_t said = 0;

    cor_buf_adds(&c->in, bytes);
    if (t->is_h2 && !c->user) {
        said = t->cut < 9 ? t->cut : 9;
        raw_say(c, cor_str(t->answer.p, said));
        c->user = c;
    }
    if (!has_request(t, c) || t->said)
        return;
    said = t->is_h2 ? (t->cut < 9 ? t->cut : 9) : 0;
    raw_say(c, cor_str(t->answer.p + said, t->cut - said));
    t->said = true;
    if (t->deed == CLOSES)
        cor_stream_end(c->stream);
}

static void on_flag(void *arg)
{
    *(bool *)arg = true;
}

static bool is_set(void *arg)
{
    return *(bool *)arg;
}

static bool is_over(void *arg)
{
    struct cut *t = arg;

    return t->ask.is_done || (t->deed != CLOSES && t->deed != PASSES_DEADLINE && t->said);
}

static void cut_init(struct cut *t, struct cor_str answer, bool is_h2, size_t cut, enum deed deed)
{
    struct cor_http_client_opts opts = {.host = "127.0.0.1", .knows_h2 = is_h2};

    memset(t, 0, sizeof(*t));
    t->answer = answer;
    t->cut = cut;
    t->deed = deed;
    t->is_h2 = is_h2;
    t->raw.on_data = on_data;
    assert_int_equal(cor_loop_new(64, &t->loop), 0);
    assert_int_equal(cor_net_open(t->loop, &t->net), 0);
    raw_listen(&t->raw, t->loop, t->net);
    opts.port = t->raw.port;
    assert_int_equal(cor_http_client_open(t->net, &opts, &t->client), 0);
}

static void cut_deinit(struct cut *t)
{
    if (!t->client_closed)
        cor_http_client_close(t->client, on_flag, &t->client_closed);
    assert_true(cor_loop_run_until(t->loop, is_set, &t->client_closed, PATIENCE_MS));
    raw_deinit(&t->raw);
    cor_net_close(t->net, on_flag, &t->net_closed);
    assert_true(cor_loop_run_until(t->loop, is_set, &t->net_closed, PATIENCE_MS));
    cor_loop_free(t->loop);
    ask_deinit(&t->ask);
}

static void do_one(struct cor_str answer, bool is_h2, size_t cut, enum deed deed)
{
    struct cor_http_call_opts opts = {.method = COR_STR("GET"),
                                      .target = COR_STR("/"),
                                      .deadline_ms = deed == PASSES_DEADLINE ? 5 : 0,
                                      .cbs = &ask_cbs};
    struct cut t;
    bool is_whole = cut == answer.n;

    cut_init(&t, answer, is_h2, cut, deed);
    cor_buf_init(&t.ask.text, 100);
    opts.arg = &t.ask;
    assert_int_equal(cor_http_call_open(t.client, &opts, &t.ask.call), 0);
    assert_true(cor_loop_run_until(t.loop, is_over, &t, PATIENCE_MS));
    if (deed == CLOSES) {
        assert_int_equal(t.ask.r == 0, is_whole);
        assert_true(t.ask.r == 0 || t.ask.r == -COR_EBROKEN || t.ask.r == -COR_EPROTOCOL);
    } else if (deed == CANCELS && !t.ask.is_done) {
        cor_http_call_cancel(t.ask.call);
    } else if (deed == CLOSES_CLIENT) {
        cor_http_client_close(t.client, on_flag, &t.client_closed);
        assert_true(cor_loop_run_until(t.loop, is_set, &t.client_closed, PATIENCE_MS));
        assert_true(t.ask.is_done && (is_whole || t.ask.r == -COR_ECANCELED));
    } else if (deed == PASSES_DEADLINE) {
        assert_int_equal(t.ask.r, is_whole && t.ask.r == 0 ? 0 : -COR_ETIMEOUT);
    }
    if (t.ask.r == 0 && t.ask.is_done)
        assert_str(cor_buf_str(&t.ask.text), "200 hello");
    cut_deinit(&t);
}

static void cut_everywhere(struct cor_str answer, bool is_h2, enum deed deed)
{
    for (size_t cut = 0; cut <= answer.n; cut++)
        do_one(answer, is_h2, cut, deed);
}

TEST(http_client_cut, a_connection_cut_at_any_byte_ends_the_call_once)
{
    cut_everywhere(COR_STR(H1_ANSWER), false, CLOSES);
    cut_everywhere(COR_STR(H1_CHUNKS), false, CLOSES);
    cut_everywhere(COR_STR(H2_ANSWER), true, CLOSES);
}

TEST(http_client_cut, a_call_may_be_cancelled_at_any_byte)
{
    cut_everywhere(COR_STR(H1_CHUNKS), false, CANCELS);
    cut_everywhere(COR_STR(H2_ANSWER), true, CANCELS);
}

TEST(http_client_cut, a_client_may_be_closed_at_any_byte)
{
    cut_everywhere(COR_STR(H1_CHUNKS), false, CLOSES_CLIENT);
    cut_everywhere(COR_STR(H2_ANSWER), true, CLOSES_CLIENT);
}

TEST(http_client_cut, a_deadline_may_pass_at_any_byte)
{
    cut_everywhere(COR_STR(H1_ANSWER), false, PASSES_DEADLINE);
    cut_everywhere(COR_STR(H2_ANSWER), true, PASSES_DEADLINE);
}

/* A server that says nothing final keeps no call for ever: five interim answers are passed over. */
TEST(http_client_cut, a_sixth_interim_answer_ends_the_call)
{
#define H1_INTERIM "HTTP/1.1 102 Processing\r\n\r\n"
#define H2_INTERIM                                                                                 \
    "\0\0\5\1\4\0\0\0\1\x08\x03"                                                                   \
    "102"
    static const struct {
        struct cor_str before, interim, after;
    } protocols[] = {
        {COR_STR(""), COR_STR(H1_INTERIM), COR_STR(H1_ANSWER)},
        {{H2_ANSWER, 9}, COR_STR(H2_INTERIM), {&H2_ANSWER[9], sizeof(H2_ANSWER) - 10}},
    };

    for (int i = 0; i < 4; i++) {
        bool is_h2 = i % 2, is_too_many = i / 2;
        struct cor_http_call_opts opts = {
            .method = COR_STR("GET"), .target = COR_STR("/"), .cbs = &ask_cbs};
        struct cor_buf answer;
        struct cut t;

        cor_buf_init(&answer, 1000);
        cor_buf_adds(&answer, protocols[is_h2].before);
        for (int n = 0; n < (is_too_many ? 6 : 5); n++)
            cor_buf_adds(&answer, protocols[is_h2].interim);
        if (!is_too_many)
            cor_buf_adds(&answer, protocols[is_h2].after);
        cut_init(&t, cor_buf_str(&answer), is_h2, answer.n, PASSES_DEADLINE);
        cor_buf_init(&t.ask.text, 100);
        opts.arg = &t.ask;
        assert_int_equal(cor_http_call_open(t.client, &opts, &t.ask.call), 0);
        assert_true(cor_loop_run_until(t.loop, is_over, &t, PATIENCE_MS));
        assert_int_equal(t.ask.r, !is_too_many ? 0 : is_h2 ? -COR_EBROKEN : -COR_ETOOBIG);
        assert_str(cor_buf_str(&t.ask.text), is_too_many ? "" : "200 hello");
        cut_deinit(&t);
        cor_buf_deinit(&answer);
    }
}
