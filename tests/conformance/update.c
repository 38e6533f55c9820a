#include <stdio.h>

#include "conformance.h"

#define KEY "/pods/ns/foo"

/* An update step that counts its calls and writes what it is given. */
struct updater {
    int calls;
    struct cor_object *object; /* borrowed */
    int64_t ttl_s;
    bool saw_absent;
};

static void write_object(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct updater *u = arg;

    u->calls++;
    u->saw_absent = !current;
    cor_store_change_write(change, cor_object_ref(u->object), u->ttl_s);
}

static void write_same(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct updater *u = arg;

    u->calls++;
    cor_store_change_write(change, cor_object_ref(current), 0);
}

/* RunTestGuaranteedUpdate: missing key */
TEST(conformance, guaranteed_update_of_a_missing_key_needs_ignore_not_found)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *pod = conf_pod("ns", "foo", NULL);
        struct updater u = {.object = pod};
        struct cor_store_update_opts opts = {.step = write_object, .arg = &u};
        CONF_REPLY missing = conf_update(&c, KEY, &opts);

        assert_int_equal(missing.err, -COR_ENOTFOUND);
        assert_int_equal(u.calls, 0);
        opts.ignore_not_found = true;
        {
            CONF_REPLY made = conf_update(&c, KEY, &opts);
            CONF_REPLY got = conf_get(&c, KEY, "", false);

            assert_int_equal(made.err, 0);
            assert_true(u.saw_absent);
            assert_object_rv(got.object, made.object->rev);
        }
        cor_object_unref(pod);
    }
    conf_close(&c);
}

struct guaranteed {
    const char *what;
    const char *next; /* NULL: the same data */
    const char *uid;
    bool stale;
    int err;
    bool changes;
};

/* RunTestGuaranteedUpdate: the other cases */
TEST(conformance, guaranteed_update_writes_only_what_changed)
{
    static const struct guaranteed cases[] = {
        {"existing key",
         "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\",\"uid\":\"A\","
         "\"annotations\":{\"version\":\"1\"}}}",
         NULL, false, 0, true},
        {"same data", NULL, NULL, false, 0, false},
        {"same data, a selfLink",
         "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\",\"uid\":\"A\","
         "\"selfLink\":\"testlink\"}}",
         NULL, false, 0, false},
        {"same data, stale", NULL, NULL, true, 0, true},
        {"UID match", NULL, "A", false, 0, false},
        {"UID mismatch", NULL, "B", false, -COR_EPRECONDITION, false},
    };
    static const char plain[] =
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\",\"uid\":\"A\"}}";
    struct conf c;

    conf_open(&c);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const struct guaranteed *g = &cases[i];
        struct cor_object *before = conf_put(&c, KEY, conf_object(plain));
        struct cor_object *next = conf_object(g->next ? g->next : plain);
        struct updater u = {.object = next};
        struct cor_store_update_opts opts = {.step = write_object, .arg = &u};

        opts.preconditions.uid = g->uid ? cor_strz(g->uid) : cor_str(NULL, 0);
        c.transformer.stale = g->stale;
        {
            CONF_REPLY updated = conf_update(&c, KEY, &opts);

            if (updated.err != g->err)
                fail_msg("%s: %d", g->what, updated.err);
            if (g->err == 0) {
                if ((updated.object->rev > before->rev) != g->changes)
                    fail_msg("%s: %llu", g->what, (unsigned long long)updated.object->rev);
                assert_true(cor_object_same_stored(updated.object, next));
                assert_null(strstr(updated.object->bytes, "selfLink"));
            }
        }
        c.transformer.stale = false;
        cor_object_unref(before);
        cor_object_unref(next);
    }
    conf_close(&c);
}

/* RunTestGuaranteedUpdateWithTTL */
TEST(conformance, guaranteed_update_with_ttl_expires_the_object)
{
    static struct conf_watch w;
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *pod = conf_pod("ns", "foo", NULL);
        struct updater u = {.object = pod, .ttl_s = 1};
        struct cor_store_update_opts opts = {
            .ignore_not_found = true, .step = write_object, .arg = &u};
        CONF_REPLY made = conf_update(&c, KEY, &opts);
        struct cor_store_watch_opts watch = {0};

        assert_int_equal(made.err, 0);
        watch.options.resource_version = cor_strz(conf_rv(made.object->rev));
        conf_watch_open(&c, &w, KEY, &watch);
        conf_watch_expect(&w, COR_WATCH_DELETED, "foo", 0);
        conf_watch_close(&w);
        cor_object_unref(pod);
    }
    conf_close(&c);
}

