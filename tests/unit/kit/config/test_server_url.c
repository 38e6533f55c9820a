#include "kit/config/server_url.h"

#include "base/err.h"
#include "base/mem.h"
#include "test.h"

static struct cor_server_url parse(struct cor_client_config config, const char *server)
{
    struct cor_server_url url;
    struct cor_status why = {0};

    config.server = (char *)server;
    assert_int_equal(cor_server_url_parse(&config, &url, &why), 0);
    return url;
}

/* Contract client 4.7.4. */
TEST(server_url, a_url_a_host_or_a_host_and_port)
{
    static const struct {
        const char *server;
        bool is_tls;
        const char *host;
        int port;
        const char *prefix, *origin;
    } cases[] = {
        {"https://10.0.0.1:6443", true, "10.0.0.1", 6443, "", "https://10.0.0.1:6443"},
        {"https://example.com", true, "example.com", 443, "", "https://example.com"},
        {"http://example.com/", false, "example.com", 80, "", "http://example.com"},
        {"https://h/k8s/clusters/c-1/", true, "h", 443, "/k8s/clusters/c-1", "https://h"},
        {"https://[::1]:6443/x", true, "::1", 6443, "/x", "https://[::1]:6443"},
        {"example.com:8080", false, "example.com", 8080, "", "http://example.com:8080"},
        {"", false, "localhost", 80, "", "http://localhost"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_server_url url = parse((struct cor_client_config){0}, cases[i].server);

        assert_int_equal(url.is_tls, cases[i].is_tls);
        assert_string_equal(url.host, cases[i].host);
        assert_int_equal(url.port, cases[i].port);
        assert_string_equal(url.prefix, cases[i].prefix);
        assert_string_equal(url.origin, cases[i].origin);
        cor_server_url_deinit(&url);
    }
}

/* Contract client 4.7.4. */
TEST(server_url, without_a_scheme_anything_of_tls_makes_it_https)
{
    struct cor_server_url url =
        parse((struct cor_client_config){.insecure_skip_tls_verify = true}, "h:6443");

    assert_true(url.is_tls);
    assert_string_equal(url.origin, "https://h:6443");
    cor_server_url_deinit(&url);
    url = parse((struct cor_client_config){.ca_pem = (char *)"x"}, "h");
    assert_true(url.is_tls);
    assert_int_equal(url.port, 443);
    cor_server_url_deinit(&url);
}

TEST(server_url, a_local_socket)
{
    struct cor_server_url url = parse((struct cor_client_config){0}, "unix:///run/coracle.sock");

    assert_null(url.host);
    assert_false(url.is_tls);
    assert_string_equal(url.unix_path, "/run/coracle.sock");
    cor_server_url_deinit(&url);
}

TEST(server_url, refuses_what_it_cannot_reach)
{
    static const char *const bad[] = {
        "https://",      "https://:6443",   "https://h:0",        "https://h:65536",
        "https://h:x",   "https://[::1",    "https://u:p@h:6443", "h/path",
        "unix://socket", "https://h:6443x", "https://h/a?b=c",    "https://h/a#b",
        "https://h/a b",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        struct cor_client_config config = {.server = (char *)bad[i]};
        struct cor_server_url url;
        struct cor_status why = {0};

        assert_int_equal(cor_server_url_parse(&config, &url, &why), -COR_EINVAL);
        assert_non_null(strstr(cor_status_message(&why), "server: "));
        assert_null(strstr(cor_status_message(&why), "u:p"));
        cor_status_deinit(&why);
    }
}

TEST(server_url, survives_every_failed_allocation)
{
    static const char *const servers[] = {"https://[::1]:6443/x", "unix:///run/x"};

    for (size_t i = 0; i < COR_ARRAY_LEN(servers); i++) {
        struct cor_client_config config = {.server = (char *)servers[i]};

        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_server_url url;
            int r = cor_server_url_parse(&config, &url, NULL);

            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            if (r < 0)
                continue;
            if (i == 0) {
                assert_true(url.is_tls);
                assert_string_equal(url.host, "::1");
                assert_int_equal(url.port, 6443);
                assert_string_equal(url.prefix, "/x");
                assert_string_equal(url.origin, "https://[::1]:6443");
            } else {
                assert_string_equal(url.unix_path, "/run/x");
                assert_string_equal(url.prefix, "");
            }
            cor_server_url_deinit(&url);
        }
    }
}
