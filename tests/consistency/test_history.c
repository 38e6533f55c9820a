/* The checker must find what it looks for. */
#include "history.h"
#include "test.h"

static struct event event(enum event_type type, uint16_t key, uint64_t rev, uint32_t token,
                          uint8_t color)
{
    return (struct event){.type = type, .key = key, .rev = rev, .content = {token, color, 0}};
}

static const struct scope red = {ANY, ANY, 1, ANY, ANY};

/* Key 1 becomes red and is deleted, key 2 is red all the time. */
static void fill(struct history *h)
{
    const struct event all[] = {
        event(EVENT_ADDED, 1, 10, 1, 0),    event(EVENT_ADDED, 2, 11, 2, 1),
        event(EVENT_MODIFIED, 1, 13, 3, 1), event(EVENT_MODIFIED, 2, 14, 4, 1),
        event(EVENT_MODIFIED, 1, 15, 5, 0), event(EVENT_DELETED, 1, 17, 5, 0),
    };
    struct verdict verdict = {0};

    memset(h, 0, sizeof(*h));
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        history_add(h, &all[i], &verdict);
    assert_false(verdict.is_wrong);
}

/* Is a watcher right that saw these after a list at `from` with `ninitial` of them? */
static bool is_right(struct segment segment, const struct event *v, size_t n)
{
    struct history h;
    struct verdict verdict = {0};

    fill(&h);
    for (size_t i = 0; i < n; i++)
        events_add(&segment.events, &v[i]);
    history_check(&h, &segment, &verdict);
    events_deinit(&segment.events);
    history_deinit(&h);
    return !verdict.is_wrong;
}

#define RIGHT(segment, v) assert_true(is_right((segment), (v), sizeof(v) / sizeof((v)[0])))
#define WRONG(segment, v) assert_false(is_right((segment), (v), sizeof(v) / sizeof((v)[0])))

static const struct segment reds = {
    .scope = {ANY, ANY, 1, ANY, ANY}, .start = START_LIST, .has_begun = true, .from = 9};

TEST(history, a_watcher_that_saw_its_part_is_right)
{
    const struct event v[] = {event(EVENT_ADDED, 2, 11, 2, 1), event(EVENT_ADDED, 1, 13, 3, 1),
                              event(EVENT_MODIFIED, 2, 14, 4, 1), event(EVENT_DELETED, 1, 15, 3, 1),
                              event(EVENT_BOOKMARK, 0, 17, 0, 0)};

    RIGHT(reds, v);
}

TEST(history, a_lost_event_is_found)
{
    const struct event v[] = {event(EVENT_ADDED, 2, 11, 2, 1), event(EVENT_MODIFIED, 2, 14, 4, 1)};

    WRONG(reds, v);
}

TEST(history, a_repeated_event_is_found)
{
    const struct event v[] = {event(EVENT_ADDED, 2, 11, 2, 1), event(EVENT_ADDED, 2, 11, 2, 1)};

    WRONG(reds, v);
}

TEST(history, events_out_of_order_are_found)
{
    const struct event v[] = {event(EVENT_ADDED, 1, 13, 3, 1), event(EVENT_ADDED, 2, 11, 2, 1)};

    WRONG(reds, v);
}

TEST(history, a_wrong_type_and_a_wrong_content_are_found)
{
    const struct event type[] = {event(EVENT_MODIFIED, 2, 11, 2, 1)};
    const struct event content[] = {event(EVENT_ADDED, 2, 11, 1, 1)};
    const struct event deleted[] = {
        event(EVENT_ADDED, 2, 11, 2, 1), event(EVENT_ADDED, 1, 13, 3, 1),
        event(EVENT_MODIFIED, 2, 14, 4, 1), event(EVENT_DELETED, 1, 15, 5, 0)};

    WRONG(reds, type);
    WRONG(reds, content);
    WRONG(reds, deleted);
}

