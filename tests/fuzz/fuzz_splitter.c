/* Promises of the splitter: however the input is cut, the same values come out and the same verdict
 * is given; no value is empty, and none is longer than the maximum. */
#include "base/err.h"
#include "fuzz.h"
#include "json/splitter.h"

#define VALUE_MAX 256
#define LOG_MAX   (1u << 22)

static int note_value(void *arg, struct cor_str value)
{
    FUZZ_CHECK(value.n > 0 && value.n <= VALUE_MAX);
    FUZZ_CHECK(cor_buf_addf(arg, "<%zu:", value.n) == 0);
    return cor_buf_adds(arg, value);
}

static int note_member(void *arg, struct cor_str raw_key, struct cor_str value)
{
    FUZZ_CHECK(value.n > 0 && value.n <= VALUE_MAX);
    FUZZ_CHECK(cor_buf_addf(arg, "=%zu:", raw_key.n) == 0);
    FUZZ_CHECK(cor_buf_adds(arg, raw_key) == 0);
    return cor_buf_adds(arg, value);
}

static const struct cor_json_splitter_cbs cbs = {note_value, note_member};

static int split(enum cor_json_split kind, struct cor_str in, size_t step, struct cor_buf *log)
{
    struct cor_json_splitter s;
    int r = 0;

    cor_json_splitter_init(&s, kind, VALUE_MAX, &cbs, log);
    while (r == 0 && in.n > 0) {
        size_t n = in.n < step ? in.n : step;

        r = cor_json_splitter_feed(&s, cor_str(in.p, n));
        in = cor_str_from(in, n);
    }
    if (r == 0)
        r = cor_json_splitter_end(&s);
    cor_json_splitter_deinit(&s);
    return r;
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    struct cor_buf whole, parts;

    for (int kind = COR_JSON_SPLIT_DOCUMENTS; kind <= COR_JSON_SPLIT_ITEMS; kind++) {
        for (size_t step = 1; step < 8; step += 3) {
            int a, b;

            cor_buf_init(&whole, LOG_MAX);
            cor_buf_init(&parts, LOG_MAX);
            a = split(kind, in, size ? size : 1, &whole);
            b = split(kind, in, step, &parts);
            FUZZ_CHECK(a == b);
            FUZZ_CHECK(a == 0 || a == -COR_EINVAL || a == -COR_ETOOBIG);
            FUZZ_CHECK(cor_str_eq(cor_buf_str(&whole), cor_buf_str(&parts)));
            cor_buf_deinit(&whole);
            cor_buf_deinit(&parts);
        }
    }
    return 0;
}
