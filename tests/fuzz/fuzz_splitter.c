/* Promises of the splitter: however the input is cut, the same values come out and the same verdict
 * is given; one that does not check takes all that one that checks does; no value is empty, and
 * none is longer than the maximum. What it says of a checked item is what a check of its own says,
 * and the members that it gives when it checks are JSON. */
#include "base/err.h"
#include "fuzz.h"
#include "json/text/json.h"
#include "json/text/splitter.h"

#define VALUE_MAX 256
#define LOG_MAX   (1u << 22)

struct run {
    struct cor_json_splitter s;
    struct cor_buf *log;
};

static int note_value(void *arg, struct cor_str value)
{
    const struct cor_json_limits limits = {VALUE_MAX, COR_JSON_DEPTH_MAX, true};
    struct run *run = arg;
    bool is_canonical;

    FUZZ_CHECK(value.n > 0 && value.n <= VALUE_MAX);
    if (run->s.is_checked) {
        FUZZ_CHECK(cor_json_check(value, &limits, &is_canonical, NULL) == 0);
        FUZZ_CHECK(is_canonical == run->s.is_canonical);
    }
    FUZZ_CHECK(cor_buf_addf(run->log, "<%zu:", value.n) == 0);
    return cor_buf_adds(run->log, value);
}

static int note_member(void *arg, struct cor_str raw_key, struct cor_str value)
{
    const struct cor_json_limits limits = {VALUE_MAX, COR_JSON_DEPTH_MAX, true};
    struct run *run = arg;
    bool is_canonical;

    FUZZ_CHECK(value.n > 0 && value.n <= VALUE_MAX);
    FUZZ_CHECK(!run->s.checks || cor_json_check(value, &limits, &is_canonical, NULL) == 0);
    FUZZ_CHECK(cor_buf_addf(run->log, "=%zu:", raw_key.n) == 0);
    FUZZ_CHECK(cor_buf_adds(run->log, raw_key) == 0);
    return cor_buf_adds(run->log, value);
}

static const struct cor_json_splitter_cbs cbs = {note_value, note_member};

static int split(enum cor_json_split kind, struct cor_str in, size_t step, bool checks,
                 struct cor_buf *log)
{
    struct run run = {.log = log};
    int r = 0;

    cor_json_splitter_init(&run.s, kind, VALUE_MAX, &cbs, &run);
    run.s.checks = checks;
    while (r == 0 && in.n > 0) {
        size_t n = in.n < step ? in.n : step;

        r = cor_json_splitter_feed(&run.s, cor_str(in.p, n));
        in = cor_str_from(in, n);
    }
    if (r == 0)
        r = cor_json_splitter_end(&run.s);
    cor_json_splitter_deinit(&run.s);
    return r;
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    struct cor_buf whole, parts, unchecked;

    for (int kind = COR_JSON_SPLIT_DOCUMENTS; kind <= COR_JSON_SPLIT_ITEMS; kind++) {
        for (size_t step = 1; step < 8; step += 3) {
            int a, b, c;

            cor_buf_init(&whole, LOG_MAX);
            cor_buf_init(&parts, LOG_MAX);
            cor_buf_init(&unchecked, LOG_MAX);
            a = split(kind, in, size ? size : 1, true, &whole);
            b = split(kind, in, step, true, &parts);
            c = split(kind, in, step, false, &unchecked);
            FUZZ_CHECK(a == b);
            FUZZ_CHECK(a == 0 || a == -COR_EINVAL || a == -COR_ETOOBIG);
            FUZZ_CHECK(cor_str_eq(cor_buf_str(&whole), cor_buf_str(&parts)));
            FUZZ_CHECK(c == a || a == -COR_EINVAL);
            FUZZ_CHECK(cor_str_starts(cor_buf_str(&unchecked), cor_buf_str(&whole)));
            cor_buf_deinit(&whole);
            cor_buf_deinit(&parts);
            cor_buf_deinit(&unchecked);
        }
    }
    return 0;
}
