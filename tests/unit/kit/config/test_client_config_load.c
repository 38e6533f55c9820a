#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "kit/config/client_config.h"
#include "test.h"

static const char *write_file(const char *name, const char *text)
{
    static char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", test_tmpdir(), name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

static const char two_contexts[] =
    "current-context: a\n"
    "clusters: [{name: a, cluster: {server: 'https://a:1'}}, {name: b, cluster: {server: "
    "'https://b:2'}}]\n"
    "contexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}]\n";

/* Nothing of the machine's. */
static void clear_env(void)
{
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    setenv("HOME", test_tmpdir(), 1);
}

static void check_server(const char *file, const char *context, const char *server)
{
    struct cor_client_config config;
    struct cor_status why;

    cor_status_init(&why);
    assert_int_equal(cor_client_config_load(file, context, &config, &why), 0);
    assert_string_equal(config.server, server);
    cor_client_config_deinit(&config);
}

static void check_fails(const char *file, const char *context, int r, const char *text)
{
    struct cor_client_config config;
    struct cor_status why;

    cor_status_init(&why);
    assert_int_equal(cor_client_config_load(file, context, &config, &why), r);
    assert_non_null(strstr(cor_status_message(&why), text));
    cor_status_deinit(&why);
}

/* Contract client 4.5.1. */
TEST(client_config_load, takes_the_named_file_and_context)
{
    const char *file = write_file("two", two_contexts);

    clear_env();
    check_server(file, NULL, "https://a:1");
    check_server(file, "b", "https://b:2");
    check_fails(file, "c", -COR_ENOTFOUND, "c");
    check_fails("/nowhere/at/all", NULL, -COR_ENOTFOUND, "/nowhere/at/all");
}

/* Contract client 4.5.2. */
TEST(client_config_load, takes_the_environments_files)
{
    clear_env();
    setenv("KUBECONFIG", write_file("env", two_contexts), 1);
    check_server(NULL, NULL, "https://a:1");
    check_server(NULL, "b", "https://b:2");
    clear_env();
}

/* Contract client 4.5.14. */
TEST(client_config_load, says_when_there_is_nothing)
{
    clear_env();
    check_fails(NULL, NULL, -COR_ENOTFOUND, "this is no pod");
    check_fails(NULL, NULL, -COR_ENOTFOUND, "there is no ~/.kube/config, KUBECONFIG is not set");
    setenv("KUBECONFIG", "/nowhere/config", 1);
    check_fails(NULL, NULL, -COR_ENOTFOUND, "there is no /nowhere/config (KUBECONFIG)");
    unsetenv("KUBECONFIG");
}

/* Contract client 4.5.24. */
TEST(client_config_load, prefers_a_pods_account_to_an_empty_file)
{
    clear_env();
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    setenv("KUBECONFIG", write_file("empty", ""), 1);
    check_fails(NULL, NULL, -COR_ENOTFOUND, "the service account has no token");
    setenv("KUBECONFIG", write_file("env", two_contexts), 1);
    check_server(NULL, NULL, "https://a:1");
    clear_env();
}

static void check_server_over(const char *file, struct cor_client_config_overrides overrides,
                              const char *server, const char *token)
{
    struct cor_client_config config;

    assert_int_equal(cor_client_config_load_with(file, &overrides, &config, NULL), 0);
    assert_string_equal(config.server, server);
    assert_int_equal(config.token == NULL, token == NULL);
    if (token)
        assert_string_equal(config.token, token);
    cor_client_config_deinit(&config);
}

/* The two flags of client-go's BuildConfigFromFlags, and others; a server alone is enough, also in
 * a pod, whose account is not for it. */
TEST(client_config_load, takes_the_flags_of_a_program)
{
    const char *file = write_file("two", two_contexts);

    clear_env();
    check_server_over(file, (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES},
                      "https://a:1", NULL);
    check_server_over(
        file,
        (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES, .server = "https://m"},
        "https://m", NULL);
    check_server_over(file,
                      (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                           .context = "b", .token = "t"},
                      "https://b:2", "t");
    check_server_over(
        file, (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES, .cluster = "b"},
        "https://b:2", NULL);
    check_server_over(
        NULL,
        (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES, .server = "https://m"},
        "https://m", NULL);
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    check_server_over(NULL,
                      (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                           .server = "https://m", .token = "t"},
                      "https://m", "t");
    setenv("KUBECONFIG", file, 1);
    check_server_over(NULL, (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES},
                      "https://a:1", NULL);
    clear_env();
}

TEST(client_config_load, survives_failed_allocations)
{
    const char *file = write_file("two", two_contexts);
    struct cor_client_config whole;

    clear_env();
    assert_int_equal(cor_client_config_load(file, NULL, &whole, NULL), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_client_config config;
        int r = cor_client_config_load(file, NULL, &config, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            continue;
        assert_string_equal(config.server, whole.server);
        assert_string_equal(config.ns, whole.ns);
        assert_string_equal(config.token ? config.token : "", whole.token ? whole.token : "");
        cor_client_config_deinit(&config);
    }
    cor_client_config_deinit(&whole);
}

TEST(client_config_set, replaces_a_text_or_leaves_it)
{
    struct cor_client_config config = {0};

    assert_int_equal(cor_client_config_set(&config.server, "http://a"), 0);
    test_fail_alloc(1, false);
    assert_int_equal(cor_client_config_set(&config.server, "http://b"), -COR_ENOMEM);
    test_fail_alloc(0, false);
    assert_string_equal(config.server, "http://a");
    assert_int_equal(cor_client_config_set(&config.server, "http://b"), 0);
    assert_string_equal(config.server, "http://b");
    assert_int_equal(cor_client_config_set(&config.server, NULL), 0);
    assert_null(config.server);
}
