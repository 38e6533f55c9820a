#include "test.h"

#include "client_fixture.h"
#include "http/http_proxy.h"
#include "raw_server.h"

static void check_url(const char *url, bool is_tls, const char *host, uint16_t port,
                      const char *authorization)
{
    struct cor_proxy p;

    assert_int_equal(cor_proxy_init(&p, url, NULL), 0);
    assert_int_equal(p.is_tls, is_tls);
    assert_string_equal(p.host, host);
    assert_int_equal(p.port, port);
    assert_string_equal(p.authorization ? p.authorization : "", authorization);
    cor_proxy_deinit(&p);
}

TEST(proxy, a_url_says_host_port_and_password)
{
    check_url("http://proxy.example:3128", false, "proxy.example", 3128, "");
    check_url("https://proxy.example", true, "proxy.example", 443, "");
    check_url("http://[::1]:8080/", false, "::1", 8080, "");
    check_url("proxy:8080", false, "proxy", 8080, "");
    /* RFC 7617's example; and a password with an escaped "@". */
    check_url("http://Aladdin:open%20sesame@p", false, "p", 80,
              "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    check_url("http://a:b%40c@p:1", false, "p", 1, "Basic YTpiQGM=");
}

TEST(proxy, what_is_no_http_proxy_is_refused_with_a_message)
{
    const char *text = NULL;
    struct cor_proxy p;

    assert_int_equal(cor_proxy_init(&p, "socks5://p:1080", &text), -COR_ENOTSUP);
    assert_string_equal(text, "only http and https proxies are supported");
    assert_int_equal(cor_proxy_init(&p, "http://", &text), -COR_EINVAL);
    assert_int_equal(cor_proxy_init(&p, "http://p:0", &text), -COR_EINVAL);
    assert_int_equal(cor_proxy_init(&p, "http://p:65536", &text), -COR_EINVAL);
    assert_int_equal(cor_proxy_init(&p, "http://p:x", &text), -COR_EINVAL);
    assert_int_equal(cor_proxy_init(&p, "http://[::1", &text), -COR_EINVAL);
    assert_int_equal(cor_proxy_init(&p, "http://%zz@p", &text), -COR_EINVAL);
    assert_string_equal(text, "the proxy's URL is malformed");
}

TEST(proxy, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_proxy p;
        int r = cor_proxy_init(&p, "http://a:b@p", NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0) {
            assert_string_equal(p.host, "p");
            assert_int_equal(p.port, 80);
            assert_string_equal(p.authorization, "Basic YTpi");
        }
        cor_proxy_deinit(&p);
    }
}

static bool is_proxied(const char *no_proxy, const char *host, uint16_t port)
{
    struct cor_proxy_env env = {.https_proxy = "http://p", .no_proxy = no_proxy};

    return cor_proxy_for(&env, true, host, port) != NULL;
}

