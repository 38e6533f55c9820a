/* Who a client is, seen from the server. Contract client 4.6, 4.12.4 to 4.12.6. Plugins are shell
 * scripts.
 */
#include "rest_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "kit/rest/rest_int.h"
#include "json/write/writer.h"

#define V1 "client.authentication.k8s.io/v1"

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static const char *read_file(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = '\0';
    if (f)
        fclose(f);
    return text;
}

/* The scripts keep their notes here: a fresh folder per test. */
static char folder[128], path[256], script[2048];
static char *args[2] = {(char *)"-c", script};

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void begin_plugin(struct world *w, struct cor_tls *tls, const char *text)
{
    static int serial;

    snprintf(folder, sizeof(folder), "%s/%d", test_tmpdir(), serial++);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(script, sizeof(script), "cd %s; %s", folder, text);
    world_begin(w, tls);
    w->config.exec = (struct cor_exec_config){.command = (char *)"sh",
                                              .api_version = (char *)V1,
                                              .interactive_mode = (char *)"Never",
                                              .args = {args, 2}};
}

/* Prints token t1, then t2, and so on. */
#define COUNTING                                                                                   \
    "echo run >> runs; n=$(grep -c run runs); "                                                    \
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"t'$n'\"" \
    "%s}}'"

static const char *counting(const char *more)
{
    static char text[1024];

    snprintf(text, sizeof(text), COUNTING, more);
    return text;
}

static size_t nruns(void)
{
    return strlen(read_file(in_folder("runs"))) / strlen("run\n");
}

static bool has_header(struct world *w, const char *line)
{
    bool has = w->headers.p && strstr(w->headers.p, line);

    cor_buf_reset(&w->headers);
    return has;
}

/* Contract client 4.12.5 and sequence 55. */
TEST(credentials, a_token_file_is_read_again)
{
    uint64_t began_ms;
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, "exit 1");
    in_folder("token");
    write_file(path, "one\n");
    w.config.token = (char *)"zero";
    w.config.token_file = path;
    world_connect(&w, NULL);
    began_ms = cor_loop_now_ms(w.loop);
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_true(has_header(&w, "Authorization: Bearer one\n"));
    assert_uint_in_range(w.rc->credentials.token_due_ms, began_ms + 50000,
                         cor_loop_now_ms(w.loop) + 50000);
    write_file(path, "two");
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_true(has_header(&w, "Authorization: Bearer one\n"));
    w.rc->credentials.token_due_ms = 0;
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_true(has_header(&w, "Authorization: Bearer two\n"));
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            write_file(path, " \n");
        else
            unlink(path);
        w.rc->credentials.token_due_ms = 0;
        ask(&w, "/x", &h);
        heard_deinit(&h);
        assert_true(has_header(&w, "Authorization: Bearer two\n"));
    }
    world_end(&w);
}

/* Contract client 4.12.5: nobody becomes anonymous. */
TEST(credentials, a_token_file_without_a_token_is_named)
{
    struct world w;

    begin_plugin(&w, NULL, "exit 1");
    in_folder("token");
    w.config.server = (char *)"https://127.0.0.1:1";
    w.config.token_file = path;
    world_refuse(&w, path);
    write_file(path, " \n");
    world_refuse(&w, "it is empty");
    world_end(&w);
}

TEST(credentials, a_token_file_is_read_or_there_is_no_memory)
{
    struct world w;

    begin_plugin(&w, NULL, "exit 1");
    in_folder("token");
    write_file(path, "one");
    w.config.server = w.url;
    w.config.token_file = path;
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_rest_client_open(w.net, &(struct cor_rest_client_opts){.config = &w.config},
                                     &w.rc, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    world_end(&w);
}

TEST(credentials, a_refusal_has_the_token_file_read_for_the_next_request)
{
    static const struct answer script401[] = {{.status = 401, .body = "no"}, {.body = "{}"}};
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, "exit 1");
    in_folder("token");
    write_file(path, "one");
    w.config.token_file = path;
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script401);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, -COR_EUNAUTHORIZED);
    heard_deinit(&h);
    assert_true(has_header(&w, "Authorization: Bearer one\n"));
    write_file(path, "two");
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    assert_true(has_header(&w, "Authorization: Bearer two\n"));
    world_end(&w);
}

