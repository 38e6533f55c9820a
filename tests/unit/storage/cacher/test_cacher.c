/* The cacher over a real engine, in memory and on disk ($COR_CONFORMANCE_ENGINE), driven through
 * the fixture of the conformance suite. What the suite itself checks is not repeated here. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/mem.h"
#include "conformance.h"
#include "storage/cacher/cacher_int.h"
#include "storage/store/store_int.h"

TEST_FILE_NEEDS(COR_CONFORMANCE_CACHER)

static struct conf c;

static cor_rev put(const char *ns, const char *name, const char *node)
{
    struct cor_object *object = conf_put_pod(&c, ns, name, node);
    cor_rev rev = object->rev;

    cor_object_unref(object);
    return rev;
}

static bool is_ready(void *arg)
{
    return cor_cacher_is_ready(arg);
}

static void wait_for(bool (*done)(void *arg))
{
    assert_true(cor_loop_run_until(c.loop, done, c.cacher, CONF_TIMEOUT_MS));
}

static struct cor_store_list_opts list_opts(const char *rv, const char *match, int64_t limit)
{
    return (struct cor_store_list_opts){.options = {.recursive = true,
                                                    .resource_version = cor_strz(rv),
                                                    .resource_version_match = cor_strz(match),
                                                    .limit = limit}};
}

/* TestComputeListLimit */
TEST(cacher, list_at_zero_ignores_the_limit)
{
    struct cor_store_list_opts opts = list_opts("0", "", 1);

    conf_open(&c);
    put("ns", "a", NULL);
    put("ns", "b", NULL);
    {
        CONF_LIST list = conf_list(&c, "/pods", &opts);

        assert_string_equal(conf_list_names(&list), "ns/a,ns/b");
        assert_string_equal(list.token, "");
        assert_int_equal(list.remaining, -1);
    }
    conf_close(&c);
}

/* TestWaitUntilFreshAndGet, TestWaitUntilFreshAndListTimeout: 504 with a second to wait, in 3 s. */
TEST(cacher, a_revision_that_does_not_come_is_too_large)
{
    struct cor_store_list_opts opts;

    conf_open(&c);
    put("ns", "a", NULL);
    opts = list_opts(conf_rv(conf_revision(&c) + 100), "NotOlderThan", 0);
    {
        CONF_REPLY got = conf_get(&c, "/pods/ns/a", conf_rv(conf_revision(&c) + 100), false);
        CONF_LIST list = conf_list(&c, "/pods", &opts);

        assert_int_equal(got.err, -COR_EFUTURE);
        assert_int_equal(got.status.code, 504);
        assert_int_equal(got.status.retry_after_s, 1);
        assert_int_equal(list.err, -COR_EFUTURE);
        assert_int_equal(list.status.retry_after_s, 1);
        assert_int_equal(list.status.ncauses, 1);
        assert_string_equal(list.status.causes[0].type, "ResourceVersionTooLarge");
    }
    conf_close(&c);
}

TEST(cacher, a_revision_that_comes_is_waited_for)
{
    struct conf_reply got = {0};
    struct cor_store_get_opts opts = {0};
    cor_rev rev;

    conf_open(&c);
    rev = put("ns", "a", "x");
    opts.resource_version = cor_strz(conf_rv(rev + 1));
    assert_int_equal(
        cor_reader_get(c.reader, COR_STR("/pods/ns/a"), &opts, conf_on_reply, &got, NULL), 0);
    conf_revision(&c);
    assert_false(got.done);
    put("ns", "a", "y");
    conf_wait(&c, &got.done);
    assert_int_equal(got.err, 0);
    assert_int_equal(got.object->rev, rev + 1);
    conf_reply_deinit(&got);
    conf_close(&c);
}

TEST(cacher, an_acknowledged_write_is_in_the_next_consistent_read)
{
    struct cor_store_list_opts opts = list_opts("", "", 0);

    conf_open(&c);
    for (int i = 0; i < 200; i++) {
        cor_rev rev = put("ns", "a", i % 2 ? "x" : "y");
        CONF_REPLY got = conf_get(&c, "/pods/ns/a", "", false);
        CONF_LIST list = conf_list(&c, "/pods", &opts);
        struct cor_object *hint = cor_reader_suggest(c.reader, COR_STR("/pods/ns/a"));

        assert_int_equal(got.object->rev, rev);
        assert_int_equal(list.rev, rev);
        assert_int_equal(list.items[0]->rev, rev);
        assert_int_equal(hint->rev, rev);
        cor_object_unref(hint);
    }
    conf_close(&c);
}

