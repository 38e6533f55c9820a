#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "test.h"

static struct cor_clock_manual clock_2026;
static char text[COR_LOG_LINE_MAX * 2];
static int pipe_fds[2];

/* 2026-11-15T02:37:55.123Z */
#define NOW_MS INT64_C(1794710275123)

static void begin(enum cor_log_format format, enum cor_log_level level)
{
    cor_clock_manual_init(&clock_2026, 0, NOW_MS);
    assert_int_equal(pipe(pipe_fds), 0);
    cor_log_install(&(struct cor_log_opts){
        .fd = pipe_fds[1], .level = level, .format = format, .clock = &clock_2026.clock});
}

/* What was written since begin(); one read sees one write of up to the pipe's size. */
static const char *end(void)
{
    ssize_t n;

    cor_log_install(NULL);
    close(pipe_fds[1]);
    n = read(pipe_fds[0], text, sizeof(text) - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    close(pipe_fds[0]);
    return text;
}

/* The line without klog's head, whose pid and place differ from run to run. */
static const char *after_head(const char *line)
{
    const char *bracket = strstr(line, "] ");

    assert_non_null(bracket);
    return bracket + 2;
}

static const char *from_msg(const char *line)
{
    const char *msg = strstr(line, "\"msg\":");

    assert_non_null(msg);
    return msg;
}

TEST(log, is_silent_until_a_sink_is_installed)
{
    assert_false(cor_log_enabled(COR_LEVEL_ERROR));
    COR_LOG_ERROR("nobody hears this");
}

TEST(log, text_has_klogs_form)
{
    char expected[200];
    int line;

    begin(COR_LOG_TEXT, COR_LEVEL_INFO);
    line = __LINE__ + 1;
    COR_LOG_INFO("store opened", COR_F_STR("path", "/data"), COR_F_U64("rev", 7));
    snprintf(expected, sizeof(expected),
             "I1115 02:37:55.123 %7d test_log.c:%d] \"store opened\" path=\"/data\" rev=7\n",
             (int)getpid(), line);
    assert_string_equal(end(), expected);
}

TEST(log, json_has_one_object_per_line)
{
    char expected[200];
    int line;

    begin(COR_LOG_JSON, COR_LEVEL_INFO);
    line = __LINE__ + 1;
    COR_LOG_WARN("slow commit", COR_F_DUR("took", 1500), COR_F_BOOL("fsync", true));
    snprintf(expected, sizeof(expected),
             "{\"ts\":1794710275123,\"level\":\"warn\",\"caller\":\"test_log.c:%d\","
             "\"msg\":\"slow commit\",\"took\":\"1.5s\",\"fsync\":true}\n",
             line);
    assert_string_equal(end(), expected);
}

TEST(log, takes_a_message_without_fields)
{
    begin(COR_LOG_TEXT, COR_LEVEL_DEBUG);
    COR_LOG_DEBUG("ready");
    assert_string_equal(after_head(end()), "\"ready\"\n");
}

static int evaluated(int *count)
{
    return ++*count;
}

TEST(log, levels_below_the_sinks_are_neither_written_nor_evaluated)
{
    int count = 0;

    begin(COR_LOG_TEXT, COR_LEVEL_WARN);
    COR_LOG_DEBUG("no", COR_F_I64("n", evaluated(&count)));
    COR_LOG_INFO("no", COR_F_I64("n", evaluated(&count)));
    COR_LOG_ERROR("yes", COR_F_I64("n", evaluated(&count)));
    assert_string_equal(after_head(end()), "\"yes\" n=1\n");
    assert_int_equal(count, 1);
}

TEST(log, prints_each_kind_of_field)
{
    begin(COR_LOG_TEXT, COR_LEVEL_INFO);
    COR_LOG_INFO("m", COR_F_I64("min", INT64_MIN), COR_F_U64("max", UINT64_MAX),
                 COR_F_BOOL("b", false), COR_F_STR("s", COR_STR("view")),
                 COR_F_STR("null", (const char *)NULL), COR_F_ERR(-COR_ECONFLICT));
    assert_string_equal(after_head(end()),
                        "\"m\" min=-9223372036854775808 max=18446744073709551615 b=false "
                        "s=\"view\" null=\"\" err=\"conflict\"\n");
}

/* As Go's time.Duration prints. */
TEST(log, prints_durations_as_go_does)
{
    begin(COR_LOG_TEXT, COR_LEVEL_INFO);
    COR_LOG_INFO("m", COR_F_DUR("a", 0), COR_F_DUR("b", 250), COR_F_DUR("c", 1010),
                 COR_F_DUR("d", 120000), COR_F_DUR("e", 3600000), COR_F_DUR("f", 90061001));
    assert_string_equal(after_head(end()), "\"m\" a=\"0s\" b=\"250ms\" c=\"1.01s\" d=\"2m0s\" "
                                           "e=\"1h0m0s\" f=\"25h1m1.001s\"\n");
}

TEST(log, a_secret_is_never_printed)
{
    const char *token = "hunter2";

    begin(COR_LOG_TEXT, COR_LEVEL_INFO);
    COR_LOG_INFO("login", COR_F_SECRET("token", token));
    assert_string_equal(after_head(end()), "\"login\" token=\"[secret]\"\n");
}

TEST(log, text_values_cannot_forge_lines_or_steer_a_terminal)
{
    begin(COR_LOG_TEXT, COR_LEVEL_INFO);
    COR_LOG_INFO("a\nb", COR_F_STR("v", "x\" y=\"1\r\n\t\\\x1b[2J\x7f\xc2\x9b"
                                        "\xe2\x80\xae\xff caf\xc3\xa9"));
    assert_string_equal(after_head(end()),
                        "\"a\\nb\" v=\"x\\\" y=\\\"1\\r\\n\\t\\\\\\x1b[2J\\x7f\\x9b"
                        "\\u202e\\xff caf\xc3\xa9\"\n");
}

TEST(log, json_values_are_valid_json_and_utf8)
{
    begin(COR_LOG_JSON, COR_LEVEL_INFO);
    COR_LOG_INFO("m", COR_F_STR("v", COR_STR("\"\\\n\x01\x7f\xff\xe2\x82 \0\xe2\x82\xac")));
    assert_string_equal(from_msg(end()),
                        "\"msg\":\"m\",\"v\":\"\\\"\\\\\\n\\u0001\\u007f\\ufffd\\ufffd\\ufffd "
                        "\\u0000\xe2\x82\xac\"}\n");
}

static void log_lengths(enum cor_log_format format, const char *mark)
{
    static char big[COR_LOG_LINE_MAX * 2];

    for (size_t n = COR_LOG_LINE_MAX - 300; n < COR_LOG_LINE_MAX + 50; n++) {
        const char *line;
        size_t len;

        memset(big, n % 2 ? 'x' : '\n', n);
        big[n] = '\0';
        begin(format, COR_LEVEL_INFO);
        COR_LOG_INFO("m", COR_F_STR("big", big), COR_F_U64("after", UINT64_MAX),
                     COR_F_STR("end", "z"));
        line = end();
        len = strlen(line);
        assert_true(len <= COR_LOG_LINE_MAX);
        assert_ptr_equal(strchr(line, '\n'), line + len - 1);
        if (n > COR_LOG_LINE_MAX || n % 2 == 0)
            assert_string_equal(line + len - strlen(mark), mark);
        else if (len < COR_LOG_LINE_MAX - 200)
            assert_null(strstr(line, mark));
    }
}

TEST(log, a_long_line_is_cut_and_says_so)
{
    log_lengths(COR_LOG_TEXT, " cut=true\n");
    log_lengths(COR_LOG_JSON, ",\"cut\":true}\n");
}

TEST(log, a_long_message_is_cut_too)
{
    static char big[COR_LOG_LINE_MAX * 2];
    const char *line;

    memset(big, 'm', sizeof(big) - 1);
    begin(COR_LOG_JSON, COR_LEVEL_INFO);
    COR_LOG_INFO(big, COR_F_STR("k", "v"));
    line = end();
    assert_true(strlen(line) <= COR_LOG_LINE_MAX);
    assert_non_null(strstr(line, "mmm\",\"cut\":true}\n"));
}

static void *log_often(__attribute__((unused)) void *arg)
{
    for (int i = 0; i < 100; i++)
        COR_LOG_INFO("from a thread", COR_F_I64("i", i));
    return NULL;
}

TEST(log, lines_of_threads_do_not_mix)
{
    pthread_t threads[4];
    FILE *f = tmpfile();
    int lines = 0;

    assert_non_null(f);
    cor_clock_manual_init(&clock_2026, 0, NOW_MS);
    cor_log_install(&(struct cor_log_opts){.fd = fileno(f), .clock = &clock_2026.clock});
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_often, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    cor_log_install(NULL);
    rewind(f);
    while (fgets(text, sizeof(text), f)) {
        static const char start[] = "\"from a thread\" i=";
        const char *fields = after_head(text);

        assert_memory_equal(fields, start, strlen(start));
        assert_int_equal(strspn(fields + strlen(start), "0123456789") + strlen(start) + 1,
                         strlen(fields));
        lines++;
    }
    fclose(f);
    assert_int_equal(lines, 400);
}
