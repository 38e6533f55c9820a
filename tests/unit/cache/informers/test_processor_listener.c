#include <stdio.h>

#include "base/err.h"
#include "cache/informers/processor_listener.h"
#include "drain.h"
#include "test.h"

static char heard[1024];
static int behind;

static void hear_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "add%.*s ",
             COR_STR_ARG(cor_object_resource_version(o)));
}

static void hear_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%.*s-%.*s ",
             COR_STR_ARG(cor_object_resource_version(old)),
             COR_STR_ARG(cor_object_resource_version(o)));
}

static void hear_delete(void *arg, struct cor_str key, struct cor_object *o, bool unknown)
{
    snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "gone(%.*s) ", COR_STR_ARG(key));
}

static void hear_behind(void *arg, size_t pending_bytes)
{
    behind++;
}

static struct cor_object *at(int rv)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *bare, *o;

    assert_int_equal(cor_object_parse(COR_STR("{\"metadata\":{\"name\":\"a\"}}"), NULL, NULL, NULL,
                                      &bare, &status),
                     0);
    assert_int_equal(cor_object_at(bare, (cor_rev)rv, &o), 0);
    cor_object_unref(bare);
    return o;
}

static struct cor_processor_listener *begin(size_t bytes_max)
{
    struct cor_processor_listener *l;
    const struct cor_handler_fns handler = {hear_add, hear_update, hear_delete, hear_behind, NULL};

    heard[0] = '\0';
    behind = 0;
    assert_int_equal(cor_processor_listener_new(&handler, bytes_max, NULL, NULL, &l), 0);
    return l;
}

static void tell_flagged(struct cor_processor_listener *l, enum cor_change_kind kind, bool flag,
                         const char *key, int old, int new)
{
    struct cor_object *a = old ? at(old) : NULL, *b = at(new);
    const struct cor_change change = {kind, flag, cor_strz(key), a, b};
    struct cor_notification *n = cor_notification_new(l, &change);

    assert_non_null(n);
    cor_notification_push(n);
    cor_object_unref(a);
    cor_object_unref(b);
}

static void tell(struct cor_processor_listener *l, enum cor_change_kind kind, const char *key,
                 int old, int new)
{
    tell_flagged(l, kind, false, key, old, new);
}

/* Contract client 1.18.1. */
TEST(processor_listener, tells_everything_while_its_handler_keeps_up)
{
    struct cor_processor_listener *l = begin(0);

    tell(l, COR_CHANGE_ADD, "a", 0, 1);
    tell(l, COR_CHANGE_UPDATE, "a", 1, 2);
    tell(l, COR_CHANGE_UPDATE, "a", 2, 3);
    tell(l, COR_CHANGE_DELETE, "a", 0, 4);
    assert_int_equal(drain_listener(l, 2), 2);
    assert_string_equal(heard, "add1 1-2 ");
    assert_int_equal(drain_listener(l, 10), 2);
    assert_string_equal(heard, "add1 1-2 2-3 gone(a) ");
    assert_int_equal(behind, 0);
    cor_processor_listener_free(l);
}

TEST(processor_listener, beyond_its_bound_updates_are_folded_and_nothing_else)
{
    struct cor_processor_listener *l = begin(1);
    struct cor_processor_listener_stats stats;

    tell(l, COR_CHANGE_ADD, "a", 0, 1);
    tell(l, COR_CHANGE_UPDATE, "a", 1, 2);
    tell(l, COR_CHANGE_UPDATE, "b", 5, 6);
    tell(l, COR_CHANGE_UPDATE, "b", 6, 7);
    tell(l, COR_CHANGE_DELETE, "a", 0, 8);
    tell(l, COR_CHANGE_ADD, "a", 0, 9);
    tell(l, COR_CHANGE_UPDATE, "a", 9, 10);
    assert_int_equal(behind, 1);
    cor_processor_listener_stats(l, &stats);
    assert_int_equal(stats.pending, 4);
    assert_int_equal(stats.folded, 3);
    drain_listener(l, 100);
    assert_string_equal(heard, "add2 5-7 gone(a) add10 ");
    cor_processor_listener_stats(l, &stats);
    assert_int_equal(stats.pending_bytes, 0);
    tell(l, COR_CHANGE_UPDATE, "a", 10, 11);
    assert_int_equal(behind, 2);
    cor_processor_listener_free(l);
}

/* Contract client 1.18.1. */
TEST(processor_listener, zero_is_no_bound_and_nothing_is_folded)
{
    struct cor_processor_listener *l = begin(0);

    for (int i = 1; i < 100; i++)
        tell(l, COR_CHANGE_UPDATE, "a", i, i + 1);
    assert_int_equal(drain_listener(l, 1000), 99);
    cor_processor_listener_free(l);
}

/* Contract client 1.18.4. */
TEST(processor_listener, a_closed_one_drops_what_waits_and_what_comes)
{
    struct cor_processor_listener *l = begin(0);

    tell(l, COR_CHANGE_ADD, "a", 0, 1);
    cor_processor_listener_close(l);
    tell(l, COR_CHANGE_ADD, "b", 0, 2);
    assert_int_equal(drain_listener(l, 10), 0);
    assert_string_equal(heard, "");
    cor_processor_listener_free(l);
}

