#include "test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client_fixture.h"
#include "net/stream/tls_files.h"

static const struct cor_http_limits usual = {0};

TEST_WAYS(http_client, asks_and_is_answered_on_one_connection)
{
    struct fix f;

    fix_init(&f, way, usual);
    assert_answer(&f, "POST", "/echo?x=1", "hello", 0, "200 hello");
    assert_answer(&f, "GET", "/send/3", "", 0, "200 yyy");
    assert_answer(&f, "HEAD", "/send/3", "", 0, "200 ");
    assert_answer(&f, "GET", "/send/2", "", 0, "200 yy");
    assert_int_equal(accepted(&f), 1);
    fix_deinit(&f);
}

TEST_WAYS(http_client, calls_side_by_side_share_a_connection_only_over_h2)
{
    struct fix f;
    struct ask hold, other;

    fix_init(&f, way, usual);
    assert_int_equal(ask(&f, &hold, "GET", "/watch", "", 0), 0);
    await(&f.h, ask_has_head, &hold);
    assert_int_equal(ask(&f, &other, "GET", "/send/1", "", 0), 0);
    await(&f.h, ask_is_done, &other);
    assert_str(cor_buf_str(&other.text), "200 y");
    cor_http_response_write(f.h.held, COR_STR("event"));
    cor_http_response_end(f.h.held);
    await(&f.h, ask_is_done, &hold);
    assert_int_equal(hold.r, 0);
    assert_str(cor_buf_str(&hold.text), "200 event");
    ask_deinit(&hold);
    ask_deinit(&other);
    assert_int_equal(accepted(&f), way_is_h2(way) ? 1 : 2);
    fix_deinit(&f);
}

/* A call that finds a free connection before its own is made leaves that one for the next calls:
 * as many calls at once as before need no other. */
TEST(http_client, rounds_of_calls_side_by_side_make_connections_once)
{
    struct fix f;
    struct ask asks[3];

    fix_init(&f, TLS_H1, usual);
    for (int round = 0; round < 40; round++) {
        for (size_t i = 0; i < COR_ARRAY_LEN(asks); i++)
            assert_int_equal(ask(&f, &asks[i], "GET", "/send/1", "", 0), 0);
        for (size_t i = 0; i < COR_ARRAY_LEN(asks); i++) {
            await(&f.h, ask_is_done, &asks[i]);
            assert_whole(&asks[i], "200 y");
            ask_deinit(&asks[i]);
        }
    }
    assert_true(accepted(&f) <= COR_ARRAY_LEN(asks));
    fix_deinit(&f);
}

static bool all_have_heads(void *arg)
{
    struct ask *a = arg;

    for (int i = 0; i < 50; i++)
        if (!ask_has_head(&a[i]))
            return false;
    return true;
}

TEST_WAYS(http_client, fifty_watches_that_begin_together_need_one_h2_connection)
{
    struct ask a[50];
    struct fix f;

    fix_init(&f, way, usual);
    for (int i = 0; i < 50; i++)
        assert_int_equal(ask(&f, &a[i], "GET", "/watch", "", 0), 0);
    await(&f.h, all_have_heads, a);
    assert_int_equal(accepted(&f), way_is_h2(way) ? 1 : 50);
    for (int i = 0; i < 50; i++)
        assert_false(a[i].is_done);
    fix_deinit(&f);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(a[i].r, -COR_ECANCELED);
        ask_deinit(&a[i]);
    }
}

TEST_WAYS(http_client, large_bodies_pass_both_ways)
{
    size_t n = 3u << 20;
    char *body = cor_alloc(n);
    struct fix f;
    struct ask a;

    memset(body, 'b', n - 1);
    body[n - 1] = '\0';
    fix_init(&f, way, usual);
    assert_int_equal(ask(&f, &a, "POST", "/echo", body, 0), 0);
    await(&f.h, ask_is_done, &a);
    assert_int_equal(a.r, 0);
    assert_int_equal(a.got, n - 1);
    assert_memory_equal(a.text.p + 4, body, n - 1);
    ask_deinit(&a);
    assert_int_equal(ask(&f, &a, "GET", "/big/20000000", "", 0), 0);
    a.forgets = true;
    await(&f.h, ask_is_done, &a);
    assert_int_equal(a.r, 0);
    assert_int_equal(a.got, 20000000);
    ask_deinit(&a);
    fix_deinit(&f);
    cor_free(body);
}

