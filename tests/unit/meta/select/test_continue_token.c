#include "base/base64.h"
#include "base/err.h"
#include "meta/select/continue_token.h"
#include "test.h"

static void encode_json(const char *json, struct cor_buf *token)
{
    cor_buf_reset(token);
    assert_int_equal(cor_base64_encode(COR_BASE64_RAW_URL, cor_strz(json), token), 0);
}

TEST(continue_token, is_written_byte_for_byte_as_upstream_writes_it)
{
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    assert_int_equal(cor_continue_encode(COR_STR("/test/key"), COR_STR("/test/"), 1, &b, NULL), 0);
    assert_string_equal(cor_buf_z(&b),
                        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJrZXkifQ");
    cor_buf_reset(&b);
    assert_int_equal(cor_continue_encode_after(COR_STR("/registry/pods/default/web"),
                                               COR_STR("/registry/pods/"), 57, &b, NULL),
                     0);
    assert_string_equal(cor_buf_z(&b), "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NTcsInN0YXJ0IjoiZGVmYXV"
                                       "sdC93ZWJcdTAwMDAifQ");
    cor_buf_reset(&b);
    assert_int_equal(cor_continue_encode_after(COR_STR("/registry/pods/default/web"),
                                               COR_STR("/registry/pods/"), COR_CONTINUE_AT_LATEST,
                                               &b, NULL),
                     0);
    assert_string_equal(cor_buf_z(&b), "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiZGVmYXV"
                                       "sdC93ZWJcdTAwMDAifQ");
    cor_buf_deinit(&b);
}

TEST(continue_token, escapes_what_gos_encoder_escapes)
{
    struct cor_buf token, json;

    cor_buf_init(&token, 1000);
    cor_buf_init(&json, 1000);
    assert_int_equal(cor_continue_encode_after(COR_STR("/p/a<>&\"b\xe2\x80\xa8\xe2\x80\xaa"),
                                               COR_STR("/p/"), 57, &token, NULL),
                     0);
    assert_int_equal(cor_base64_decode(COR_BASE64_RAW_URL, cor_buf_str(&token), &json, NULL), 0);
    assert_string_equal(cor_buf_z(&json), "{\"v\":\"meta.k8s.io/v1\",\"rv\":57,\"start\":\"a\\u003c"
                                          "\\u003e\\u0026\\\"b\\u2028\xe2\x80\xaa\\u0000\"}");
    cor_buf_deinit(&token);
    cor_buf_deinit(&json);
}

TEST(continue_token, needs_a_key_below_its_prefix)
{
    struct cor_status st = {0};
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    assert_int_equal(cor_continue_encode(COR_STR("/other/key"), COR_STR("/test/"), 1, &b, &st),
                     -COR_EINVAL);
    assert_string_equal(cor_status_message(&st),
                        "unable to encode next field: the key and key prefix do not match");
    assert_int_equal(cor_continue_encode(COR_STR("/key"), COR_STR(""), 1, &b, &st), -COR_EINVAL);
    assert_int_equal(b.n, 0);
    cor_status_deinit(&st);
    cor_buf_deinit(&b);
}

TEST(continue_token, gives_back_key_and_revision)
{
    static const struct {
        const char *json;
        struct cor_str want;
        int64_t rev;
    } rows[] = {
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"key\"}", COR_STR("/test/key"), 1},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"/\"}", COR_STR("/test/"), 1},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":9,\"start\":\"/ns/key\"}", COR_STR("/test/ns/key"), 9},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":-1,\"start\":\"ns/key\\u0000\"}",
         COR_STR("/test/ns/key\0"), -1},
        {" {\"x\":[1],\"START\":\"key\",\"Rv\":2,\"V\":\"meta.k8s.io/v1\"} ", COR_STR("/test/key"),
         2},
        {"{\"v\":\"x\",\"v\":\"meta.k8s.io/v1\",\"rv\":null,\"rv\":3,\"start\":\"a\","
         "\"start\":\"b\"}",
         COR_STR("/test/b"), 3},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":9223372036854775807,\"start\":\"k\"}",
         COR_STR("/test/k"), INT64_MAX},
    };
    struct cor_buf token, start;

    cor_buf_init(&token, 1000);
    cor_buf_init(&start, 1000);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        int64_t rev;

        encode_json(rows[i].json, &token);
        cor_buf_reset(&start);
        assert_int_equal(
            cor_continue_decode(cor_buf_str(&token), COR_STR("/test/"), &start, &rev, NULL), 0);
        assert_true(cor_str_eq(cor_buf_str(&start), rows[i].want));
        assert_int_equal(rev, rows[i].rev);
    }
    cor_buf_deinit(&token);
    cor_buf_deinit(&start);
}

