/* A watch that resumes against a server with a script. The pause between watches is a millisecond
 * here; test_watch_resumption.c has the real one. */
#include <stdio.h>

#include "kit/dynamic/list_reader.h"
#include "kit/dynamic/resuming_watch.h"
#include "kit/dynamic/watch_resumption.h"
#include "rest_fixture.h"

#define POD(name, rv)                                                                              \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                       \
    "\",\"resourceVersion\":\"" rv "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define FAILURE(code, reason, more)                                                                \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":" #code            \
    ",\"reason\":\"" reason "\"" more "}"
#define EXPIRED EVENT("ERROR", FAILURE(410, "Expired", ""))

struct told {
    struct world *w;
    struct cor_resuming_watch *watch;
    struct cor_buf text;
    int refuse_after; /* events; 0: never */
    bool is_done;
    int err;
};

static int on_event(void *arg, const struct cor_watch_event *event)
{
    static const char *const names[] = {[COR_WATCH_ADDED] = "+",
                                        [COR_WATCH_MODIFIED] = "~",
                                        [COR_WATCH_DELETED] = "-",
                                        [COR_WATCH_BOOKMARK] = "#",
                                        [COR_WATCH_UNKNOWN] = "?"};
    struct told *t = arg;

    assert_false(t->is_done);
    if (event->type == COR_WATCH_ERROR)
        cor_buf_addf(&t->text, "!%d ", event->status->code);
    else
        cor_buf_addf(&t->text, "%s%.*s ", names[event->type],
                     COR_STR_ARG(cor_object_resource_version(event->object)));
    return t->refuse_after > 0 && --t->refuse_after == 0 ? -COR_ETOOBIG : 0;
}

static void on_done(void *arg, const struct cor_status *error)
{
    struct told *t = arg;

    assert_false(t->is_done);
    t->is_done = true;
    t->err = error->err;
}

static void begin(struct world *w, const struct answer *script, size_t n)
{
    world_begin(w, NULL);
    world_connect_freely(w);
    world_script(w, script, n);
}

static struct told told(struct world *w)
{
    struct told t = {.w = w};

    cor_buf_init(&t.text, 4096);
    return t;
}

static struct cor_resuming_watch_opts opts_of(struct told *t, const char *rv)
{
    return (struct cor_resuming_watch_opts){
        .client = t->w->rc,
        .op = {.verb = COR_API_VERB_WATCH,
               .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")}, .ns = COR_STR("x")},
               .query = {.list = {.resource_version = cor_strz(rv)}}},
        .restart_ms = 1,
        .on_event = on_event,
        .on_done = on_done,
        .arg = t};
}

/* The revisions that were asked for, in order: "5 7 ". */
static void assert_asked(struct world *w, const char *expected)
{
    static const char before[] = "GET /api/v1/namespaces/x/pods?watch=true&allowWatchBookmarks=true"
                                 "&resourceVersion=";
    struct cor_str left = cor_buf_str(&w->asked);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf asked;

    cor_buf_init(&asked, 4096);
    while (left.n > 0) {
        const char *end = memchr(left.p, '\n', left.n);

        assert_int_equal(strncmp(left.p, before, strlen(before)), 0);
        cor_buf_addf(&asked, "%.*s ", (int)(end - left.p - (long)strlen(before)),
                     left.p + strlen(before));
        left = cor_str(end + 1, left.n - (size_t)(end + 1 - left.p));
    }
    assert_str(cor_buf_str(&asked), expected);
}

static void run(const struct answer *script, size_t n, const char *heard, const char *asked,
                int err)
{
    struct cor_resuming_watch_opts opts;
    struct world w;
    struct told t;

    begin(&w, script, n);
    t = told(&w);
    opts = opts_of(&t, "5");
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, NULL), 0);
    world_until(&w, is_flag, &t.is_done);
    assert_str(cor_buf_str(&t.text), heard);
    assert_asked(&w, asked);
    assert_int_equal(t.err, err);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

#define RUN(script, heard, asked, err) run(script, COR_ARRAY_LEN(script), heard, asked, err)

/* Contract client 1.24.2, 1.24.3, 1.24.5, 1.24.6, 1.24.9. Revisions may skip, and what a broken
 * stream had brought is not told twice. */