TEST_WAYS(http_client, a_cancelled_call_says_no_more_and_the_server_is_told)
{
    struct fix f;
    struct ask a;

    fix_init(&f, way, usual);
    assert_int_equal(ask(&f, &a, "GET", "/watch", "", 0), 0);
    await(&f.h, ask_has_head, &a);
    cor_http_call_cancel(a.call);
    await(&f.h, someone_is_gone, &f.h);
    assert_false(a.is_done);
    ask_deinit(&a);
    assert_answer(&f, "GET", "/send/1", "", 0, "200 y");
    assert_int_equal(accepted(&f), way_is_h2(way) ? 1 : 2);
    fix_deinit(&f);
}

static int cancel_on_body(void *arg, struct cor_str piece)
{
    struct ask *a = arg;

    cor_http_call_cancel(a->call);
    a->is_done = true;
    return -COR_ECANCELED;
}

static const struct cor_http_call_cbs cancelling_cbs = {ask_on_head, cancel_on_body, ask_on_done};

static int refuse_body(void *arg, struct cor_str piece)
{
    return -COR_ETOOBIG;
}

static const struct cor_http_call_cbs refusing_cbs = {ask_on_head, refuse_body, ask_on_done};

TEST_WAYS(http_client, a_call_may_be_ended_from_its_own_callback)
{
    const struct cor_http_call_cbs *cbs[] = {&cancelling_cbs, &refusing_cbs};
    struct fix f;
    struct ask a;

    fix_init(&f, way, usual);
    for (int i = 0; i < 2; i++) {
        struct cor_http_call_opts opts = {
            .method = COR_STR("GET"), .target = COR_STR("/big/1000000"), .cbs = cbs[i], .arg = &a};

        a = (struct ask){0};
        cor_buf_init(&a.text, 100);
        assert_int_equal(cor_http_call_open(f.client, &opts, &a.call), 0);
        await(&f.h, ask_is_done, &a);
        assert_int_equal(a.r, i == 0 ? 0 : -COR_ETOOBIG);
        ask_deinit(&a);
    }
    assert_answer(&f, "GET", "/send/1", "", 0, "200 y");
    fix_deinit(&f);
}

TEST_WAYS(http_client, a_deadline_ends_a_call)
{
    struct fix f;
    struct ask a;

    fix_init(&f, way, usual);
    assert_int_equal(ask(&f, &a, "GET", "/hold", "", 30), 0);
    await(&f.h, ask_is_done, &a);
    assert_int_equal(a.r, -COR_ETIMEOUT);
    ask_deinit(&a);
    fix_deinit(&f);
}

TEST_WAYS(http_client, a_broken_answer_is_told)
{
    struct fix f;

    fix_init(&f, way, usual);
    assert_answer(&f, "GET", "/abort", "", -COR_EBROKEN, "");
    fix_deinit(&f);
}

TEST_WAYS(http_client, nobody_at_the_address_is_unreachable)
{
    struct fix f;
    struct ask a;

    if (way == UNIX_H1 || way == UNIX_H2)
        return;
    fix_init_opts(&f, way, usual, (struct cor_http_client_opts){.port = 1});
    assert_int_equal(ask(&f, &a, "GET", "/", "", 0), 0);
    await(&f.h, ask_is_done, &a);
    assert_int_equal(a.r, -COR_EUNREACHABLE);
    assert_string_equal(a.why, "connection refused");
    ask_deinit(&a);
    fix_deinit(&f);
}

TEST_WAYS(http_client, closing_cancels_what_is_under_way)
{
    struct fix f;
    struct ask a, b;

    fix_init(&f, way, usual);
    assert_int_equal(ask(&f, &a, "GET", "/watch", "", 0), 0);
    await(&f.h, ask_has_head, &a);
    assert_int_equal(ask(&f, &b, "GET", "/hold", "", 0), 0);
    fix_deinit(&f);
    assert_true(a.is_done && b.is_done);
    assert_int_equal(a.r, -COR_ECANCELED);
    assert_int_equal(b.r, -COR_ECANCELED);
    ask_deinit(&a);
    ask_deinit(&b);
}