TEST(cacher, a_list_does_not_change_while_it_is_read_out)
{
    struct cor_store_list_opts opts = list_opts("", "", 0);

    conf_open(&c);
    conf_fill(&c, "ns", 500);
    {
        CONF_LIST before = conf_list(&c, "/pods", &opts);
        struct cor_store_list_opts exact = list_opts(conf_rv(before.rev), "Exact", 0);

        for (int i = 0; i < 300; i++) {
            char name[16];

            snprintf(name, sizeof(name), "p%04d", i);
            if (i % 3)
                put("ns", name, "changed");
            else {
                char key[64];

                snprintf(key, sizeof(key), "/pods/ns/%s", name);
                cor_object_unref(conf_remove(&c, key));
            }
        }
        {
            CONF_LIST after = conf_list(&c, "/pods", &exact);

            assert_int_equal(after.rev, before.rev);
            assert_int_equal(after.nitems, 500);
            for (size_t i = 0; i < 500; i++)
                assert_ptr_equal(after.items[i], before.items[i]);
        }
    }
    conf_close(&c);
}

static int counted_read(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status);

static struct {
    struct cor_transformer transformer;
    const struct cor_transformer *inner;
    _Atomic size_t reads;
} counting = {.transformer = {.from_storage = counted_read}};

static int counted_read(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status)
{
    atomic_fetch_add(&counting.reads, 1);
    return counting.inner->from_storage(counting.inner, key, in, scratch, ret_out, ret_stale,
                                        reterr_status);
}

TEST(cacher, an_encrypted_write_reaches_the_cache_without_being_decrypted_again)
{
    const struct cor_gr pods = {.group = COR_STR(""), .resource = COR_STR("pods")};
    struct cor_store_list_opts all = list_opts("", "", 0);
    struct cor_encryption *encryption;

    assert_int_equal(
        cor_encryption_new(
            COR_STR(
                "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n"
                "resources:\n- resources: [pods]\n  providers:\n  - aescbc: {keys: [{name: key1, "
                "secret: c2VjcmV0IGlzIHNlY3VyZQ==}]}\n"),
            NULL, &encryption, NULL),
        0);
    conf_open(&c);
    counting.inner = cor_encryption_peek(encryption, &pods);
    c.cacher_store->transformer = &counting.transformer;
    c.store->transformer = counting.inner;
    put("ns", "a", "x");
    put("ns", "b", "x");
    put("ns", "a", "y");
    {
        CONF_LIST list = conf_list(&c, "/pods", &all);

        assert_int_equal(list.nitems, 2);
        assert_int_equal(list.items[0]->rev, list.rev);
    }
    assert_int_equal(atomic_load(&counting.reads), 0);
    conf_close(&c);
    cor_encryption_unref(encryption);
}

/* A transformer runs where the bytes are decoded: for an event, on the engine thread. */
static _Atomic int fail_next;

static int failing_read(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status)
{
    int n = atomic_exchange(&fail_next, 0);

    if (n > 0)
        test_fail_alloc((size_t)n, false);
    *ret_out = in;
    *ret_stale = false;
    return 0;
}

/* The first ones fail in the cache, the later ones in the engine, with the write after it. The
 * writes are raw: their values have to be read. */
TEST(cacher, no_event_is_lost_when_memory_fails_while_it_is_applied)
{
    static const struct cor_transformer transformer = {.from_storage = failing_read};
    struct cor_store_list_opts all = list_opts("", "", 0);

    conf_open(&c);
    c.cacher_store->transformer = &transformer;
    for (int n = 1; n <= 6; n++) {
        char key[40], json[96];

        snprintf(key, sizeof(key), "/registry/pods/ns/p%d", n);
        snprintf(json, sizeof(json),
                 "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p%d\"}}", n);
        atomic_store(&fail_next, n);
        conf_write_raw(&c, key, json);
        atomic_store(&fail_next, 0);
        if (n == 1)
            assert_false(cor_cacher_is_ready(c.cacher));
        wait_for(is_ready);
        {
            CONF_LIST list = conf_list(&c, "/pods", &all);

            assert_int_equal(list.nitems, n);
        }
    }
    conf_close(&c);
}

/* Decision 5: nothing is parsed on the engine thread that its writer had parsed already. */
static _Atomic unsigned cacher_reads;

static int counting_read(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                         struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                         struct cor_status *reterr_status)
{
    atomic_fetch_add(&cacher_reads, 1);
    *ret_out = in;
    *ret_stale = false;
    return 0;
}