static size_t ndone;

static void on_one_done(void *arg, const struct cor_rest_result *result)
{
    assert_null(result->error);
    ndone++;
}

static bool are_five_done(void *arg)
{
    return ndone == 5;
}

/* Contract client 4.6.6. */
TEST(credentials, one_run_of_a_plugin_serves_all_who_wait)
{
    static const struct cor_rest_cbs cbs = {NULL, NULL, on_one_done};
    struct cor_rest_request_opts opts = {.target = COR_STR("/x"), .cbs = &cbs};
    struct cor_rest_request *req;
    struct world w;

    ndone = 0;
    begin_plugin(&w, NULL, counting(""));
    world_connect(&w, NULL);
    for (int i = 0; i < 5; i++)
        assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
    world_until(&w, are_five_done, NULL);
    assert_int_equal(nruns(), 1);
    assert_true(has_header(&w, "Authorization: Bearer t1\n"));
    world_end(&w);
}

/* Contract client 4.6.5, 4.6.7: another token goes over the same connection. */
TEST(credentials, a_refusal_runs_the_plugin_once_more_for_the_next_request)
{
    static const struct answer script401[] = {{.status = 401, .body = "no"}, {.body = "{}"}};
    struct cor_http_server_stats stats;
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, counting(""));
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script401);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, -COR_EUNAUTHORIZED);
    heard_deinit(&h);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    assert_int_equal(nruns(), 2);
    assert_true(has_header(&w, "Authorization: Bearer t2\n"));
    cor_http_server_stats(w.server, &stats);
    assert_int_equal(stats.accepted, 1);
    world_end(&w);
}

/* Contract client 4.6.5. */
TEST(credentials, what_has_expired_is_made_again)
{
    struct cor_clock_manual clock;
    struct world w;
    struct heard h;

    cor_clock_manual_init(&clock, 0, 1000 * INT64_C(1767225600)); /* 2026-01-01 */
    begin_plugin(&w, NULL, counting(",\"expirationTimestamp\":\"2026-01-01T00:01:00Z\""));
    world_connect(&w, NULL);
    w.rc->credentials.clock = &clock.clock;
    for (int i = 0; i < 2; i++) {
        ask(&w, "/x", &h);
        assert_int_equal(h.err, 0);
        heard_deinit(&h);
    }
    assert_int_equal(nruns(), 1);
    cor_clock_manual_advance(&clock, 60000);
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_int_equal(nruns(), 1);
    cor_clock_manual_advance(&clock, 1);
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_int_equal(nruns(), 2);
    world_end(&w);
}

/* Contract client 4.6.2. */
TEST(credentials, a_plugin_has_its_environment)
{
    static struct cor_string_pair env[] = {{(char *)"MINE", (char *)"m"},
                                           {(char *)"HOME", (char *)"elsewhere"}};
    char wanted[512];
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL,
                 "echo \"$MINE $HOME $KUBERNETES_EXEC_INFO\" > env; "
                 "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                 "\",\"status\":{\"token\":\"t\"}}'");
    w.config.exec.env = (struct cor_string_pairs){env, 2};
    w.config.exec.provide_cluster_info = true;
    world_connect(&w, NULL);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    snprintf(wanted, sizeof(wanted),
             "m elsewhere {\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
             "\",\"spec\":{\"cluster\":{\"server\":\"%s\"},\"interactive\":false}}\n",
             w.url);
    assert_string_equal(read_file(in_folder("env")), wanted);
    world_end(&w);
}

/* Contract client 4.6.8. */
TEST(credentials, a_request_with_its_own_needs_no_plugin)
{
    static const struct cor_http_header own[] = {{COR_STR("Authorization"), COR_STR("Mine")}};
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, counting(""));
    world_connect(&w, NULL);
    ask_with(&w,
             (struct cor_rest_request_opts){.target = COR_STR("/x"), .headers = own, .nheaders = 1},
             &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    assert_int_equal(nruns(), 0);
    world_end(&w);
}

