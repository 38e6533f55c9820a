/* Promises of the JSON reader: the check agrees with yyjson on what is JSON and with the writer on
 * what is canonical; the canonical form is a fixed point; the scanner sees what the tree sees. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "json/text/json_int.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define OUT_MAX (1u << 24)

static const struct cor_json_limits limits = {
    .bytes_max = 1u << 22, .depth_max = 200, .any_number = true};
static const struct cor_json_limits strict = {.bytes_max = 1u << 22, .depth_max = 200};

/* Writes a value again from what the scanner tells of it. */
static void rebuild(struct cor_json_writer *w, struct cor_str value, unsigned depth)
{
    struct cor_json_iter it = cor_json_iter(value);
    struct cor_str raw, text;
    char buf[4096];

    switch (depth > 1000 ? COR_JSON_NULL : cor_json_type(value)) {
    case COR_JSON_OBJECT:
        cor_json_begin_object(w);
        while (cor_json_iter_member(&it, &raw)) {
            if (cor_json_unescape(raw, buf, sizeof(buf), &text) == 0)
                cor_json_key(w, text);
            else
                cor_json_raw(w, COR_STR("0"));
            rebuild(w, cor_json_iter_value(&it), depth + 1);
        }
        cor_json_end_object(w);
        break;
    case COR_JSON_ARRAY:
        cor_json_begin_array(w);
        while (cor_json_iter_elem(&it))
            rebuild(w, cor_json_iter_value(&it), depth + 1);
        cor_json_end_array(w);
        break;
    case COR_JSON_STRING:
        if (cor_json_to_raw(value, &raw) == 0 &&
            cor_json_unescape(raw, buf, sizeof(buf), &text) == 0) {
            cor_json_string(w, text);
            break;
        }
        /* fall through */
    default:
        cor_json_raw(w, value);
    }
}

static void check_scanner(struct cor_str canonical)
{
    struct cor_json_writer w;
    struct cor_buf again;

    cor_buf_init(&again, OUT_MAX);
    cor_json_writer_init(&w, &again);
    rebuild(&w, cor_json_first_value(canonical), 0);
    FUZZ_CHECK(cor_json_writer_finish(&w) == 0);
    if (canonical.n < 4096)
        FUZZ_CHECK(cor_str_eq(cor_buf_str(&again), canonical));
    cor_buf_deinit(&again);
}

static void check_canonical(struct cor_str in, const struct cor_json_traits *traits)
{
    struct cor_json_dups dups;
    struct cor_buf out, again;
    bool canonical;

    cor_json_dups_init(&dups);
    cor_buf_init(&out, OUT_MAX);
    cor_buf_init(&again, OUT_MAX);
    FUZZ_CHECK(cor_json_rewrite(in, traits, &limits, &out, &dups) == 0);
    FUZZ_CHECK(out.n <= in.n);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&out), in) == traits->canonical);
    FUZZ_CHECK(!traits->canonical || dups.n == 0);
    for (size_t i = 1; i < dups.n; i++)
        FUZZ_CHECK(dups.v[i - 1].offset < dups.v[i].offset);
    FUZZ_CHECK(cor_json_check(cor_buf_str(&out), &limits, &canonical, NULL) == 0 && canonical);
    FUZZ_CHECK(cor_json_rewrite(cor_buf_str(&out), &(struct cor_json_traits){true, false}, &limits,
                                &again, NULL) == 0);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&out), cor_buf_str(&again)));
    check_scanner(cor_buf_str(&out));
    cor_json_dups_deinit(&dups);
    cor_buf_deinit(&out);
    cor_buf_deinit(&again);
}

/* yyjson refuses a number that no double holds too, as it does a lone surrogate. */
static void check_numbers(struct cor_str in, const struct cor_json_traits *traits)
{
    yyjson_doc *tree = yyjson_read_opts((char *)in.p, in.n, 0, &cor_json_alc, NULL);
    struct cor_str number;
    bool canonical;
    bool is_strict = cor_json_check(in, &strict, &canonical, NULL) == 0;

    FUZZ_CHECK(cor_json_find_huge(in, &number) == (is_strict ? -COR_ENOTFOUND : 0));
    FUZZ_CHECK(is_strict || (number.p >= in.p && number.p + number.n <= in.p + in.n));
    FUZZ_CHECK(traits->lone_surrogate || (tree != NULL) == is_strict);
    yyjson_doc_free(tree);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    struct cor_json_error err;
    struct cor_json_traits traits;
    struct cor_json_writer w;
    struct cor_buf any;
    yyjson_doc *tree;

    if (cor_json_check_traits(in, &limits, &traits, &err) == 0) {
        check_canonical(in, &traits);
        check_numbers(in, &traits);
    } else {
        FUZZ_CHECK(err.offset <= size && err.message[0]);
        tree = yyjson_read_opts((char *)data, size, 0, &cor_json_alc, NULL);
        FUZZ_CHECK(!tree || strstr(err.message, "exceeded max depth"));
        yyjson_doc_free(tree);
    }

    cor_buf_init(&any, OUT_MAX);
    cor_json_writer_init(&w, &any);
    rebuild(&w, cor_json_first_value(in), 0);
    cor_buf_deinit(&any);
    return 0;
}