TEST(cacher, a_write_is_applied_without_being_read_again)
{
    static const struct cor_transformer transformer = {.from_storage = counting_read};
    struct cor_store_list_opts all = list_opts("0", "", 0);

    conf_open(&c);
    c.cacher_store->transformer = &transformer;
    atomic_store(&cacher_reads, 0);
    put("ns", "a", "x");
    put("ns", "a", "y");
    put("ns", "b", "x");
    assert_int_equal(atomic_load(&cacher_reads), 0);
    {
        CONF_LIST list = conf_list(&c, "/pods", &all);
        struct cor_reader *reader = COR_STEAL(c.reader);
        CONF_REPLY stored = conf_get(&c, "/pods/ns/a", "", false);

        c.reader = reader;
        assert_int_equal(list.nitems, 2);
        assert_true(cor_str_eq(cor_object_json(list.items[0]), cor_object_json(stored.object)));
        assert_int_equal(list.items[0]->rev, stored.object->rev);
    }
    conf_write_raw(&c, "/registry/pods/ns/c",
                   "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\"}}");
    assert_int_equal(atomic_load(&cacher_reads), 1);
    conf_close(&c);
}

/* The store is read at the revision of the snapshot. */
TEST(cacher, a_check_against_the_store_agrees_while_others_write)
{
    conf_open(&c);
    conf_fill(&c, "ns", 600);
    assert_true(cor_cacher_consistency_begin(c.cacher));
    for (int i = 0; c.cacher->check.under_way; i++)
        put("ns", "p0001", i % 2 ? "x" : "y");
    assert_int_equal(cor_cacher_stats(c.cacher).checks_passed, 1);
    assert_int_equal(cor_cacher_stats(c.cacher).checks_failed, 0);
    conf_close(&c);
}

struct listed {
    bool done, is_seen;
    int err;
};

static void on_listed(void *arg, int err, struct cor_status *status,
                      struct cor_list_cursor *take_cursor)
{
    struct listed *listed = arg;

    listed->done = true;
    listed->err = err;
    if (!take_cursor)
        return;
    assert_non_null(cor_list_cursor_next(take_cursor));
    assert_non_null(cor_list_cursor_next(take_cursor));
    assert_null(cor_list_cursor_next(take_cursor));
    assert_int_equal(take_cursor->remaining, 3);
    listed->is_seen = true;
    cor_list_cursor_free(take_cursor);
}

/* Looks at two objects at a time, of nine of which it wants none, and then at all. */
static void on_listed_in_parts(void *arg, int err, struct cor_status *status,
                               struct cor_list_cursor *take_cursor)
{
    struct listed *listed = arg;
    size_t pauses = 0, given = 0;

    assert_int_equal(err, 0);
    listed->done = true;
    take_cursor->is_bounded = true;
    do {
        take_cursor->is_paused = false;
        take_cursor->looks_left = 2;
        while (cor_list_cursor_next(take_cursor))
            given++;
        pauses += take_cursor->is_paused;
    } while (take_cursor->is_paused);
    assert_true(pauses >= 4 && pauses <= 5);
    assert_int_equal(given, 1);
    cor_list_cursor_free(take_cursor);
}

TEST(cacher, a_list_that_selects_little_can_be_read_in_parts)
{
    COR_CLEANUP(cor_predicate_deinit) struct cor_predicate predicate = {0};
    struct cor_store_list_opts opts = list_opts("", "", 0);
    struct listed listed = {0};

    assert_int_equal(
        cor_predicate_parse(COR_STR(""), COR_STR("metadata.name=p0007"), NULL, &predicate, NULL),
        0);
    opts.predicate = &predicate;
    conf_open(&c);
    conf_fill(&c, "ns", 9);
    assert_int_equal(
        cor_reader_list(c.reader, COR_STR("/pods"), &opts, on_listed_in_parts, &listed, NULL), 0);
    conf_wait(&c, &listed.done);
    conf_close(&c);
}

/* The page was looked for before the answer: a single look is enough to read all of it. */
static void on_selected_page(void *arg, int err, struct cor_status *status,
                             struct cor_list_cursor *take_cursor)
{
    struct listed *listed = arg;
    struct cor_object *object;

    assert_int_equal(err, 0);
    listed->done = true;
    take_cursor->is_bounded = true;
    take_cursor->looks_left = 1;
    for (int i = 1; i <= 3; i++) {
        char name[8];

        snprintf(name, sizeof(name), "p%04d", i);
        object = cor_list_cursor_next(take_cursor);
        assert_non_null(object);
        assert_str(cor_object_name(object), name);
    }
    assert_null(cor_list_cursor_next(take_cursor));
    assert_false(take_cursor->is_paused);
    assert_int_equal(take_cursor->looks_left, 1);
    assert_true(take_cursor->continue_token[0] != '\0');
    assert_true(take_cursor->bytes >= 3 * sizeof(void *));
    cor_list_cursor_free(take_cursor);
}

