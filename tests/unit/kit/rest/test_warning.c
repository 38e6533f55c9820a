#include "kit/rest/warning.h"

#include "base/err.h"
#include "test.h"

static void expect(const char *value, const char *wanted)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, all;
    struct cor_str rest = cor_strz(value);
    int code, r;

    cor_buf_init(&text, COR_WARNING_TEXT_MAX);
    cor_buf_init(&all, 4096);
    while ((r = cor_warning_next(&rest, &code, &text)) > 0)
        cor_buf_addf(&all, "%d %s|", code, cor_buf_z(&text));
    if (r < 0)
        cor_buf_addf(&all, "%s", cor_err_name(r));
    assert_string_equal(cor_buf_z(&all), wanted);
}

/* Contract client 4.10.6: upstream's TestParseWarningHeader, as far as servers send such. */
TEST(warning, reads_what_rfc_7234_describes)
{
    expect("", "");
    expect("299 - \"text\"", "299 text|");
    expect("  299 - \"text\"  ", "299 text|");
    expect("299 agent \"a \\\"b\\\" \\\\ c\"", "299 a \"b\" \\ c|");
    expect("299 - \"a\" \"Tue, 15 Nov 1994 08:12:31 GMT\"", "299 a|");
    expect("299 - \"a\", 100 x \"b\" \"date\" , 299 - \"c\"", "299 a|100 b|299 c|");
    expect("299 - \"\"", "299 |");
    expect("299 - \"\xc3\xa9t\xc3\xa9\"", "299 \xc3\xa9t\xc3\xa9|");
}

/* Contract client 4.10.6. */
TEST(warning, refuses_what_is_malformed)
{
    expect("299", "EINVAL");
    expect("299 -", "EINVAL");
    expect("29 - \"a\"", "EINVAL");
    expect("2999 - \"a\"", "EINVAL");
    expect("299  \"a\"", "EINVAL");
    expect("299 - a", "EINVAL");
    expect("299 - \"a", "EINVAL");
    expect("299 - \"a\\", "EINVAL");
    expect("299 - \"a\" \"date", "EINVAL");
    expect("299 - \"a\" x", "EINVAL");
    expect("299 - \"a\x1b[31m\"", "EINVAL");
    expect("299 - \"\xc2\x9b\"", "EINVAL");
    expect("299 - \"\xff\"", "EINVAL");
    expect("299 - \"a\", junk", "299 a|EINVAL");
}

static void count(void *arg, struct cor_str text)
{
    ++*(int *)arg;
}

TEST(warning, survives_every_failed_allocation)
{
    const struct cor_http_header headers[] = {{COR_STR("warning"), COR_STR("299 - \"a\"")},
                                              {COR_STR("Warning"), COR_STR("299 - \"a\"")},
                                              {COR_STR("Warning"), COR_STR("199 - \"b\"")}};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_warner w;
        int told = 0;

        cor_warner_init(&w, count, &told, true);
        cor_warner_read(&w, headers, COR_ARRAY_LEN(headers));
        assert_true(told == 1 || test_alloc_failed());
        cor_warner_deinit(&w);
    }
}