TEST_WAYS(http_client, any_allocation_of_a_call_may_fail)
{
    struct fix f;

    fix_init(&f, way, usual);
    FOR_EACH_FAILED_ALLOC(n) {
        struct ask a;
        int r;

        /* With a connection that is open, so that each run begins alike. */
        test_fail_alloc(0, false);
        assert_answer(&f, "GET", "/send/1", "", 0, "200 y");
        test_fail_alloc(n, false);
        r = ask(&f, &a, "GET", "/redirect/302?/echo", "", 0);
        if (r == 0)
            await(&f.h, ask_is_done, &a);
        assert_true((r == 0 && a.r == 0) || test_alloc_failed());
        test_fail_alloc(0, false);
        if (r == 0 && a.r == 0)
            assert_whole(&a, "200 ");
        ask_deinit(&a);
    }
    assert_answer(&f, "GET", "/send/1", "", 0, "200 y");
    fix_deinit(&f);
}

TEST_WAYS(http_client, any_allocation_of_a_first_call_may_fail)
{
    struct fix f;

    fix_init(&f, way, usual);
    FOR_EACH_FAILED_ALLOC(n) {
        struct ask a;
        int r;

        test_fail_alloc(0, false);
        fix_close_client(&f);
        assert_int_equal(cor_http_client_open(f.h.net, &f.opts, &f.client), 0);
        test_fail_alloc(n, false);
        r = ask(&f, &a, "POST", "/echo", "x", 0);
        if (r == 0)
            await(&f.h, ask_is_done, &a);
        assert_true((r == 0 && a.r == 0) || test_alloc_failed());
        if (r == 0 && a.r == 0)
            assert_whole(&a, "200 x");
        ask_deinit(&a);
    }
    fix_deinit(&f);
}

static int resolve_twice(void *arg, const char *host, struct cor_addresses *ret_found)
{
    assert_string_equal(host, "api.example");
    *ret_found = (struct cor_addresses){.at = {"127.0.0.77", "127.0.0.1"}, .n = 2};
    ++*(int *)arg;
    return 0;
}

static int resolve_nothing(void *arg, const char *host, struct cor_addresses *ret_found)
{
    return -COR_ENOTFOUND;
}

TEST(http_client, a_hook_resolves_names_and_every_address_is_tried)
{
    int asked = 0;
    struct fix f;

    fix_init_opts(&f, PLAIN_H1, usual,
                  (struct cor_http_client_opts){
                      .host = "api.example", .resolve = resolve_twice, .resolve_arg = &asked});
    assert_answer(&f, "GET", "/send/1", "", 0, "200 y");
    assert_int_equal(asked, 1);
    fix_deinit(&f);
    fix_init_opts(&f, PLAIN_H1, usual,
                  (struct cor_http_client_opts){.host = "api.example", .resolve = resolve_nothing});
    assert_answer(&f, "GET", "/send/1", "", -COR_EUNREACHABLE, "");
    fix_deinit(&f);
}

static int resolve_stalling_first(void *arg, const char *host, struct cor_addresses *ret_found)
{
    *ret_found = (struct cor_addresses){.at = {"127.0.0.77"}, .n = COR_RESOLVER_ADDRESSES_MAX};
    for (size_t i = 1; i < ret_found->n; i++)
        snprintf(ret_found->at[i], sizeof(ret_found->at[i]), "127.0.0.1");
    return 0;
}

