#include "test.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "server/alloc/address_index.h"

static struct cor_addr ip_of(const char *text)
{
    struct cor_addr ip;

    if (cor_addr_parse(cor_strz(text), &ip) < 0)
        fail_msg("%s", text);
    return ip;
}

static void check_print(const char *text, const char *canonical)
{
    char out[COR_IP_TEXT_MAX];

    assert_str(cor_addr_print(ip_of(text), out), canonical);
}

TEST(addr, is_printed_in_its_canonical_form)
{
    check_print("10.0.0.1", "10.0.0.1");
    check_print("010.000.0.001", "10.0.0.1");
    check_print("::ffff:1.2.3.4", "1.2.3.4");
    check_print("FD00:0:0:0:0:0:0:1", "fd00::1");
    check_print("::", "::");
    check_print("::1", "::1");
    check_print("1::", "1::");
    check_print("1:0:0:2:0:0:0:3", "1:0:0:2::3");
    check_print("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7");
    check_print("0:0:1:2:3:4:5:6", "::1:2:3:4:5:6");
    check_print("1:2:3:4:5:6:0:0", "1:2:3:4:5:6::");
}

TEST(addr, refuses_what_is_none)
{
    static const char *const bad[] = {
        "",       "1.2.3", "1.2.3.4.5",    "1.2.3.256",  "a.b.c.d", "1.2.3.",
        ".1.2.3", "1:2",   "fd00::1%eth0", "1.2.3.4/24", "::1.2.3", "None"};
    struct cor_addr ip;

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++)
        if (cor_addr_parse(cor_strz(bad[i]), &ip) == 0)
            fail_msg("%s", bad[i]);
}

static void check_range(const char *cidr, const char *first, const char *dynamic, const char *last)
{
    struct cor_addr_range range;
    char out[COR_IP_TEXT_MAX];

    if (cor_addr_range_parse(cor_strz(cidr), &range) < 0)
        fail_msg("%s", cidr);
    assert_false(range.is_empty);
    assert_str(cor_addr_print((struct cor_addr){range.net.hi, range.first_lo}, out), first);
    assert_str(cor_addr_print((struct cor_addr){range.net.hi, range.dynamic_lo}, out), dynamic);
    assert_str(cor_addr_print((struct cor_addr){range.net.hi, range.last_lo}, out), last);
}

/* Contract types 4.5.6: min(max(16, size/16), 256), and nothing of a range of up to 16. */
TEST(addr_range, has_a_static_band_of_upstreams_size)
{
    check_range("10.0.0.0/24", "10.0.0.1", "10.0.0.17", "10.0.0.254");
    check_range("10.0.0.77/24", "10.0.0.1", "10.0.0.17", "10.0.0.254");
    check_range("10.0.0.0/27", "10.0.0.1", "10.0.0.17", "10.0.0.30");
    check_range("10.0.0.0/28", "10.0.0.1", "10.0.0.1", "10.0.0.14");
    check_range("10.0.0.0/23", "10.0.0.1", "10.0.0.33", "10.0.1.254");
    check_range("10.0.0.0/20", "10.0.0.1", "10.0.1.1", "10.0.15.254");
    check_range("10.0.0.0/12", "10.0.0.1", "10.0.1.1", "10.15.255.254");
    check_range("fd00::/112", "fd00::1", "fd00::101", "fd00::ffff");
    check_range("fd00::/64", "fd00::1", "fd00::101", "fd00::ffff:ffff:ffff:ffff");
    check_range("fd00::/125", "fd00::1", "fd00::1", "fd00::7");
}

TEST(addr_range, refuses_what_is_none)
{
    static const char *const bad[] = {"10.0.0.0",  "10.0.0.0/33",   "10.0.0.0/",
                                      "fd00::/63", "fd00::/129",    "/24",
                                      "x/24",      "10.0.0.0/24/8", "::ffff:1.2.3.4/120"};
    struct cor_addr_range range;

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++)
        if (cor_addr_range_parse(cor_strz(bad[i]), &range) == 0)
            fail_msg("%s", bad[i]);
}

TEST(addr_range, leaves_out_the_network_and_the_broadcast_address)
{
    struct cor_addr_range v4, v6;

    assert_int_equal(cor_addr_range_parse(COR_STR("10.0.0.0/24"), &v4), 0);
    assert_int_equal(cor_addr_range_parse(COR_STR("fd00::/120"), &v6), 0);
    assert_false(cor_addr_range_contains(&v4, ip_of("10.0.0.0")));
    assert_true(cor_addr_range_contains(&v4, ip_of("10.0.0.1")));
    assert_true(cor_addr_range_contains(&v4, ip_of("10.0.0.254")));
    assert_false(cor_addr_range_contains(&v4, ip_of("10.0.0.255")));
    assert_false(cor_addr_range_contains(&v4, ip_of("10.0.1.1")));
    assert_false(cor_addr_range_contains(&v6, ip_of("fd00::")));
    assert_true(cor_addr_range_contains(&v6, ip_of("fd00::ff")));
    assert_false(cor_addr_range_contains(&v6, ip_of("fd01::1")));
}