/* Contract client 4.12.2; the cases of golang.org/x/net/http/httpproxy's UseProxy test. */
TEST(proxy, no_proxy_means_what_it_means_to_go)
{
    static const char *no_proxy =
        "foobar.com, .barbaz.net, 192.168.1.1, 192.168.1.2:81, "
        "192.168.1.3:80, 10.0.0.0/30, 2001:db8::52:0:1, "
        "[2001:db8::52:0:2]:443, [2001:db8::52:0:3]:80, 2002:db8:a::45/64";
    static const struct {
        const char *host;
        bool is_proxied;
    } cases[] = {
        {"localhost", false},
        {"127.0.0.1", false},
        {"127.0.0.2", false},
        {"::1", false},
        {"::2", true},
        {"barbaz.net", true},
        {"www.barbaz.net", false},
        {"foobar.com", false},
        {"www.foobar.com", false},
        {"foofoobar.com", true},
        {"baz.com", true},
        {"localhost.net", true},
        {"local.localhost", true},
        {"barbarbaz.net", true},
        {"192.168.1.1", false},
        {"192.168.1.2", true},
        {"192.168.1.3", false},
        {"192.168.1.4", true},
        {"10.0.0.2", false},
        {"10.0.0.4", true},
        {"2001:db8::52:0:1", false},
        {"2001:db8::52:0:2", true},
        {"2001:db8::52:0:3", false},
        {"2002:db8:a::123", false},
        {"2002:db8:a:1::45", true},
        {"FOOBAR.com", false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        if (is_proxied(no_proxy, cases[i].host, 80) != cases[i].is_proxied)
            fail_msg("%s", cases[i].host);
    }
    assert_false(is_proxied("*", "example.com", 80));
    assert_true(is_proxied("", "example.com", 80));
    assert_false(is_proxied("*.example.com", "a.example.com", 80));
    assert_true(is_proxied("*.example.com", "example.com", 80));
    assert_false(is_proxied("example.com:443", "example.com", 443));
    assert_true(is_proxied("example.com:443", "example.com", 80));
}

TEST(proxy, each_scheme_has_its_own_variable)
{
    struct cor_proxy_env env = {.https_proxy = "http://s", .http_proxy = "http://h"};

    assert_string_equal(cor_proxy_for(&env, true, "x", 1), "http://s");
    assert_string_equal(cor_proxy_for(&env, false, "x", 1), "http://h");
    env = (struct cor_proxy_env){.https_proxy = "", .http_proxy = NULL};
    assert_null(cor_proxy_for(&env, true, "x", 1));
    assert_null(cor_proxy_for(&env, false, "x", 1));
}

/* A proxy: it notes the head of what it is asked, answers, and passes bytes on. */
struct tunnel {
    struct raw_conn *near;
    struct cor_stream *far;
    bool is_tunnel;
};

struct proxied {
    struct fix f;
    struct raw_server proxy;
    struct cor_buf asked;
    const char *answer;
    char url[100];
    size_t ntunnels, nclosing;
    struct tunnel tunnels[200];
};

static void on_far_open(struct cor_stream *s, void *arg)
{
    struct tunnel *t = arg;

    t->is_tunnel = true;
    raw_say(t->near, COR_STR("HTTP/1.1 200 Connection established\r\n\r\n"));
}

static void on_far_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    raw_say(((struct tunnel *)arg)->near, bytes);
}

static void on_far_nothing(struct cor_stream *s, void *arg)
{
}

static void on_far_closed(void *arg)
{
    ((struct proxied *)arg)->nclosing--;
}

static void close_far(struct proxied *p, struct tunnel *t)
{
    if (!t->far)
        return;
    p->nclosing++;
    cor_stream_close(COR_STEAL(t->far), on_far_closed, p);
}

static void on_far_end(struct cor_stream *s, int why, void *arg)
{
    struct tunnel *t = arg;
    struct proxied *p = COR_CONTAINER_OF(t->near->server, struct proxied, proxy);

    close_far(p, t);
    if (t->near->stream)
        cor_stream_end(t->near->stream);
}

static const struct cor_stream_cbs far_cbs = {on_far_open, on_far_data, on_far_nothing, on_far_end,
                                              on_far_nothing};

static void on_near_data(struct raw_conn *c, struct cor_str bytes)
{
    struct proxied *p = COR_CONTAINER_OF(c->server, struct proxied, proxy);
    struct cor_stream_opts opts = {.cbs = &far_cbs, .out_max = 8u << 20};
    struct tunnel *t = c->user;

    if (t) {
        if (!t->far || cor_stream_write(t->far, &bytes, 1) < 0)
            cor_stream_fail(c->stream, -COR_EIO);
        return;
    }
    if (cor_buf_adds(&c->in, bytes) < 0)
        cor_stream_fail(c->stream, -COR_EIO);
    if (!strstr(cor_buf_z(&c->in), "\r\n\r\n"))
        return;
    cor_buf_reset(&p->asked);
    cor_buf_adds(&p->asked, cor_buf_str(&c->in));
    if (p->answer) {
        raw_say(c, cor_strz(p->answer));
        return;
    }
    c->user = t = &p->tunnels[p->ntunnels++];
    t->near = c;
    opts.arg = t;
    if (cor_stream_connect(c->server->net, "127.0.0.1", p->f.h.port, &opts, &t->far) < 0)
        cor_stream_fail(c->stream, -COR_EIO);
}

static void on_near_end(struct raw_conn *c)
{
    if (c->user)
        close_far(COR_CONTAINER_OF(c->server, struct proxied, proxy), c->user);
}

