/* Promises of the YAML reader and writer: what is accepted is JSON (but for its depth); writing it
 * as YAML and reading that again settles; its lines are known; a refusal has words and leaves
 * nothing. */
#include "base/err.h"
#include "codec/yaml.h"
#include "codec/yaml_lines.h"
#include "fuzz.h"
#include "json/text/json.h"

#define OUT_MAX (1u << 24)

static const struct cor_json_limits limits = {.bytes_max = OUT_MAX,
                                              .depth_max = COR_JSON_DEPTH_MAX};

/* Through YAML and back, canonical. */
static void travel(struct cor_str json, struct cor_buf *out)
{
    struct cor_buf yaml, again;

    cor_buf_init(&yaml, OUT_MAX);
    cor_buf_init(&again, OUT_MAX);
    FUZZ_CHECK(cor_yaml_from_json(json, &yaml) == 0);
    FUZZ_CHECK(cor_yaml_to_json(cor_buf_str(&yaml), &again, NULL, NULL) == 0);
    FUZZ_CHECK(cor_json_canonicalize(cor_buf_str(&again), &limits, out, NULL, NULL) == 0);
    cor_buf_deinit(&yaml);
    cor_buf_deinit(&again);
}

/* The first journey may change how a number is written (-0, 1e3), the second nothing. */
static void check_round_trip(struct cor_str json)
{
    struct cor_buf once, twice;

    cor_buf_init(&once, OUT_MAX);
    cor_buf_init(&twice, OUT_MAX);
    travel(json, &once);
    travel(cor_buf_str(&once), &twice);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&once), cor_buf_str(&twice)));
    cor_buf_deinit(&once);
    cor_buf_deinit(&twice);
}

/* Where things are is known of whatever is YAML. */
static void check_lines(struct cor_str text)
{
    struct cor_yaml_lines *lines;

    FUZZ_CHECK(cor_yaml_lines_read(text, &lines) == 0);
    (void)cor_yaml_lines_find(lines, COR_STR("a[0].b"));
    cor_yaml_lines_unref(lines);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_yaml_error err = {""};
    struct cor_buf out, dups, canonical;
    bool is_canonical;
    int r;

    cor_buf_init(&out, OUT_MAX);
    cor_buf_init(&dups, 4096);
    cor_buf_init(&canonical, OUT_MAX);
    r = cor_yaml_to_json(cor_str((const char *)data, size), &out, &dups, &err);
    if (r == 0)
        check_lines(cor_str((const char *)data, size));
    if (r < 0)
        FUZZ_CHECK(out.n == 0 && err.message[0]);
    else if (cor_json_check(cor_buf_str(&out), &limits, &is_canonical, NULL) < 0)
        FUZZ_CHECK(out.n > COR_JSON_DEPTH_MAX);
    else if (out.n < 65536) {
        FUZZ_CHECK(cor_json_canonicalize(cor_buf_str(&out), &limits, &canonical, NULL, NULL) == 0);
        check_round_trip(cor_buf_str(&canonical));
    }
    cor_buf_deinit(&out);
    cor_buf_deinit(&dups);
    cor_buf_deinit(&canonical);
    return 0;
}