/* Contract client 4.6.8. */
TEST(credentials, nor_does_a_configuration_with_an_identity_of_its_own)
{
    struct identities ids;
    struct world w;
    struct heard h;

    identities_init(&ids);
    for (int i = 0; i < 3; i++) {
        begin_plugin(&w, NULL, counting(""));
        if (i == 0) {
            w.config.token = (char *)"mine";
        } else if (i == 1) {
            w.config.username = (char *)"jane";
        } else {
            w.config.client_cert_pem = ids.client.cert_pem.p;
            w.config.client_key_pem = ids.client.key_pem.p;
        }
        world_connect(&w, NULL);
        ask(&w, "/x", &h);
        assert_int_equal(h.err, 0);
        heard_deinit(&h);
        assert_int_equal(nruns(), 0);
        assert_int_equal(has_header(&w, "Authorization: "), i < 2);
        world_end(&w);
    }
    identities_deinit(&ids);
}

static void expect_failure(const char *text, int err, const char *message)
{
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, text);
    world_connect(&w, NULL);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, err);
    assert_non_null(strstr(cor_status_message(&h.error), message));
    assert_null(strstr(cor_status_message(&h.error), "SECRET"));
    assert_int_equal(w.nasked, 0);
    heard_deinit(&h);
    world_end(&w);
}

TEST(credentials, what_is_wrong_with_a_plugin_is_told)
{
    expect_failure("echo SECRET; exit 3", -COR_EIO,
                   "getting credentials: exec: executable sh failed with exit code 3");
    expect_failure("echo SECRET", -COR_EINVAL, "decoding stdout: a JSON object is expected");
    expect_failure("while :; do echo SECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRET; done",
                   -COR_ETOOBIG, "exec: executable sh wrote more than");
}

/* Contract client 4.6.9. */
TEST(credentials, a_missing_plugin_comes_with_its_hint_ten_times)
{
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, "");
    w.config.exec.command = (char *)"no-such-plugin";
    w.config.exec.install_hint = (char *)"install it";
    world_connect(&w, &(struct cor_rest_client_opts){.qps = -1});
    for (int i = 0; i < 11; i++) {
        ask(&w, "/x", &h);
        assert_int_equal(h.err, -COR_ENOTFOUND);
        assert_non_null(
            strstr(cor_status_message(&h.error), "exec: executable no-such-plugin not found"));
        assert_int_equal(strstr(cor_status_message(&h.error), "\n\ninstall it") != NULL, i < 10);
        heard_deinit(&h);
    }
    world_end(&w);
}

/* Contract client 4.5.23. */
TEST(credentials, a_hint_cannot_steer_a_terminal)
{
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, "");
    w.config.exec.command = (char *)"no-such-plugin";
    w.config.exec.install_hint = (char *)"\x1b[1mbold\x1b[0m\ttu\xcc\x81na\r\n\xc2\x9b"
                                         "2J\xff";
    world_connect(&w, NULL);
    ask(&w, "/x", &h);
    assert_non_null(strstr(cor_status_message(&h.error),
                           "\n\nU+001B[1mboldU+001B[0m\ttu\xcc\x81na\r\nU+009B2J\xef\xbf\xbd"));
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.6.3. */
TEST(credentials, a_terminal_that_must_be_there)
{
    struct world w;
    struct heard h;

    if (isatty(STDIN_FILENO))
        return;
    begin_plugin(&w, NULL, counting(""));
    w.config.exec.interactive_mode = (char *)"Always";
    world_connect(&w, NULL);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&h.error), "standard input is not a terminal"));
    heard_deinit(&h);
    world_end(&w);
}

TEST(credentials, who_waits_for_a_plugin_may_leave)
{
    struct cor_rest_request_opts opts = {.target = COR_STR("/x"), .cbs = &heard_cbs};
    struct cor_rest_request *req;
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, "exec sleep 1000");
    world_connect(&w, NULL);
    ask_with(&w, (struct cor_rest_request_opts){.target = COR_STR("/x"), .deadline_ms = 20}, &h);
    assert_int_equal(h.err, -COR_ETIMEOUT);
    heard_deinit(&h);
    heard_init(&h);
    opts.arg = &h;
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
    cor_rest_request_cancel(req);
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
    cor_rest_client_close(w.rc, set_flag, &w.rest_closed);
    world_until(&w, is_flag, &w.rest_closed);
    assert_int_equal(h.err, -COR_ECANCELED);
    w.rc = NULL;
    heard_deinit(&h);
    world_end(&w);
}

