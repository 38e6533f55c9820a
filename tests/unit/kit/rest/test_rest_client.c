#include "rest_fixture.h"

#include "coracle/version.h"
#include "http/http_client_int.h"
#include "kit/rest/rest_int.h"

TEST(rest_client, a_whole_answer)
{
    static const struct answer script[] = {{.body = "{\"kind\":\"Pod\"}"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask(&w, "/api/v1/namespaces/x/pods/a?pretty=false", &h);
    assert_int_equal(h.head, 200);
    assert_int_equal(h.code, 200);
    assert_int_equal(h.err, 0);
    assert_str(cor_buf_str(&h.got), "{\"kind\":\"Pod\"}");
    assert_str(cor_buf_str(&w.asked), "GET /api/v1/namespaces/x/pods/a?pretty=false\n");
    assert_non_null(strstr(w.headers.p, "Accept: application/json\n"));
    assert_non_null(strstr(w.headers.p, cor_rest_user_agent()));
    assert_null(strstr(w.headers.p, "Content-Type"));
    assert_null(strstr(w.headers.p, "Authorization"));
    heard_deinit(&h);
    world_end(&w);
}

TEST(rest_client, the_user_agent_has_client_gos_shape)
{
    assert_non_null(strstr(cor_rest_user_agent(), "coracle/" COR_VERSION " (linux/"));
}

/* Contract client 4.7.9. */
TEST(rest_client, a_body_a_patch_type_and_a_prefix)
{
    static const struct answer script[] = {{.status = 201, .body = "{}"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    snprintf(w.url + strlen(w.url), sizeof(w.url) - strlen(w.url), "/prefix/");
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask_with(&w,
             (struct cor_rest_request_opts){.method = COR_STR("PATCH"),
                                            .target = COR_STR("/api/v1/pods"),
                                            .content_type = COR_STR("application/merge-patch+json"),
                                            .body = COR_STR("{\"a\":1}"),
                                            .timeout_ms = 5000},
             &h);
    assert_int_equal(h.code, 201);
    assert_int_equal(h.err, 0);
    assert_str(cor_buf_str(&w.asked), "PATCH /prefix/api/v1/pods?timeout=5s\n");
    assert_str(cor_buf_str(&w.bodies), "{\"a\":1}");
    assert_non_null(strstr(w.headers.p, "Content-Type: application/merge-patch+json\n"));
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.8.5: the prefix stays, the rest is as it was given. */
TEST(rest_client, a_target_is_any_path_and_query)
{
    static const char *const targets[] = {"/apis/", "/healthz", "/version?timeout=3s&x"};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    snprintf(w.url + strlen(w.url), sizeof(w.url) - strlen(w.url), "/prefix");
    world_connect(&w, NULL);
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        ask(&w, targets[i], &h);
        heard_deinit(&h);
    }
    assert_str(cor_buf_str(&w.asked), "GET /prefix/apis/\nGET /prefix/healthz\n"
                                      "GET /prefix/version?timeout=3s&x\n");
    world_end(&w);
}

static void note_warning(void *arg, struct cor_str text)
{
    cor_buf_addf(arg, "%.*s\n", COR_STR_ARG(text));
}

/* Contract client 4.10.6. */
TEST(rest_client, tells_what_the_server_warns_of)
{
    static const struct answer script[] = {
        {.body = "{}", .header = "Warning", .value = "299 - \"old API\""},
        {.status = 404, .body = "{}", .header = "Warning", .value = "299 - \"other\""},
        {.body = "{}", .header = "Warning", .value = "299 - \"old API\""}};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf told;
    struct world w;
    struct heard h;

    cor_buf_init(&told, 4096);
    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){
                          .on_warning = note_warning, .arg = &told, .warns_once = true});
    WORLD_SCRIPT(&w, script);
    for (size_t i = 0; i < COR_ARRAY_LEN(script); i++) {
        ask(&w, "/x", &h);
        heard_deinit(&h);
    }
    assert_str(cor_buf_str(&told), "old API\nother\n");
    world_end(&w);
}

TEST(rest_client, a_stream_comes_in_pieces_and_is_cancelled)
{
    static const struct answer script[] = {{.body = "abc", .move = HOLD}};
    struct cor_rest_request_opts opts = {
        .kind = COR_REST_WATCH, .target = COR_STR("/api/v1/pods?watch=true"), .cbs = &heard_cbs};
    struct cor_rest_request *req;
    struct world w;
    struct heard h;
    bool (*done)(void *) = is_flag;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    heard_init(&h);
    opts.arg = &h;
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
    while (h.got.n < 3)
        cor_loop_run_until(w.loop, done, &h.is_done, 10);
    cor_http_response_write(w.held, COR_STR("def"));
    while (h.got.n < 6)
        cor_loop_run_until(w.loop, done, &h.is_done, 10);
    assert_str(cor_buf_str(&h.got), "abcdef");
    cor_rest_request_cancel(req);
    while (w.ngone == 0)
        cor_loop_run_until(w.loop, done, &h.is_done, 10);
    assert_false(h.is_done);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.8.8. */
TEST(rest_client, a_deadline_ends_a_request_that_is_not_answered)
{
    static const struct answer script[] = {{.move = HOLD}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask_with(&w,
             (struct cor_rest_request_opts){
                 .target = COR_STR("/x"), .method = COR_STR("PUT"), .deadline_ms = 20},
             &h);
    assert_int_equal(h.err, -COR_ETIMEOUT);
    assert_int_equal(h.code, 0);
    assert_int_equal(h.error.code, 0);
    assert_string_equal(h.error.reason, "");
    assert_non_null(strstr(cor_status_message(&h.error), "Put \"http://127.0.0.1:"));
    heard_deinit(&h);
    world_end(&w);
}

TEST(rest_client, a_deadline_beyond_the_clock_is_none)
{
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    ask_with(&w, (struct cor_rest_request_opts){.target = COR_STR("/x"), .deadline_ms = UINT64_MAX},
             &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    world_end(&w);
}

TEST(rest_client, closing_ends_what_is_under_way)
{
    static const struct answer script[] = {{.move = HOLD}};
    struct cor_rest_request_opts opts = {.target = COR_STR("/x"), .cbs = &heard_cbs};
    struct cor_rest_request *req;
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    heard_init(&h);
    opts.arg = &h;
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
    cor_rest_client_close(w.rc, set_flag, &w.rest_closed);
    assert_false(h.is_done);
    world_until(&w, is_flag, &w.rest_closed);
    assert_true(h.is_done);
    assert_int_equal(h.err, -COR_ECANCELED);
    w.rc = NULL;
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.12.6, 4.12.7. */
TEST(rest_client, says_who_it_is_and_for_whom_it_acts)
{
    static const struct answer script[] = {{.body = "{}"}, {.body = "{}"}};
    static const struct cor_http_header own[] = {{COR_STR("authorization"), COR_STR("Mine")}};
    static char *groups[] = {(char *)"g1", (char *)"g2"};
    static struct cor_string_pair extra[] = {{(char *)"a/b%", (char *)"v1"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    w.config.token = (char *)"secret";
    w.config.impersonate_user = (char *)"jane";
    w.config.impersonate_uid = (char *)"u-1";
    w.config.impersonate_groups = (struct cor_strings){groups, 2};
    w.config.impersonate_extra = (struct cor_string_pairs){extra, 1};
    world_connect(&w, &(struct cor_rest_client_opts){.user_agent = "agent/1"});
    WORLD_SCRIPT(&w, script);
    ask(&w, "/x", &h);
    heard_deinit(&h);
    assert_non_null(strstr(w.headers.p, "User-Agent: agent/1\n"));
    assert_non_null(strstr(w.headers.p, "Authorization: Bearer secret\n"));
    assert_non_null(strstr(w.headers.p, "Impersonate-User: jane\nImpersonate-Uid: u-1\n"
                                        "Impersonate-Group: g1\nImpersonate-Group: g2\n"
                                        "Impersonate-Extra-a%2Fb%25: v1\n"));
    cor_buf_reset(&w.headers);
    ask_with(&w,
             (struct cor_rest_request_opts){
                 .target = COR_STR("/x"), .headers = own, .nheaders = COR_ARRAY_LEN(own)},
             &h);
    assert_null(strstr(w.headers.p, "secret"));
    assert_non_null(strstr(w.headers.p, "authorization: Mine\n"));
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.12.6: an identity is never made of two. */
TEST(rest_client, a_request_that_acts_for_another_does_so_alone)
{
    static const struct answer script[] = {{.body = "{}"}};
    static const struct cor_http_header own[] = {
        {COR_STR("impersonate-user"), COR_STR("bob")},
        {COR_STR("User-Agent"), COR_STR("mine/1")},
    };
    static char *groups[] = {(char *)"system:masters"};
    static struct cor_string_pair extra[] = {{(char *)"scope", (char *)"all"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    w.config.impersonate_user = (char *)"jane";
    w.config.impersonate_uid = (char *)"u-1";
    w.config.impersonate_groups = (struct cor_strings){groups, 1};
    w.config.impersonate_extra = (struct cor_string_pairs){extra, 1};
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask_with(&w,
             (struct cor_rest_request_opts){
                 .target = COR_STR("/x"), .headers = own, .nheaders = COR_ARRAY_LEN(own)},
             &h);
    assert_non_null(strstr(w.headers.p, "impersonate-user: bob\nUser-Agent: mine/1\n"));
    assert_null(strstr(w.headers.p, "Impersonate-"));
    assert_null(strstr(w.headers.p, cor_rest_user_agent()));
    heard_deinit(&h);
    world_end(&w);
}

TEST(rest_client, basic_authentication)
{
    static const struct answer script[] = {{.body = "{}"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    w.config.username = (char *)"jane";
    w.config.password = (char *)"p:w";
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask(&w, "/x", &h);
    assert_non_null(strstr(w.headers.p, "Authorization: Basic amFuZTpwOnc=\n"));
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.12.1. */
TEST(rest_client, tls_with_a_client_certificate)
{
    static const struct answer script[] = {{.body = "{}"}};
    struct identities ids;
    struct cor_tls *tls;
    struct world w;
    struct heard h;

    identities_init(&ids);
    assert_int_equal(
        cor_tls_new(&(struct cor_tls_opts){.cert_pem = cor_buf_str(&ids.server.cert_pem),
                                           .key_pem = cor_buf_str(&ids.server.key_pem),
                                           .ca_pem = cor_buf_str(&ids.ca.cert_pem)},
                    &tls),
        0);
    world_begin(&w, tls);
    w.config.ca_pem = ids.ca.cert_pem.p;
    w.config.client_cert_pem = ids.client.cert_pem.p;
    w.config.client_key_pem = ids.client.key_pem.p;
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    world_end(&w);
    cor_tls_unref(tls);
    identities_deinit(&ids);
}

/* Contract client 4.12.1. */
TEST(rest_client, a_server_has_to_be_who_the_configuration_says)
{
    static const struct {
        const char *name;
        int err;
    } cases[] = {
        {NULL, 0}, {"localhost", 0}, {"api.example.org", -COR_ETLS}, {"127.0.0.2", -COR_ETLS}};
    struct identities ids;
    struct cor_tls *tls;

    world_tls(&ids, &tls);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct world w;
        struct heard h;

        world_begin(&w, tls);
        w.config.ca_pem = ids.ca.cert_pem.p;
        w.config.tls_server_name = (char *)cases[i].name;
        world_connect(&w, NULL);
        ask(&w, "/x", &h);
        assert_int_equal(h.err, cases[i].err);
        heard_deinit(&h);
        world_end(&w);
    }
    cor_tls_unref(tls);
    identities_deinit(&ids);
}

/* Asks once; what the server heard begins with `agent`, and these are the times of HTTP/2. */
static void expect_http(struct cor_tls *tls, const struct identities *ids, const char *agent,
                        uint64_t silence_ms, uint64_t ping_ms)
{
    struct world w;
    struct heard h;

    world_begin(&w, tls);
    w.config.ca_pem = ids->ca.cert_pem.p;
    world_connect(&w, NULL);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    assert_non_null(strstr(w.headers.p, agent));
    assert_int_equal(w.rc->http->opts.silence_ms, silence_ms);
    assert_int_equal(w.rc->http->opts.ping_ms, ping_ms);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.12.2: names of headers are lower case in HTTP/2 only. */
TEST(rest_client, the_environment_may_change_what_http_2_does)
{
    struct identities ids;
    struct cor_tls *tls;

    world_tls(&ids, &tls);
    expect_http(tls, &ids, "user-agent: ", 30000, 15000);
    setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "7", 1);
    setenv("HTTP2_PING_TIMEOUT_SECONDS", "3", 1);
    expect_http(tls, &ids, "user-agent: ", 7000, 3000);
    setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "7s", 1);
    setenv("HTTP2_PING_TIMEOUT_SECONDS", "0", 1);
    expect_http(tls, &ids, "user-agent: ", 30000, 15000);
    setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "0", 1);
    setenv("DISABLE_HTTP2", "1", 1);
    expect_http(tls, &ids, "User-Agent: ", UINT64_MAX, 15000);
    unsetenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS");
    unsetenv("HTTP2_PING_TIMEOUT_SECONDS");
    unsetenv("DISABLE_HTTP2");
    cor_tls_unref(tls);
    identities_deinit(&ids);
}

TEST(rest_client, refuses_a_key_that_is_none)
{
    struct world w;

    world_begin(&w, NULL);
    w.config.server = (char *)"https://127.0.0.1:1";
    w.config.client_cert_pem = (char *)"SECRET";
    w.config.client_key_pem = (char *)"SECRET";
    world_refuse(&w, "client-certificate");
    world_end(&w);
}

/* Contract client 4.12.1, 4.12.6: of configurations that were made by hand, too. */
TEST(rest_client, refuses_what_contradicts_itself)
{
    static const struct cor_client_config ca_and_insecure = {.ca_pem = (char *)"SECRET",
                                                             .insecure_skip_tls_verify = true},
                                          two_identities = {.username = (char *)"jane",
                                                            .password = (char *)"SECRET",
                                                            .token = (char *)"SECRET"},
                                          file_and_password = {.username = (char *)"jane",
                                                               .token_file = (char *)"/token"};
    struct world w;

    world_begin(&w, NULL);
    w.config = ca_and_insecure;
    world_refuse(&w, "specifying a root certificates file with the insecure flag is not allowed");
    w.config = two_identities;
    world_refuse(&w, "username/password or bearer token may be set, but not both");
    w.config = file_and_password;
    world_refuse(&w, "username/password or bearer token may be set, but not both");
    world_end(&w);
}

TEST(rest_client, survives_every_failed_allocation)
{
    static const struct answer script[] = {{.body = "{\"kind\":\"Pod\"}"}};
    struct world w;

    world_begin(&w, NULL);
    w.config.token = (char *)"secret";
    w.config.impersonate_user = (char *)"jane";
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_rest_client_open(
            w.net, &(struct cor_rest_client_opts){.config = &w.config, .qps = -1}, &w.rc, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    FOR_EACH_FAILED_ALLOC(n) {
        struct heard h;
        struct cor_rest_request_opts opts = {
            .target = COR_STR("/x"), .body = COR_STR("{}"), .cbs = &heard_cbs, .arg = &h};
        struct cor_rest_request *req;
        int r;

        world_arm(&w, n);
        WORLD_SCRIPT(&w, script);
        heard_init(&h);
        r = cor_rest_request_open(w.rc, &opts, &req);
        if (r == 0)
            world_until(&w, is_flag, &h.is_done);
        else
            assert_int_equal(r, -COR_ENOMEM);
        assert_true((r == 0 && h.err == 0) || test_alloc_failed());
        if (r == 0 && h.err == 0) {
            assert_int_equal(h.code, 200);
            assert_str(cor_buf_str(&h.got), "{\"kind\":\"Pod\"}");
        }
        heard_deinit(&h);
    }
    world_end(&w);
}
