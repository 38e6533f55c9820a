#include "flags.h"

#include <stdio.h>

#include "base/err.h"
#include "test.h"

struct opts {
    const char *data, *output;
    uint64_t limit, timeout;
    bool dry;
};

static const struct flag flags[] = {
    {.name = "data",
     .kind = FLAG_TEXT,
     .at = offsetof(struct opts, data),
     .value = "DIR",
     .help = "the folder of the store",
     .required = true},
    {.name = "output",
     .letter = 'o',
     .kind = FLAG_CHOICE,
     .at = offsetof(struct opts, output),
     .value = "json|table",
     .help = "how to print (%)"},
    {.name = "limit",
     .kind = FLAG_NUMBER,
     .at = offsetof(struct opts, limit),
     .value = "N",
     .help = "at most so many (%); no fewer than 1",
     .min = 1,
     .max = 500},
    {.name = "timeout",
     .kind = FLAG_DURATION,
     .at = offsetof(struct opts, timeout),
     .value = "DURATION",
     .help = "how long (%)"},
    {.name = "dry-run",
     .kind = FLAG_SWITCH,
     .at = offsetof(struct opts, dry),
     .help = "only say (%)"},
};
static const struct opts defaults = {.output = "json", .limit = 100, .timeout = 90000};
#define NFLAGS (sizeof(flags) / sizeof(flags[0]))

struct outcome {
    struct opts opts;
    const char *args[2];
    size_t nargs;
    int r;
    char message[256];
};

/* `line` is split at blanks. */
static struct outcome parse(const char *line)
{
    static char copy[512];
    struct outcome o = {.opts = {.output = "table"}};
    struct cor_buf message;
    char *argv[32], *at = copy;
    int argc = 0;

    snprintf(copy, sizeof(copy), "%s", line);
    while (*at) {
        argv[argc++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    cor_buf_init(&message, 256);
    o.r = flags_parse(flags, NFLAGS, argc, argv, &o.opts, o.args, 2, &o.nargs, &message);
    snprintf(o.message, sizeof(o.message), "%s", cor_buf_z(&message));
    cor_buf_deinit(&message);
    return o;
}

TEST(flags, values_stand_apart_or_after_an_equals_sign)
{
    struct outcome o = parse("key --data d --limit=7 file -o json --dry-run");

    assert_int_equal(o.r, 0);
    assert_string_equal(o.opts.data, "d");
    assert_string_equal(o.opts.output, "json");
    assert_int_equal(o.opts.limit, 7);
    assert_true(o.opts.dry);
    assert_int_equal(o.nargs, 2);
    assert_string_equal(o.args[0], "key");
    assert_string_equal(o.args[1], "file");
}

TEST(flags, what_is_not_given_keeps_its_default)
{
    struct outcome o = parse("--data=d");

    assert_int_equal(o.r, 0);
    assert_string_equal(o.opts.output, "table");
    assert_false(o.opts.dry);
    assert_int_equal(o.nargs, 0);
}

TEST(flags, a_switch_takes_true_or_false)
{
    assert_false(parse("--data d --dry-run --dry-run=false").opts.dry);
    assert_true(parse("--data d --dry-run=true").opts.dry);
    assert_string_equal(parse("--data d --dry-run=yes").message,
                        "flag --dry-run: \"yes\" is neither true nor false");
}

TEST(flags, the_last_of_two_counts)
{
    assert_int_equal(parse("--data d --limit 3 --limit 4").opts.limit, 4);
}

TEST(flags, a_double_dash_ends_them_and_a_single_dash_is_an_argument)
{
    struct outcome o = parse("--data d - -- --limit");

    assert_int_equal(o.r, 0);
    assert_int_equal(o.nargs, 2);
    assert_string_equal(o.args[0], "-");
    assert_string_equal(o.args[1], "--limit");
}

TEST(flags, more_arguments_than_fit_are_counted)
{
    assert_int_equal(parse("a b c d --data d").nargs, 4);
}

TEST(flags, mistakes_are_named_with_what_was_expected)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"--data d --limt 3", "unknown flag --limt; did you mean --limit?"},
        {"--data d --ouptut=json", "unknown flag --ouptut; did you mean --output?"},
        {"--data d --zzzzzz", "unknown flag --zzzzzz"},
        {"--data d -x", "unknown flag -x"},
        {"--data d --limit", "flag --limit needs a value: N"},
        {"--data d --limit x", "flag --limit: \"x\" is not a whole number from 1 to 500"},
        {"--data d --limit 0", "flag --limit: \"0\" is not a whole number from 1 to 500"},
        {"--data d --limit 501", "flag --limit: \"501\" is not a whole number from 1 to 500"},
        {"--data d --limit -1", "flag --limit: \"-1\" is not a whole number from 1 to 500"},
        {"--data d -o xml", "flag --output: \"xml\" is not one of json|table"},
        {"--limit 3", "flag --data DIR is needed: the folder of the store"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o = parse(cases[i].line);

        assert_int_equal(o.r, -COR_EINVAL);
        assert_string_equal(o.message, cases[i].message);
    }
}

TEST(flags, help_comes_before_every_mistake_after_it)
{
    assert_int_equal(parse("--help --bogus").r, -COR_ECANCELED);
    assert_int_equal(parse("-h").r, -COR_ECANCELED);
}

TEST(flags, every_flag_has_its_help_line_with_its_default)
{
    struct cor_buf out;

    cor_buf_init(&out, 4096);
    assert_int_equal(flags_help(flags, NFLAGS, &defaults, &out), 0);
    assert_string_equal(
        cor_buf_z(&out),
        "      --data DIR                     the folder of the store (needed)\n"
        "  -o, --output json|table            how to print (json)\n"
        "      --limit N                      at most so many (100); no fewer than 1\n"
        "      --timeout DURATION             how long (90s)\n"
        "      --dry-run                      only say (false)\n");
    cor_buf_deinit(&out);
}

TEST(flags, help_survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf out;
        int r;

        cor_buf_init(&out, 4096);
        r = flags_help(flags, NFLAGS, &defaults, &out);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_buf_deinit(&out);
    }
}

TEST(flags, the_nearest_word_is_near)
{
    static const char *const words[] = {"put", "get", "list", "watch", "delete"};

    assert_string_equal(flags_nearest("lsit", words, 5), "list");
    assert_string_equal(flags_nearest("wacth", words, 5), "watch");
    assert_string_equal(flags_nearest("del", words, 5), "delete");
    assert_null(flags_nearest("compact", words, 5));
    assert_null(flags_nearest("", words, 5));
}

TEST(flags, durations_are_gos)
{
    assert_int_equal(parse("--data d --timeout 1m30s").opts.timeout, 90000);
    assert_int_equal(parse("--data d --timeout=0").opts.timeout, 0);
    assert_string_equal(parse("--data d --timeout 90").message,
                        "flag --timeout: \"90\" is not a duration such as 90s or 1m30s");
    assert_int_equal(parse("--data d --timeout -1s").r, -COR_EINVAL);
}