static struct cor_tls *server_tls(const struct identities *ids)
{
    struct cor_tls_opts opts = {.cert_pem = cor_buf_str(&ids->server.cert_pem),
                                .key_pem = cor_buf_str(&ids->server.key_pem),
                                .ca_pem = cor_buf_str(&ids->ca.cert_pem)};
    struct cor_tls *tls;

    assert_int_equal(cor_tls_new(&opts, &tls), 0);
    return tls;
}

/* {"kind":…,"status":{"clientCertificateData":…,"clientKeyData":…}} */
static void write_pair(const char *to, const struct cor_cert_pair *pair)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 1u << 16);
    cor_buf_addz(&out, "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                       "\",\"status\":{\"clientCertificateData\":");
    cor_json_quote(&out, cor_buf_str(&pair->cert_pem));
    cor_buf_addz(&out, ",\"clientKeyData\":");
    cor_json_quote(&out, cor_buf_str(&pair->key_pem));
    assert_int_equal(cor_buf_addz(&out, "}}"), 0);
    write_file(to, out.p);
}

static void make_client(const struct identities *ids, const char *name, struct cor_cert_pair *ret)
{
    struct cor_cert_opts opts = {.use = COR_CERT_CLIENT,
                                 .common_name = cor_strz(name),
                                 .now_s = cor_clock_wall_ms(cor_clock_real()) / 1000,
                                 .valid_s = 3600};

    cor_cert_pair_init(ret);
    assert_int_equal(cor_cert_make(&opts, &ids->ca, ret), 0);
}

/* Contract client 4.6.7. */
TEST(credentials, a_certificate_of_a_plugin_and_the_next_one)
{
    static const struct answer answers[] = {
        {.body = "{}"}, {.status = 401, .body = "x"}, {.body = "{}"}};
    struct identities ids;
    struct cor_cert_pair other;
    struct cor_tls *tls;
    struct world w;
    struct heard h;

    identities_init(&ids);
    make_client(&ids, "other", &other);
    tls = server_tls(&ids);
    begin_plugin(&w, tls, "cat pair");
    w.config.ca_pem = ids.ca.cert_pem.p;
    write_pair(in_folder("pair"), &ids.client);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, answers);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    assert_true(has_header(&w, "peer: admin\n"));
    write_pair(in_folder("pair"), &other);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, -COR_EUNAUTHORIZED);
    heard_deinit(&h);
    assert_true(has_header(&w, "peer: admin\n"));
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    assert_true(has_header(&w, "peer: other\n"));
    world_end(&w);
    cor_tls_unref(tls);
    cor_cert_pair_deinit(&other);
    identities_deinit(&ids);
}

/* Contract client 4.12.4 and sequence 55. */
TEST(credentials, a_certificate_of_files)
{
    char cert[256], key[256];
    struct identities ids;
    struct cor_tls *tls;
    struct world w;
    struct heard h;

    identities_init(&ids);
    tls = server_tls(&ids);
    begin_plugin(&w, tls, "exit 1");
    w.config.ca_pem = ids.ca.cert_pem.p;
    snprintf(cert, sizeof(cert), "%s", in_folder("cert"));
    snprintf(key, sizeof(key), "%s", in_folder("key"));
    w.config.client_cert_file = cert;
    w.config.client_key_file = key;
    write_file(cert, ids.client.cert_pem.p);
    write_file(key, ids.client.key_pem.p);
    world_connect(&w, NULL);
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_true(has_header(&w, "peer: admin\n"));
    world_end(&w);
    cor_tls_unref(tls);
    identities_deinit(&ids);
}

TEST(credentials, a_certificate_file_that_is_not_there_is_named)
{
    struct world w;

    world_begin(&w, NULL);
    w.config.server = (char *)"https://127.0.0.1:1";
    w.config.client_cert_file = (char *)"/no/such/cert";
    w.config.client_key_file = (char *)"/no/such/key";
    world_refuse(&w, "/no/such/cert");
    world_end(&w);
}

