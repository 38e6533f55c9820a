/* The flags of a program over kubeconfig files and over a pod's account. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "kit/config/config_overrides.h"
#include "kit/config/kubeconfig.h"
#include "test.h"

static char message[1024];

static int resolve_over(const char *text, struct cor_client_config_overrides overrides,
                        struct cor_client_config *c)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    int r;

    assert_int_equal(cor_kubeconfig_add(kc, cor_strz(text), "dir/f", &st), 0);
    r = cor_kubeconfig_resolve(kc, &overrides, c, &st);
    snprintf(message, sizeof(message), "%s", r < 0 ? cor_status_message(&st) : "");
    return r;
}

/* Its path is good until the test ends. */
static const char *write_file(const char *name, const char *text)
{
    static char paths[4][512];
    static size_t next;
    char *path = paths[next++ % COR_ARRAY_LEN(paths)];
    FILE *f;

    snprintf(path, sizeof(paths[0]), "%s/%s", test_tmpdir(), name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

static const char careful[] =
    "current-context: x\n"
    "contexts: [{name: x, context: {cluster: a, user: u}}]\n"
    "clusters: [{name: a, cluster: {server: 'https://a', certificate-authority: gone.pem,\n"
    "  proxy-url: 'http://p'}}]\n"
    "users: [{name: u, user: {token: t1, tokenFile: gone, as: one, as-uid: '1',\n"
    "  as-groups: [g, h], as-user-extra: {k: [v]}}}]\n";

/* Contract client 4.5.11, 4.5.13: one word, all of trust or of the token, a whole list; what is not
 * said stays, and what is replaced is not even looked at. */
TEST(config_overrides, flags_take_the_place_of_credentials)
{
    static const char *const groups[] = {"i"};
    const char *ca = write_file("ca.pem", "PEM\n"), *token = write_file("token", "t3\n");
    const struct cor_client_config_overrides most = {
        COR_CLIENT_CONFIG_OVERRIDES, .ca_file = ca,
        .proxy_url = "http://q",     .token = "t2",
        .impersonate_user = "two",   .impersonate_groups = groups,
        .nimpersonate_groups = 1};
    struct cor_client_config c;

    assert_int_equal(resolve_over(careful, most, &c), 0);
    assert_string_equal(c.server, "https://a");
    assert_string_equal(c.ca_pem, "PEM");
    assert_string_equal(c.proxy_url, "http://q");
    assert_string_equal(c.token, "t2");
    assert_null(c.token_file);
    assert_string_equal(c.impersonate_user, "two");
    assert_string_equal(c.impersonate_uid, "1");
    assert_int_equal(c.impersonate_groups.n, 1);
    assert_string_equal(c.impersonate_groups.items[0], "i");
    assert_int_equal(c.impersonate_extra.n, 1);
    cor_client_config_deinit(&c);
    assert_int_equal(resolve_over(careful,
                                  (struct cor_client_config_overrides){
                                      COR_CLIENT_CONFIG_OVERRIDES, .insecure_skip_tls_verify = true,
                                      .token_file = token},
                                  &c),
                     0);
    assert_true(c.insecure_skip_tls_verify);
    assert_null(c.ca_pem);
    assert_string_equal(c.token, "t3");
    assert_string_equal(c.token_file, token);
    assert_string_equal(c.impersonate_user, "one");
    cor_client_config_deinit(&c);
}

TEST(config_overrides, any_allocation_may_fail)
{
    static const char *const groups[] = {"i", "j"};
    const char *ca = write_file("ca.pem", "PEM\n");
    const struct cor_client_config_overrides most = {COR_CLIENT_CONFIG_OVERRIDES,
                                                     .ns = "n",
                                                     .server = "https://s",
                                                     .tls_server_name = "z",
                                                     .ca_file = ca,
                                                     .proxy_url = "http://q",
                                                     .token_file = ca,
                                                     .impersonate_user = "two",
                                                     .impersonate_uid = "2",
                                                     .impersonate_groups = groups,
                                                     .nimpersonate_groups = 2};
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    struct cor_client_config c;

    assert_int_equal(cor_kubeconfig_add(kc, COR_STR(careful), "dir/f", NULL), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_kubeconfig_resolve(kc, &most, &c, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            continue;
        assert_string_equal(c.ns, "n");
        assert_string_equal(c.server, "https://s");
        assert_string_equal(c.tls_server_name, "z");
        assert_string_equal(c.ca_pem, "PEM");
        assert_string_equal(c.proxy_url, "http://q");
        assert_string_equal(c.token, "PEM");
        assert_string_equal(c.token_file, ca);
        assert_string_equal(c.impersonate_user, "two");
        assert_string_equal(c.impersonate_uid, "2");
        assert_int_equal(c.impersonate_groups.n, 2);
        assert_string_equal(c.impersonate_groups.items[0], "i");
        assert_string_equal(c.impersonate_groups.items[1], "j");
        cor_client_config_deinit(&c);
    }
}

static const char plain[] = "current-context: x\n"
                            "contexts: [{name: x, context: {cluster: a, user: u}}]\n"
                            "clusters: [{name: a, cluster: {server: 'https://a'}}]\n"
                            "users: [{name: u, user: {token: t1}}]\n";

TEST(config_overrides, a_certificate_and_its_key_come_by_flags)
{
    char cert[256];
    const char *key;
    struct cor_client_config c;

    snprintf(cert, sizeof(cert), "%s", write_file("client.pem", "CERT\n"));
    key = write_file("client.key", "KEY\n");
    assert_int_equal(resolve_over(plain,
                                  (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                                       .client_cert_file = cert,
                                                                       .client_key_file = key},
                                  &c),
                     0);
    assert_string_equal(c.client_cert_file, cert);
    assert_string_equal(c.client_key_file, key);
    cor_client_config_deinit(&c);
}

/* Contract client 4.5.11, 4.5.14: what comes of files and flags together is looked at. */
TEST(config_overrides, flags_that_do_not_fit_are_named)
{
    static const struct {
        struct cor_client_config_overrides overrides;
        const char *says;
    } cases[] = {
        {{.username = "u"}, "more than one authentication method found"},
        {{.client_cert_file = "/dev/null"}, "client-key-data or client-key must be specified"},
        {{.ca_file = "/dev/null", .insecure_skip_tls_verify = true}, "with the insecure flag"},
        {{.ca_file = "/nowhere"}, "overrides.ca_file: unable to read /nowhere: not found"},
        {{.token_file = "/nowhere"}, "overrides.token_file: unable to read /nowhere: not found"},
        {{.proxy_url = "ftp://p"}, "overrides.proxy_url: http, https or socks5 is expected"},
        {{.server = "ftp://s"}, "overrides.server: http, https or unix is expected"},
        {{.impersonate_uid = "1"}, "without impersonating a user"},
        {{.nimpersonate_groups = COR_STRINGS_MAX + 1}, "at most 1000 are expected"},
    };
    struct cor_client_config c;

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        assert_int_equal(resolve_over(plain, cases[i].overrides, &c), -COR_EINVAL);
        assert_non_null(strstr(message, cases[i].says));
    }
}

/* There is no file whose line could be named. */
TEST(config_overrides, flags_without_a_file_are_named_too)
{
    static const struct {
        struct cor_client_config_overrides overrides;
        const char *says;
    } cases[] = {
        {{.server = "ftp://s"}, "overrides.server: http, https or unix is expected"},
        {{.server = "https://s", .proxy_url = "ftp://p"},
         "overrides.proxy_url: http, https or socks5 is expected"},
        {{.server = "https://s", .token = "t", .username = "u"},
         "overrides.token: more than one authentication method found"},
        {{.server = "https://s", .client_cert_file = "/dev/null"},
         "client-key-data or client-key must be specified"},
        {{.server = "https://s", .ca_file = "/dev/null", .insecure_skip_tls_verify = true},
         "with the insecure flag"},
        {{.server = "https://s", .impersonate_uid = "1"}, "without impersonating a user"},
    };
    struct cor_client_config c;

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        assert_int_equal(resolve_over("", cases[i].overrides, &c), -COR_EINVAL);
        assert_non_null(strstr(message, cases[i].says));
        assert_null(strstr(message, "kubeconfig"));
    }
}

/* A configuration as cor_client_config_in_cluster() makes it. */
static void begin_pod(struct cor_client_config *c)
{
    *c = (struct cor_client_config){0};
    cor_client_config_set(&c->server, "https://10.0.0.1:443");
    cor_client_config_set(&c->token, "pod");
    cor_client_config_set(&c->token_file, "/account/token");
    cor_client_config_set(&c->ca_pem, "POD");
    cor_client_config_set(&c->ns, "pods");
}

/* Contract client 4.5.28. Another server's credentials are not the pod's: with `server` no pod is
 * looked for (client_config_load). */
TEST(config_overrides, a_pods_token_goes_with_its_file_and_its_ca_for_another)
{
    const char *ca = write_file("ca.pem", "PEM\n");
    struct cor_client_config c;

    begin_pod(&c);
    assert_int_equal(
        cor_override_pod(&c, &(struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES},
                         NULL),
        0);
    assert_string_equal(c.token, "pod");
    assert_string_equal(c.token_file, "/account/token");
    assert_int_equal(cor_override_pod(&c,
                                      &(struct cor_client_config_overrides){
                                          COR_CLIENT_CONFIG_OVERRIDES, .token = "t", .ns = "n"},
                                      NULL),
                     0);
    assert_string_equal(c.token, "t");
    assert_null(c.token_file);
    assert_string_equal(c.ca_pem, "POD");
    assert_string_equal(c.ns, "n");
    assert_int_equal(
        cor_override_pod(&c,
                         &(struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                               .ca_file = ca, .token_file = ca},
                         NULL),
        0);
    assert_string_equal(c.ca_pem, "PEM");
    assert_string_equal(c.token_file, ca);
    assert_string_equal(c.token, "PEM");
    assert_string_equal(c.server, "https://10.0.0.1:443");
    cor_client_config_deinit(&c);
}

TEST(config_overrides, what_a_pod_cannot_be_is_named)
{
    static const struct {
        struct cor_client_config_overrides overrides;
        const char *says;
    } cases[] = {
        {{.username = "u"}, "beside a pod's account"},
        {{.password = "p"}, "beside a pod's account"},
        {{.client_cert_file = "c"}, "beside a pod's account"},
        {{.client_key_file = "k"}, "beside a pod's account"},
        {{.ca_file = "/nowhere"}, "overrides.ca_file: unable to read /nowhere"},
        {{.impersonate_uid = "1"}, "overrides.impersonate_user: requesting uid"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_client_config_deinit) struct cor_client_config c;
        COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

        begin_pod(&c);
        assert_int_equal(cor_override_pod(&c, &cases[i].overrides, &st), -COR_EINVAL);
        assert_non_null(strstr(cor_status_message(&st), cases[i].says));
    }
}
