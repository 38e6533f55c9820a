/* A server (http_fixture.h), and the client under test on the same loop, in each of the ways they
 * may meet. */
#ifndef COR_TEST_CLIENT_FIXTURE_H
#define COR_TEST_CLIENT_FIXTURE_H

#include "http/http_client.h"
#include "http_fixture.h"
#include "identities.h"

enum way { PLAIN_H1, PLAIN_H2, TLS_H1, TLS_H2, UNIX_H1, UNIX_H2, NWAYS };

/* A test that must hold whichever way they meet. */
#define TEST_WAYS(suite, name)                                                                     \
    static void ways_##suite##_##name(enum way way);                                               \
    TEST(suite, name)                                                                              \
    {                                                                                              \
        for (int way = 0; way < NWAYS; way++)                                                      \
            ways_##suite##_##name((enum way)way);                                                  \
    }                                                                                              \
    static void ways_##suite##_##name(enum way way)

static inline bool way_is_h2(enum way way)
{
    return way == PLAIN_H2 || way == TLS_H2 || way == UNIX_H2;
}

/* What one call has come to: "200 body" and the end. */
struct ask {
    struct cor_http_call *call;
    struct cor_buf text;
    size_t got;
    bool is_done, forgets;
    int r;
    char why[120];
};

static int ask_on_head(void *arg, int status, const struct cor_http_header *headers, size_t n)
{
    return cor_buf_addf(&((struct ask *)arg)->text, "%d ", status);
}

static int ask_on_body(void *arg, struct cor_str piece)
{
    struct ask *a = arg;

    a->got += piece.n;
    return a->forgets ? 0 : cor_buf_adds(&a->text, piece);
}

static void ask_on_done(void *arg, int r, const char *text)
{
    struct ask *a = arg;

    assert_false(a->is_done);
    a->is_done = true;
    a->r = r;
    snprintf(a->why, sizeof(a->why), "%s", text);
}

static const struct cor_http_call_cbs ask_cbs = {ask_on_head, ask_on_body, ask_on_done};

static inline bool ask_is_done(void *arg)
{
    return ((struct ask *)arg)->is_done;
}

static inline bool ask_has_head(void *arg)
{
    return ((struct ask *)arg)->text.n > 0 || ((struct ask *)arg)->is_done;
}

struct fix {
    struct http h;
    struct identities ids;
    struct cor_tls *server_tls, *client_tls;
    char path[200];
    struct cor_http_client_opts opts;
    struct cor_http_client *client;
    bool is_closed;
};

static inline void fix_on_client_closed(void *arg)
{
    ((struct fix *)arg)->is_closed = true;
}

static inline bool fix_client_gone(void *arg)
{
    return ((struct fix *)arg)->is_closed;
}

static inline struct cor_str pem(const struct cor_buf *b)
{
    return cor_buf_str(b);
}

static inline void fix_make_tls(struct fix *f, enum way way)
{
    static const char *const both[] = {"h2", "http/1.1"};
    struct cor_tls_opts opts = {.role = COR_TLS_SERVER, .alpn = both, .nalpn = 2};

    identities_init(&f->ids);
    opts.cert_pem = pem(&f->ids.server.cert_pem);
    opts.key_pem = pem(&f->ids.server.key_pem);
    opts.ca_pem = pem(&f->ids.ca.cert_pem);
    if (way == TLS_H1) {
        opts.alpn = both + 1;
        opts.nalpn = 1;
    }
    assert_int_equal(cor_tls_new(&opts, &f->server_tls), 0);
    opts = (struct cor_tls_opts){
        .role = COR_TLS_CLIENT, .ca_pem = opts.ca_pem, .alpn = both, .nalpn = 2};
    assert_int_equal(cor_tls_new(&opts, &f->client_tls), 0);
}

/* What the client is opened with that is not in `opts`. */
static inline void fix_init_opts(struct fix *f, enum way way, struct cor_http_limits limits,
                                 struct cor_http_client_opts opts)
{
    memset(f, 0, sizeof(*f));
    if (way == TLS_H1 || way == TLS_H2)
        fix_make_tls(f, way);
    http_init(&f->h, limits, f->server_tls);
    opts.host = opts.host ? opts.host : "127.0.0.1";
    opts.port = opts.port ? opts.port : f->h.port;
    opts.tls = f->client_tls;
    opts.knows_h2 = way == PLAIN_H2 || way == UNIX_H2;
    if (way == UNIX_H1 || way == UNIX_H2) {
        snprintf(f->path, sizeof(f->path), "%s/socket", test_tmpdir());
        assert_int_equal(cor_http_server_listen_unix(f->h.server, f->path, 0600), 0);
        opts.unix_path = f->path;
        opts.host = NULL;
    }
    f->opts = opts;
    assert_int_equal(cor_http_client_open(f->h.net, &f->opts, &f->client), 0);
}

static inline void fix_init(struct fix *f, enum way way, struct cor_http_limits limits)
{
    fix_init_opts(f, way, limits, (struct cor_http_client_opts){0});
}

static inline void fix_close_client(struct fix *f)
{
    f->is_closed = false;
    cor_http_client_close(f->client, fix_on_client_closed, f);
    assert_true(cor_loop_run_until(f->h.loop, fix_client_gone, f, PATIENCE_MS));
}

static inline void fix_deinit(struct fix *f)
{
    fix_close_client(f);
    http_deinit(&f->h);
    cor_tls_unref(f->server_tls);
    cor_tls_unref(f->client_tls);
    identities_deinit(&f->ids);
}

static inline int ask(struct fix *f, struct ask *a, const char *method, const char *target,
                      const char *body, uint64_t deadline_ms)
{
    struct cor_http_call_opts opts = {.method = cor_strz(method),
                                      .target = cor_strz(target),
                                      .body = cor_strz(body),
                                      .deadline_ms = deadline_ms,
                                      .cbs = &ask_cbs,
                                      .arg = a};

    *a = (struct ask){0};
    cor_buf_init(&a->text, 64u << 20);
    return cor_http_call_open(f->client, &opts, &a->call);
}

static inline void ask_deinit(struct ask *a)
{
    cor_buf_deinit(&a->text);
}

static inline void assert_answer(struct fix *f, const char *method, const char *target,
                                 const char *body, int r, const char *text)
{
    struct ask a;

    assert_int_equal(ask(f, &a, method, target, body, 0), 0);
    assert_false(a.is_done);
    await(&f->h, ask_is_done, &a);
    if (a.r != r)
        fail_msg("%s %s: %s, %s", method, target, cor_err_name(a.r), a.why);
    assert_str(cor_buf_str(&a.text), text);
    ask_deinit(&a);
}

/* An answer is whole, or it is the server that says that it had no memory. */
static inline void assert_whole(const struct ask *a, const char *text)
{
    struct cor_str got = cor_buf_str(&a->text);

    if (!cor_str_starts(got, COR_STR("503 ")))
        assert_str(got, text);
}

static inline uint64_t accepted(struct fix *f)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(f->h.server, &stats);
    return stats.accepted;
}

#endif
