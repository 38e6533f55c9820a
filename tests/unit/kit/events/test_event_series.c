/* Contract client 4.4.1, 4.4.2. */
#include <stdio.h>

#include "base/err.h"
#include "kit/events/event_series.h"
#include "test.h"

#define MINUTE 60000

static const struct cor_event pod = {
    .about = {.kind = COR_STR("Pod"),
              .api_version = COR_STR("v1"),
              .ns = COR_STR("default"),
              .name = COR_STR("web"),
              .uid = COR_STR("u1")},
    .related = {.kind = COR_STR("Node"), .name = COR_STR("n1")},
    .type = COR_STR("Normal"),
    .reason = COR_STR("Scheduled"),
    .action = COR_STR("Binding"),
    .message = COR_STR("to n1"),
    .component = COR_STR("scheduler"),
    .host = COR_STR("scheduler-m1"),
    .event_name = COR_STR("web.1"),
    .first_ms = 1000,
    .last_ms = 1000,
    .count = 1,
};

static struct cor_event_series *begin(void)
{
    struct cor_event_series *s;

    assert_int_equal(cor_event_series_new(&s), 0);
    assert_true(cor_event_series_due_ms(s) == UINT64_MAX);
    return s;
}

/* `n` times the same event. */
static void add(struct cor_event_series *s, int n, uint64_t now_ms)
{
    struct cor_event e;

    while (n-- > 0)
        assert_true(cor_event_series_add(s, &pod, now_ms, &e) >= 0);
}

static void assert_nothing_due(struct cor_event_series *s, uint64_t now_ms)
{
    struct cor_event e;

    assert_false(cor_event_series_take_due(s, now_ms, &e));
}

static void assert_due(struct cor_event_series *s, uint64_t now_ms, uint32_t count, bool is_done)
{
    struct cor_event e;

    assert_true(cor_event_series_take_due(s, now_ms, &e));
    assert_int_equal(e.count, count);
    assert_str(e.event_name, "web.1");
    cor_event_series_written(s, is_done);
}

/* Contract client 4.4.1. */
TEST(event_series, begins_with_the_second_and_counts_those_that_follow)
{
    struct cor_event_series *s = begin();
    struct cor_event again = pod, e;

    assert_int_equal(cor_event_series_add(s, &pod, 0, &e), 0);
    assert_int_equal(e.count, 1);
    assert_str(e.event_name, "web.1");
    again.event_name = COR_STR("web.2");
    again.message = COR_STR("another note");
    again.first_ms = again.last_ms = 5000;
    assert_int_equal(cor_event_series_add(s, &again, 4000, &e), 0);
    assert_int_equal(e.count, 2);
    assert_str(e.event_name, "web.1");
    assert_str(e.message, "to n1");
    assert_int_equal(e.first_ms, 1000);
    assert_int_equal(e.last_ms, 5000);
    assert_int_equal(cor_event_series_add(s, &again, 4000, &e), COR_EVENT_SKIP);
    cor_event_series_free(s);
}

/* Contract client 4.4.1. */
TEST(event_series, differ_by_all_but_the_note)
{
    struct cor_event_series *s = begin();
    struct cor_event others[9] = {pod, pod, pod, pod, pod, pod, pod, pod, pod}, e;

    others[0].type = COR_STR("Warning");
    others[1].action = COR_STR("Preempting");
    others[2].reason = COR_STR("Failed");
    others[3].component = COR_STR("other");
    others[4].host = COR_STR("scheduler-m2");
    others[5].about.uid = COR_STR("u2");
    others[6].about.resource_version = COR_STR("7");
    others[7].about.field_path = COR_STR("spec.containers{a}");
    others[8].related = (struct cor_event_ref){0};
    add(s, 1, 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(others); i++) {
        assert_int_equal(cor_event_series_add(s, &others[i], 0, &e), 0);
        assert_int_equal(e.count, 1);
    }
    cor_event_series_free(s);
}

/* Contract client 4.4.2. */
TEST(event_series, that_go_on_are_written_every_half_hour)
{
    struct cor_event_series *s = begin();

    for (int i = 0; i <= 30; i += 5) {
        assert_nothing_due(s, i > 0 ? (uint64_t)i * MINUTE - 1 : 0);
        add(s, 2, (uint64_t)i * MINUTE);
    }
    assert_due(s, 30 * MINUTE, 14, true);
    assert_nothing_due(s, 30 * MINUTE);
    for (int i = 35; i < 60; i += 5)
        add(s, 1, (uint64_t)i * MINUTE);
    assert_nothing_due(s, 60 * MINUTE - 1);
    assert_due(s, 60 * MINUTE, 19, true);
    cor_event_series_free(s);
}