/* It takes connections and says nothing. */
static int listen_silently(const char *address, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* An address that stalls has its share of the time, two seconds here, and no more: the server at
 * the next one answers long before the time is up. */
TEST(http_client, an_address_that_stalls_uses_its_share_of_the_time_only)
{
    struct fix f;
    struct ask a;
    int fd;

    fix_init_opts(&f, TLS_H1, usual,
                  (struct cor_http_client_opts){.host = "api.example",
                                                .server_name = "127.0.0.1",
                                                .resolve = resolve_stalling_first,
                                                .connect_timeout_ms = 16000});
    fd = listen_silently("127.0.0.77", f.h.port);
    assert_int_equal(ask(&f, &a, "GET", "/send/1", "", 15000), 0);
    await(&f.h, ask_is_done, &a);
    assert_int_equal(a.r, 0);
    assert_str(cor_buf_str(&a.text), "200 y");
    ask_deinit(&a);
    fix_deinit(&f);
    close(fd);
}

TEST(http_client, an_untrusted_server_is_refused_with_the_reason)
{
    struct cor_tls_opts tls = {.role = COR_TLS_CLIENT};
    struct fix f;
    struct ask a;

    fix_init(&f, TLS_H1, usual);
    fix_close_client(&f);
    assert_int_equal(cor_tls_new(&tls, &f.opts.tls), 0);
    assert_int_equal(cor_http_client_open(f.h.net, &f.opts, &f.client), 0);
    assert_int_equal(ask(&f, &a, "GET", "/", "", 0), 0);
    await(&f.h, ask_is_done, &a);
    assert_int_equal(a.r, -COR_ETLS);
    assert_non_null(strstr(a.why, "certificate"));
    ask_deinit(&a);
    cor_tls_unref(f.opts.tls);
    fix_deinit(&f);
}

TEST_WAYS(http_client, follows_redirections_on_the_same_server)
{
    struct fix f;

    fix_init(&f, way, usual);
    assert_answer(&f, "GET", "/redirect/302?/send/2", "", 0, "200 yy");
    assert_answer(&f, "GET", "/redirect/301?/redirect/308?/send/3#fragment", "", 0, "200 yyy");
    assert_answer(&f, "HEAD", "/redirect/303?/send/2", "", 0, "200 ");
    /* A POST that is sent elsewhere is a GET there, but for 307 and 308. */
    assert_answer(&f, "POST", "/redirect/303?/echo", "body", 0, "200 ");
    assert_answer(&f, "POST", "/redirect/307?/echo", "body", 0, "200 body");
    assert_answer(&f, "POST", "/redirect/308?/echo", "body", 0, "200 body");
    assert_int_equal(accepted(&f), 1);
    fix_deinit(&f);
}

TEST_WAYS(http_client, other_redirections_are_answers)
{
    struct fix f;

    fix_init(&f, way, usual);
    assert_answer(&f, "GET", "/redirect/302?http://elsewhere.example/", "", 0, "302 go away");
    assert_answer(&f, "GET", "/redirect/302?//elsewhere.example/", "", 0, "302 go away");
    assert_answer(&f, "GET", "/redirect/302?", "", 0, "302 go away");
    assert_answer(&f, "GET", "/redirect/304?/send/1", "", 0, "304 ");
    /* Ten are followed, as by Go. */
    assert_answer(&f, "GET", "/loop", "", 0, "302 go away");
    fix_deinit(&f);
}

TEST(http_client, an_absolute_redirection_must_name_the_same_server)
{
    static const char *const others[] = {"https://127.0.0.1:%u/send/1", "http://127.0.0.1:%u0/x",
                                         "http://127.0.0.1.example:%u/x", "http://127.0.0.1/%u"};
    struct fix f;
    char target[100], location[80];

    fix_init(&f, PLAIN_H1, usual);
    snprintf(target, sizeof(target), "/redirect/302?http://127.0.0.1:%u/send/1", f.h.port);
    assert_answer(&f, "GET", target, "", 0, "200 y");
    for (size_t i = 0; i < COR_ARRAY_LEN(others); i++) {
        snprintf(location, sizeof(location), others[i], f.h.port);
        snprintf(target, sizeof(target), "/redirect/302?%s", location);
        assert_answer(&f, "GET", target, "", 0, "302 go away");
    }
    fix_deinit(&f);
}

static void make_client_tls(const struct fix *f, const struct cor_cert_pair *pair,
                            struct cor_tls **ret_tls)
{
    static const char *const alpn[] = {"h2", "http/1.1"};
    struct cor_tls_opts opts = {.role = COR_TLS_CLIENT,
                                .cert_pem = pem(&pair->cert_pem),
                                .key_pem = pem(&pair->key_pem),
                                .ca_pem = pem(&f->ids.ca.cert_pem),
                                .alpn = alpn,
                                .nalpn = 2};

    assert_int_equal(cor_tls_new(&opts, ret_tls), 0);
}

/* Contract client 4.12.4. */
TEST_WAYS(http_client, another_certificate_ends_the_connections_of_the_old_one)
{
    struct cor_tls *tls;
    struct fix f;
    struct ask watch;

    if (way != TLS_H1 && way != TLS_H2)
        return;
    fix_init(&f, way, usual);
    assert_answer(&f, "GET", "/who", "", 0, "200 nobody");
    assert_int_equal(ask(&f, &watch, "GET", "/watch", "", 0), 0);
    await(&f.h, ask_has_head, &watch);
    make_client_tls(&f, &f.ids.client, &tls);
    cor_http_client_set_tls(f.client, tls);
    cor_tls_unref(tls);
    assert_answer(&f, "GET", "/who", "", 0, "200 admin");
    await(&f.h, ask_is_done, &watch);
    assert_int_equal(watch.r, -COR_EBROKEN);
    assert_string_equal(watch.why, "the client certificate has changed");
    ask_deinit(&watch);
    fix_deinit(&f);
}

static void save(const char *path, const struct cor_buf *text)
{
    assert_int_equal(cor_pem_save(path, cor_buf_str(text), 0600), 0);
}

/* Contract client 4.12.4. */
TEST(http_client, a_certificate_that_was_replaced_is_read_before_a_connection_is_made)
{
    struct cor_tls_opts tls = {.role = COR_TLS_CLIENT};
    char cert[200], key[200];
    struct fix f;

    fix_init(&f, TLS_H1, usual);
    fix_close_client(&f);
    tls.ca_pem = pem(&f.ids.ca.cert_pem);
    snprintf(cert, sizeof(cert), "%s/cert.pem", test_tmpdir());
    snprintf(key, sizeof(key), "%s/key.pem", test_tmpdir());
    save(cert, &f.ids.server.cert_pem);
    save(key, &f.ids.server.key_pem);
    assert_int_equal(cor_tls_files_new(&tls, cert, key, &f.opts.tls_files), 0);
    f.opts.tls = NULL;
    assert_int_equal(cor_http_client_open(f.h.net, &f.opts, &f.client), 0);
    save(cert, &f.ids.client.cert_pem);
    save(key, &f.ids.client.key_pem);
    assert_answer(&f, "GET", "/who", "", 0, "200 admin");
    fix_close_client(&f);
    cor_tls_files_free(COR_STEAL(f.opts.tls_files));
    assert_int_equal(cor_http_client_open(f.h.net, &f.opts, &f.client), 0);
    fix_deinit(&f);
}

/* A server without a loop: it does what the test says, when it says so. */
struct bare {
    int listener, fd;
    uint16_t port;
    char in[1000];
    size_t n;
};

static void bare_listen(struct bare *b)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);

    *b = (struct bare){.fd = -1, .listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)};
    assert_int_equal(bind(b->listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(b->listener, 5), 0);
    assert_int_equal(getsockname(b->listener, (struct sockaddr *)&at, &n), 0);
    b->port = ntohs(at.sin_port);
}