TEST(resuming_watch, goes_on_from_the_last_event_until_its_revision_is_gone)
{
    static const struct answer script[] = {
        {.body = EVENT("ADDED", POD("a", "6")) EVENT("MODIFIED", POD("a", "7"))},
        {.body = ""},
        {.move = CUT},
        {.body = EVENT("DELETED", POD("a", "9")) EVENT("BOOKMARK", POD("", "20"))},
        {.body = EVENT("BOOKMARK", POD("", "30")) EVENT("ADDED", POD("b", "31"))},
        {.body = EXPIRED EVENT("ADDED", POD("c", "40"))},
    };

    RUN(script, "+6 ~7 -9 +31 !410 ", "5 7 7 7 20 31 ", -COR_EEXPIRED);
}

/* Contract client 1.24.4. */
TEST(resuming_watch, ends_where_it_could_not_go_on)
{
    static const struct answer no_revision[] = {
        {.body = EVENT("ADDED", POD("a", "6")) EVENT(
             "ADDED", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}")
             EVENT("ADDED", POD("a", "8"))},
    };
    static const struct answer no_type[] = {{.body = EVENT("RENAMED", POD("a", "6"))}};

    RUN(no_revision, "+6 !500 ", "5 ", -COR_EINTERNAL);
    RUN(no_type, "!500 ", "5 ", -COR_EINTERNAL);
}

/* It would come again with every watch. */
TEST(resuming_watch, ends_at_an_event_that_is_too_large)
{
    static char body[COR_LIST_READER_OBJECT_MAX + 1000];
    const struct answer script[] = {{.body = body}};
    int n =
        snprintf(body, sizeof(body), EVENT("ADDED", POD("a", "6")) "{\"type\":\"ADDED\",\"x\":\"");

    memset(body + n, 'x', sizeof(body) - 1 - (size_t)n);
    RUN(script, "+6 !500 ", "5 ", -COR_ETOOBIG);
}

/* Contract client 1.24.6: they are not told; what is no Status and no JSON counts among them. */
TEST(resuming_watch, other_errors_within_the_stream_are_a_reason_to_ask_again)
{
    static const struct answer script[] = {
        {.body = EVENT("ERROR", FAILURE(504, "Timeout", ""))},
        {.body = EVENT("ADDED", POD("a", "6")) EVENT("ERROR", FAILURE(500, "InternalError", ""))},
        {.body = EVENT("ERROR", FAILURE(429, "TooManyRequests", ""))},
        {.body = EVENT("ERROR", "{\"kind\":\"Pod\"}")},
        {.body = EVENT("ADDED", POD("a", "7")) "}"},
        {.body = EXPIRED},
    };

    RUN(script, "+6 +7 !410 ", "5 5 6 6 6 7 ", -COR_EEXPIRED);
}

/* Contract client 1.24.7. */
TEST(resuming_watch, what_is_not_allowed_ends_it_and_other_refusals_do_not)
{
    static const struct answer forbidden[] = {
        {.status = 500, .body = FAILURE(500, "InternalError", "")},
        {.status = 404, .body = FAILURE(404, "NotFound", "")},
        {.status = 429, .body = FAILURE(429, "TooManyRequests", "")},
        {.move = CUT},
        {.body = EVENT("ADDED", POD("a", "6"))},
        {.status = 403, .body = FAILURE(403, "Forbidden", "")},
    };
    static const struct answer unauthorized[] = {
        {.status = 401, .body = FAILURE(401, "Unauthorized", "")}};
    static const struct answer expired[] = {{.status = 410, .body = FAILURE(410, "Expired", "")}};

    RUN(forbidden, "+6 !403 ", "5 5 5 5 5 6 ", -COR_EFORBIDDEN);
    RUN(unauthorized, "!401 ", "5 ", -COR_EUNAUTHORIZED);
    RUN(expired, "!410 ", "5 ", -COR_EEXPIRED);
}

/* Bookmarks are for the library; a taker that stores its place may want them. */
TEST(resuming_watch, tells_of_bookmarks_when_asked_to)
{
    static const struct answer script[] = {
        {.body = EVENT("BOOKMARK", POD("", "7"))},
        {.body = EXPIRED},
    };
    struct cor_resuming_watch_opts opts;
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    opts = opts_of(&t, "5");
    opts.tells_bookmarks = true;
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, NULL), 0);
    world_until(&w, is_flag, &t.is_done);
    assert_str(cor_buf_str(&t.text), "#7 !410 ");
    assert_asked(&w, "5 7 ");
    cor_buf_deinit(&t.text);
    world_end(&w);
}

