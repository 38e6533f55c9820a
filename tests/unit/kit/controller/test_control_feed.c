/* The feed of a control loop's source, over the scripted port. The reflector that decides when to
 * list and to watch is tested in cache/. */
#include "control_fixture.h"

#include "kit/controller/control_feed.h"
#include "kit/controller/feed_store.h"

#define AT(name, version)                                                                          \
    "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"resourceVersion\":\"" version     \
    "\"}}"
#define OWNED(name, version, owner)                                                                \
    "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"resourceVersion\":\"" version     \
    "\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"" owner            \
    "\",\"uid\":\"u\",\"controller\":true}]}}"

static const char *nothing[] = {NULL};

/* A control loop with one source and its feed. Both are driven by the port's clock. */
struct follower {
    struct bench b;
    struct cor_control_feed *feed;
    struct cor_control_predicate note;
    struct cor_rand rand;
    uint64_t loop_ms, feed_ms; /* what they asked for */
    char events[1024];         /* "+a =a -a ?a": created, updated, deleted, deleted unseen */
    size_t nerrors;
};

static void follower_wake(struct follower *f)
{
    scripted_wake_at(&f->b.sp, f->loop_ms < f->feed_ms ? f->loop_ms : f->feed_ms);
}

static void follower_on_loop_wake_at(void *arg, uint64_t at_ms)
{
    struct follower *f = arg;

    f->loop_ms = at_ms;
    follower_wake(f);
}

static void follower_on_feed_wake_at(void *arg, uint64_t at_ms)
{
    struct follower *f = arg;

    f->feed_ms = at_ms;
    follower_wake(f);
}

static void follower_on_wake(void *arg)
{
    struct follower *f = arg;
    uint64_t now = cor_clock_mono_ms(&f->b.sp.clock.clock);

    if (f->feed_ms <= now) {
        f->feed_ms = UINT64_MAX;
        cor_control_feed_tick(f->feed);
    }
    if (f->loop_ms <= now) {
        f->loop_ms = UINT64_MAX;
        cor_control_loop_tick(f->b.l);
    }
    follower_wake(f);
}

/* A predicate that writes each event down. */
static bool note_event(const void *arg, const struct cor_control_event *event)
{
    struct follower *f = (struct follower *)arg;
    size_t n = strlen(f->events);
    char sign = event->kind == COR_CONTROL_CREATED   ? '+'
                : event->kind == COR_CONTROL_UPDATED ? '='
                : event->final_state_unknown         ? '?'
                                                     : '-';

    snprintf(f->events + n, sizeof(f->events) - n, "%c%.*s%s ", sign,
             COR_STR_ARG(cor_object_name(event->object)), event->old ? "(old)" : "");
    return true;
}

static void assert_events(struct follower *f, const char *expected)
{
    assert_string_equal(f->events, expected);
    f->events[0] = '\0';
}

static void follower_on_error(void *arg, const struct cor_status *error)
{
    ((struct follower *)arg)->nerrors++;
}

static void follower_init(struct follower *f)
{
    *f = (struct follower){.loop_ms = UINT64_MAX, .feed_ms = UINT64_MAX};
    bench_init(&f->b);
    f->b.sp.on_wake = follower_on_wake;
    f->b.sp.arg = f;
    f->b.ends_at_once = true;
    cor_rand_init_seeded(&f->rand, 1);
}