TEST(history, a_bookmark_before_its_events_is_found)
{
    const struct event v[] = {event(EVENT_ADDED, 2, 11, 2, 1), event(EVENT_BOOKMARK, 0, 13, 0, 0)};

    WRONG(reds, v);
}

TEST(history, an_initial_state_is_that_of_its_revision)
{
    struct segment listed = reds;
    const struct event right[] = {event(EVENT_ADDED, 1, 13, 3, 1), event(EVENT_ADDED, 2, 11, 2, 1),
                                  event(EVENT_MODIFIED, 2, 14, 4, 1)};
    const struct event wrong[] = {event(EVENT_ADDED, 2, 11, 2, 1), event(EVENT_ADDED, 1, 13, 3, 1)};

    listed.from = 13;
    listed.ninitial = 2;
    RIGHT(listed, right);
    listed.known_rev = 14;
    WRONG(listed, right);
    listed.known_rev = 0;
    listed.ninitial = 1;
    WRONG(listed, wrong);
}

TEST(history, the_end_of_an_untold_initial_state_is_guessed)
{
    const struct segment now = {.scope = red, .start = START_NOW};
    const struct event right[] = {event(EVENT_ADDED, 1, 13, 3, 1), event(EVENT_ADDED, 2, 11, 2, 1),
                                  event(EVENT_MODIFIED, 2, 14, 4, 1)};
    const struct event lost[] = {event(EVENT_ADDED, 1, 13, 3, 1),
                                 event(EVENT_MODIFIED, 2, 14, 4, 1)};
    const struct event mixed[] = {event(EVENT_ADDED, 1, 13, 3, 1), event(EVENT_ADDED, 2, 14, 4, 1),
                                  event(EVENT_MODIFIED, 2, 14, 4, 1)};

    RIGHT(now, right);
    WRONG(now, lost);
    WRONG(now, mixed);
}

TEST(history, a_history_that_cannot_be_is_found)
{
    const struct event wrong[] = {event(EVENT_MODIFIED, 3, 18, 9, 0),
                                  event(EVENT_ADDED, 2, 18, 9, 0),
                                  event(EVENT_DELETED, 2, 18, 9, 0),
                                  event(EVENT_ADDED, 3, 16, 9, 0), event(EVENT_ADDED, 1, 17, 9, 0)};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct history h;
        struct verdict verdict = {0};

        fill(&h);
        history_add(&h, &wrong[i], &verdict);
        assert_true(verdict.is_wrong);
        history_deinit(&h);
    }
}

/* Revision 20 changes three keys; the last of it has been seen, or has not. */
TEST(history, a_revision_of_many_keys_is_seen_once_and_whole)
{
    const struct event all[] = {event(EVENT_ADDED, 4, 20, 20, 1), event(EVENT_ADDED, 5, 20, 21, 0),
                                event(EVENT_ADDED, 6, 20, 22, 1), event(EVENT_ADDED, 7, 21, 23, 1)};
    static const struct {
        unsigned seen[6]; /* which of them, by the last digit of the key */
        bool is_right;
    } cases[] = {
        {{4, 6, 7}, true}, {{4, 6}, true},        {{4}, true}, /* cut off by the client itself */
        {{4, 7}, false},   {{4, 4, 6, 7}, false}, {{6, 4, 7}, false}, {{4, 6, 4, 6, 7}, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct segment s = {.scope = red, .start = START_OLD, .has_begun = true, .from = 18};
        struct history h;
        struct verdict verdict = {0};

        fill(&h);
        for (size_t j = 0; j < sizeof(all) / sizeof(all[0]); j++) {
            history_add(&h, &all[j], &verdict);
            assert_int_equal(h.whole, all[j].rev - 1);
        }
        assert_false(verdict.is_wrong);
        for (size_t j = 0; cases[i].seen[j]; j++)
            events_add(&s.events, &all[cases[i].seen[j] - 4]);
        history_check(&h, &s, &verdict);
        assert_int_equal(!verdict.is_wrong, cases[i].is_right);
        events_deinit(&s.events);
        history_deinit(&h);
    }
}
