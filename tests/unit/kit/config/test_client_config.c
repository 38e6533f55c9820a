/* What a pod has, and copies of a configuration. */
#include <stdio.h>

#include "base/err.h"
#include "kit/config/client_config.h"
#include "test.h"

static void put(const char *dir, const char *name, const char *text)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Contract client 4.5.25, 4.5.26, 4.5.28. */
TEST(client_config, a_pod_knows_its_server_and_its_account)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    const char *dir = test_tmpdir();
    struct cor_client_config c;

    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("POD_NAMESPACE");
    assert_int_equal(cor_client_config_in_cluster(dir, &c, &st), -COR_ENOTFOUND);
    assert_string_equal(cor_status_message(&st),
                        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
                        "KUBERNETES_SERVICE_PORT must be defined");
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(cor_client_config_in_cluster(dir, &c, &st), -COR_ENOTFOUND);
    put(dir, "token", "abc\n");
    assert_int_equal(cor_client_config_in_cluster(dir, &c, &st), 0);
    assert_string_equal(c.server, "https://[fd00::1]:443");
    assert_string_equal(c.token, "abc");
    assert_non_null(c.token_file);
    assert_string_equal(c.ns, "default");
    assert_null(c.ca_pem);
    cor_client_config_deinit(&c);
    put(dir, "namespace", "");
    assert_int_equal(cor_client_config_in_cluster(dir, &c, &st), 0);
    assert_string_equal(c.ns, "default");
    cor_client_config_deinit(&c);
    put(dir, "namespace", "work");
    put(dir, "ca.crt", "PEM");
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    assert_int_equal(cor_client_config_in_cluster(dir, &c, &st), 0);
    assert_string_equal(c.server, "https://10.0.0.1:443");
    assert_string_equal(c.ns, "work");
    assert_string_equal(c.ca_pem, "PEM");
    cor_client_config_deinit(&c);
    setenv("POD_NAMESPACE", "pod", 1);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_client_config_in_cluster(dir, &c, &st);

        assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
        if (r == 0) {
            assert_string_equal(c.server, "https://10.0.0.1:443");
            assert_string_equal(c.token, "abc");
            assert_non_null(c.token_file);
            assert_string_equal(c.ca_pem, "PEM");
            assert_string_equal(c.ns, "pod");
            cor_client_config_deinit(&c);
        }
        cor_status_deinit(&st);
    }
}

/* Every member has a value of its own, so that one which is left out or taken for another shows.
 */
static struct cor_client_config full_config(void)
{
    static char *args[] = {(char *)"arg-1", (char *)"arg-2"}, *groups[] = {(char *)"group"};
    static struct cor_string_pair env[] = {{(char *)"env-key", (char *)"env-value"}};
    static struct cor_string_pair extra[] = {{(char *)"extra-key", (char *)"extra-value"}};

    return (struct cor_client_config){
        .server = (char *)"server",
        .tls_server_name = (char *)"tls-server-name",
        .ca_pem = (char *)"ca",
        .insecure_skip_tls_verify = true,
        .disable_compression = true,
        .proxy_url = (char *)"proxy",
        .ns = (char *)"ns",
        .client_cert_pem = (char *)"cert",
        .client_key_pem = (char *)"key",
        .client_cert_file = (char *)"cert-file",
        .client_key_file = (char *)"key-file",
        .token = (char *)"token",
        .token_file = (char *)"token-file",
        .username = (char *)"username",
        .password = (char *)"password",
        .exec = {.command = (char *)"command",
                 .api_version = (char *)"api-version",
                 .interactive_mode = (char *)"mode",
                 .install_hint = (char *)"hint",
                 .args = {args, 2},
                 .env = {env, 1},
                 .provide_cluster_info = true,
                 .cluster_config = (char *)"cluster-config"},
        .impersonate_user = (char *)"as",
        .impersonate_uid = (char *)"as-uid",
        .impersonate_groups = {groups, 1},
        .impersonate_extra = {extra, 1},
    };
}

static void assert_same_exec(const struct cor_exec_config *a, const struct cor_exec_config *b)
{
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->api_version, b->api_version);
    assert_string_equal(a->interactive_mode, b->interactive_mode);
    assert_string_equal(a->install_hint, b->install_hint);
    assert_string_equal(a->cluster_config, b->cluster_config);
    assert_int_equal(a->provide_cluster_info, b->provide_cluster_info);
    assert_int_equal(a->args.n, b->args.n);
    for (size_t i = 0; i < b->args.n; i++)
        assert_string_equal(a->args.items[i], b->args.items[i]);
    assert_int_equal(a->env.n, b->env.n);
    assert_string_equal(a->env.items[0].key, b->env.items[0].key);
    assert_string_equal(a->env.items[0].value, b->env.items[0].value);
}

static void assert_same_config(const struct cor_client_config *a, const struct cor_client_config *b)
{
    assert_string_equal(a->server, b->server);
    assert_string_equal(a->tls_server_name, b->tls_server_name);
    assert_string_equal(a->ca_pem, b->ca_pem);
    assert_int_equal(a->insecure_skip_tls_verify, b->insecure_skip_tls_verify);
    assert_int_equal(a->disable_compression, b->disable_compression);
    assert_string_equal(a->proxy_url, b->proxy_url);
    assert_string_equal(a->ns, b->ns);
    assert_string_equal(a->client_cert_pem, b->client_cert_pem);
    assert_string_equal(a->client_key_pem, b->client_key_pem);
    assert_string_equal(a->client_cert_file, b->client_cert_file);
    assert_string_equal(a->client_key_file, b->client_key_file);
    assert_string_equal(a->token, b->token);
    assert_string_equal(a->token_file, b->token_file);
    assert_string_equal(a->username, b->username);
    assert_string_equal(a->password, b->password);
    assert_same_exec(&a->exec, &b->exec);
    assert_string_equal(a->impersonate_user, b->impersonate_user);
    assert_string_equal(a->impersonate_uid, b->impersonate_uid);
    assert_int_equal(a->impersonate_groups.n, b->impersonate_groups.n);
    assert_string_equal(a->impersonate_groups.items[0], b->impersonate_groups.items[0]);
    assert_int_equal(a->impersonate_extra.n, b->impersonate_extra.n);
    assert_string_equal(a->impersonate_extra.items[0].key, b->impersonate_extra.items[0].key);
    assert_string_equal(a->impersonate_extra.items[0].value, b->impersonate_extra.items[0].value);
}

TEST(client_config, a_copy_has_all_of_it)
{
    const struct cor_client_config from = full_config();

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_client_config c = {0};
        int r = cor_client_config_copy(&c, &from);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            continue;
        assert_same_config(&c, &from);
        cor_client_config_deinit(&c);
    }
}

TEST(client_config, a_copy_of_nothing_has_nothing)
{
    const struct cor_client_config from = {.server = (char *)"s"};
    struct cor_client_config c;

    assert_int_equal(cor_client_config_copy(&c, &from), 0);
    assert_string_equal(c.server, "s");
    assert_null(c.username);
    assert_null(c.exec.command);
    assert_false(c.insecure_skip_tls_verify || c.disable_compression ||
                 c.exec.provide_cluster_info);
    assert_int_equal(c.exec.args.n + c.exec.env.n + c.impersonate_groups.n, 0);
    cor_client_config_deinit(&c);
}
