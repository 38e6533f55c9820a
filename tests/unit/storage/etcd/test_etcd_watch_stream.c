/* Watches that share a stream, as feeds see them. */
#include "storage/etcd/etcd_watch_stream.h"

#include "base/err.h"
#include "etcd_feed_fixture.h"

struct pair {
    struct sink first, b, c;
    struct etcd_stream *shared;
};

/* Two feeds from revision 4 catch up. */
static void pair_open(struct pair *p)
{
    open_engine(true);
    start_at_10(&p->first, "/a/", "/a0", SIZE_MAX);
    sink_open(&p->b, "/b/", "/b0", 4, SIZE_MAX, false);
    sink_open(&p->c, "/c/", "/c0", 4, SIZE_MAX, true);
    p->shared = stream_at(1);
    assert_null(stream_at(2));
    assert_nth_watches(p->shared, 0, "/b/", 5, false);
    assert_nth_watches(p->shared, 1, "/c/", 5, true);
}

static void pair_close(struct pair *p)
{
    sink_close(&p->b);
    sink_close(&p->c);
    sink_close(&p->first);
    close_engine();
}

TEST(etcd_watch_stream, feeds_that_catch_up_share_a_stream)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    assert_int_equal(p.shared->progress, 1);
    SAY_TO(p.shared, 2, 10, {"/c/1", 6, 3});
    SAY_TO(p.shared, 1, 10, {"/b/1", 7});
    assert_sink(&p.b, "+/b/1@7|7 ");
    assert_sink(&p.c, "+/c/1@6(3)|6 ");
    SAY_PROGRESS(p.shared, 10);
    assert_sink(&p.b, "|10 ");
    assert_sink(&p.c, "|10 ");
    assert_watches(stream_at(0), "", 11, true);
    assert_null(stream_at(1));
    pair_close(&p);
}

TEST(etcd_watch_stream, fragments_are_put_together_for_each_watch)
{
    struct pair p;
    unsigned asked;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    SAY_PART_TO(p.shared, 1, 10, {"/b/1", 6}, {"/b/2", 7});
    SAY_PART_TO(p.shared, 2, 10, {"/c/1", 8});
    assert_sink(&p.b, "+/b/1@6|6 ");
    assert_sink(&p.c, "");
    /* Both hold a part of a revision: what etcd says of progress is asked for again. */
    asked = p.shared->progress;
    SAY_PROGRESS(p.shared, 10);
    assert_int_equal(p.shared->progress, asked + 1);
    SAY_TO(p.shared, 1, 10, {"/b/3", 7});
    assert_sink(&p.b, "+/b/2@7+/b/3@7|7 ");
    assert_sink(&p.c, "");
    SAY_TO(p.shared, 2, 10, {"/c/2", 8});
    assert_sink(&p.c, "+/c/1@8+/c/2@8|8 ");
    pair_close(&p);
}

TEST(etcd_watch_stream, a_lost_stream_resumes_each_watch_at_its_own_revision)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    SAY_TO(p.shared, 1, 10, {"/b/1", 8});
    SAY_PART_TO(p.shared, 2, 10, {"/c/1", 6}, {"/c/2", 7});
    assert_sink(&p.b, "+/b/1@8|8 ");
    assert_sink(&p.c, "+/c/1@6|6 ");
    cut(p.shared);
    assert_nth_watches(stream_at(1), 0, "/b/", 9, false);
    assert_nth_watches(stream_at(1), 1, "/c/", 7, true);
    SAY_TO(stream_at(1), 2, 10, {"/c/2", 7}, {"/c/3", 7});
    assert_sink(&p.c, "+/c/2@7+/c/3@7|7 ");
    pair_close(&p);
}

/* A watch may be all that a server asks of etcd: it must not wait for a call to notice. */
TEST(etcd_watch_stream, a_member_that_lost_its_leader_is_blamed)
{
    struct pair p;

    pair_open(&p);
    fake_stream_fail(p.shared, COR_GRPC_UNAVAILABLE, "etcdserver: no leader", false);
    assert_int_equal(session.blamed, 1);
    pair_close(&p);
}

TEST(etcd_watch_stream, one_that_leaves_is_given_up_by_its_id)
{
    struct pair p;

    pair_open(&p);
    sink_close(&p.b);
    assert_int_equal(p.shared->canceled, 1);
    /* What was on its way to it is dropped. */
    say_created(p.shared, 1, 10);
    SAY_TO(p.shared, 1, 10, {"/b/1", 6});
    say_control(p.shared, 1, false, 10, "");
    say_created(p.shared, 2, 10);
    SAY_TO(p.shared, 2, 10, {"/c/1", 6});
    assert_sink(&p.c, "+/c/1@6|6 ");
    sink_open(&p.b, "/b/", "/b0", 4, SIZE_MAX, false);
    assert_nth_watches(p.shared, 2, "/b/", 5, false);
    pair_close(&p);
}

