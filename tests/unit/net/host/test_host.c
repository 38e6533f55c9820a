#include "net/host/host.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

TEST(host, only_addresses_are_numeric)
{
    assert_true(cor_host_is_numeric("127.0.0.1"));
    assert_true(cor_host_is_numeric("::1"));
    assert_true(cor_host_is_numeric("fe80::1:2"));
    assert_false(cor_host_is_numeric("localhost"));
    assert_false(cor_host_is_numeric("[::1]"));
    assert_false(cor_host_is_numeric("127.0.0"));
    assert_false(cor_host_is_numeric(""));
}

TEST(host, a_host_may_have_a_port)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } cases[] = {
        {"a", "a", 80},        {"a:", "a", 80},
        {"a:1", "a", 1},       {"a.b:65535", "a.b", 65535},
        {"[::1]", "::1", 80},  {"[::1]:9", "::1", 9},
        {"[::1]:", "::1", 80}, {"1.2.3.4:8", "1.2.3.4", 8},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_str host;
        uint16_t port;

        assert_int_equal(cor_host_split(cor_strz(cases[i].text), 80, &host, &port), 0);
        assert_str(host, cases[i].host);
        assert_int_equal(port, cases[i].port);
    }
}

TEST(host, what_is_no_host_and_port_is_refused)
{
    static const char *const cases[] = {
        "",    ":",   ":80",     "[]",   "[]:1",  "[::1", "[::1]x",
        "a:x", "a:0", "a:65536", "a:-1", "a:1:2", "::1",  "a:18446744073709551617",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_str host = COR_STR("as it was");
        uint16_t port = 7;

        assert_int_equal(cor_host_split(cor_strz(cases[i]), 80, &host, &port), -COR_EINVAL);
        assert_str(host, "as it was");
        assert_int_equal(port, 7);
    }
}

TEST(host, a_source_has_no_port_and_of_ipv6_the_network)
{
    static const struct {
        const char *address, *source;
    } cases[] = {
        {"127.0.0.1:40000", "127.0.0.1"},
        {"10.1.2.3:1", "10.1.2.3"},
        {"[2001:db8:1:2:3:4:5:6]:40000", "2001:db8:1:2::"},
        {"[2001:db8:1:2::7]:9", "2001:db8:1:2::"},
        {"[::1]:40000", "::"},
        {"[::ffff:10.1.2.3]:40000", "10.1.2.3"},
        {"@", "@"},
        {"", ""},
    };
    char out[COR_HOST_SOURCE_MAX];

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++)
        assert_str(cor_host_source(cases[i].address, out), cases[i].source);
}

/* Whether the machine has a route to other networks is its own affair. */
TEST(host, the_outgoing_address_is_a_numeric_one_of_its_family)
{
    char out[COR_HOST_SOURCE_MAX];

    for (int is_v6 = 0; is_v6 < 2; is_v6++) {
        int r = cor_host_outgoing(is_v6, out);

        assert_true(r == 0 || r == -COR_ENOTFOUND);
        if (r == 0) {
            assert_true(cor_host_is_numeric(out));
            assert_int_equal(strchr(out, ':') != NULL, is_v6);
        }
    }
}
