#include "server/instance/server_credentials.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "net/stream/tls.h"
#include "test.h"

#define NOW_S 1800000000
#define DAY_S (24 * 3600)

static struct cor_server_credentials open_at(const char *dir, const char *address, int64_t now_s)
{
    const struct cor_server_credentials_opts opts = {
        .dir = dir, .address = address, .now_s = now_s};
    struct cor_server_credentials cred;
    struct cor_status st = {0};

    assert_int_equal(cor_server_credentials_open(&opts, &cred, &st), 0);
    return cred;
}

static const char *file(const char *dir, const char *name)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

TEST(credentials, are_made_once_with_private_modes)
{
    static const char *const names[] = {"pki/ca.key",
                                        "pki/ca.crt",
                                        "pki/server.crt",
                                        "pki/server.key",
                                        "pki/admin.token",
                                        "pki/front-proxy-ca.key",
                                        "pki/front-proxy-ca.crt",
                                        "pki/front-proxy-client.key",
                                        "pki/front-proxy-client.crt"};
    const char *dir = test_tmpdir();
    struct cor_server_credentials a = open_at(dir, "127.0.0.1", NOW_S);
    struct cor_server_credentials b = open_at(dir, "127.0.0.1", NOW_S + DAY_S);
    struct stat info;

    assert_true(a.is_first);
    assert_false(b.is_first);
    assert_string_equal(cor_buf_z(&a.token), cor_buf_z(&b.token));
    assert_int_equal(a.token.n, 43);
    assert_string_equal(cor_buf_z(&a.ca_pem), cor_buf_z(&b.ca_pem));
    assert_string_equal(cor_buf_z(&a.serving.cert_pem), cor_buf_z(&b.serving.cert_pem));
    assert_string_equal(cor_buf_z(&a.serving.key_pem), cor_buf_z(&b.serving.key_pem));
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        assert_int_equal(stat(file(dir, names[i]), &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
    cor_server_credentials_deinit(&a);
    cor_server_credentials_deinit(&b);
}

TEST(credentials, make_a_serving_certificate_that_tls_takes)
{
    struct cor_server_credentials cred = open_at(test_tmpdir(), "10.1.2.3", NOW_S);
    const struct cor_tls_opts opts = {.role = COR_TLS_SERVER,
                                      .cert_pem = cor_buf_str(&cred.serving.cert_pem),
                                      .key_pem = cor_buf_str(&cred.serving.key_pem)};
    struct cor_tls *tls;

    assert_int_equal(cor_tls_new(&opts, &tls), 0);
    cor_tls_unref(tls);
    cor_server_credentials_deinit(&cred);
}

TEST(credentials, renew_the_serving_certificate_for_an_address_or_near_its_end)
{
    const char *dir = test_tmpdir();
    struct cor_server_credentials first = open_at(dir, "127.0.0.1", NOW_S);
    struct cor_server_credentials moved = open_at(dir, "10.1.2.3", NOW_S);
    struct cor_server_credentials kept = open_at(dir, "10.1.2.3", NOW_S + 300 * DAY_S);
    struct cor_server_credentials late = open_at(dir, "10.1.2.3", NOW_S + 340 * DAY_S);

    assert_string_not_equal(cor_buf_z(&first.serving.cert_pem), cor_buf_z(&moved.serving.cert_pem));
    assert_string_equal(cor_buf_z(&moved.serving.cert_pem), cor_buf_z(&kept.serving.cert_pem));
    assert_string_not_equal(cor_buf_z(&kept.serving.cert_pem), cor_buf_z(&late.serving.cert_pem));
    assert_string_equal(cor_buf_z(&first.ca_pem), cor_buf_z(&late.ca_pem));
    cor_server_credentials_deinit(&first);
    cor_server_credentials_deinit(&moved);
    cor_server_credentials_deinit(&kept);
    cor_server_credentials_deinit(&late);
}

static void load(const char *path, struct cor_buf *out)
{
    cor_buf_init(out, COR_PEM_MAX);
    assert_int_equal(cor_pem_load(path, out), 0);
}

/* The front proxy's certificate is read by others than us: the files are what counts. */
TEST(credentials, renew_the_front_proxys_certificate_near_its_end_and_keep_its_ca)
{
    const char *dir = test_tmpdir();
    struct cor_server_credentials first = open_at(dir, "127.0.0.1", NOW_S), kept, late;
    struct cor_buf a, b, c, key;

    load(first.front_proxy.cert, &a);
    kept = open_at(dir, "127.0.0.1", NOW_S + 300 * DAY_S);
    load(kept.front_proxy.cert, &b);
    late = open_at(dir, "127.0.0.1", NOW_S + 340 * DAY_S);
    load(late.front_proxy.cert, &c);
    load(late.front_proxy.key, &key);
    assert_string_equal(cor_buf_z(&a), cor_buf_z(&b));
    assert_string_not_equal(cor_buf_z(&b), cor_buf_z(&c));
    assert_string_equal(cor_buf_z(&first.front_proxy.ca_pem), cor_buf_z(&late.front_proxy.ca_pem));
    assert_string_not_equal(cor_buf_z(&first.ca_pem), cor_buf_z(&first.front_proxy.ca_pem));
    {
        const struct cor_tls_opts opts = {
            .role = COR_TLS_CLIENT, .cert_pem = cor_buf_str(&c), .key_pem = cor_buf_str(&key)};
        struct cor_tls *tls;

        assert_int_equal(cor_tls_new(&opts, &tls), 0);
        cor_tls_unref(tls);
    }
    cor_buf_deinit(&a);
    cor_buf_deinit(&b);
    cor_buf_deinit(&c);
    cor_buf_deinit(&key);
    cor_server_credentials_deinit(&first);
    cor_server_credentials_deinit(&kept);
    cor_server_credentials_deinit(&late);
}

TEST(credentials, take_the_front_proxys_files_that_are_given)
{
    const char *dir = test_tmpdir();
    char cert[512], key[512];
    struct cor_server_credentials_opts opts = {.dir = dir, .address = "127.0.0.1", .now_s = NOW_S};
    struct cor_server_credentials cred = open_at(dir, "127.0.0.1", NOW_S);
    struct cor_status st = {0};

    snprintf(cert, sizeof(cert), "%s", cred.front_proxy.cert);
    snprintf(key, sizeof(key), "%s", cred.front_proxy.key);
    cor_server_credentials_deinit(&cred);
    opts.proxy_cert_file = cert;
    opts.proxy_key_file = key;
    assert_int_equal(cor_server_credentials_open(&opts, &cred, &st), 0);
    assert_string_equal(cred.front_proxy.cert, cert);
    assert_string_equal(cred.front_proxy.key, key);
    assert_int_equal(cred.front_proxy.ca_pem.n, 0);
    cor_server_credentials_deinit(&cred);
    opts.proxy_key_file = "/nonexistent/proxy.key";
    assert_int_equal(cor_server_credentials_open(&opts, &cred, &st), -COR_ENOTFOUND);
    assert_string_equal(cor_status_message(&st), "/nonexistent/proxy.key: there is no such file");
    cor_status_deinit(&st);
}

TEST(credentials, say_what_is_missing)
{
    const char *dir = test_tmpdir();
    struct cor_server_credentials_opts opts = {.dir = dir, .address = "127.0.0.1", .now_s = NOW_S};
    struct cor_server_credentials cred = open_at(dir, "127.0.0.1", NOW_S);
    struct cor_status st = {0};

    cor_server_credentials_deinit(&cred);
    assert_int_equal(unlink(file(dir, "pki/ca.key")), 0);
    assert_int_equal(cor_server_credentials_open(&opts, &cred, &st), -COR_ENOTFOUND);
    assert_non_null(
        strstr(cor_status_message(&st), "pki/ca.key is missing beside its certificate"));
    opts.tls_cert_file = "/nonexistent/tls.crt";
    opts.tls_key_file = "/nonexistent/tls.key";
    assert_int_equal(cor_server_credentials_open(&opts, &cred, &st), -COR_ENOTFOUND);
    assert_string_equal(cor_status_message(&st), "/nonexistent/tls.crt: there is no such file");
    cor_status_deinit(&st);
}

TEST(credentials, name_themselves_in_a_kubeconfig)
{
    const char *dir = test_tmpdir();
    struct cor_server_credentials cred = open_at(dir, "127.0.0.1", NOW_S);
    char path[512], token[128];
    struct cor_status st = {0};
    struct cor_buf text;
    struct stat info;

    snprintf(path, sizeof(path), "%s/admin.kubeconfig", dir);
    assert_int_equal(
        cor_server_credentials_write_kubeconfig(&cred, path, "https://127.0.0.1:6443", &st), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    cor_buf_init(&text, COR_PEM_MAX);
    assert_int_equal(cor_pem_load(path, &text), 0);
    snprintf(token, sizeof(token), "    token: %s\n", cor_buf_z(&cred.token));
    assert_non_null(strstr(cor_buf_z(&text), token));
    assert_non_null(strstr(cor_buf_z(&text), "    server: https://127.0.0.1:6443\n"));
    assert_non_null(strstr(cor_buf_z(&text), "certificate-authority-data: LS0tLS1CRUdJTi"));
    cor_buf_deinit(&text);
    cor_server_credentials_deinit(&cred);
}

TEST(credentials, fail_cleanly_without_memory)
{
    int r = -1;

    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_server_credentials_opts opts = {
            .dir = test_tmpdir(), .address = "127.0.0.1", .now_s = NOW_S};
        struct cor_server_credentials cred;
        struct cor_status st = {0};

        r = cor_server_credentials_open(&opts, &cred, &st);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            cor_server_credentials_deinit(&cred);
        cor_status_deinit(&st);
    }
    assert_int_equal(r, 0);
}