static struct cor_control_feed_opts feed_opts(struct follower *f, bool keeps_objects)
{
    return (struct cor_control_feed_opts){
        .what = {.of = {.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")}}},
                 .keeps_objects = keeps_objects},
        .port = &f->b.sp.port,
        .clock = &f->b.sp.clock.clock,
        .rand = &f->rand,
        .loop = f->b.l,
        .source = f->b.main,
        .wake_at = follower_on_feed_wake_at,
        .on_error = follower_on_error,
        .arg = f,
    };
}

/* The callbacks of the fixture take a struct bench, which is the first member. */
static void follower_make(struct follower *f, bool keeps_objects)
{
    struct cor_control_source_opts source = for_pods;
    struct cor_control_feed_opts opts;

    f->note = (struct cor_control_predicate){note_event, f};
    source.predicates = (struct cor_control_predicates){&f->note, 1};
    f->b.opts.wake_at = follower_on_loop_wake_at;
    assert_int_equal(cor_control_loop_new(&f->b.opts, &f->b.l, NULL), 0);
    assert_int_equal(cor_control_loop_add_source(f->b.l, &source, &f->b.main, NULL), 0);
    opts = feed_opts(f, keeps_objects);
    assert_int_equal(cor_control_feed_new(&opts, &f->feed, NULL), 0);
}

static void follower_start(struct follower *f)
{
    cor_control_feed_start(f->feed);
    assert_int_equal(cor_control_loop_start(f->b.l, NULL), 0);
    scripted_run(&f->b.sp, 0);
}

static void follower_end(struct follower *f)
{
    cor_control_feed_stop(f->feed);
    f->feed = cor_control_feed_free(f->feed);
    f->feed_ms = UINT64_MAX;
    follower_wake(f);
    bench_end(&f->b);
}

/* One try of a list or watch after the longest pause that the backoff has. */
static void follower_wait(struct follower *f)
{
    scripted_run(&f->b.sp, 61000);
}

TEST(control_feed, feeds_the_first_list_then_what_the_watch_shows)
{
    const char *listed[] = {AT("a", "1"), AT("b", "2"), NULL};
    const char *events[] = {AT("c", "101"), "MODIFIED " AT("a", "102"), "DELETED " AT("b", "103"),
                            "BOOKMARK " AT("", "104"), NULL};
    struct follower f;

    follower_init(&f);
    follower_make(&f, false);
    scripted_items(&f.b.sp, 0, listed, false);
    scripted_items(&f.b.sp, 10, events, true);
    follower_start(&f);
    assert_true(cor_control_feed_is_synced(f.feed) && cor_control_loop_is_synced(f.b.l));
    assert_events(&f, "+a +b ");
    assert_said(&f.b, "ns/a ns/b ");
    scripted_assert_log(&f.b.sp, "LIST v1 pods \nWATCH v1 pods  100\n");
    scripted_run(&f.b.sp, 10);
    assert_events(&f, "+c =a -b ");
    assert_said(&f.b, "ns/c ns/a ns/b ");
    assert_true(cor_control_feed_has(f.feed, COR_STR("ns"), COR_STR("a")));
    assert_true(cor_control_feed_has(f.feed, COR_STR("ns"), COR_STR("c")));
    assert_false(cor_control_feed_has(f.feed, COR_STR("ns"), COR_STR("b")));
    assert_false(cor_control_feed_has(f.feed, COR_STR(""), COR_STR("a")));
    follower_end(&f);
}

TEST(control_feed, no_reconcile_begins_before_the_first_list_is_complete)
{
    const char *listed[] = {AT("a", "1"), NULL};
    struct follower f;

    follower_init(&f);
    follower_make(&f, false);
    scripted_fail(&f.b.sp, 0, -COR_EINTERNAL);
    scripted_items(&f.b.sp, 0, listed, false);
    scripted_items(&f.b.sp, 0, nothing, true);
    follower_start(&f);
    assert_false(cor_control_feed_is_synced(f.feed));
    assert_int_equal(f.nerrors, 1);
    assert_said(&f.b, "");
    follower_wait(&f);
    assert_said(&f.b, "ns/a ");
    follower_end(&f);
}

TEST(control_feed, watches_again_from_the_last_version_when_a_watch_ends)
{
    const char *events[] = {AT("a", "101"), "BOOKMARK " AT("", "150"), NULL};
    struct follower f;

    follower_init(&f);
    follower_make(&f, false);
    scripted_items(&f.b.sp, 0, nothing, false);
    scripted_items(&f.b.sp, 5000, events, false);
    scripted_items(&f.b.sp, 0, nothing, true);
    follower_start(&f);
    scripted_run(&f.b.sp, 5000);
    scripted_assert_log(&f.b.sp, "LIST v1 pods \nWATCH v1 pods  100\nWATCH v1 pods  150\n");
    follower_end(&f);
}

#define EXPIRED                                                                                    \
    "ERROR {\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":"          \
    "\"Expired\",\"message\":\"too old\",\"code\":410}"

/* A list after 410: what did not change is no event, and what is missing was deleted unseen. */
static void check_expiry(bool keeps_objects, const char *expected)
{
    const char *first[] = {AT("a", "1"), AT("b", "2"), AT("c", "3"), NULL};
    const char *second[] = {AT("a", "1"), AT("b", "120"), AT("d", "121"), NULL};
    struct follower f;

    follower_init(&f);
    follower_make(&f, keeps_objects);
    scripted_items(&f.b.sp, 0, first, false);
    scripted_items(&f.b.sp, 0, (const char *[]){EXPIRED, NULL}, true);
    scripted_items(&f.b.sp, 0, second, false);
    scripted_items(&f.b.sp, 0, nothing, true);
    follower_start(&f);
    assert_events(&f, "+a +b +c ");
    follower_wait(&f);
    assert_events(&f, expected);
    assert_said(&f.b, "ns/a ns/b ns/c ns/b ns/d ns/c ");
    assert_false(cor_control_feed_has(f.feed, COR_STR("ns"), COR_STR("c")));
    follower_end(&f);
}

TEST(control_feed, lists_again_after_410_and_finds_deletions_that_it_missed)
{
    check_expiry(false, "=b +d ?c ");
    check_expiry(true, "=b(old) +d ?c ");
}

/* The feed of a source OWNS keeps the objects, so that a deletion that was missed has owners. */
TEST(control_feed, a_missed_deletion_of_an_owned_object_reaches_its_owner)
{
    const struct cor_control_source_opts owns = {.kind = COR_CONTROL_OWNS,
                                                 .gk = {COR_STR(""), COR_STR("Secret")}};
    const char *first[] = {OWNED("s", "1", "a"), NULL};
    struct cor_control_feed_opts opts;
    struct cor_control_source *source;
    struct cor_status why = {0};
    struct follower f;

    follower_init(&f);
    f.b.opts.wake_at = follower_on_loop_wake_at;
    bench_make(&f.b);
    assert_int_equal(cor_control_loop_add_source(f.b.l, &owns, &source, NULL), 0);
    opts = feed_opts(&f, false);
    opts.source = source;
    assert_int_equal(cor_control_feed_new(&opts, &f.feed, &why), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&why), "must keep the objects"));
    cor_status_deinit(&why);
    opts.what.keeps_objects = true;
    assert_int_equal(cor_control_feed_new(&opts, &f.feed, NULL), 0);
    scripted_items(&f.b.sp, 0, first, false);
    scripted_items(&f.b.sp, 0, (const char *[]){EXPIRED, NULL}, true);
    scripted_items(&f.b.sp, 0, nothing, false);
    scripted_items(&f.b.sp, 0, nothing, true);
    cor_control_loop_source_synced(f.b.l, f.b.main);
    follower_start(&f);
    assert_said(&f.b, "ns/a ");
    follower_wait(&f);
    assert_said(&f.b, "ns/a ");
    follower_end(&f);
}