static void proxied_init(struct proxied *p, enum way way, bool is_tls)
{
    memset(p, 0, sizeof(*p));
    cor_buf_init(&p->asked, 10000);
    fix_init(&p->f, way, (struct cor_http_limits){0});
    p->proxy.on_data = on_near_data;
    p->proxy.on_end = on_near_end;
    p->proxy.tls = is_tls ? p->f.server_tls : NULL;
    raw_listen(&p->proxy, p->f.h.loop, p->f.h.net);
    fix_close_client(&p->f);
    snprintf(p->url, sizeof(p->url), "%s://user:secret@localhost:%u", is_tls ? "https" : "http",
             p->proxy.port);
    p->f.opts.host = "localhost";
    p->f.opts.proxy_url = p->url;
    assert_int_equal(cor_http_client_open(p->f.h.net, &p->f.opts, &p->f.client), 0);
}

static bool far_is_closed(void *arg)
{
    return ((struct proxied *)arg)->nclosing == 0;
}

static void proxied_deinit(struct proxied *p)
{
    fix_close_client(&p->f);
    for (size_t i = 0; i < p->ntunnels; i++)
        close_far(p, &p->tunnels[i]);
    await(&p->f.h, far_is_closed, p);
    p->proxy.on_end = NULL;
    raw_deinit(&p->proxy);
    assert_int_equal(cor_http_client_open(p->f.h.net, &p->f.opts, &p->f.client), 0);
    fix_deinit(&p->f);
    cor_buf_deinit(&p->asked);
}

static void pass_through(enum way way, bool is_tls)
{
    struct proxied p;
    struct ask a;

    proxied_init(&p, way, is_tls);
    assert_answer(&p.f, "POST", "/echo", "hello", 0, "200 hello");
    assert_non_null(strstr(cor_buf_z(&p.asked), "CONNECT localhost:"));
    assert_non_null(
        strstr(cor_buf_z(&p.asked), "\r\nProxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"));
    assert_int_equal(ask(&p.f, &a, "GET", "/big/3000000", "", 0), 0);
    await(&p.f.h, ask_is_done, &a);
    assert_int_equal(a.r, 0);
    assert_int_equal(a.got, 3000000);
    assert_int_equal(p.ntunnels, 1);
    ask_deinit(&a);
    proxied_deinit(&p);
}

TEST(proxy, calls_go_through_a_tunnel)
{
    pass_through(PLAIN_H1, false);
    pass_through(TLS_H1, false);
    pass_through(TLS_H2, false);
}

TEST(proxy, calls_go_through_a_tunnel_in_tls)
{
    pass_through(TLS_H1, true);
    pass_through(TLS_H2, true);
}

static void refuse(const char *answer, int r, const char *why)
{
    struct proxied p;
    struct ask a;

    proxied_init(&p, TLS_H2, false);
    p.answer = answer;
    assert_int_equal(ask(&p.f, &a, "POST", "/echo", "x", 0), 0);
    await(&p.f.h, ask_is_done, &a);
    assert_int_equal(a.r, r);
    assert_string_equal(a.why, why);
    ask_deinit(&a);
    proxied_deinit(&p);
}

TEST(proxy, what_the_proxy_refuses_is_told)
{
    refuse("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 3\r\n\r\nno!",
           -COR_EUNREACHABLE, "the proxy answered 407 Proxy Authentication Required");
    refuse("HTTP/1.1 502 Bad Gateway\r\n\r\n", -COR_EUNREACHABLE,
           "the proxy answered 502 Bad Gateway");
    refuse("SSH-2.0-OpenSSH\r\n", -COR_EPROTOCOL, "what the proxy answers is no HTTP");
    refuse("HTTP/1.1 200 OK\r\n\r\nsurplus", -COR_EPROTOCOL, "what the proxy answers is no HTTP");
}

TEST(proxy, any_allocation_of_a_tunnel_may_fail)
{
    struct proxied p;

    proxied_init(&p, TLS_H2, false);
    FOR_EACH_FAILED_ALLOC(n) {
        struct ask a;
        int r;

        test_fail_alloc(0, false);
        fix_close_client(&p.f);
        assert_int_equal(cor_http_client_open(p.f.h.net, &p.f.opts, &p.f.client), 0);
        test_fail_alloc(n, false);
        r = ask(&p.f, &a, "POST", "/echo", "x", 0);
        if (r == 0)
            await(&p.f.h, ask_is_done, &a);
        assert_true((r == 0 && a.r == 0) || test_alloc_failed());
        if (r == 0 && a.r == 0)
            assert_whole(&a, "200 x");
        ask_deinit(&a);
    }
    proxied_deinit(&p);
}
