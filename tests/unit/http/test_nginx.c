/* nginx as the server: an HTTP and TLS implementation that is not ours. It ends connections after a
 * few requests (GOAWAY, or Connection: close) and takes few streams, so that a client that keeps
 * asking meets both all the time. */
#include "test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_fixture.h"
#include "held_port.h"

#define BIG 5000000

extern char **environ;

struct site {
    struct identities ids;
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_tls *tls;
    struct cor_http_client *client;
    const char *dir;
    char conf[200];
    uint16_t port;
    int port_fd;
    pid_t pid;
    bool client_closed, net_closed;
};

static void write_file(const struct site *s, const char *name, const char *text, size_t n)
{
    char path[200];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static void write_site(struct site *s, bool is_h2)
{
    const char *dir = s->dir;
    char *big = cor_alloc(BIG);
    struct cor_buf conf;

    memset(big, 'b', BIG);
    write_file(s, "big", big, BIG);
    write_file(s, "small", "small", 5);
    write_file(s, "cert.pem", s->ids.server.cert_pem.p, s->ids.server.cert_pem.n);
    write_file(s, "key.pem", s->ids.server.key_pem.p, s->ids.server.key_pem.n);
    cor_free(big);
    cor_buf_init(&conf, 10000);
    cor_buf_addf(&conf,
                 "daemon off; master_process off; pid %s/pid; error_log %s/log;\n"
                 "events { worker_connections 500; }\n"
                 "http { access_log off; client_body_temp_path %s/b; proxy_temp_path %s/p;\n"
                 "fastcgi_temp_path %s/f; uwsgi_temp_path %s/u; scgi_temp_path %s/s;\n"
                 "keepalive_requests 7; http2_max_concurrent_streams 4;\n"
                 "server { listen 127.0.0.1:%u ssl %s; ssl_certificate %s/cert.pem;\n"
                 "ssl_certificate_key %s/key.pem; root %s; } }\n",
                 dir, dir, dir, dir, dir, dir, dir, s->port, is_h2 ? "http2" : "", dir, dir, dir);
    write_file(s, "conf", conf.p, conf.n);
    cor_buf_deinit(&conf);
}

static void site_init(struct site *s, bool is_h2)
{
    static const char *const alpn[] = {"h2", "http/1.1"};
    struct cor_tls_opts tls = {.role = COR_TLS_CLIENT, .alpn = alpn, .nalpn = 2};
    struct cor_http_client_opts opts = {.host = "localhost"};
    char *argv[] = {(char *)"nginx", (char *)"-c", s->conf, NULL};

    memset(s, 0, sizeof(*s));
    s->dir = test_tmpdir();
    identities_init(&s->ids);
    s->port_fd = held_port(&s->port);
    assert_true(s->port_fd >= 0);
    opts.port = s->port;
    write_site(s, is_h2);
    snprintf(s->conf, sizeof(s->conf), "%s/conf", s->dir);
    assert_int_equal(posix_spawn(&s->pid, NGINX, NULL, NULL, argv, environ), 0);
    assert_int_equal(cor_loop_new(64, &s->loop), 0);
    assert_int_equal(cor_net_open(s->loop, &s->net), 0);
    tls.ca_pem = cor_buf_str(&s->ids.ca.cert_pem);
    assert_int_equal(cor_tls_new(&tls, &s->tls), 0);
    opts.tls = s->tls;
    assert_int_equal(cor_http_client_open(s->net, &opts, &s->client), 0);
}

static void on_flag(void *arg)
{
    *(bool *)arg = true;
}

static bool is_set(void *arg)
{
    return *(bool *)arg;
}

static void site_deinit(struct site *s)
{
    cor_http_client_close(s->client, on_flag, &s->client_closed);
    assert_true(cor_loop_run_until(s->loop, is_set, &s->client_closed, PATIENCE_MS));
    cor_net_close(s->net, on_flag, &s->net_closed);
    assert_true(cor_loop_run_until(s->loop, is_set, &s->net_closed, PATIENCE_MS));
    cor_loop_free(s->loop);
    cor_tls_unref(s->tls);
    identities_deinit(&s->ids);
    kill(s->pid, SIGTERM);
    waitpid(s->pid, NULL, 0);
    close(s->port_fd);
}

static void get(struct site *s, struct ask *a, const char *target)
{
    struct cor_http_call_opts opts = {
        .method = COR_STR("GET"), .target = cor_strz(target), .cbs = &ask_cbs, .arg = a};

    *a = (struct ask){.forgets = true};
    cor_buf_init(&a->text, 100);
    assert_int_equal(cor_http_call_open(s->client, &opts, &a->call), 0);
}

static void finish(struct site *s, struct ask *a, int r, size_t got)
{
    assert_true(cor_loop_run_until(s->loop, ask_is_done, a, PATIENCE_MS));
    if (a->r != r)
        fail_msg("%d: %s", a->r, a->why);
    assert_int_equal(a->got, got);
    ask_deinit(a);
}

static void await_server(struct site *s)
{
    struct ask a;
    int r = -1;

    for (uint64_t end = cor_loop_now_ms(s->loop) + PATIENCE_MS;
         r < 0 && cor_loop_now_ms(s->loop) < end;) {
        get(s, &a, "/small");
        assert_true(cor_loop_run_until(s->loop, ask_is_done, &a, PATIENCE_MS));
        r = a.r;
        ask_deinit(&a);
        if (r < 0)
            cor_loop_run_until(s->loop, is_set, &s->net_closed, 20);
    }
    assert_int_equal(r, 0);
}

static void ask_much(bool is_h2)
{
    struct ask a[50];
    struct site s;

    site_init(&s, is_h2);
    await_server(&s);
    for (int i = 0; i < 50; i++) {
        get(&s, &a[0], "/small");
        finish(&s, &a[0], 0, 5);
    }
    for (int i = 0; i < 50; i++)
        get(&s, &a[i], i % 10 == 0 ? "/big" : "/small");
    for (int i = 0; i < 50; i++)
        finish(&s, &a[i], 0, i % 10 == 0 ? BIG : 5);
    site_deinit(&s);
}

TEST(nginx, answers_over_h2_across_goaways_and_limits)
{
    ask_much(true);
}

TEST(nginx, answers_over_h1_across_closed_connections)
{
    ask_much(false);
}