TEST(addr_range, of_two_addresses_has_none_to_give)
{
    struct cor_addr_range range;

    assert_int_equal(cor_addr_range_parse(COR_STR("10.0.0.0/31"), &range), 0);
    assert_true(range.is_empty);
    assert_int_equal(cor_addr_range_parse(COR_STR("10.0.0.0/32"), &range), 0);
    assert_true(range.is_empty);
}

TEST(addr_set, has_what_was_added_and_not_removed)
{
    struct cor_addr_set set = {.seed = 7};
    struct cor_addr ip = ip_of("10.0.0.0"), first = {0, 0};

    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(cor_addr_set_add(&set, (struct cor_addr){i % 3, ip.lo + 17 * i}), 0);
        assert_int_equal(cor_addr_set_add(&set, (struct cor_addr){i % 3, ip.lo + 17 * i}), 0);
    }
    for (uint64_t i = 0; i < 1000; i += 2)
        cor_addr_set_remove(&set, (struct cor_addr){i % 3, ip.lo + 17 * i});
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(cor_addr_set_has(&set, (struct cor_addr){i % 3, ip.lo + 17 * i}), i % 2);
    assert_false(cor_addr_set_has(&set, first));
    assert_int_equal(cor_addr_set_add(&set, first), 0);
    assert_true(cor_addr_set_has(&set, first));
    cor_addr_set_clear(&set);
    assert_false(cor_addr_set_has(&set, first));
}

TEST(addr_set, drops_its_empty_pages_when_it_grows)
{
    struct cor_addr_set set = {.seed = 1};

    for (uint64_t i = 1; i < 100000; i++) {
        assert_int_equal(cor_addr_set_add(&set, (struct cor_addr){0, 64 * i}), 0);
        cor_addr_set_remove(&set, (struct cor_addr){0, 64 * i});
    }
    assert_true(set.cap <= 64);
    cor_addr_set_clear(&set);
}

static void open_index(struct cor_address_index *index, const char *cidr, struct cor_rand *rand)
{
    struct cor_addr_range range;

    cor_rand_init_seeded(rand, 3);
    cor_address_index_init(index, 5);
    assert_int_equal(cor_addr_range_parse(cor_strz(cidr), &range), 0);
    assert_int_equal(cor_address_index_set_ranges(index, COR_STR("a"), &range, 1, true), 0);
}

/* Contract types 4.5.6. */
TEST(address_index, proposes_the_static_band_when_the_dynamic_one_is_full)
{
    struct cor_address_index index;
    struct cor_rand rand;
    struct cor_addr ip;

    open_index(&index, "10.0.0.0/24", &rand);
    for (unsigned i = 0; i < 238; i++) {
        assert_int_equal(cor_address_index_pick(&index, COR_IPV4, &rand, &ip), 0);
        assert_true((ip.lo & 0xff) >= 17 && (ip.lo & 0xff) <= 254);
        assert_int_equal(cor_address_index_add(&index, ip), 0);
    }
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(cor_address_index_pick(&index, COR_IPV4, &rand, &ip), 0);
        assert_true((ip.lo & 0xff) >= 1 && (ip.lo & 0xff) <= 16);
    }
    assert_int_equal(cor_address_index_pick(&index, COR_IPV4, &rand, &ip), -COR_ENOSPC);
    assert_int_equal(cor_address_index_pick(&index, COR_IPV6, &rand, &ip), -COR_ENOSPC);
    cor_address_index_give_back(&index, ip_of("10.0.0.7"));
    assert_int_equal(cor_address_index_pick(&index, COR_IPV4, &rand, &ip), 0);
    assert_true(cor_addr_eq(ip, ip_of("10.0.0.7")));
    cor_address_index_remove(&index, ip_of("10.0.0.200"));
    assert_int_equal(cor_address_index_pick(&index, COR_IPV4, &rand, &ip), 0);
    assert_true(cor_addr_eq(ip, ip_of("10.0.0.200")));
    cor_address_index_deinit(&index);
}