TEST(resuming_watch, its_taker_ends_it)
{
    static const struct answer script[] = {
        {.body = EVENT("ADDED", POD("a", "6")) EVENT("ADDED", POD("b", "7"))
             EVENT("ADDED", POD("c", "8"))},
    };
    struct cor_resuming_watch_opts opts;
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    t.refuse_after = 2;
    opts = opts_of(&t, "5");
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, NULL), 0);
    world_until(&w, is_flag, &t.is_done);
    assert_str(cor_buf_str(&t.text), "+6 +7 ");
    assert_int_equal(t.err, -COR_ETOOBIG);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

static bool has_held(void *arg)
{
    return ((struct world *)arg)->held != NULL;
}

static bool is_left(void *arg)
{
    return ((struct world *)arg)->ngone > 0;
}

static bool has_asked(void *arg)
{
    return ((struct world *)arg)->nasked > 0;
}

/* Contract client 1.24.8: also with events that nobody has read, and between two watches. */
TEST(resuming_watch, nothing_is_told_after_a_cancel)
{
    static const struct answer held[] = {{.move = HOLD, .body = EVENT("ADDED", POD("a", "6"))}};
    static const struct answer refused[] = {{.status = 500, .body = FAILURE(500, "Oh", "")}};
    struct cor_resuming_watch_opts opts;
    struct world w;
    struct told t;
    size_t n;

    begin(&w, held, COR_ARRAY_LEN(held));
    t = told(&w);
    opts = opts_of(&t, "5");
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, NULL), 0);
    world_until(&w, has_held, &w);
    n = t.text.n;
    cor_resuming_watch_cancel(t.watch);
    world_until(&w, is_left, &w);

    world_script(&w, refused, COR_ARRAY_LEN(refused));
    opts.restart_ms = PATIENCE_MS;
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, NULL), 0);
    world_until(&w, has_asked, &w);
    cor_resuming_watch_cancel(t.watch);
    world_end(&w);
    assert_false(t.is_done);
    assert_int_equal(t.text.n, n);
    cor_buf_deinit(&t.text);
}

/* Contract client 1.24.1. */
TEST(resuming_watch, is_refused_without_a_place_to_begin)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_resuming_watch_opts opts;
    struct world w;
    struct told t;

    begin(&w, NULL, 0);
    t = told(&w);
    opts = opts_of(&t, "");
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, &why), -COR_EINVAL);
    opts = opts_of(&t, "0");
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, &why), -COR_EINVAL);
    opts = opts_of(&t, "5");
    opts.op.query.list.send_initial_events = COR_TRUE;
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, &why), -COR_EINVAL);
    opts = opts_of(&t, "5");
    opts.op.at.gvr.resource = COR_STR("");
    assert_int_equal(cor_resuming_watch_open(&opts, &t.watch, &why), -COR_EINVAL);
    assert_int_equal(w.nasked, 0);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

static bool ends_with(struct cor_str text, const char *end)
{
    size_t n = strlen(end);

    return text.n >= n && memcmp(text.p + text.n - n, end, n) == 0;
}

/* It is refused at once, or goes on where it was: never behind what the taker has had, nor before
 * it. The server has no more memory than the client, and may lose its first answer. */
TEST(resuming_watch, goes_on_where_it_was_when_memory_runs_out)
{
    static const struct answer script[] = {
        {.body = EVENT("ADDED", POD("a", "6")) EVENT("ADDED", POD("a", "7"))},
        {.body = EXPIRED},
        {.body = EXPIRED},
        {.body = EXPIRED},
    };

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_resuming_watch_opts opts;
        struct world w;
        struct told t;
        int r;

        test_fail_alloc(0, false);
        begin(&w, script, COR_ARRAY_LEN(script));
        t = told(&w);
        cor_buf_reserve(&t.text, 256);
        cor_buf_reserve(&w.asked, 4096);
        opts = opts_of(&t, "5");
        test_fail_alloc(n, false);
        r = cor_resuming_watch_open(&opts, &t.watch, NULL);
        if (r == 0)
            world_until(&w, is_flag, &t.is_done);
        else
            assert_int_equal(r, -COR_ENOMEM);
        test_fail_alloc(0, false);
        if (r == 0) {
            struct cor_str heard = cor_buf_str(&t.text), asked = cor_buf_str(&w.asked);

            assert_int_equal(t.err, -COR_EEXPIRED);
            if (cor_str_eqz(heard, "+6 +7 !410 "))
                assert_true(ends_with(asked, "=7\n"));
            else if (cor_str_eqz(heard, "+6 !410 "))
                assert_true(ends_with(asked, "=6\n"));
            else
                assert_true(cor_str_eqz(heard, "!410 ") && ends_with(asked, "=5\n"));
        }
        cor_buf_deinit(&t.text);
        world_end(&w);
    }
}
