/* The ConfigMap by which aggregated API servers know this one: its keys, and how it is merged. */
#include <stdio.h>
#include <unistd.h>

#include "../api_fixture.h"
#include "base/err.h"
#include "coracle/view.h"
#include "net/crypto/cert.h"
#include "scripted_port.h"
#include "server/instance/trust_keeper.h"
#include "server/port/inner_port.h"
#include "json/write/writer.h"

#define PATH "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

struct kfx {
    struct fx fx;
    struct cor_inner_port port;
    struct cor_cluster_trust trust;
    struct cor_trust_keeper keeper;
    struct cor_cert_pair ca, old_ca;
    char ca_file[512];
    bool is_done;
    int err;
};

static void make_ca(struct cor_cert_pair *pair, const char *name, int64_t valid_s)
{
    const struct cor_cert_opts opts = {
        .use = COR_CERT_CA, .common_name = cor_strz(name), .now_s = FX_NOW_S, .valid_s = valid_s};

    cor_cert_pair_init(pair);
    assert_int_equal(cor_cert_make(&opts, NULL, pair), 0);
}

static void kfx_open(struct kfx *k)
{
    memset(k, 0, sizeof(*k));
    fx_open(&k->fx);
    fx_bootstrap(&k->fx);
    make_ca(&k->ca, "front-proxy-ca", 3600);
    make_ca(&k->old_ca, "old-ca", 3600);
    cor_inner_port_init(&k->port, cor_api_loop(k->fx.api, 0), COR_STR(""),
                        COR_STR("kube-apiserver"), 0);
    k->trust = (struct cor_cluster_trust){
        .proxy_ca_pem = cor_buf_str(&k->ca.cert_pem),
        .lists = {COR_STR("X-Remote-User"), COR_STR("X-Remote-Uid"), COR_STR("X-Remote-Group"),
                  COR_STR("X-Remote-Extra-"), COR_STR("")},
        .allowed_too = COR_STR("front-proxy-client")};
    snprintf(k->ca_file, sizeof(k->ca_file), "%s/ca.crt", test_tmpdir());
    assert_int_equal(cor_pem_save(k->ca_file, cor_buf_str(&k->old_ca.cert_pem), 0600), 0);
    cor_trust_keeper_init(&k->keeper, &k->port.port, &k->fx.clock.clock, &k->trust);
}

static bool is_idle(void *arg)
{
    return cor_inner_port_is_idle(&((struct kfx *)arg)->port);
}

static void kfx_close(struct kfx *k)
{
    assert_true(cor_loop_run_until(k->fx.loop, is_idle, k, FX_TIMEOUT_MS));
    cor_trust_keeper_deinit(&k->keeper);
    cor_inner_port_deinit(&k->port);
    cor_cert_pair_deinit(&k->ca);
    cor_cert_pair_deinit(&k->old_ca);
    fx_close(&k->fx);
}

static void on_done(void *arg, int err)
{
    struct kfx *k = arg;

    k->is_done = true;
    k->err = err;
}

static bool is_done(void *arg)
{
    return ((struct kfx *)arg)->is_done;
}

static int check(struct kfx *k)
{
    k->is_done = false;
    cor_trust_keeper_check(&k->keeper, on_done, k);
    assert_true(cor_loop_run_until(k->fx.loop, is_done, k, FX_TIMEOUT_MS));
    return k->err;
}

/* The value of a key of the ConfigMap; "(none)". */
static const char *value(struct kfx *k, const char *key)
{
    static char text[65536];
    const char *json = fx_do(&k->fx, 200, "GET", PATH, "");
    struct cor_view data = cor_view_member(cor_view(cor_strz(json)), COR_STR("data"));
    struct cor_str found;
    static char out[65536];

    if (cor_view_text(cor_view_member(data, cor_strz(key)), text, sizeof(text), &found) < 0)
        return "(none)";
    snprintf(out, sizeof(out), "%.*s", COR_STR_ARG(found));
    return out;
}

static void patch(struct kfx *k, const char *body)
{
    const struct fx_headers headers = {.content_type = "application/merge-patch+json"};

    fx_do_with(&k->fx, 200, "PATCH", PATH, body, &headers);
}

