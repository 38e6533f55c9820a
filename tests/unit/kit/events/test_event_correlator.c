/* Contract client 4.3.9 to 4.3.12: the cases of client-go's events_cache_test. */
#include <stdio.h>

#include "base/err.h"
#include "kit/events/event_correlator.h"
#include "test.h"

static const struct cor_event pod = {
    .about = {.kind = COR_STR("Pod"),
              .api_version = COR_STR("v1"),
              .ns = COR_STR("default"),
              .name = COR_STR("web"),
              .uid = COR_STR("u1")},
    .type = COR_STR("Normal"),
    .reason = COR_STR("Pulled"),
    .message = COR_STR("the image"),
    .component = COR_STR("kubelet"),
    .host = COR_STR("n1"),
    .event_name = COR_STR("web.1"),
    .first_ms = 1000,
    .last_ms = 1000,
    .count = 1,
};

static struct cor_event_correlator *begin(void)
{
    struct cor_event_correlator *c;

    assert_int_equal(cor_event_correlator_new(&c), 0);
    return c;
}

TEST(event_correlator, an_event_alone_is_sent_as_it_is)
{
    struct cor_event_correlator *c = begin();
    struct cor_event e;

    assert_int_equal(cor_event_correlate(c, &pod, 0, &e), 0);
    assert_int_equal(e.count, 1);
    assert_str(e.event_name, "web.1");
    assert_str(e.message, "the image");
    cor_event_correlator_free(c);
}

/* The count of an Event is an int32, which typed clients read. */
TEST(event_correlator, a_count_that_no_int32_holds_is_written_as_the_largest)
{
    struct cor_event many = pod;

    many.count = UINT32_MAX;
    for (int i = 0; i < 3; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};

        assert_int_equal(i == 0   ? cor_event_write(&many, &out)
                         : i == 1 ? cor_event_write_patch(&many, &out)
                                  : cor_event_write_v1(&many, &out),
                         0);
        assert_non_null(strstr(cor_buf_z(&out), "\"count\":2147483647"));
    }
}

/* Contract client 4.3.10. */
TEST(event_correlator, equal_events_are_one_with_a_count)
{
    struct cor_event_correlator *c = begin();
    struct cor_event again = pod, e;

    assert_int_equal(cor_event_correlate(c, &pod, 0, &e), 0);
    again.event_name = COR_STR("web.2");
    again.first_ms = again.last_ms = 5000;
    assert_int_equal(cor_event_correlate(c, &again, 4000, &e), 0);
    assert_int_equal(e.count, 2);
    assert_str(e.event_name, "web.1");
    assert_int_equal(e.first_ms, 1000);
    assert_int_equal(e.last_ms, 5000);
    cor_event_correlator_free(c);
}

/* Contract client 4.3.10, 4.3.14. */
TEST(event_correlator, another_container_or_message_or_object_is_another_event)
{
    struct cor_event_correlator *c = begin();
    struct cor_event others[5] = {pod, pod, pod, pod, pod}, e;

    others[0].about.field_path = COR_STR("spec.containers{a}");
    others[1].message = COR_STR("another image");
    others[2].about.uid = COR_STR("u2");
    others[3].reason = COR_STR("Started");
    others[4].type = COR_STR("Warning");
    assert_int_equal(cor_event_correlate(c, &pod, 0, &e), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(cor_event_correlate(c, &others[i], 0, &e), 0);
        assert_int_equal(e.count, 1);
    }
    cor_event_correlator_free(c);
}

/* The `i`-th of events that differ by their message. */
static int similar(struct cor_event_correlator *c, int i, uint64_t now_ms, struct cor_event *ret)
{
    static char message[32], name[16];
    struct cor_event e = pod;

    snprintf(message, sizeof(message), "image %d", i);
    snprintf(name, sizeof(name), "web.%d", 100 + i);
    e.message = cor_strz(message);
    e.event_name = cor_strz(name);
    return cor_event_correlate(c, &e, now_ms, ret);
}

/* Contract client 4.3.9. */
TEST(event_correlator, the_tenth_of_similar_events_stands_for_those_that_follow)
{
    struct cor_event_correlator *c = begin();
    struct cor_event e;

    for (int i = 0; i < 9; i++) {
        assert_int_equal(similar(c, i, 0, &e), 0);
        assert_int_equal(e.count, 1);
        assert_false(cor_str_starts(e.message, COR_STR("(combined")));
    }
    assert_int_equal(similar(c, 9, 0, &e), 0);
    assert_int_equal(e.count, 1);
    assert_str(e.message, "(combined from similar events): image 9");
    assert_str(e.event_name, "web.109");
    assert_int_equal(similar(c, 10, 0, &e), 0);
    assert_int_equal(e.count, 2);
    assert_str(e.message, "(combined from similar events): image 10");
    assert_str(e.event_name, "web.109");
    cor_event_correlator_free(c);
}

