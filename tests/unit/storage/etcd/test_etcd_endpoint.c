#include "storage/etcd/etcd_endpoint.h"

#include "base/err.h"
#include "base/str.h"
#include "test.h"

TEST(etcd_endpoint, urls_name_host_port_and_tls)
{
    struct etcd_endpoints e;

    assert_int_equal(cor_etcd_endpoints_parse(
                         "http://a.example:1234, http://[::1]:5/,http://10.0.0.1", &e, NULL),
                     0);
    assert_int_equal(e.n, 3);
    assert_string_equal(e.at[0].host, "a.example");
    assert_int_equal(e.at[0].port, 1234);
    assert_string_equal(e.at[1].host, "::1");
    assert_int_equal(e.at[1].port, 5);
    assert_false(e.is_tls);
    assert_string_equal(e.at[2].host, "10.0.0.1");
    assert_int_equal(e.at[2].port, 2379);
    cor_etcd_endpoints_deinit(&e);
    assert_int_equal(cor_etcd_endpoints_parse("https://a:1,https://b:1", &e, NULL), 0);
    assert_true(e.is_tls);
    cor_etcd_endpoints_deinit(&e);
}

TEST(etcd_endpoint, what_is_no_url_is_named)
{
    static const char *const bad[] = {
        "127.0.0.1:2379",
        "ftp://a:1",
        "http://",
        "http://a:0",
        "http://a:70000",
        "http://a:b",
        "http://[::1",
        "http://a/b",
        "http://a:1,,http://b:1",
        "unix:///x",
        "http://a:1,https://b:1",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct etcd_endpoints e;
        struct cor_status st;

        cor_status_init(&st);
        assert_int_equal(cor_etcd_endpoints_parse(bad[i], &e, &st), -COR_EINVAL);
        assert_non_null(strstr(cor_status_message(&st), "--etcd-servers"));
        cor_status_deinit(&st);
    }
}

TEST(etcd_endpoint, no_server_at_all_is_told)
{
    struct etcd_endpoints e;

    assert_int_equal(cor_etcd_endpoints_parse(NULL, &e, NULL), -COR_EINVAL);
    assert_int_equal(cor_etcd_endpoints_parse("", &e, NULL), -COR_EINVAL);
}

TEST(etcd_endpoint, each_allocation_may_fail)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct etcd_endpoints e = {.n = 0};
        int r = cor_etcd_endpoints_parse("http://a:1,http://b:2", &e, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_etcd_endpoints_deinit(&e);
    }
}