TEST(etcd_watch_stream, a_consumer_without_credit_holds_nobody_back)
{
    struct pair p;
    struct sink slow;

    pair_open(&p);
    sink_open(&slow, "/d/", "/d0", 4, 1, false);
    SAY_TO(p.shared, 3, 10, {"/d/1", 5}, {"/d/2", 6});
    assert_sink(&slow, "+/d/1@5|5 ");
    assert_int_equal(p.shared->canceled, 3);
    SAY_TO(p.shared, 1, 10, {"/b/1", 6});
    assert_sink(&p.b, "+/b/1@6|6 ");
    sink_close(&slow);
    pair_close(&p);
}

TEST(etcd_watch_stream, a_refused_watch_is_the_next_to_be_announced)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_control(p.shared, -1, true, 10, REFUSED);
    assert_int_equal(p.c.err, -COR_EINTERNAL);
    assert_int_equal(p.b.err, 0);
    SAY_TO(p.shared, 1, 10, {"/b/1", 6});
    assert_sink(&p.b, "+/b/1@6|6 ");
    pair_close(&p);
}

TEST(etcd_watch_stream, a_refused_stream_breaks_all_its_watches)
{
    struct pair p;

    pair_open(&p);
    fake_stream_fail(p.shared, COR_GRPC_PERMISSION_DENIED, REFUSED, false);
    assert_int_equal(p.b.err, -COR_EINTERNAL);
    assert_int_equal(p.c.err, -COR_EINTERNAL);
    assert_int_equal(p.first.err, 0);
    pair_close(&p);
}

TEST(etcd_watch_stream, an_expired_login_of_one_opens_the_stream_anew_for_all)
{
    struct pair p;

    pair_open(&p);
    session.has_user = true;
    say_created(p.shared, 1, 10);
    say_control(p.shared, -1, true, 10, "etcdserver: invalid auth token");
    assert_int_equal(session.when, ETCD_WAIT_LOGIN);
    turn();
    assert_nth_watches(stream_at(1), 0, "/b/", 5, false);
    assert_nth_watches(stream_at(1), 1, "/c/", 5, true);
    pair_close(&p);
}

TEST(etcd_watch_stream, announcements_out_of_order_end_the_stream)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 2, 10);
    turn();
    assert_nth_watches(stream_at(1), 1, "/c/", 5, true);
    assert_int_equal(stream_at(1)->progress, 0);
    pair_close(&p);
}

/* Etcd's sender may pass the announcement, and the events behind it, with a progress answer. */
TEST(etcd_watch_stream, progress_says_nothing_of_a_watch_that_is_not_announced)
{
    struct pair p;

    fake_session_repeat_questions();
    pair_open(&p);
    say_created(p.shared, 1, 10);
    while (p.shared->progress < 1)
        turn();
    SAY_PROGRESS(p.shared, 12);
    assert_sink(&p.b, "|12 ");
    assert_sink(&p.c, "");
    say_created(p.shared, 2, 10);
    SAY_TO(p.shared, 2, 12, {"/c/1", 6});
    SAY_PROGRESS(p.shared, 12);
    assert_sink(&p.c, "+/c/1@6|6 |12 ");
    pair_close(&p);
}

TEST(etcd_watch_stream, an_answer_to_an_older_question_says_nothing_of_a_new_watch)
{
    struct pair p;
    struct sink d;
    unsigned asked;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    assert_int_equal(p.shared->progress, 1);
    sink_open(&d, "/d/", "/d0", 4, SIZE_MAX, false);
    asked = p.shared->progress;
    say_created(p.shared, 3, 10);
    assert_int_equal(p.shared->progress, asked + 1);
    /* The answer to the first question, on its way when the third watch was announced. */
    SAY_PROGRESS(p.shared, 10);
    assert_int_equal(p.shared->progress, asked + 2);
    assert_sink(&p.b, "|10 ");
    assert_sink(&d, "");
    SAY_TO(p.shared, 3, 10, {"/d/1", 6});
    SAY_PROGRESS(p.shared, 10);
    assert_sink(&d, "+/d/1@6|6 |10 ");
    sink_close(&d);
    pair_close(&p);
}

TEST(etcd_watch_stream, an_answer_above_the_announcement_is_younger_than_it)
{
    struct pair p;
    struct sink d;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    sink_open(&d, "/d/", "/d0", 4, SIZE_MAX, false);
    say_created(p.shared, 3, 10);
    SAY_PROGRESS(p.shared, 11);
    assert_sink(&d, "|11 ");
    sink_close(&d);
    pair_close(&p);
}

