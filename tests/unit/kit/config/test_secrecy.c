/* What the library tells and writes has no secret of a configuration: errors, standard output and
 * error, the log. Nothing prints a configuration as such. */
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "rest_fixture.h"

#define SECRET "hunter2hunter2"

static char *plugin_args[] = {(char *)"-c", (char *)"echo \"{$A\"; exit ${CODE:-0}"};
static struct cor_string_pair plugin_env[] = {{(char *)"A", (char *)SECRET},
                                              {(char *)"CODE", (char *)"3"}};

#define PLUGIN(nenv)                                                                               \
    {                                                                                              \
        .command = (char *)"sh", .args = {plugin_args, 2}, .env = {plugin_env, nenv},              \
        .api_version = (char *)"client.authentication.k8s.io/v1",                                  \
        .interactive_mode = (char *)"Never"                                                        \
    }

/* Without a server: the test's own, which refuses. */
static const struct cor_client_config configs[] = {
    {.token = (char *)SECRET},
    {.username = (char *)"jane", .password = (char *)SECRET},
    {.server = (char *)"http://127.0.0.1:1", .token = (char *)SECRET},
    {.server = (char *)"http://jane:" SECRET "@127.0.0.1:1"},
    {.proxy_url = (char *)"http://jane:" SECRET "@127.0.0.1:1"},
    {.proxy_url = (char *)"socks5://jane:" SECRET "@127.0.0.1:1"},
    {.server = (char *)"https://127.0.0.1:1",
     .client_cert_pem = (char *)SECRET,
     .client_key_pem = (char *)SECRET},
    {.exec = PLUGIN(1)},
    {.exec = PLUGIN(2)},
};

/* Standard output and error and the log go to a file. */
struct capture {
    int fd, out, err;
};

static void capture_begin(struct capture *c)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/written", test_tmpdir());
    c->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    assert_true(c->fd >= 0);
    fflush(NULL);
    c->out = dup(STDOUT_FILENO);
    c->err = dup(STDERR_FILENO);
    dup2(c->fd, STDOUT_FILENO);
    dup2(c->fd, STDERR_FILENO);
    cor_log_install(
        &(struct cor_log_opts){.fd = c->fd, .level = COR_LEVEL_DEBUG, .clock = cor_clock_real()});
}

static void capture_end(struct capture *c, struct cor_buf *to)
{
    char piece[4096];
    ssize_t n;

    fflush(NULL);
    dup2(c->out, STDOUT_FILENO);
    dup2(c->err, STDERR_FILENO);
    cor_log_install(NULL);
    assert_int_equal(lseek(c->fd, 0, SEEK_SET), 0);
    while ((n = read(c->fd, piece, sizeof(piece))) > 0)
        cor_buf_adds(to, cor_str(piece, (size_t)n));
    close(c->out);
    close(c->err);
    close(c->fd);
}

/* Every request fails, and what is told of it is kept. */
static void fail_with(const struct cor_client_config *config, struct cor_buf *told)
{
    static const struct answer refusal[] = {
        {.status = 401, .body = "no", .content_type = "text/plain"}};
    struct cor_rest_client_opts opts = {.qps = -1, .retries_max = -1};
    struct world w;
    struct heard h;

    heard_init(&h);
    world_begin(&w, NULL);
    w.config = *config;
    if (!config->server)
        w.config.server = w.url;
    opts.config = &w.config;
    WORLD_SCRIPT(&w, refusal);
    if (cor_rest_client_open(w.net, &opts, &w.rc, &h.error) == 0) {
        ask(&w, "/x", &h);
        assert_true(h.err < 0);
    }
    cor_buf_addf(told, "%s\n", cor_status_message(&h.error));
    heard_deinit(&h);
    world_end(&w);
}

TEST(secrecy, no_secret_of_a_configuration_is_told_or_written)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf told;
    struct capture c;

    cor_buf_init(&told, 1u << 20);
    capture_begin(&c);
    COR_LOG_INFO("the log is listened to");
    for (size_t i = 0; i < COR_ARRAY_LEN(configs); i++)
        fail_with(&configs[i], &told);
    capture_end(&c, &told);
    assert_non_null(strstr(told.p, "the log is listened to"));
    assert_non_null(strstr(told.p, "provide credentials"));
    assert_null(strstr(told.p, SECRET));
}
