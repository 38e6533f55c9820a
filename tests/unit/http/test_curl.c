/* curl as the peer: an HTTP and TLS implementation that is not ours. */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "http/http_server.h"
#include "identities.h"
#include "loop/loop.h"
#include "net/stream/peer.h"
#include "net/stream/tls.h"

#define BIG 5000000

struct site {
    struct cor_loop *loop;
    struct cor_http_server *server;
    struct identities ids;
    char url[64], ca[100], cert[100], key[100], sock[100];
    const char *dir;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool closed;
};

static char big[BIG];

/* Says method, body length and who is there; /big sends BIG bytes. */
static void on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                       void *arg)
{
    struct cor_buf out;

    if (cor_str_eqz(req->path, "/big")) {
        cor_http_response_send(resp, 200, NULL, 0, cor_str(big, BIG));
        return;
    }
    cor_buf_init(&out, 1000);
    cor_buf_addf(&out, "%.*s %zu", COR_STR_ARG(req->method_name), req->body.n);
    if (req->peer->cert && req->peer->cert->is_verified)
        cor_buf_addf(&out, " %.*s", COR_STR_ARG(req->peer->cert->common_name));
    if (req->peer->is_unix)
        cor_buf_addf(&out, " uid=%d", req->peer->uid == getuid());
    cor_http_response_send(resp, 200, NULL, 0, cor_buf_str(&out));
    cor_buf_deinit(&out);
}

static void save(char *path, size_t n, const char *dir, const char *name, const struct cor_buf *pem)
{
    snprintf(path, n, "%.60s/%s", dir, name);
    assert_int_equal(cor_pem_save(path, cor_buf_str(pem), 0600), 0);
}

static void site_init(struct site *site)
{
    struct cor_http_server_opts opts = {
        .loops = &site->loop, .nloops = 1, .on_request = on_request};
    static const char *const alpn[] = {"h2", "http/1.1"};
    struct cor_tls_opts tls_opts = {.role = COR_TLS_SERVER, .alpn = alpn, .nalpn = 2};
    struct cor_tls *tls;
    uint16_t port;

    memset(site, 0, sizeof(*site));
    pthread_mutex_init(&site->lock, NULL);
    pthread_cond_init(&site->cond, NULL);
    site->dir = test_tmpdir();
    identities_init(&site->ids);
    save(site->ca, sizeof(site->ca), site->dir, "ca", &site->ids.ca.cert_pem);
    save(site->cert, sizeof(site->cert), site->dir, "cert", &site->ids.client.cert_pem);
    save(site->key, sizeof(site->key), site->dir, "key", &site->ids.client.key_pem);
    snprintf(site->sock, sizeof(site->sock), "%.60s/sock", site->dir);
    tls_opts.cert_pem = cor_buf_str(&site->ids.server.cert_pem);
    tls_opts.key_pem = cor_buf_str(&site->ids.server.key_pem);
    tls_opts.ca_pem = cor_buf_str(&site->ids.ca.cert_pem);
    assert_int_equal(cor_tls_new(&tls_opts, &tls), 0);
    assert_int_equal(cor_loop_new(100, &site->loop), 0);
    assert_int_equal(cor_http_server_new(&opts, &site->server), 0);
    assert_int_equal(cor_http_server_listen(site->server, "127.0.0.1", 0, tls, &port), 0);
    assert_int_equal(cor_http_server_listen_unix(site->server, site->sock, 0600), 0);
    snprintf(site->url, sizeof(site->url), "https://localhost:%u/x", port);
    cor_tls_unref(tls);
    assert_int_equal(cor_loop_start(site->loop, "http"), 0);
}

static void on_closed(void *arg)
{
    struct site *site = arg;

    pthread_mutex_lock(&site->lock);
    site->closed = true;
    pthread_cond_signal(&site->cond);
    pthread_mutex_unlock(&site->lock);
}

static void site_deinit(struct site *site)
{
    cor_http_server_close(site->server, 1000, on_closed, site);
    pthread_mutex_lock(&site->lock);
    while (!site->closed)
        pthread_cond_wait(&site->cond, &site->lock);
    pthread_mutex_unlock(&site->lock);
    cor_loop_stop(site->loop);
    cor_http_server_free(site->server);
    cor_loop_free(site->loop);
    identities_deinit(&site->ids);
}

/* Runs curl with these arguments and compares what it prints. */
static void check(const char *want, const char *const *args)
{
    posix_spawn_file_actions_t actions;
    char *argv[32] = {(char *)"curl", (char *)"-sS", (char *)"--noproxy", (char *)"*"};
    char got[1000];
    size_t n = 0;
    int fds[2], status, i = 4;
    ssize_t r;
    pid_t pid;

    while (*args)
        argv[i++] = (char *)*args++;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    assert_int_equal(posix_spawnp(&pid, "curl", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    while (n < sizeof(got) - 1 && (r = read(fds[0], got + n, sizeof(got) - 1 - n)) > 0)
        n += (size_t)r;
    got[n] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_string_equal(got, want);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define CURL(want, ...) check(want, (const char *const[]){__VA_ARGS__, NULL})

static void speak(struct site *site, const char *how, const char *version)
{
    char body[100], url[80], from_file[120];

    save(body, sizeof(body), site->dir, "body", &(struct cor_buf){.p = big, .n = 2000000});
    snprintf(from_file, sizeof(from_file), "@%s", body);
    snprintf(url, sizeof(url), "%.*sbig", (int)strlen(site->url) - 1, site->url);
    CURL("GET 0", how, "--cacert", site->ca, site->url);
    CURL("GET 0 admin", how, "--cacert", site->ca, "--cert", site->cert, "--key", site->key,
         site->url);
    CURL("POST 2000000", how, "--cacert", site->ca, "--data-binary", from_file, site->url);
    CURL("PUT 2000000", how, "--cacert", site->ca, "-H", "Transfer-Encoding: chunked", "-T", body,
         site->url);
    CURL("PUT 2000000", how, "--cacert", site->ca, "-H", "Expect: 100-continue", "-T", body,
         site->url);
    CURL("GET 0", how, "--cacert", site->ca, "--tls-max", "1.2", site->url);
    CURL("GET 0GET 0", how, "--cacert", site->ca, site->url, site->url);
    CURL(version, how, "--cacert", site->ca, "-o", "/dev/null", "-w",
         "%{http_version} %{http_code} %{size_download}", url);
}

TEST(curl, speaks_http_1_with_the_server)
{
    struct site site;

    site_init(&site);
    speak(&site, "--http1.1", "1.1 200 5000000");
    CURL("GET 0", "--cacert", site.ca, "--http1.0", site.url);
    CURL("413", "--http1.1", "--cacert", site.ca, "-o", "/dev/null", "-w", "%{http_code}", "-H",
         "Content-Length: 4000000", "-X", "POST", "-d", "x", site.url);
    CURL("GET 0 uid=1", "--unix-socket", site.sock, "http://localhost/x");
    site_deinit(&site);
}

TEST(curl, speaks_http_2_with_the_server)
{
    struct site site;

    site_init(&site);
    speak(&site, "--http2", "2 200 5000000");
    CURL("GET 0 uid=1", "--http2-prior-knowledge", "--unix-socket", site.sock,
         "http://localhost/x");
    site_deinit(&site);
}
