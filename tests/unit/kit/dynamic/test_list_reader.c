/* Lists that are wrong at one place, wherever it is, and lists that are cut at every place. */
#include "kit/dynamic/list_reader.h"

#include "base/err.h"
#include "test.h"
#include "json/text/json.h"

#define LOG_MAX (1u << 20)

/* Strings with what ends values elsewhere, escapes, members in any order, and all kinds of values.
 */
static const char good[] =
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\","
    "\"continue\":\"c\",\"remainingItemCount\":2},\"x\":[1,-2.5e3,true,null,\"\\u00e9\"], \"items\" :"
    "[{\"metadata\":{\"name\":\"a}],\",\"resourceVersion\":\"3\"},\"s\":\"\\\\\\\"{[\"},\n{\"spec\":{"
    "\"n\":[[],{}]},\"metadata\":{\"name\":\"b\",\"labels\":{\"z\":\"1\",\"a\":\"2\"}},\"kind\":"
    "\"Pod\",\"apiVersion\":\"v1\"}],\"y\\n\":{\"a\":\"\xc3\xa9\"}} ";

/* Keeps the bytes of an object, which must be JSON whatever the list is. */
static int on_item(void *arg, struct cor_object *object)
{
    const struct cor_json_limits limits = {LOG_MAX, COR_JSON_DEPTH_MAX, true};
    bool is_canonical;

    if (cor_json_check(cor_object_json(object), &limits, &is_canonical, NULL) < 0)
        fail_msg("an object is no JSON: %.*s", COR_STR_ARG(cor_object_json(object)));
    assert_int_equal(cor_buf_adds(arg, cor_object_json(object)), 0);
    return 0;
}

/* Reads the list in pieces of `first` bytes and then of `step`. */
static int read_list(struct cor_str text, size_t first, size_t step, struct cor_buf *log)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_list_reader lr;
    size_t n = first < text.n ? first : text.n;
    int r;

    cor_list_reader_init(&lr, on_item, log);
    r = cor_list_reader_feed(&lr, cor_str(text.p, n), &why);
    for (size_t at = n; r == 0 && at < text.n; at += step)
        r = cor_list_reader_feed(&lr, cor_str(text.p + at, text.n - at < step ? text.n - at : step),
                                 &why);
    if (r == 0)
        r = cor_list_reader_end(&lr, &why);
    assert_int_equal(r, why.err);
    if (r == 0) {
        struct cor_list_meta meta = cor_list_reader_meta(&lr);

        assert_int_equal(cor_buf_addf(log, "%.*s %.*s %lld", COR_STR_ARG(meta.resource_version),
                                      COR_STR_ARG(meta.continue_token), (long long)meta.remaining),
                         0);
    }
    cor_list_reader_deinit(&lr);
    return r;
}

TEST(list_reader, reads_the_same_wherever_the_list_is_cut)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {.max = LOG_MAX};
    struct cor_str text = COR_STR(good);

    assert_int_equal(read_list(text, text.n, 1, &whole), 0);
    for (size_t at = 0; at <= text.n; at++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf cut = {.max = LOG_MAX};

        assert_int_equal(read_list(text, at, text.n, &cut), 0);
        assert_true(cor_str_eq(cor_buf_str(&whole), cor_buf_str(&cut)));
        cor_buf_reset(&cut);
        assert_int_equal(read_list(text, at, 1, &cut), 0);
        assert_true(cor_str_eq(cor_buf_str(&whole), cor_buf_str(&cut)));
    }
}

/* What is no JSON is refused, in one piece and in many; the objects that were given before are. */
static void read_wrong(struct cor_str text)
{
    const struct cor_json_limits limits = {LOG_MAX, COR_JSON_DEPTH_MAX, true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {.max = LOG_MAX}, cut = {.max = LOG_MAX};
    bool is_canonical, is_json = cor_json_check(text, &limits, &is_canonical, NULL) == 0;
    int r = read_list(text, text.n, 1, &whole);

    if (r == 0 && !is_json)
        fail_msg("is read, and is no JSON: %.*s", COR_STR_ARG(text));
    assert_true(r == 0 || r == -COR_EPROTOCOL || r == -COR_ETOOBIG);
    assert_int_equal(read_list(text, 5, 3, &cut), r);
    if (!cor_str_eq(cor_buf_str(&whole), cor_buf_str(&cut)))
        fail_msg("is read in two ways: %.*s", COR_STR_ARG(text));
}

TEST(list_reader, refuses_what_is_no_json_at_any_place)
{
    static const char others[] = "\"\\{}[]:,x0 \n\0\x01\xff\xc3";
    struct cor_str text = COR_STR(good);
    char wrong[sizeof(good) + 1];

    for (size_t at = 0; at < text.n; at++) {
        memcpy(wrong, good, at);
        memcpy(wrong + at, good + at + 1, text.n - at - 1);
        read_wrong(cor_str(wrong, text.n - 1));
        read_wrong(cor_str(good, at));
        for (size_t i = 0; i + 1 < sizeof(others); i++) {
            memcpy(wrong, good, text.n);
            wrong[at] = others[i];
            read_wrong(cor_str(wrong, text.n));
            memcpy(wrong + at + 1, good + at, text.n - at);
            read_wrong(cor_str(wrong, text.n + 1));
        }
    }
}