static bool bare_has_request(void *arg)
{
    struct bare *b = arg;
    ssize_t n;

    if (b->fd < 0)
        b->fd = accept4(b->listener, NULL, NULL, SOCK_NONBLOCK);
    n = b->fd < 0 ? 0 : recv(b->fd, b->in + b->n, sizeof(b->in) - 1 - b->n, 0);
    b->n += n > 0 ? (size_t)n : 0;
    b->in[b->n] = '\0';
    return strstr(b->in, "\r\n\r\n") != NULL;
}

/* The loop sleeps while the server is no part of it. */
static void bare_await(struct bare *b, struct fix *f)
{
    for (uint64_t left = PATIENCE_MS / 5; left > 0 && !bare_has_request(b); left--)
        cor_loop_run_until(f->h.loop, bare_has_request, b, 5);
    assert_true(bare_has_request(b));
}

static void bare_close(struct bare *b)
{
    close(b->fd);
    b->fd = -1;
    b->n = 0;
    b->in[0] = '\0';
}

static void bare_answer(struct bare *b, struct fix *f, struct ask *a)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

    bare_await(b, f);
    assert_true(send(b->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) > 0);
    await(&f->h, ask_is_done, a);
    assert_int_equal(a->r, 0);
    ask_deinit(a);
    b->n = 0;
    b->in[0] = '\0';
}

