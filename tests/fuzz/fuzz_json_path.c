/* Input: a path, a newline, JSON. A path that compiles finds the same in canonical bytes whether it
 * may rely on their order or not, matches are values, and no bytes lead it outside of them. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "json/path/path.h"

static const struct cor_json_limits limits = {.bytes_max = 1u << 22, .depth_max = 200};

struct matches {
    struct cor_str within;
    struct cor_str first;
    size_t n;
    uint64_t places;
};

static bool on_match(struct cor_str value, void *arg)
{
    struct matches *m = arg;
    bool canonical;

    FUZZ_CHECK(value.p >= m->within.p && value.p + value.n <= m->within.p + m->within.n);
    FUZZ_CHECK(cor_json_check(value, &limits, &canonical, NULL) == 0);
    if (m->n++ == 0)
        m->first = value;
    m->places = m->places * 31 + (uint64_t)(value.p - m->within.p);
    return m->n < 1000;
}

static bool ignore_match(__attribute__((unused)) struct cor_str value, void *arg)
{
    return ++*(size_t *)arg < 1000;
}

static void evaluate(const struct cor_json_path *path, struct cor_str in)
{
    struct matches any = {0}, sorted = {0};
    struct cor_buf json;
    struct cor_str first;
    int r;

    cor_buf_init(&json, 1u << 22);
    if (cor_json_canonicalize(in, &limits, &json, NULL, NULL) == 0) {
        any.within = sorted.within = cor_buf_str(&json);
        cor_json_path_each(path, cor_buf_str(&json), COR_JSON_ANY_ORDER, on_match, &any);
        cor_json_path_each(path, cor_buf_str(&json), COR_JSON_SORTED, on_match, &sorted);
        FUZZ_CHECK(any.n == sorted.n && any.places == sorted.places);
        r = cor_json_path_first(path, cor_buf_str(&json), COR_JSON_SORTED, &first);
        FUZZ_CHECK(r == (any.n ? 0 : -COR_ENOTFOUND));
        FUZZ_CHECK(r < 0 || cor_str_eq(first, any.first));
    }
    cor_buf_deinit(&json);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str json = cor_str((const char *)data, size);
    struct cor_str text = cor_str_cut(&json, '\n');
    struct cor_json_path *path = NULL;
    struct cor_json_error err;
    size_t n = 0;
    int r = cor_json_path_new(text, &path, &err);

    if (r < 0) {
        FUZZ_CHECK(err.offset <= text.n && err.message[0]);
        return 0;
    }
    if (json.p) {
        evaluate(path, json);
        cor_json_path_each(path, json, COR_JSON_ANY_ORDER, ignore_match, &n);
    }
    cor_json_path_free(path);
    return 0;
}