TEST(processor_listener, exactly_its_bound_is_not_behind)
{
    struct cor_processor_listener_stats stats;
    struct cor_processor_listener *l = begin(0);

    tell(l, COR_CHANGE_ADD, "a", 0, 1);
    cor_processor_listener_stats(l, &stats);
    cor_processor_listener_free(l);
    l = begin(stats.pending_bytes);
    tell(l, COR_CHANGE_ADD, "a", 0, 1);
    assert_int_equal(behind, 0);
    tell(l, COR_CHANGE_UPDATE, "a", 1, 2);
    assert_int_equal(behind, 1);
    cor_processor_listener_free(l);
}

/* What is told of an object's earlier life does not end the folding of its present one. */
TEST(processor_listener, updates_are_folded_into_the_newest_of_their_key)
{
    struct cor_processor_listener *l = begin(1);

    tell(l, COR_CHANGE_ADD, "a", 0, 1);
    tell(l, COR_CHANGE_DELETE, "a", 0, 2);
    tell(l, COR_CHANGE_ADD, "a", 0, 3);
    assert_int_equal(drain_listener(l, 1), 1);
    tell(l, COR_CHANGE_UPDATE, "a", 3, 4);
    drain_listener(l, SIZE_MAX);
    assert_string_equal(heard, "add1 gone(a) add4 ");
    cor_processor_listener_free(l);
}

static struct cor_processor_listener *asked;
static bool saw_inside;

static void ask_inside(void *arg, struct cor_object *o, bool in_initial_list)
{
    saw_inside |= cor_processor_listener_saw_initial(asked);
}

/* Contract client 1.20.1: one counter of adds that go through in order. */
TEST(processor_listener, has_seen_the_first_list_when_its_handler_has_returned_from_all_of_it)
{
    const struct cor_handler_fns handler = {.on_add = ask_inside};

    saw_inside = false;
    assert_int_equal(cor_processor_listener_new(&handler, 0, NULL, NULL, &asked), 0);
    tell_flagged(asked, COR_CHANGE_ADD, true, "a", 0, 1);
    tell_flagged(asked, COR_CHANGE_ADD, true, "b", 0, 2);
    tell(asked, COR_CHANGE_UPDATE, "a", 1, 3);
    assert_false(cor_processor_listener_saw_initial(asked));
    assert_int_equal(drain_listener(asked, 1), 1);
    assert_false(cor_processor_listener_saw_initial(asked));
    assert_int_equal(drain_listener(asked, 1), 1);
    assert_true(cor_processor_listener_saw_initial(asked));
    assert_false(saw_inside);
    tell(asked, COR_CHANGE_ADD, "c", 0, 4);
    assert_true(cor_processor_listener_saw_initial(asked));
    asked = cor_processor_listener_free(asked);
}

/* Contract client 1.17.17: what was dropped has not been seen. */
TEST(processor_listener, a_closed_one_never_saw_the_initial_adds_that_it_dropped)
{
    struct cor_processor_listener *l = begin(0);

    assert_true(cor_processor_listener_saw_initial(l));
    tell_flagged(l, COR_CHANGE_ADD, true, "a", 0, 1);
    cor_processor_listener_close(l);
    assert_false(cor_processor_listener_saw_initial(l));
    cor_processor_listener_free(l);

    l = begin(0);
    cor_processor_listener_close(l);
    tell_flagged(l, COR_CHANGE_ADD, true, "a", 0, 1);
    assert_false(cor_processor_listener_saw_initial(l));
    cor_processor_listener_free(l);
}

static void take_long(void *arg, struct cor_object *old, struct cor_object *o)
{
    hear_update(NULL, old, o);
    cor_clock_manual_advance(arg, COR_TURN_MS);
}

static void take_short(void *arg, struct cor_object *old, struct cor_object *o)
{
    hear_update(NULL, old, o);
    cor_clock_manual_advance(arg, 2);
}

static struct cor_turn one_turn(void (*on_update)(void *, struct cor_object *, struct cor_object *),
                                size_t max)
{
    struct cor_clock_manual clk;
    const struct cor_handler_fns handler = {.on_update = on_update, .arg = &clk};
    struct cor_turn turn = {.max = max, .clock = &clk.clock, .began_ms = 77};
    struct cor_processor_listener *l;

    cor_clock_manual_init(&clk, 77, 0);
    heard[0] = '\0';
    assert_int_equal(cor_processor_listener_new(&handler, 0, NULL, NULL, &l), 0);
    for (int i = 1; i <= 4; i++)
        tell(l, COR_CHANGE_UPDATE, "a", i, i + 1);
    cor_processor_listener_turn(l, &turn);
    cor_processor_listener_free(l);
    return turn;
}

TEST(processor_listener, a_turn_ends_with_a_long_call_when_its_time_is_up_or_after_so_many)
{
    struct cor_turn turn = one_turn(take_long, 10);

    assert_string_equal(heard, "1-2 ");
    assert_true(turn.has_more);
    assert_int_equal(turn.longest_ms, COR_TURN_MS);
    turn = one_turn(take_short, 10);
    assert_string_equal(heard, "1-2 2-3 3-4 ");
    assert_true(turn.has_more);
    assert_int_equal(turn.longest_ms, 2);
    turn = one_turn(take_short, 2);
    assert_string_equal(heard, "1-2 2-3 ");
    assert_int_equal(turn.n, 2);
    assert_true(turn.has_more);
}
