#include "base/base64.h"
#include "base/err.h"
#include "test.h"

/* What Go's StdEncoding and RawURLEncoding give: -1 accepted, else the byte they complain
 * about. */
static const struct {
    const char *in;
    int std, raw_url;
} go[] = {
    {"", -1, -1},      {"\n", -1, -1},        {"AAA=\n", -1, 3}, {"AAAA\n", -1, -1},
    {"!!!!", 0, 0},    {"====", 0, 0},        {"x===", 1, 1},    {"=AAA", 0, 0},
    {"A=AA", 1, 1},    {"AA=A", 2, 2},        {"AA==A", 4, 2},   {"AAA=AAAA", 4, 3},
    {"AAAAA", 4, 4},   {"AAAAAA", 4, -1},     {"A=", 1, 1},      {"A==", 1, 1},
    {"AA=", 3, 2},     {"AA==", -1, 2},       {"AAA=", -1, 3},   {"AAAA", -1, -1},
    {"AAAAAA=", 7, 6}, {"YWJjZA=====", 8, 6}, {"A!\n", 1, 1},    {"A=\n", 1, 1},
    {"A\n", 1, 1},     {"AA=\nA", 3, 2},      {"A\nA==", -1, 3}, {"Zm9v\nYmE=", -1, 8},
    {"AB==", -1, 2},
};

static void check_decode(enum cor_base64 kind, const char *in, int complaint)
{
    struct cor_buf out;
    size_t at = 99;
    int r;

    cor_buf_init(&out, 100);
    cor_buf_addz(&out, "kept");
    r = cor_base64_decode(kind, cor_strz(in), &out, &at);
    assert_int_equal(r, complaint < 0 ? 0 : -COR_EINVAL);
    assert_int_equal(at, complaint < 0 ? 99 : complaint);
    if (r < 0)
        assert_str(cor_buf_str(&out), "kept");
    cor_buf_deinit(&out);
}

TEST(base64, refuses_what_go_refuses_at_the_same_byte)
{
    for (size_t i = 0; i < sizeof(go) / sizeof(go[0]); i++) {
        check_decode(COR_BASE64_STD, go[i].in, go[i].std);
        check_decode(COR_BASE64_RAW_URL, go[i].in, go[i].raw_url);
    }
}

/* The examples of RFC 4648. */
TEST(base64, encodes_and_decodes_the_rfc_examples)
{
    static const char *const rfc[][3] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xfb\xff\xfe\x01", "+//+AQ==", "-__-AQ"},
    };
    struct cor_buf b;

    cor_buf_init(&b, 100);
    for (size_t i = 0; i < sizeof(rfc) / sizeof(rfc[0]); i++) {
        for (int kind = COR_BASE64_STD; kind <= COR_BASE64_RAW_URL; kind++) {
            const char *coded = rfc[i][1 + kind];

            cor_buf_reset(&b);
            assert_int_equal(cor_base64_encode(kind, cor_strz(rfc[i][0]), &b), 0);
            assert_str(cor_buf_str(&b), coded);
            cor_buf_reset(&b);
            assert_int_equal(cor_base64_decode(kind, cor_strz(coded), &b, NULL), 0);
            assert_str(cor_buf_str(&b), rfc[i][0]);
        }
    }
    cor_buf_deinit(&b);
}

TEST(base64, the_alphabets_do_not_mix)
{
    check_decode(COR_BASE64_STD, "AA-_", 2);
    check_decode(COR_BASE64_RAW_URL, "AA+/", 2);
}

TEST(base64, any_bytes_survive_the_way_there_and_back)
{
    struct cor_buf coded, plain;
    char in[70];

    cor_buf_init(&coded, 1000);
    cor_buf_init(&plain, 1000);
    for (size_t n = 0; n < sizeof(in); n++) {
        for (size_t i = 0; i < n; i++)
            in[i] = (char)test_random();
        for (int kind = COR_BASE64_STD; kind <= COR_BASE64_RAW_URL; kind++) {
            cor_buf_reset(&coded);
            cor_buf_reset(&plain);
            assert_int_equal(cor_base64_encode(kind, cor_str(in, n), &coded), 0);
            assert_int_equal(cor_base64_decode(kind, cor_buf_str(&coded), &plain, NULL), 0);
            assert_true(cor_str_eq(cor_buf_str(&plain), cor_str(in, n)));
        }
    }
    cor_buf_deinit(&coded);
    cor_buf_deinit(&plain);
}

TEST(base64, leaves_the_output_as_it_was_when_it_does_not_fit)
{
    struct cor_buf b;

    cor_buf_init(&b, 6);
    assert_int_equal(cor_buf_addz(&b, "abc"), 0);
    assert_int_equal(cor_base64_encode(COR_BASE64_STD, COR_STR("x"), &b), -COR_ETOOBIG);
    assert_int_equal(cor_base64_encode(COR_BASE64_RAW_URL, COR_STR("xyz"), &b), -COR_ETOOBIG);
    assert_int_equal(cor_base64_decode(COR_BASE64_STD, COR_STR("AAAAAAAA"), &b, NULL),
                     -COR_ETOOBIG);
    assert_str(cor_buf_str(&b), "abc");
    assert_int_equal(cor_base64_encode(COR_BASE64_RAW_URL, COR_STR("xy"), &b), 0);
    assert_str(cor_buf_str(&b), "abceHk");
    cor_buf_deinit(&b);
}

TEST(base64, leaves_the_output_as_it_was_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf b;
        int r;

        cor_buf_init(&b, 1000);
        r = cor_base64_encode(COR_BASE64_STD, COR_STR("some bytes"), &b);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_string_equal(cor_buf_z(&b), r == 0 ? "c29tZSBieXRlcw==" : "");
        cor_buf_deinit(&b);
        cor_buf_init(&b, 1000);
        r = cor_base64_decode(COR_BASE64_STD, COR_STR("c29tZSBieXRlcw=="), &b, NULL);
        assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
        assert_string_equal(cor_buf_z(&b), r == 0 ? "some bytes" : "");
        cor_buf_deinit(&b);
    }
}
