#include "test.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "server/alloc/port_map.h"

static struct cor_port_range range_of(const char *text)
{
    struct cor_port_range range;

    if (cor_port_range_parse(cor_strz(text), &range) < 0)
        fail_msg("%s", text);
    return range;
}

TEST(port_range, is_read_as_upstream_reads_it)
{
    static const char *const bad[] = {"", "a", "0-10", "10-9", "1-65536", "1-", "-5", "65535+1"};
    char out[COR_PORT_RANGE_TEXT_MAX];
    struct cor_port_range range;

    assert_str(cor_port_range_print(range_of("30000-32767"), out), "30000-32767");
    assert_str(cor_port_range_print(range_of("30000+100"), out), "30000-30100");
    assert_str(cor_port_range_print(range_of("30000"), out), "30000-30000");
    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++)
        if (cor_port_range_parse(cor_strz(bad[i]), &range) == 0)
            fail_msg("%s", bad[i]);
}

/* Contract types 4.5.7: min(max(16, size/32), 128). */
TEST(port_range, has_a_static_band_of_upstreams_size)
{
    assert_int_equal(cor_port_range_dynamic(range_of("30000-32767")), 30086);
    assert_int_equal(cor_port_range_dynamic(range_of("30000-30015")), 30000);
    assert_int_equal(cor_port_range_dynamic(range_of("30000-30016")), 30016);
    assert_int_equal(cor_port_range_dynamic(range_of("1-65535")), 129);
}

TEST(port_map, proposes_the_static_band_when_the_dynamic_one_is_full)
{
    struct cor_port_range range = range_of("30000-30099");
    struct cor_port_map map = {{0}};
    struct cor_rand rand;

    cor_rand_init_seeded(&rand, 1);
    for (unsigned i = 0; i < 100; i++) {
        uint32_t port = cor_port_map_next(&map, range, &rand);

        assert_true(i < 84 ? port >= 30016 && port <= 30099 : port >= 30000 && port < 30016);
        assert_false(cor_port_map_has(&map, port));
        cor_port_map_set(&map, port);
    }
    assert_int_equal(cor_port_map_next(&map, range, &rand), 0);
}

static const char *written(const struct cor_port_map *map, struct cor_port_range range)
{
    static char text[16 * 1024];
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};

    cor_buf_init(&json, sizeof(text) - 1);
    assert_int_equal(cor_port_map_write(map, range, &json), 0);
    memcpy(text, cor_buf_z(&json), json.n + 1);
    return text;
}

/* The bytes are those of Go's big.Int: big-endian, without zeros in front. */
TEST(port_map, is_stored_as_upstream_stores_it)
{
    struct cor_port_range range = range_of("30000-32767"), read_range;
    struct cor_port_map map = {{0}}, read;

    assert_string_equal(written(&map, range), "{\"kind\":\"RangeAllocation\",\"apiVersion\":\"v1\","
                                              "\"data\":\"\",\"metadata\":{},"
                                              "\"range\":\"30000-32767\"}");
    cor_port_map_set(&map, 30000);
    cor_port_map_set(&map, 30009);
    cor_port_map_set(&map, 29999);
    assert_non_null(strstr(written(&map, range), "\"data\":\"AgE=\""));
    cor_port_map_set(&map, 32767);
    assert_int_equal(cor_port_map_read(cor_strz(written(&map, range)), &read_range, &read), 0);
    assert_int_equal(read_range.first, 30000);
    cor_port_map_clear(&map, 29999);
    assert_memory_equal(&read, &map, sizeof(map));
}

TEST(port_map, refuses_an_object_that_it_cannot_read)
{
    static const char *const bad[] = {"{}", "{\"range\":1}", "{\"range\":\"x\"}",
                                      "{\"data\":\"!\",\"range\":\"1-2\"}"};
    struct cor_port_range range;
    struct cor_port_map map;

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++)
        assert_int_equal(cor_port_map_read(cor_strz(bad[i]), &range, &map), -COR_ECORRUPT);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_port_map_read(COR_STR("{\"data\":\"AQ==\",\"range\":\"1-2\"}"), &range, &map);

        assert_true(r == -COR_ENOMEM || (r == 0 && cor_port_map_has(&map, 1)));
    }
}