TEST(address_index, begins_its_search_at_random)
{
    struct cor_address_index index;
    struct cor_rand rand;
    struct cor_addr ip, last = {0, 0};
    unsigned neighbours = 0;

    open_index(&index, "fd00::/64", &rand);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(cor_address_index_pick(&index, COR_IPV6, &rand, &ip), 0);
        neighbours += ip.lo - last.lo < 1000;
        last = ip;
    }
    assert_int_equal(neighbours, 0);
    cor_address_index_deinit(&index);
}

TEST(address_index, knows_ranges_by_their_owners)
{
    struct cor_address_index index;
    struct cor_addr_range range;
    struct cor_rand rand;
    struct cor_addr ip;

    open_index(&index, "10.0.0.0/28", &rand);
    assert_int_equal(cor_addr_range_parse(COR_STR("10.0.0.0/28"), &range), 0);
    assert_int_equal(cor_address_index_set_ranges(&index, COR_STR("b"), &range, 1, false), 0);
    assert_int_equal(cor_address_index_set_ranges(&index, COR_STR("a"), NULL, 0, false), 0);
    assert_true(cor_address_index_is_known(&index, ip_of("10.0.0.3"), false));
    assert_false(cor_address_index_is_known(&index, ip_of("10.0.0.3"), true));
    assert_int_equal(cor_address_index_pick(&index, COR_IPV4, &rand, &ip), -COR_ENOSPC);
    assert_int_equal(cor_address_index_set_ranges(&index, COR_STR("b"), &range, 1, true), 0);
    assert_int_equal(cor_address_index_pick(&index, COR_IPV4, &rand, &ip), 0);
    assert_int_equal(cor_address_index_set_ranges(&index, COR_STR("b"), NULL, 0, true), 0);
    assert_false(cor_address_index_is_known(&index, ip_of("10.0.0.3"), false));
    cor_address_index_deinit(&index);
}

/* A watch that begins again does not make Services wait for a range. */
TEST(address_index, keeps_its_ranges_in_use_until_all_have_come_again)
{
    struct cor_address_index index;
    struct cor_addr_range first, second;
    struct cor_rand rand;
    struct cor_addr ip;

    open_index(&index, "10.0.0.0/28", &rand);
    assert_int_equal(cor_addr_range_parse(COR_STR("10.0.0.0/28"), &first), 0);
    assert_int_equal(cor_addr_range_parse(COR_STR("10.1.0.0/28"), &second), 0);
    assert_int_equal(cor_address_index_set_ranges(&index, COR_STR("b"), &second, 1, true), 0);
    cor_address_index_restart_ranges(&index);
    assert_int_equal(cor_address_index_pick(&index, COR_IPV4, &rand, &ip), 0);
    assert_true(cor_address_index_is_known(&index, ip_of("10.1.0.3"), true));
    assert_int_equal(cor_address_index_set_ranges(&index, COR_STR("a"), &first, 1, true), 0);
    cor_address_index_end_restart(&index);
    assert_true(cor_address_index_is_known(&index, ip_of("10.0.0.3"), true));
    assert_false(cor_address_index_is_known(&index, ip_of("10.1.0.3"), false));
    cor_address_index_deinit(&index);
}

TEST(address_index, stays_as_it_was_without_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_address_index index;
        struct cor_addr_range range;
        struct cor_rand rand;
        struct cor_addr ip;

        cor_rand_init_seeded(&rand, 3);
        cor_address_index_init(&index, 5);
        assert_int_equal(cor_addr_range_parse(COR_STR("10.0.0.0/30"), &range), 0);
        if (cor_address_index_set_ranges(&index, COR_STR("a"), &range, 1, true) == 0 &&
            cor_address_index_pick(&index, COR_IPV4, &rand, &ip) == 0 &&
            cor_address_index_add(&index, ip) == 0)
            assert_true(cor_address_index_has(&index, ip));
        cor_address_index_deinit(&index);
    }
}

TEST(address_index, keeps_the_ranges_of_an_owner_that_it_has_no_memory_for)
{
    struct cor_address_index index;
    struct cor_addr_range ranges[2];
    struct cor_rand rand;

    open_index(&index, "10.0.0.0/28", &rand);
    assert_int_equal(cor_addr_range_parse(COR_STR("10.0.0.0/28"), &ranges[0]), 0);
    assert_int_equal(cor_addr_range_parse(COR_STR("fd00::/112"), &ranges[1]), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        (void)cor_address_index_set_ranges(&index, COR_STR("a"), ranges, 2, true);
        assert_true(cor_address_index_is_known(&index, ip_of("10.0.0.3"), true));
    }
    assert_true(cor_address_index_is_known(&index, ip_of("fd00::3"), true));
    cor_address_index_deinit(&index);
}