TEST(http_client, a_post_is_not_written_to_a_connection_that_was_closed_meanwhile)
{
    struct bare b;
    struct fix f;
    struct ask a;

    bare_listen(&b);
    fix_init_opts(&f, PLAIN_H1, usual, (struct cor_http_client_opts){.port = b.port});
    assert_int_equal(ask(&f, &a, "POST", "/", "one", 0), 0);
    bare_answer(&b, &f, &a);
    bare_close(&b);
    assert_int_equal(ask(&f, &a, "POST", "/", "two", 0), 0);
    bare_answer(&b, &f, &a);
    fix_deinit(&f);
    close(b.fd);
    close(b.listener);
}

/* The request is on its way when the server, which takes the connection for idle, closes it. */
TEST(http_client, only_an_idempotent_request_is_sent_again_when_its_idle_connection_is_closed)
{
    struct bare b;
    struct fix f;
    struct ask a;

    bare_listen(&b);
    fix_init_opts(&f, PLAIN_H1, usual, (struct cor_http_client_opts){.port = b.port});
    assert_int_equal(ask(&f, &a, "GET", "/", "", 0), 0);
    bare_answer(&b, &f, &a);
    assert_int_equal(ask(&f, &a, "GET", "/", "", 0), 0);
    bare_await(&b, &f);
    bare_close(&b);
    bare_answer(&b, &f, &a);
    assert_int_equal(ask(&f, &a, "POST", "/", "once", 0), 0);
    bare_await(&b, &f);
    bare_close(&b);
    await(&f.h, ask_is_done, &a);
    assert_int_equal(a.r, -COR_EBROKEN);
    ask_deinit(&a);
    /* A connection that never answered is not idle. */
    assert_int_equal(ask(&f, &a, "GET", "/", "", 0), 0);
    bare_await(&b, &f);
    bare_close(&b);
    await(&f.h, ask_is_done, &a);
    assert_int_equal(a.r, -COR_EBROKEN);
    ask_deinit(&a);
    fix_deinit(&f);
    close(b.listener);
}

#define LARGE (8u << 20) /* more than sockets take */

/* A server that answers by a head, and reads no more of the connection. */
static void bare_leave(struct bare *b, struct fix *f, const char *answer, int *ret_fd)
{
    bare_await(b, f);
    assert_true(send(b->fd, answer, strlen(answer), MSG_NOSIGNAL) > 0);
    *ret_fd = b->fd;
    b->fd = -1;
    b->n = 0;
    b->in[0] = '\0';
}

static void check_left_upload(const char *answer, const char *next)
{
    char *body = cor_calloc(1, LARGE + 1);
    struct bare b;
    struct fix f;
    struct ask a;
    int left;

    memset(body, 'x', LARGE);
    bare_listen(&b);
    fix_init_opts(&f, PLAIN_H1, usual, (struct cor_http_client_opts){.port = b.port});
    assert_int_equal(ask(&f, &a, "POST", "/", body, 0), 0);
    bare_leave(&b, &f, answer, &left);
    if (!strstr(answer, "Location")) {
        await(&f.h, ask_is_done, &a);
        assert_int_equal(a.r, 0);
        ask_deinit(&a);
        assert_int_equal(ask(&f, &a, "GET", "/next", "", 0), 0);
    }
    bare_await(&b, &f);
    assert_int_equal(strncmp(b.in, next, strlen(next)), 0);
    bare_answer(&b, &f, &a);
    fix_deinit(&f);
    close(left);
    close(b.fd);
    close(b.listener);
    cor_free(body);
}

TEST(http_client, a_connection_that_took_half_a_request_takes_no_other)
{
    check_left_upload("HTTP/1.1 303 S\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
                      "GET /next ");
    check_left_upload("HTTP/1.1 307 T\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
                      "POST /next ");
    check_left_upload("HTTP/1.1 413 L\r\nContent-Length: 0\r\n\r\n", "GET /next ");
}