/* 1.7.8: an update that asks for no TTL takes the lease off. */
TEST(conformance, guaranteed_update_without_ttl_drops_the_lease)
{
    static struct conf_watch w;
    struct conf c;

    conf_open(&c);
    {
        CONF_REPLY kept = conf_create(&c, KEY, conf_pod("ns", "foo", NULL), 1);
        CONF_REPLY dies = conf_create(&c, "/pods/ns/mortal", conf_pod("ns", "mortal", NULL), 1);
        struct cor_object *updated = conf_put_pod(&c, "ns", "foo", "n");
        struct cor_store_watch_opts watch = {.options.recursive = true};

        assert_int_equal(kept.err, 0);
        assert_int_equal(dies.err, 0);
        watch.options.resource_version = cor_strz(conf_rv(updated->rev));
        conf_watch_open(&c, &w, "/pods", &watch);
        conf_watch_expect(&w, COR_WATCH_DELETED, "mortal", 0);
        conf_watch_expect_idle(&w);
        conf_watch_close(&w);
        {
            CONF_REPLY got = conf_get(&c, KEY, "", false);

            assert_int_equal(got.err, 0);
        }
        cor_object_unref(updated);
    }
    conf_close(&c);
}

/* RunTestGuaranteedUpdateChecksStoredData */
TEST(conformance, guaranteed_update_rewrites_stored_data_that_is_not_canonical)
{
    struct conf c;

    conf_open(&c);
    {
        struct updater u = {0};
        struct cor_store_update_opts opts = {.step = write_same, .arg = &u};
        cor_rev raw = conf_write_raw(
            &c, "/registry" KEY,
            "  {\"kind\": \"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\"}}");
        CONF_REPLY first = conf_update(&c, KEY, &opts);
        CONF_REPLY second = conf_update(&c, KEY, &opts);

        assert_int_equal(first.err, 0);
        assert_true(first.object->rev > raw);
        assert_object_rv(second.object, first.object->rev);
        c.transformer.stale = true;
        {
            CONF_REPLY third = conf_update(&c, KEY, &opts);

            assert_true(third.object->rev > second.object->rev);
        }
    }
    conf_close(&c);
}

/* The same with a suggestion: the read that confirms the no-op finds the bytes to be others. */
TEST(conformance, guaranteed_update_with_suggestion_still_checks_stored_data)
{
    struct conf c;

    conf_open(&c);
    {
        struct updater u = {0};
        struct cor_store_update_opts opts = {.step = write_same, .arg = &u};
        cor_rev raw = conf_write_raw(
            &c, "/registry" KEY,
            "  {\"kind\": \"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\"}}");
        CONF_REPLY got = conf_get(&c, KEY, "", false);

        assert_object_rv(got.object, raw);
        opts.suggestion = got.object;
        {
            CONF_REPLY updated = conf_update(&c, KEY, &opts);

            assert_int_equal(updated.err, 0);
            assert_true(updated.object->rev > raw);
            assert_int_equal(u.calls, 1);
        }
    }
    conf_close(&c);
}

/* A step that appends a label, so that every update counts. With a rival it does not write before
 * the rival has read too: the two are sure to meet. */
struct appender {
    struct conf *c;
    int calls;
    int number;
    struct conf_reply reply;
    struct appender *rival;
    struct cor_store_change *held;
    struct cor_object *held_object;
};

static void write_appended(struct appender *a, struct cor_store_change *change,
                           const struct cor_object *current)
{
    const char *at = strstr(current->bytes, "\"seen\":\"");
    struct cor_str old;

    assert_non_null(at);
    old = cor_str(at + 8, (size_t)(strchr(at + 8, '"') - (at + 8)));
    cor_store_change_write(
        change,
        conf_objectf("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\"},"
                     "\"spec\":{\"seen\":\"%.*s,%d\"}}",
                     COR_STR_ARG(old), a->number),
        0);
}

static void append(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct appender *a = arg;

    a->calls++;
    if (a->rival && a->rival->calls == 0) {
        a->held = change;
        a->held_object = cor_object_ref(current);
        return;
    }
    write_appended(a, change, current);
    if (a->rival && a->rival->held) {
        write_appended(a->rival, COR_STEAL(a->rival->held), a->rival->held_object);
        a->rival->held_object = cor_object_unref(a->rival->held_object);
    }
}

