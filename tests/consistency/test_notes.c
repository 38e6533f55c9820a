/* The judge of what writers were told must find what it looks for. Each play is about one key: the
 * first writer makes the pod at revision 10, with token 1, and is told so. */
#include "notes.h"
#include "test.h"

#define KEY 7

struct play {
    struct notes notes;
    struct history history;
    struct verdict verdict;
};

static void see(struct play *p, enum event_type type, uint64_t rev, uint32_t token, bool is_marked)
{
    const struct event event = {
        .type = type, .key = KEY, .rev = rev, .content = {token, 0, 0}, .is_marked = is_marked};

    history_add(&p->history, &event, &p->verdict);
    assert_false(p->verdict.is_wrong);
}

static void begin(struct play *p)
{
    memset(p, 0, sizeof(*p));
    notes_init(&p->notes);
    assert_int_equal(notes_take(&p->notes, OP_CREATE, KEY), 1);
    notes_done(&p->notes, 1, 10);
    see(p, EVENT_ADDED, 10, 1, false);
}

/* NULL: all is right; else what is wrong has these words. */
static void end(struct play *p, const char *wrong)
{
    notes_check(&p->notes, &p->history, &p->verdict);
    if (wrong && !strstr(p->verdict.text, wrong))
        fail_msg("not '%s', but '%s'", wrong, p->verdict.text);
    if (!wrong && p->verdict.is_wrong)
        fail_msg("'%s'", p->verdict.text);
    history_deinit(&p->history);
    notes_deinit(&p->notes);
}

TEST(notes, a_write_is_where_its_writer_was_told)
{
    static const struct {
        uint64_t told, seen; /* 0: not at all */
        const char *wrong;
    } rows[] = {{11, 11, NULL},
                {11, 12, "acknowledged at 11"},
                {11, 0, "lost: nothing was changed there"},
                {0, 11, NULL},
                {0, 0, NULL}};
    struct play p;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(&p);
        assert_int_equal(notes_take(&p.notes, OP_PATCH, KEY), 2);
        if (rows[i].told)
            notes_done(&p.notes, 2, rows[i].told);
        if (rows[i].seen)
            see(&p, EVENT_MODIFIED, rows[i].seen, 2, false);
        end(&p, rows[i].wrong);
    }
}

TEST(notes, what_was_refused_or_never_written_is_not_there)
{
    struct play p;

    begin(&p);
    notes_refused(&p.notes, notes_take(&p.notes, OP_PATCH, KEY));
    end(&p, NULL);

    begin(&p);
    notes_refused(&p.notes, notes_take(&p.notes, OP_PATCH, KEY));
    see(&p, EVENT_MODIFIED, 11, 2, false);
    end(&p, "token 2 was refused");

    begin(&p);
    see(&p, EVENT_MODIFIED, 11, 2, false);
    end(&p, "nobody wrote token 2");

    begin(&p);
    notes_take(&p.notes, OP_PATCH, KEY + 1);
    see(&p, EVENT_MODIFIED, 11, 2, false);
    end(&p, "nobody wrote token 2");
}

/* The pod is marked at 11, written by somebody else at 12, marked again at 13 and removed at 14. */
TEST(notes, a_deletion_is_its_removal_or_its_mark)
{
    static const struct {
        uint64_t told;
        const char *wrong;
    } rows[] = {{10, "lost: it was made there"},
                {11, NULL},
                {12, "lost: it was changed there"},
                {13, NULL},
                {14, NULL},
                {15, "lost: nothing was changed there"}};
    struct play p;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(&p);
        assert_int_equal(notes_take(&p.notes, OP_OUTSIDE, KEY), 2);
        notes_done(&p.notes, 2, 12);
        notes_done(&p.notes, notes_take(&p.notes, OP_DELETE, KEY), rows[i].told);
        see(&p, EVENT_MODIFIED, 11, 1, true);
        see(&p, EVENT_MODIFIED, 12, 2, false);
        see(&p, EVENT_MODIFIED, 13, 2, true);
        see(&p, EVENT_DELETED, 14, 2, true);
        end(&p, rows[i].wrong);
    }
}

/* Deletions, and updates of what is marked, are told the revision of a mark when somebody else may
 * have removed the pod. Who writes afterwards must not find it. */
TEST(notes, what_was_told_to_be_removed_is_gone_for_whoever_writes_afterwards)
{
    static const struct {
        bool writes, begins_before; /* somebody finds the pod; it began before the answer */
        bool is_removed;
        const char *wrong;
    } rows[] = {{false, false, true, NULL},
                {false, false, false, "marked there, and not removed"},
                {true, true, true, NULL},
                {true, true, false, "marked there, and not removed"},
                {true, false, true, "marked there, and not removed"}};
    struct play p;

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        bool is_update = i % 2;
        uint32_t token, other = 0;

        begin(&p);
        token = notes_take(&p.notes, is_update ? OP_UPDATE : OP_DELETE, KEY);
        if (rows[i / 2].begins_before)
            other = notes_take(&p.notes, OP_OUTSIDE, KEY);
        if (is_update)
            notes_removed(&p.notes, token, 11);
        else
            notes_done(&p.notes, token, 11);
        see(&p, EVENT_MODIFIED, 11, 1, true);
        if (rows[i / 2].writes && !other)
            other = notes_take(&p.notes, OP_OUTSIDE, KEY);
        if (rows[i / 2].writes)
            see(&p, EVENT_MODIFIED, 12, other, false);
        if (rows[i / 2].is_removed)
            see(&p, EVENT_DELETED, 13, other ? other : 1, true);
        end(&p, rows[i / 2].wrong);
    }
}

TEST(notes, an_update_that_removed_the_pod_has_not_written_it)
{
    struct play p;

    begin(&p);
    see(&p, EVENT_MODIFIED, 11, 1, true);
    notes_removed(&p.notes, notes_take(&p.notes, OP_UPDATE, KEY), 11);
    see(&p, EVENT_MODIFIED, 12, 2, true);
    see(&p, EVENT_DELETED, 13, 2, true);
    end(&p, "token 2 was not written");
}