/* An event that the queue has no room for is not lost: the feed lists again. */
TEST(control_feed, an_event_that_cannot_be_queued_comes_again)
{
    const char *listed[] = {AT("a", "1"), NULL};
    const char *events[] = {AT("b", "101"), AT("c", "102"), NULL};
    const char *again[] = {AT("a", "1"), AT("b", "101"), AT("c", "102"), NULL};
    struct follower f;

    follower_init(&f);
    f.b.ends_at_once = false;
    f.b.opts.keys_max = 2;
    follower_make(&f, false);
    scripted_items(&f.b.sp, 0, listed, false);
    scripted_items(&f.b.sp, 0, events, true);
    scripted_items(&f.b.sp, 0, again, false);
    scripted_items(&f.b.sp, 0, nothing, true);
    follower_start(&f);
    assert_said(&f.b, "ns/a "); /* under way: one key of two; `b` is the other one */
    assert_events(&f, "+a +b +c ");
    assert_false(cor_control_feed_has(f.feed, COR_STR("ns"), COR_STR("c")));
    finish(&f.b, OK);
    f.b.ends_at_once = true;
    follower_wait(&f);
    if (f.b.n > 0)
        finish(&f.b, OK);
    scripted_run(&f.b.sp, 0);
    assert_events(&f, "+c ");
    assert_said(&f.b, "ns/b ns/c ");
    follower_end(&f);
}

/* Lists into the store until that succeeds, as a reflector does. */
static void list_into(struct cor_feed_store *store, const char **items)
{
    const struct cor_reflector_store_ops *ops = store->store.ops;
    int r;

    do {
        r = ops->replace_begin(&store->store, NULL);
        for (size_t i = 0; r == 0 && items[i]; i++) {
            COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;

            r = cor_object_from_json(cor_strz(items[i]), &object, NULL);
            if (r == 0)
                r = ops->replace_add(&store->store, COR_STR(""), object, NULL);
        }
        if (r == 0)
            r = ops->replace_commit(&store->store, cor_reflector_at(COR_STR("9")), NULL);
        assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
    } while (r < 0);
}

