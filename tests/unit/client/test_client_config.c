/* Contract 4.5, 24-28. */
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