static void check_refused(struct cor_str token, const char *why)
{
    static const char prefix[] = "invalid continue token: continue key is not valid: ";
    struct cor_status st = {0};
    struct cor_buf start;
    int64_t rev;

    cor_buf_init(&start, 1000);
    assert_int_equal(cor_continue_decode(token, COR_STR("/test/"), &start, &rev, &st), -COR_EINVAL);
    assert_int_equal(st.code, 400);
    assert_string_equal(st.reason, "BadRequest");
    assert_memory_equal(cor_status_message(&st), prefix, sizeof(prefix) - 1);
    assert_string_equal(cor_status_message(&st) + sizeof(prefix) - 1, why);
    assert_int_equal(start.n, 0);
    cor_status_deinit(&st);
    cor_buf_deinit(&start);
}

TEST(continue_token, is_refused_when_its_content_is_wrong)
{
    static const char *const rows[][2] = {
        {"{\"v\":\"\",\"rv\":1,\"start\":\"key\"}",
         "server does not recognize this encoded version "},
        {"{\"v\":\"v1\",\"rv\":1,\"start\":\"key\"}",
         "server does not recognize this encoded version v1"},
        {"null", "server does not recognize this encoded version "},
        {"{}", "server does not recognize this encoded version "},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":0,\"start\":\"key\"}",
         "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"},
        {"{\"v\":\"meta.k8s.io/v1\",\"start\":\"key\"}",
         "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"\"}",
         "encoded start key empty (version meta.k8s.io/v1)"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"../key\"}", "../key"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"./key\"}", "./key"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"./../key\"}", "./../key"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"key/../..\"}", "key/../.."},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"a//b\"}", "a//b"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":\"a/\"}", "a/"},
    };
    struct cor_buf token;

    cor_buf_init(&token, 1000);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        encode_json(rows[i][0], &token);
        check_refused(cor_buf_str(&token), rows[i][1]);
    }
    cor_buf_deinit(&token);
}

TEST(continue_token, is_refused_in_the_words_of_gos_decoders)
{
    static const char *const rows[][2] = {
        {"", "unexpected end of JSON input"},
        {"{\"v\":", "unexpected end of JSON input"},
        {"xyz", "invalid character 'x' looking for beginning of value"},
        {"{} x", "invalid character 'x' after top-level value"},
        {"[]", "json: cannot unmarshal array into Go value of type storage.continueToken"},
        {"\"a\"", "json: cannot unmarshal string into Go value of type storage.continueToken"},
        {"{\"v\":1}",
         "json: cannot unmarshal number into Go struct field continueToken.v of type string"},
        {"{\"start\":{}}",
         "json: cannot unmarshal object into Go struct field continueToken.start of type string"},
        {"{\"rv\":\"1\"}",
         "json: cannot unmarshal string into Go struct field continueToken.rv of type int64"},
        {"{\"rv\":1.5}",
         "json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64"},
        {"{\"rv\":9223372036854775808}",
         "json: cannot unmarshal number 9223372036854775808 into Go struct field continueToken.rv "
         "of type int64"},
    };
    struct cor_buf token;

    cor_buf_init(&token, 1000);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        encode_json(rows[i][0], &token);
        check_refused(cor_buf_str(&token), rows[i][1]);
    }
    cor_buf_deinit(&token);
    check_refused(COR_STR("abc$"), "illegal base64 data at input byte 3");
    check_refused(COR_STR("eyJ2Ijoi="), "illegal base64 data at input byte 8");
}

TEST(continue_token, out_of_memory_changes_nothing)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status st = {0};
        struct cor_buf token, start;
        int64_t rev = 0;
        int r;

        cor_buf_init(&token, 1000);
        cor_buf_init(&start, 1000);
        r = cor_continue_encode_after(COR_STR("/p/a"), COR_STR("/p/"), 5, &token, &st);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(st.err, r);
        assert_true(r == 0 || token.n == 0);
        /* What a failure has taken is given back, so that the second call may succeed. */
        cor_status_deinit(&st);
        r = cor_continue_decode(
            COR_STR("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJrZXkifQ"), COR_STR("/p/"),
            &start, &rev, &st);
        assert_int_equal(st.err, r);
        if (r == 0) {
            assert_str(cor_buf_str(&start), "/p/key");
            assert_int_equal(rev, 1);
        } else {
            assert_int_equal(r, -COR_ENOMEM);
            assert_int_equal(start.n, 0);
        }
        cor_status_deinit(&st);
        cor_buf_deinit(&token);
        cor_buf_deinit(&start);
    }
}