/* Each change of a watch; when the store has no memory for it, what is there then is listed. */
TEST(control_feed, each_allocation_may_fail_and_no_change_is_lost)
{
    const char *first[] = {AT("a", "1"), AT("b", "2"), NULL};
    const char *with_c[] = {AT("a", "1"), AT("b", "2"), AT("c", "3"), NULL};
    const char *changed[] = {AT("a", "4"), AT("b", "2"), AT("c", "3"), NULL};
    const char *last[] = {AT("a", "4"), AT("c", "3"), NULL};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *c = object_of(AT("c", "3"));
    COR_CLEANUP(cor_object_unrefp) struct cor_object *a = object_of(AT("a", "4"));
    COR_CLEANUP(cor_object_unrefp) struct cor_object *b = object_of(AT("b", "5"));

    FOR_EACH_FAILED_ALLOC(n) {
        struct bench bench;
        struct cor_feed_store store;
        const struct cor_reflector_store_ops *ops;

        bench_init(&bench);
        bench.ends_at_once = true;
        if (cor_control_loop_new(&bench.opts, &bench.l, NULL) < 0) {
            scripted_port_deinit(&bench.sp);
            continue;
        }
        assert_int_equal(cor_control_loop_add_source(bench.l, &for_pods, &bench.main, NULL), 0);
        cor_feed_store_init(&store, bench.l, bench.main, false);
        ops = store.store.ops;
        assert_int_equal(cor_control_loop_start(bench.l, NULL), 0);
        list_into(&store, first);
        turn(&bench);
        assert_said(&bench, "ns/a ns/b ");
        if (ops->add(&store.store, COR_STR(""), c, cor_reflector_at(COR_STR("3")), NULL) < 0)
            list_into(&store, with_c);
        turn(&bench);
        assert_said(&bench, "ns/c ");
        if (ops->update(&store.store, COR_STR(""), a, cor_reflector_at(COR_STR("4")), NULL) < 0)
            list_into(&store, changed);
        turn(&bench);
        assert_said(&bench, "ns/a ");
        if (ops->del(&store.store, COR_STR(""), b, cor_reflector_at(COR_STR("5")), NULL) < 0)
            list_into(&store, last);
        turn(&bench);
        assert_said(&bench, "ns/b ");
        assert_false(cor_feed_store_has(&store, COR_STR("ns"), COR_STR("b")));
        assert_true(cor_feed_store_has(&store, COR_STR("ns"), COR_STR("c")));
        /* A deletion that only a list shows. */
        list_into(&store, nothing);
        turn(&bench);
        assert_non_null(strstr(bench.said, "ns/a "));
        assert_non_null(strstr(bench.said, "ns/c "));
        bench.said[0] = '\0';
        cor_feed_store_deinit(&store);
        bench_end(&bench);
    }
}

TEST(control_feed, resyncs_the_objects_that_it_keeps)
{
    const char *listed[] = {AT("a", "1"), NULL};
    struct cor_control_feed_opts opts;
    struct follower f;

    follower_init(&f);
    follower_make(&f, false);
    opts = feed_opts(&f, false);
    opts.what.resync_ms = 300000;
    f.feed = cor_control_feed_free(f.feed);
    assert_int_equal(cor_control_feed_new(&opts, &f.feed, NULL), -COR_EINVAL);
    opts.what.keeps_objects = true;
    assert_int_equal(cor_control_feed_new(&opts, &f.feed, NULL), 0);
    scripted_items(&f.b.sp, 0, listed, false);
    scripted_items(&f.b.sp, 0, nothing, true);
    follower_start(&f);
    assert_events(&f, "+a ");
    assert_non_null(cor_control_feed_peek(f.feed, COR_STR("ns"), COR_STR("a")));
    assert_null(cor_control_feed_peek(f.feed, COR_STR("ns"), COR_STR("b")));
    scripted_run(&f.b.sp, 300000);
    assert_events(&f, "=a(old) ");
    follower_end(&f);
}

TEST(control_feed, takes_either_a_source_or_a_store)
{
    struct cor_control_feed_opts opts;
    struct follower f;

    follower_init(&f);
    follower_make(&f, false);
    opts = feed_opts(&f, false);
    f.feed = cor_control_feed_free(f.feed);
    opts.loop = NULL;
    assert_int_equal(cor_control_feed_new(&opts, &f.feed, NULL), -COR_EINVAL);
    bench_end(&f.b);
}
