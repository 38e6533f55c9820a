/* What a pod has, and copies of a configuration. */
#include <stdio.h>

#include "base/err.h"
#include "client/client_config.h"
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

/* Contract 4.5.25, 4.5.26, 4.5.28. */
TEST(client_config, a_pod_knows_its_server_and_its_account)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    const char *dir = test_tmpdir();
    struct cor_client_config c;

    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("POD_NAMESPACE");
    assert_int_equal(cor_client_config_in_cluster(dir, &c, &st), -COR_ENOTFOUND);
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
            assert_string_equal(c.ns, "pod");
            cor_client_config_deinit(&c);
        }
        cor_status_deinit(&st);
    }
}

TEST(client_config, a_copy_has_all_of_it)
{
    static char *strings[] = {(char *)"a", (char *)"b"};
    static struct cor_string_pair pairs[] = {{(char *)"k", (char *)"v"}};
    struct cor_client_config from = {.server = (char *)"s",
                                     .token = (char *)"t",
                                     .insecure_skip_tls_verify = true,
                                     .exec = {.command = (char *)"c",
                                              .args = {strings, 2},
                                              .env = {pairs, 1},
                                              .provide_cluster_info = true},
                                     .impersonate_groups = {strings, 1},
                                     .impersonate_extra = {pairs, 1}};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_client_config c = {0};
        int r = cor_client_config_copy(&c, &from);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            continue;
        assert_string_equal(c.server, "s");
        assert_string_equal(c.token, "t");
        assert_null(c.username);
        assert_true(c.insecure_skip_tls_verify && c.exec.provide_cluster_info);
        assert_int_equal(c.exec.args.n, 2);
        assert_string_equal(c.exec.args.items[1], "b");
        assert_string_equal(c.exec.env.items[0].value, "v");
        assert_string_equal(c.impersonate_groups.items[0], "a");
        assert_string_equal(c.impersonate_extra.items[0].key, "k");
        cor_client_config_deinit(&c);
    }
}