/* Contract client 4.3.9. */
TEST(event_correlator, events_further_apart_than_ten_minutes_are_not_similar)
{
    struct cor_event_correlator *c = begin();
    struct cor_event e;

    for (int i = 0; i < 20; i++) {
        assert_int_equal(similar(c, i, (uint64_t)i * 600001, &e), 0);
        assert_false(cor_str_starts(e.message, COR_STR("(combined")));
    }
    cor_event_correlator_free(c);
    c = begin();
    for (int i = 0; i < 10; i++)
        assert_int_equal(similar(c, i, (uint64_t)i * 600000, &e), 0);
    assert_true(cor_str_starts(e.message, COR_STR("(combined")));
    cor_event_correlator_free(c);
}

/* Contract client 4.3.11. */
TEST(event_correlator, too_many_events_of_one_object_are_not_sent)
{
    struct cor_event_correlator *c = begin();
    struct cor_event other = pod, e;

    for (int i = 0; i < 25; i++)
        assert_int_equal(cor_event_correlate(c, &pod, 0, &e), 0);
    assert_int_equal(cor_event_correlate(c, &pod, 0, &e), COR_EVENT_SKIP);
    other.reason = COR_STR("Started");
    assert_int_equal(cor_event_correlate(c, &other, 0, &e), COR_EVENT_SKIP);
    other.about.name = COR_STR("db");
    assert_int_equal(cor_event_correlate(c, &other, 0, &e), 0);
    assert_int_equal(cor_event_correlate(c, &pod, 300000, &e), 0);
    assert_int_equal(e.count, 27);
    assert_int_equal(cor_event_correlate(c, &pod, 300000, &e), COR_EVENT_SKIP);
    cor_event_correlator_free(c);
}

/* Its count after `n` other objects had events of their own. */
static uint32_t count_after(size_t n)
{
    struct cor_event_correlator *c = begin();
    struct cor_event other = pod, e;
    char uid[16];

    assert_int_equal(cor_event_correlate(c, &pod, 0, &e), 0);
    for (size_t i = 0; i < n; i++) {
        snprintf(uid, sizeof(uid), "other-%zu", i);
        other.about.uid = cor_strz(uid);
        assert_int_equal(cor_event_correlate(c, &other, 0, &e), 0);
    }
    assert_int_equal(cor_event_correlate(c, &pod, 0, &e), 0);
    cor_event_correlator_free(c);
    return e.count;
}

/* Contract client 4.3.12. */
TEST(event_correlator, the_4096_last_seen_are_remembered)
{
    assert_int_equal(count_after(4095), 2);
    assert_int_equal(count_after(4096), 1);
}

TEST(event_correlator, a_long_message_is_cut_when_it_is_combined)
{
    struct cor_event_correlator *c = begin();
    char text[COR_EVENT_MESSAGE_MAX];
    struct cor_event e, many = pod;

    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 9; i++)
        assert_int_equal(similar(c, i, 0, &e), 0);
    many.message = cor_str(text, sizeof(text));
    assert_int_equal(cor_event_correlate(c, &many, 0, &e), 0);
    assert_int_equal(e.message.n, COR_EVENT_MESSAGE_MAX);
    cor_event_correlator_free(c);
}

TEST(event_correlator, refuses_an_event_that_it_has_no_memory_for)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_event_correlator *c;
        struct cor_event e;

        bool is_combined;
        int ntaken = 0;

        if (cor_event_correlator_new(&c) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        for (int i = 0; i < 11; i++) {
            int r = similar(c, i, 0, &e);

            assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
            ntaken += r == 0;
            if (r < 0)
                continue;
            /* One that was refused may have been counted. */
            is_combined = cor_str_starts(e.message, COR_STR("(combined from "));
            assert_true(is_combined ? i + 1 >= COR_EVENT_SIMILAR_MAX
                                    : ntaken < COR_EVENT_SIMILAR_MAX);
        }
        assert_true(ntaken >= 10);
        cor_event_correlator_free(c);
    }
}