static void appended(void *arg, const struct cor_store_reply *reply)
{
    conf_on_reply(&((struct appender *)arg)->reply, reply);
}

static void start_append(struct conf *c, struct appender *a, int number)
{
    struct cor_store_update_opts opts = {.step = append, .on_done = appended, .arg = a};

    *a = (struct appender){.c = c, .number = number};
    assert_int_equal(cor_store_update(c->store, COR_STR(KEY), &opts, NULL), 0);
}

static struct cor_object *seed_appended(struct conf *c)
{
    return conf_put(c, KEY,
                    conf_object("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
                                "\"foo\"},\"spec\":{\"seen\":\"0\"}}"));
}

/* RunTestGuaranteedUpdateWithConflict */
TEST(conformance, guaranteed_update_with_conflict_runs_the_loser_twice)
{
    struct conf c;
    struct appender first, second;

    conf_open_store(&c);
    cor_object_unref(seed_appended(&c));
    start_append(&c, &first, 1);
    start_append(&c, &second, 2);
    first.rival = &second;
    second.rival = &first;
    conf_wait(&c, &first.reply.done);
    conf_wait(&c, &second.reply.done);
    assert_int_equal(first.reply.err, 0);
    assert_int_equal(second.reply.err, 0);
    assert_int_equal(first.calls + second.calls, 3);
    conf_reply_deinit(&first.reply);
    conf_reply_deinit(&second.reply);
    conf_close(&c);
}

/* Issue 2: 64 concurrent updaters of one key without resourceVersion give no conflict. */
TEST(conformance, sixty_four_concurrent_updaters_of_one_key_all_succeed)
{
    static struct appender updaters[64];
    struct conf c;

    conf_open(&c);
    cor_object_unref(seed_appended(&c));
    for (int i = 0; i < 64; i++)
        start_append(&c, &updaters[i], i + 1);
    for (int i = 0; i < 64; i++) {
        conf_wait(&c, &updaters[i].reply.done);
        assert_int_equal(updaters[i].reply.err, 0);
    }
    {
        CONF_REPLY got = conf_get(&c, KEY, "", false);

        for (int i = 1; i <= 64; i++) {
            char part[16];

            snprintf(part, sizeof(part), ",%d%s", i, "");
            assert_non_null(strstr(got.object->bytes, part));
        }
    }
    for (int i = 0; i < 64; i++)
        conf_reply_deinit(&updaters[i].reply);
    conf_close(&c);
}

/* Refuses what it knows to be old. */
struct refuser {
    int calls;
    const char *wants;
    struct cor_object *object; /* borrowed */
};

static void refuse_old(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct refuser *f = arg;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};

    f->calls++;
    if (strstr(current->bytes, f->wants)) {
        cor_store_change_write(change, cor_object_ref(f->object), 0);
        return;
    }
    cor_status_set(&status, -COR_ECONFLICT, "foo");
    cor_store_change_refuse(change, -COR_ECONFLICT, &status);
}

/* RunTestGuaranteedUpdateWithSuggestionAndConflict */
TEST(conformance, guaranteed_update_with_suggestion_and_conflict_reads_once_more)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *old = conf_put_pod(&c, "ns", "foo", "old");
        struct cor_object *new = conf_put_pod(&c, "ns", "foo", "new");
        struct cor_object *next = conf_pod("ns", "foo", "next");
        struct refuser f = {.wants = "\"new\"", .object = next};
        struct cor_store_update_opts opts = {.suggestion = old, .step = refuse_old, .arg = &f};
        CONF_REPLY stale = conf_update(&c, KEY, &opts);

        assert_int_equal(stale.err, 0);
        assert_int_equal(f.calls, 2);
        f = (struct refuser){.wants = "\"nowhere\"", .object = next};
        opts.suggestion = stale.object;
        {
            CONF_REPLY final = conf_update(&c, KEY, &opts);

            assert_int_equal(final.err, -COR_ECONFLICT);
            assert_string_equal(cor_status_message(&final.status), "foo");
            assert_int_equal(f.calls, 1);
        }
        cor_object_unref(old);
        cor_object_unref(new);
        cor_object_unref(next);
    }
    conf_close(&c);
}

static void stop_at(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct refuser *f = arg;

    f->calls++;
    if (strstr(current->bytes, f->wants))
        cor_store_change_stop(change);
    else
        cor_store_change_write(change, cor_object_ref(f->object), 0);
}

