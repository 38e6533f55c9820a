/* Input: a query, a newline, JSON. Whatever the bytes are, a result is a value inside of the JSON
 * or a literal, and nothing outside of them is read. */
#include "base/err.h"
#include "fuzz.h"
#include "json/path/query.h"
#include "json/text/json.h"

static const struct cor_json_limits limits = {.bytes_max = 1u << 20, .depth_max = 200};

static void evaluate(const struct cor_json_query *query, struct cor_str in)
{
    struct cor_json_result result;
    struct cor_work work = cor_work_new(false);
    struct cor_buf json;
    bool canonical;
    int r;

    cor_buf_init(&json, 1u << 20);
    if (cor_json_canonicalize(in, &limits, &json, NULL, NULL) == 0) {
        r = cor_json_query_first(query, cor_buf_str(&json), &work, &result);
        FUZZ_CHECK(r == 0 || r == -COR_ENOTFOUND);
        if (r == 0 && result.kind == COR_JSON_RESULT_JSON) {
            FUZZ_CHECK(result.text.p >= json.p && result.text.p + result.text.n <= json.p + json.n);
            FUZZ_CHECK(cor_json_check(result.text, &limits, &canonical, NULL) == 0);
        }
    }
    cor_buf_deinit(&json);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str json = cor_str((const char *)data, size);
    struct cor_str text = cor_str_cut(&json, '\n');
    const struct cor_json_query *query;
    struct cor_json_result result;
    struct cor_work work = cor_work_new(false);
    struct cor_json_error err;
    struct cor_arena arena;
    int r;

    cor_arena_init(&arena, 4u << 20);
    r = cor_json_query_new(&arena, text, &query, &err);
    if (r < 0) {
        FUZZ_CHECK(err.offset <= text.n && err.message[0]);
    } else if (json.p) {
        evaluate(query, json);
        r = cor_json_query_first(query, json, &work, &result);
        FUZZ_CHECK(r == 0 || r == -COR_ENOTFOUND);
    }
    cor_arena_deinit(&arena);
    return 0;
}
