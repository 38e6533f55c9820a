/* Contract client 4.6; the messages are client-go's where it has one. */
#include "kit/config/exec_credential.h"

#include "base/err.h"
#include "test.h"

#define V1      "client.authentication.k8s.io/v1"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"
#define HEAD    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":"

static void expect_mistake(const char *output, const char *message)
{
    struct cor_exec_credential c;
    struct cor_status why = {0};

    assert_int_equal(cor_exec_credential_read(cor_strz(output), V1, &c, &why), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&why), message));
    assert_null(strstr(cor_status_message(&why), "SECRET"));
    cor_status_deinit(&why);
}

/* Contract client 4.6.4. */
TEST(exec_credential, a_token_and_when_it_expires)
{
    struct cor_exec_credential c;

    assert_int_equal(
        cor_exec_credential_read(COR_STR(HEAD "{\"token\":\"t\\u00e9\",\"expirationTimestamp\":"
                                              "\"1970-01-01T01:00:10+01:00\"}}\n"),
                                 V1, &c, NULL),
        0);
    assert_string_equal(c.token, "t\xc3\xa9");
    assert_null(c.cert_pem);
    assert_true(c.expires);
    assert_int_equal(c.expires_at_s, 10);
    cor_exec_credential_deinit(&c);
}

/* Contract client 4.6.4. */
TEST(exec_credential, a_certificate_and_its_key)
{
    struct cor_exec_credential c;

    assert_int_equal(
        cor_exec_credential_read(
            COR_STR("{\"apiVersion\":\"" V1BETA1 "\",\"kind\":\"ExecCredential\",\"status\":{"
                    "\"clientKeyData\":\"K\",\"clientCertificateData\":\"C\",\"token\":\"\","
                    "\"expirationTimestamp\":null}}"),
            V1BETA1, &c, NULL),
        0);
    assert_null(c.token);
    assert_string_equal(c.cert_pem, "C");
    assert_string_equal(c.key_pem, "K");
    assert_false(c.expires);
    cor_exec_credential_deinit(&c);
}

/* Contract client 4.6.1, 4.6.4. */
TEST(exec_credential, mistakes_name_the_field_and_no_secret)
{
    expect_mistake("", "decoding stdout: a JSON object is expected");
    expect_mistake("SECRET", "decoding stdout: a JSON object is expected");
    expect_mistake("[]", "decoding stdout: a JSON object is expected");
    expect_mistake("{\"kind\":\"Pod\",\"token\":\"SECRET\"}", "kind: ExecCredential is expected");
    expect_mistake("{\"kind\":\"ExecCredential\"}", "apiVersion: a version is expected");
    expect_mistake("{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1BETA1 "\"}",
                   "exec plugin is configured to use API version " V1
                   ", plugin returned version " V1BETA1);
    expect_mistake("{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}",
                   "exec plugin didn't return a status field");
    expect_mistake(HEAD "\"SECRET\"}", "status: an object is expected");
    expect_mistake(HEAD "{}}", "exec plugin didn't return a token or cert/key pair");
    expect_mistake(HEAD "{\"token\":7}}", "status.token: a string is expected");
    expect_mistake(HEAD "{\"clientKeyData\":\"SECRET\"}}",
                   "returned only certificate or key, not both: status.clientCertificateData");
    expect_mistake(HEAD "{\"clientCertificateData\":\"SECRET\"}}",
                   "returned only certificate or key, not both: status.clientKeyData");
    expect_mistake(HEAD "{\"token\":\"SECRET\",\"expirationTimestamp\":\"soon\"}}",
                   "status.expirationTimestamp: an RFC 3339 time is expected");
}

/* Contract client 4.6.2. */
TEST(exec_credential, a_plugin_is_told_of_its_terminal_and_cluster)
{
    struct cor_client_config config = {
        .server = (char *)"https://h:6443",
        .ca_pem = (char *)"CA",
        .tls_server_name = (char *)"n",
        .exec = {.api_version = (char *)V1, .cluster_config = (char *)"{\"a\":1}"}};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 4096);
    assert_int_equal(cor_exec_credential_write_info(&config, false, &out), 0);
    assert_str(cor_buf_str(&out), "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                                  "\",\"spec\":{\"interactive\":false}}");
    cor_buf_reset(&out);
    config.exec.provide_cluster_info = true;
    assert_int_equal(cor_exec_credential_write_info(&config, true, &out), 0);
    assert_str(cor_buf_str(&out),
               "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
               "\",\"spec\":{\"cluster\":{\"server\":\"https://h:6443\",\"tls-server-name\":\"n\","
               "\"certificate-authority-data\":\"Q0E=\",\"config\":{\"a\":1}},\"interactive\":"
               "true}}");
    cor_buf_reset(&out);
    config = (struct cor_client_config){.server = (char *)"s",
                                        .proxy_url = (char *)"p",
                                        .insecure_skip_tls_verify = true,
                                        .disable_compression = true,
                                        .exec = config.exec};
    config.exec.cluster_config = NULL;
    assert_int_equal(cor_exec_credential_write_info(&config, true, &out), 0);
    assert_str(cor_buf_str(&out),
               "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
               "\",\"spec\":{\"cluster\":{\"server\":\"s\",\"insecure-skip-tls-verify\":true,"
               "\"proxy-url\":\"p\",\"disable-compression\":true},\"interactive\":true}}");
}

TEST(exec_credential, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_exec_credential c = {0};
        int r = cor_exec_credential_read(
            COR_STR(HEAD "{\"token\":\"t\",\"clientKeyData\":\"K\",\"clientCertificateData\":"
                         "\"C\",\"expirationTimestamp\":\"2030-01-01T00:00:00Z\"}}"),
            V1, &c, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0) {
            assert_string_equal(c.token, "t");
            assert_string_equal(c.key_pem, "K");
            assert_string_equal(c.cert_pem, "C");
            assert_true(c.expires);
            assert_int_equal(c.expires_at_s, 1893456000);
        }
        cor_exec_credential_deinit(&c);
    }
}