/* Contract extension 4.6.1; Contract access 2.3.4 */
TEST(trust_keeper, makes_the_config_map_with_the_request_header_keys)
{
    struct kfx k;

    kfx_open(&k);
    assert_int_equal(check(&k), 0);
    assert_string_equal(value(&k, "requestheader-username-headers"), "[\"X-Remote-User\"]");
    assert_string_equal(value(&k, "requestheader-uid-headers"), "[\"X-Remote-Uid\"]");
    assert_string_equal(value(&k, "requestheader-group-headers"), "[\"X-Remote-Group\"]");
    assert_string_equal(value(&k, "requestheader-extra-headers-prefix"), "[\"X-Remote-Extra-\"]");
    assert_string_equal(value(&k, "requestheader-allowed-names"), "[\"front-proxy-client\"]");
    assert_string_equal(value(&k, "requestheader-client-ca-file"), cor_buf_z(&k.ca.cert_pem));
    assert_string_equal(value(&k, "client-ca-file"), "(none)");
    kfx_close(&k);
}

TEST(trust_keeper, without_a_request_header_ca_it_has_the_client_ca_only)
{
    struct kfx k;

    kfx_open(&k);
    k.trust.proxy_ca_pem = COR_STR("");
    k.trust.client_ca_file = k.ca_file;
    assert_int_equal(check(&k), 0);
    assert_string_equal(value(&k, "client-ca-file"), cor_buf_z(&k.old_ca.cert_pem));
    assert_string_equal(value(&k, "requestheader-username-headers"), "(none)");
    assert_string_equal(value(&k, "requestheader-client-ca-file"), "(none)");
    kfx_close(&k);
}

/* A CA of the flags takes the place of our own for those that come after it. */
TEST(trust_keeper, without_a_client_ca_it_has_that_of_the_server)
{
    struct kfx k;

    kfx_open(&k);
    k.trust.client_ca_pem = cor_buf_str(&k.ca.cert_pem);
    assert_int_equal(check(&k), 0);
    assert_string_equal(value(&k, "client-ca-file"), cor_buf_z(&k.ca.cert_pem));
    kfx_close(&k);
    kfx_open(&k);
    k.trust.client_ca_pem = cor_buf_str(&k.ca.cert_pem);
    k.trust.client_ca_file = k.ca_file;
    assert_int_equal(check(&k), 0);
    assert_string_equal(value(&k, "client-ca-file"), cor_buf_z(&k.old_ca.cert_pem));
    kfx_close(&k);
}

static const char *version(struct kfx *k)
{
    static char rv[32];
    struct cor_view v = cor_view(cor_strz(fx_do(&k->fx, 200, "GET", PATH, "")));
    struct cor_str text = cor_view_text_or(
        cor_view_member(cor_view_member(v, COR_STR("metadata")), COR_STR("resourceVersion")), NULL,
        0, "");

    snprintf(rv, sizeof(rv), "%.*s", COR_STR_ARG(text));
    return rv;
}

TEST(trust_keeper, writes_nothing_while_nothing_differs_and_makes_it_again)
{
    struct kfx k;
    char before[32];

    kfx_open(&k);
    assert_int_equal(check(&k), 0);
    snprintf(before, sizeof(before), "%s", version(&k));
    assert_int_equal(check(&k), 0);
    assert_string_equal(version(&k), before);
    fx_do(&k.fx, 200, "DELETE", PATH, "");
    assert_int_equal(check(&k), 0);
    assert_string_equal(value(&k, "requestheader-username-headers"), "[\"X-Remote-User\"]");
    kfx_close(&k);
}

/* Contract access 2.3.5 */
TEST(trust_keeper, merges_lists_and_bundles_with_what_others_have_written)
{
    struct kfx k;
    char both[16384], body[32768];
    struct cor_buf quoted;

    kfx_open(&k);
    k.trust.proxy_ca_file = k.ca_file;
    assert_int_equal(check(&k), 0);
    snprintf(both, sizeof(both), "%s%s", cor_buf_z(&k.old_ca.cert_pem), cor_buf_z(&k.ca.cert_pem));
    assert_string_equal(value(&k, "requestheader-client-ca-file"), both);
    patch(&k, "{\"data\":{\"requestheader-allowed-names\":\"[\\\"other\\\"]\",\"stray\":\"x\"}}");
    k.trust.proxy_ca_file = NULL;
    assert_int_equal(check(&k), 0);
    assert_string_equal(value(&k, "requestheader-allowed-names"),
                        "[\"other\",\"front-proxy-client\"]");
    assert_string_equal(value(&k, "stray"), "(none)");
    assert_string_equal(value(&k, "requestheader-client-ca-file"), both);
    /* A certificate that has expired more than five minutes ago is dropped. */
    {
        struct cor_cert_pair dead;
        struct cor_json_writer w;

        make_ca(&dead, "dead-ca", -301);
        cor_buf_init(&quoted, sizeof(body));
        snprintf(both, sizeof(both), "# a comment\n%s%s", cor_buf_z(&dead.cert_pem),
                 cor_buf_z(&k.old_ca.cert_pem));
        cor_json_writer_init(&w, &quoted);
        cor_json_string(&w, cor_strz(both));
        assert_int_equal(cor_json_writer_finish(&w), 0);
        snprintf(body, sizeof(body), "{\"data\":{\"requestheader-client-ca-file\":%s}}",
                 cor_buf_z(&quoted));
        patch(&k, body);
        cor_buf_deinit(&quoted);
        cor_cert_pair_deinit(&dead);
    }
    assert_int_equal(check(&k), 0);
    snprintf(both, sizeof(both), "%s%s", cor_buf_z(&k.old_ca.cert_pem), cor_buf_z(&k.ca.cert_pem));
    assert_string_equal(value(&k, "requestheader-client-ca-file"), both);
    kfx_close(&k);
}