TEST(credentials, survives_every_failed_allocation_of_a_plugins_run)
{
    struct world w;

    begin_plugin(&w, NULL, counting(""));
    world_connect(&w, &(struct cor_rest_client_opts){.qps = -1});
    FOR_EACH_FAILED_ALLOC(n) {
        struct heard h;
        struct cor_rest_request_opts opts = {
            .target = COR_STR("/x"), .cbs = &heard_cbs, .arg = &h, .deadline_ms = PATIENCE_MS};
        struct cor_rest_request *req;
        int r;

        world_arm(&w, n);
        w.rc->credentials.generation = 0;
        heard_init(&h);
        r = cor_rest_request_open(w.rc, &opts, &req);
        if (r == 0)
            world_until(&w, is_flag, &h.is_done);
        assert_true((r == 0 && h.err == 0) || test_alloc_failed());
        /* Who is answered has asked with what the plugin gave. */
        if (r == 0 && h.err == 0) {
            assert_int_equal(h.code, 200);
            assert_true(w.rc->credentials.generation > 0);
        }
        heard_deinit(&h);
    }
    world_end(&w);
}

/* Several requests were sent with what the server has come to refuse; the first brings another. */
TEST(credentials, the_second_to_be_refused_finds_what_the_first_brought)
{
    struct cor_credentials *c;
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, counting(""));
    world_connect(&w, NULL);
    c = &w.rc->credentials;
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_int_equal(c->generation, 1);
    cor_credentials_refused(c, 1);
    assert_non_null(c->plugin.process);
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_int_equal(c->generation, 2);
    cor_credentials_refused(c, 1);
    assert_null(c->plugin.process);
    assert_int_equal(nruns(), 2);
    world_end(&w);
}

TEST(credentials, a_client_that_closes_starts_no_plugin)
{
    struct cor_credentials *c;
    struct world w;
    struct heard h;

    begin_plugin(&w, NULL, counting(""));
    world_connect(&w, NULL);
    c = &w.rc->credentials;
    ask(&w, "/x", &h);
    heard_deinit(&h);
    c->is_closing = true;
    cor_credentials_refused(c, c->generation);
    assert_null(c->plugin.process);
    world_end(&w);
}

struct waiting {
    struct cor_credentials_wait wait;
    int ncalls, err;
};

static void on_credential(struct cor_credentials_wait *wait, const struct cor_status *error)
{
    struct waiting *w = COR_CONTAINER_OF(wait, struct waiting, wait);

    w->ncalls++;
    w->err = error ? error->err : 0;
}

static int told_of_failure(struct cor_credentials *c)
{
    struct waiting waiting = {.wait.on_ready = on_credential};
    struct cor_status why = {.err = -COR_EIO, .reason = ""};

    cor_dlist_init(&waiting.wait.link);
    cor_dlist_push(&c->waiting, &waiting.wait.link);
    c->plugin.on_done(c->plugin.arg, NULL, &why);
    assert_int_equal(waiting.ncalls, 1);
    return waiting.err;
}

TEST(credentials, a_refresh_that_failed_is_told_of_only_when_nothing_is_left)
{
    struct cor_clock_manual clock;
    struct world w;
    struct heard h;

    cor_clock_manual_init(&clock, 0, 1000 * INT64_C(1767225600)); /* 2026-01-01 */
    begin_plugin(&w, NULL, counting(",\"expirationTimestamp\":\"2026-01-01T00:01:00Z\""));
    world_connect(&w, NULL);
    w.rc->credentials.clock = &clock.clock;
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_int_equal(told_of_failure(&w.rc->credentials), 0);
    cor_clock_manual_advance(&clock, 60001);
    assert_int_equal(told_of_failure(&w.rc->credentials), -COR_EIO);
    world_end(&w);
}

TEST(credentials, a_token_that_is_too_long_is_named)
{
    static char token[100 * 1024];
    struct cor_rest_client_opts opts = {0};
    struct cor_status why = {0};
    struct world w;

    memset(token, 't', sizeof(token) - 1);
    world_begin(&w, NULL);
    w.config.token = token;
    opts.config = &w.config;
    assert_int_equal(cor_rest_client_open(w.net, &opts, &w.rc, &why), -COR_EINVAL);
    assert_string_equal(cor_status_message(&why), "token, username and password: too long");
    cor_status_deinit(&why);
    world_end(&w);
}