TEST(cacher, the_objects_of_a_selected_page_are_matched_once)
{
    COR_CLEANUP(cor_predicate_deinit) struct cor_predicate predicate = {0};
    struct cor_store_list_opts opts = list_opts("", "", 3);
    struct listed listed = {0};

    assert_int_equal(
        cor_predicate_parse(COR_STR(""), COR_STR("metadata.name!=p0000"), NULL, &predicate, NULL),
        0);
    opts.predicate = &predicate;
    conf_open(&c);
    conf_fill(&c, "ns", 9);
    assert_int_equal(
        cor_reader_list(c.reader, COR_STR("/pods"), &opts, on_selected_page, &listed, NULL), 0);
    conf_wait(&c, &listed.done);
    conf_close(&c);
}

#define PAGE_OBJECTS (2 * COR_LIST_LOOKS_AT_ONCE + 10)

struct page_search {
    struct listed listed;
    struct cor_mail mail;
    size_t turns; /* of the loop while it was under way */
    bool is_over; /* the mail does not come again */
};

static void on_search_turn(struct cor_mail *mail)
{
    struct page_search *search = COR_CONTAINER_OF(mail, struct page_search, mail);

    if (search->listed.done) {
        search->is_over = true;
        return;
    }
    search->turns++;
    cor_loop_post_always(c.loop, &search->mail);
}

static void on_page_found(void *arg, int err, struct cor_status *status,
                          struct cor_list_cursor *take_cursor)
{
    struct page_search *search = arg;
    struct cor_object *object;

    search->listed.done = true;
    search->listed.err = err;
    if (err < 0)
        return;
    assert_true(take_cursor->continue_token[0] != '\0');
    assert_int_equal(take_cursor->remaining, -1);
    object = cor_list_cursor_next(take_cursor);
    assert_str(cor_object_name(object), "p8200");
    assert_null(cor_list_cursor_next(take_cursor));
    cor_list_cursor_free(take_cursor);
    search->listed.is_seen = true;
}

/* No fingerprint speaks of fields, so every object is looked at. */
TEST(cacher, the_page_of_a_selector_is_found_in_several_turns)
{
    COR_CLEANUP(cor_predicate_deinit) struct cor_predicate predicate = {0};
    struct cor_store_list_opts opts = list_opts("", "", 1);
    struct page_search search = {.mail.on_mail = on_search_turn};

    assert_int_equal(
        cor_predicate_parse(COR_STR(""), COR_STR("metadata.name=p8200"), NULL, &predicate, NULL),
        0);
    opts.predicate = &predicate;
    conf_open(&c);
    conf_fill(&c, "ns", PAGE_OBJECTS);
    assert_int_equal(
        cor_reader_list(c.reader, COR_STR("/pods"), &opts, on_page_found, &search, NULL), 0);
    cor_loop_post_always(c.loop, &search.mail);
    conf_wait(&c, &search.is_over);
    assert_true(search.listed.is_seen);
    assert_true(search.turns >= 2);
    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        search = (struct page_search){0};
        r = cor_reader_list(c.reader, COR_STR("/pods"), &opts, on_page_found, &search, NULL);
        if (r == 0)
            conf_wait(&c, &search.listed.done);
        else
            search.listed.err = r;
        assert_true(search.listed.err == 0 ||
                    (search.listed.err == -COR_ENOMEM && test_alloc_failed()));
        assert_int_equal(search.listed.err == 0, search.listed.is_seen);
    }
    conf_close(&c);
}

TEST(cacher, get_and_list_survive_every_failed_allocation)
{
    struct cor_store_list_opts opts = list_opts("", "", 2);

    conf_open(&c);
    conf_fill(&c, "ns", 5);
    FOR_EACH_FAILED_ALLOC(n) {
        CONF_REPLY got = conf_get(&c, "/pods/ns/p0001", "", false);

        assert_true(got.err == 0 || (got.err == -COR_ENOMEM && test_alloc_failed()));
        assert_int_equal(got.err == 0, got.object != NULL);
        if (got.object)
            assert_str(cor_object_name(got.object), "p0001");
    }
    FOR_EACH_FAILED_ALLOC(n) {
        struct listed listed = {0};
        int r = cor_reader_list(c.reader, COR_STR("/pods"), &opts, on_listed, &listed, NULL);

        if (r == 0)
            conf_wait(&c, &listed.done);
        else
            listed.err = r;
        assert_true(listed.err == 0 || (listed.err == -COR_ENOMEM && test_alloc_failed()));
        assert_int_equal(listed.err == 0, listed.is_seen);
    }
    conf_close(&c);
}