/* Contract client 4.4.2. */
TEST(event_series, that_ended_are_written_once_more_and_forgotten)
{
    struct cor_event_series *s = begin();
    struct cor_event e;

    add(s, 3, 0);
    assert_int_equal(cor_event_series_due_ms(s), 6 * MINUTE);
    /* Six minutes are not more than six minutes. */
    assert_nothing_due(s, 6 * MINUTE);
    assert_int_equal(cor_event_series_due_ms(s), 12 * MINUTE);
    assert_due(s, 12 * MINUTE, 3, true);
    assert_true(cor_event_series_due_ms(s) == UINT64_MAX);
    assert_int_equal(cor_event_series_add(s, &pod, 12 * MINUTE, &e), 0);
    assert_int_equal(e.count, 1);
    cor_event_series_free(s);
}

/* Contract client 4.4.2. */
TEST(event_series, of_one_are_forgotten_without_a_word)
{
    struct cor_event_series *s = begin();

    add(s, 1, 0);
    assert_nothing_due(s, 6 * MINUTE);
    assert_false(cor_event_series_due_ms(s) == UINT64_MAX);
    assert_nothing_due(s, 12 * MINUTE);
    assert_true(cor_event_series_due_ms(s) == UINT64_MAX);
    cor_event_series_free(s);
}

/* Contract client 4.4.2. */
TEST(event_series, that_could_not_be_written_are_due_in_the_next_round)
{
    struct cor_event_series *s = begin();

    add(s, 3, 0);
    assert_due(s, 7 * MINUTE, 3, false);
    assert_nothing_due(s, 7 * MINUTE);
    assert_nothing_due(s, 13 * MINUTE - 1);
    assert_due(s, 13 * MINUTE, 3, true);
    assert_true(cor_event_series_due_ms(s) == UINT64_MAX);
    cor_event_series_free(s);
}

TEST(event_series, that_go_on_before_their_end_is_written_are_kept)
{
    struct cor_event_series *s = begin();
    struct cor_event other = pod, e;

    add(s, 3, 0);
    other.reason = COR_STR("Failed");
    for (int i = 0; i < 2; i++)
        assert_true(cor_event_series_add(s, &other, 0, &e) >= 0);
    assert_due(s, 7 * MINUTE, 3, true);
    assert_int_equal(cor_event_series_due_ms(s), 0);
    assert_int_equal(cor_event_series_add(s, &other, 7 * MINUTE, &e), COR_EVENT_SKIP);
    assert_due(s, 7 * MINUTE, 3, true);
    assert_int_equal(cor_event_series_add(s, &other, 7 * MINUTE, &e), COR_EVENT_SKIP);
    cor_event_series_free(s);
}

TEST(event_series, beyond_the_maximum_the_one_silent_for_longest_is_forgotten)
{
    struct cor_event_series *s = begin();
    struct cor_event other = pod, e;
    char name[16];

    /* Two that are due to be written, one of which was tried. */
    add(s, 2, 0);
    other.about.name = COR_STR("second");
    for (int i = 0; i < 2; i++)
        assert_int_equal(cor_event_series_add(s, &other, 0, &e), 0);
    assert_due(s, 7 * MINUTE, 2, false);
    assert_int_equal(cor_event_series_due_ms(s), 0);
    for (int i = 0; i < COR_EVENT_SERIES_MAX; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        other.about.name = cor_strz(name);
        assert_int_equal(cor_event_series_add(s, &other, 7 * MINUTE, &e), 0);
        assert_int_equal(e.count, 1);
    }
    assert_nothing_due(s, 7 * MINUTE);
    other.about.name = COR_STR("p0");
    assert_int_equal(cor_event_series_add(s, &other, 7 * MINUTE, &e), 0);
    assert_int_equal(e.count, 2);
    assert_int_equal(cor_event_series_add(s, &pod, 7 * MINUTE, &e), 0);
    assert_int_equal(e.count, 1);
    cor_event_series_free(s);
}

TEST(event_series, refuse_an_event_that_they_have_no_memory_for)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_event_series *s;
        struct cor_event e;

        int count = 0;

        if (cor_event_series_new(&s) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        for (int i = 0; i < 3; i++) {
            int r = cor_event_series_add(s, &pod, 0, &e);

            assert_true(r >= 0 || (r == -COR_ENOMEM && test_alloc_failed()));
            count += r >= 0;
            if (r == 0)
                assert_int_equal(e.count, count);
        }
        assert_true(count >= 2);
        if (cor_event_series_take_due(s, 7 * MINUTE, &e))
            cor_event_series_written(s, true);
        assert_nothing_due(s, 7 * MINUTE);
        cor_event_series_free(s);
    }
}