TEST(trust_keeper, what_cannot_be_read_is_left_alone)
{
    struct kfx k;

    kfx_open(&k);
    assert_int_equal(check(&k), 0);
    patch(&k, "{\"data\":{\"requestheader-allowed-names\":\"no list\"}}");
    assert_int_equal(check(&k), -COR_EINVAL);
    assert_string_equal(value(&k, "requestheader-allowed-names"), "no list");
    patch(&k, "{\"data\":{\"requestheader-allowed-names\":\"[\\\"other\\\"\"}}");
    assert_int_equal(check(&k), -COR_EINVAL);
    assert_string_equal(value(&k, "requestheader-allowed-names"), "[\"other\"");
    patch(&k, "{\"data\":{\"requestheader-allowed-names\":null,"
              "\"requestheader-client-ca-file\":\"no certificate\"}}");
    assert_int_equal(check(&k), -COR_EINVAL);
    k.trust.proxy_ca_file = "/nonexistent";
    assert_int_equal(check(&k), -COR_ENOTFOUND);
    kfx_close(&k);
}

#define FOREIGN                                                                                    \
    "{\"metadata\":{\"name\":\"extension-apiserver-authentication\"},\"data\":{\"x\":\"y\"}}"

struct scene {
    struct scripted_port sp;
    struct cor_cluster_trust trust;
    struct cor_trust_keeper keeper;
    const char *answers[4];
    size_t nanswered;
    bool is_done;
    int err;
};

static const char *respond(void *arg, const char *line)
{
    struct scene *s = arg;

    assert_true(s->nanswered < COR_ARRAY_LEN(s->answers));
    return s->answers[s->nanswered++];
}

static void on_scene_done(void *arg, int err)
{
    ((struct scene *)arg)->is_done = true;
    ((struct scene *)arg)->err = err;
}

/* A pass with these answers; `expected` is what the last request begins with. */
static void play(struct scene *s, const char *const answers[4], const char *expected, int err)
{
    *s = (struct scene){.is_done = false};
    memcpy(s->answers, answers, sizeof(s->answers));
    scripted_port_init(&s->sp);
    s->sp.respond = respond;
    s->sp.respond_arg = s;
    cor_trust_keeper_init(&s->keeper, &s->sp.port, &s->sp.clock.clock, &s->trust);
    cor_trust_keeper_check(&s->keeper, on_scene_done, s);
    for (int i = 0; i < 10 && !s->is_done; i++)
        scripted_run(&s->sp, 0);
    assert_true(s->is_done);
    assert_int_equal(s->err, err);
    assert_int_equal(s->nanswered, 4);
    s->sp.log[strlen(s->sp.log) - 1] = '\0';
    assert_int_equal(strncmp(strrchr(s->sp.log, '\n') + 1, expected, strlen(expected)), 0);
    s->sp.log[0] = '\0';
    cor_trust_keeper_deinit(&s->keeper);
    scripted_port_deinit(&s->sp);
}

/* Contract access 2.3.5: the next pass makes it anew. */
TEST(trust_keeper, what_has_become_too_large_is_removed)
{
    static const char *const answers[] = {FOREIGN, "413", FOREIGN, NULL};
    struct scene s;

    play(&s, answers, "DELETE v1 configmaps kube-system/", -COR_ETOOBIG);
}

TEST(trust_keeper, after_a_conflict_it_merges_with_what_is_there_then)
{
    static const char *const answers[] = {FOREIGN, "409", FOREIGN, FOREIGN};
    struct scene s;

    play(&s, answers, "MERGE-PATCH v1 configmaps kube-system/", 0);
}

TEST(trust_keeper, ends_once_without_memory)
{
    struct kfx k;

    kfx_open(&k);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = check(&k);

        assert_true(r == 0 || test_alloc_failed());
    }
    assert_int_equal(check(&k), 0);
    assert_string_equal(value(&k, "requestheader-username-headers"), "[\"X-Remote-User\"]");
    kfx_close(&k);
}