TEST(etcd_watch_stream, a_watch_that_others_hold_up_goes_on_alone)
{
    struct pair p;

    fake_session_repeat_questions();
    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    while (!stream_at(2))
        turn();
    turn();
    /* The first left for a stream of its own; then the other has the stream for itself. */
    assert_nth_watches(stream_at(1), 1, "/c/", 5, true);
    assert_int_equal(stream_at(1)->canceled, 1);
    assert_watches(stream_at(2), "/b/", 5, false);
    say_created(stream_at(2), 1, 10);
    SAY_PROGRESS(stream_at(2), 10);
    assert_sink(&p.b, "|10 ");
    assert_null(stream_at(2));
    pair_close(&p);
}

TEST(etcd_watch_stream, a_full_queue_loses_no_watch)
{
    struct pair p;
    struct sink d;

    pair_open(&p);
    session.send_err = -COR_EBUSY;
    sink_open(&d, "/d/", "/d0", 4, SIZE_MAX, false);
    assert_int_equal(p.shared->ncreates, 2);
    session.send_err = 0;
    turn();
    assert_nth_watches(p.shared, 2, "/d/", 5, false);
    /* One that cannot be given up ends the stream. */
    session.send_err = -COR_EBUSY;
    sink_close(&d);
    session.send_err = 0;
    turn();
    assert_nth_watches(stream_at(1), 0, "/b/", 5, false);
    assert_nth_watches(stream_at(1), 1, "/c/", 5, true);
    pair_close(&p);
}

TEST(etcd_watch_stream, a_failed_allocation_loses_no_event)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct pair p;

        test_fail_alloc(0, false);
        pair_open(&p);
        test_fail_alloc(n, false);
        say_created(p.shared, 1, 10);
        turn();
        test_fail_alloc(0, false);
        turn();
        p.shared = stream_at(1);
        test_fail_alloc(n, false);
        SAY_TO(p.shared, 2, 10, {"/c/1", 6});
        test_fail_alloc(0, false);
        turn();
        if (p.c.text.n == 0) {
            /* The watch, or all of its stream, began anew. */
            p.shared = stream_at(1);
            SAY_TO(p.shared, p.shared->ncreates, 10, {"/c/1", 6});
        }
        assert_sink(&p.c, "+/c/1@6|6 ");
        pair_close(&p);
    }
}

/* Places of their own, below the feeds. */

struct joiner {
    struct etcd_watch_streams streams;
    struct etcd_place first, second;
    int first_err, joined; /* how the first ended; what joining again from there answered */
};

static struct joiner *joiner;

static void joiner_on_events(struct etcd_place *place, struct etcd_watch_answer *answer)
{
}

static void joiner_on_progress(struct etcd_place *place, cor_rev rev)
{
}

static void joiner_on_lost(struct etcd_place *place, enum etcd_wait_when when)
{
}

static void join_again(struct etcd_place *place, int err, const char *message);

static const struct etcd_place_cbs joiner_cbs = {
    .on_events = joiner_on_events,
    .on_progress = joiner_on_progress,
    .on_end = join_again,
    .on_lost = joiner_on_lost,
};

static int join(struct etcd_place *place)
{
    const struct etcd_watch_create create = {
        .key = COR_STR("/a/"), .end = COR_STR("/a0"), .from = 5};

    return cor_etcd_watch_streams_join(&joiner->streams, false, &create, &joiner_cbs, place);
}

static void join_again(struct etcd_place *place, int err, const char *message)
{
    if (place != &joiner->first)
        return;
    joiner->first_err = err;
    joiner->joined = join(&joiner->second);
}

static void joiner_open(struct joiner *j)
{
    fake_session_open(&session);
    *j = (struct joiner){.first_err = 0};
    joiner = j;
    cor_etcd_watch_streams_init(&j->streams, &session);
    assert_int_equal(join(&j->first), 0);
}

static void joiner_close(struct joiner *j)
{
    cor_etcd_place_leave(&j->first);
    cor_etcd_place_leave(&j->second);
    assert_null(j->streams.shared);
    fake_session_close(&session);
}

TEST(etcd_watch_stream, one_that_fails_to_join_while_others_are_told_leaves_the_stream_whole)
{
    struct joiner j;

    joiner_open(&j);
    session.send_err = -COR_EBUSY;
    say_control(stream_at(0), -1, true, 10, REFUSED);
    assert_int_equal(j.first_err, -COR_EFORBIDDEN);
    assert_int_equal(j.joined, -COR_EBUSY);
    session.send_err = 0;
    assert_null(stream_at(0));
    assert_int_equal(join(&j.second), 0);
    assert_watches(stream_at(0), "/a/", 6, false);
    joiner_close(&j);
}

TEST(etcd_watch_stream, one_that_joins_while_a_refused_stream_ends_gets_another)
{
    struct joiner j;

    joiner_open(&j);
    fake_stream_fail(stream_at(0), COR_GRPC_PERMISSION_DENIED, REFUSED, false);
    assert_int_equal(j.first_err, -COR_EFORBIDDEN);
    assert_int_equal(j.joined, 0);
    assert_watches(stream_at(0), "/a/", 6, false);
    joiner_close(&j);
}