/* A dry run is one: no engine's failure may look like it. */
TEST(conformance, guaranteed_update_says_that_its_step_stopped_it)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *old = conf_put_pod(&c, "ns", "foo", "old");
        struct cor_object *new = conf_put_pod(&c, "ns", "foo", "new");
        struct refuser f = {.wants = "\"new\"", .object = new};
        struct cor_store_update_opts opts = {.suggestion = new, .step = stop_at, .arg = &f};
        CONF_REPLY stopped = conf_update(&c, KEY, &opts);

        assert_true(stopped.was_stopped);
        assert_int_equal(stopped.err, -COR_ECANCELED);
        assert_int_equal(f.calls, 1);
        /* What it stopped at was not the present state. */
        f = (struct refuser){.wants = "\"old\"", .object = new};
        opts.suggestion = old;
        {
            CONF_REPLY written = conf_update(&c, KEY, &opts);

            assert_false(written.was_stopped);
            assert_int_equal(written.err, 0);
            assert_int_equal(f.calls, 2);
        }
        cor_object_unref(old);
        cor_object_unref(new);
    }
    conf_close(&c);
}

/* 1.7.4: a no-op on a stale suggestion starts over with the live state. */
TEST(conformance, guaranteed_update_that_changes_nothing_in_a_stale_suggestion_starts_over)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *old = conf_put_pod(&c, "ns", "foo", "old");
        struct cor_object *new = conf_put_pod(&c, "ns", "foo", "new");
        struct updater u = {0};
        struct cor_store_update_opts opts = {.suggestion = old, .step = write_same, .arg = &u};
        CONF_REPLY updated = conf_update(&c, KEY, &opts);

        assert_int_equal(updated.err, 0);
        assert_int_equal(u.calls, 2);
        assert_object_rv(updated.object, new->rev);
        cor_object_unref(old);
        cor_object_unref(new);
    }
    conf_close(&c);
}

/* RunTestTransformationFailure: update without and with suggestion */
TEST(conformance, guaranteed_update_of_an_unreadable_object_fails)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = conf_put_pod(&c, "ns", "foo", NULL);
        struct updater u = {0};
        struct cor_store_update_opts plain = {.step = write_same, .arg = &u};
        struct cor_store_update_opts suggested = {
            .suggestion = made, .step = write_same, .arg = &u};

        c.transformer.broken = true;
        {
            CONF_REPLY without = conf_update(&c, KEY, &plain);
            CONF_REPLY with = conf_update(&c, KEY, &suggested);

            assert_int_equal(without.err, -COR_EINTERNAL);
            assert_int_equal(with.err, -COR_EINTERNAL);
            assert_int_equal(u.calls, 1);
        }
        cor_object_unref(made);
    }
    conf_close(&c);
}

/* An update step that finishes on a later turn of the loop. */
struct later {
    struct conf *c;
    struct cor_mail mail;
    struct cor_store_change *change;
    struct cor_object *current;
};

static void on_later(struct cor_mail *mail)
{
    struct later *l = COR_CONTAINER_OF(mail, struct later, mail);

    cor_store_change_write(l->change, conf_pod("ns", "foo", "later"), 0);
}

static void finish_later(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct later *l = arg;

    l->change = change;
    l->mail.on_mail = on_later;
    cor_loop_post_always(l->c->loop, &l->mail);
}

TEST(conformance, guaranteed_update_waits_for_a_step_that_finishes_later)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = conf_put_pod(&c, "ns", "foo", NULL);
        struct later l = {.c = &c};
        struct cor_store_update_opts opts = {.step = finish_later, .arg = &l};
        CONF_REPLY updated = conf_update(&c, KEY, &opts);

        assert_int_equal(updated.err, 0);
        assert_non_null(strstr(updated.object->bytes, "later"));
        cor_object_unref(made);
    }
    conf_close(&c);
}

/* 1.3.2: no try begins after the deadline. The error is the one that the client gets. */
TEST(conformance, guaranteed_update_stops_at_its_deadline)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = conf_put_pod(&c, "ns", "foo", NULL);
        struct updater u = {0};
        struct cor_store_update_opts opts = {.step = write_same, .arg = &u, .deadline_ms = 1};
        CONF_REPLY updated = conf_update(&c, KEY, &opts);

        assert_int_equal(updated.err, -COR_ETIMEOUT);
        assert_string_equal(cor_status_message(&updated.status),
                            "Timeout: request did not complete within requested timeout - context "
                            "deadline exceeded");
        assert_int_equal(updated.status.code, 504);
        assert_int_equal(u.calls, 0);
        cor_object_unref(made);
    }
    conf_close(&c);
}
