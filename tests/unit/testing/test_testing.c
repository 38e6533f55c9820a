/* A fake from inside: a start that takes too long, and every allocation of it that fails once. What
 * clients see of it is in tests/testing/. */
#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "base/lock.h"
#include "test.h"
#include "testing/testing_int.h"

static const struct cor_testing_action action = {.verb = COR_STR_INIT("get"),
                                                 .version = COR_STR_INIT("v1"),
                                                 .resource = COR_STR_INIT("pods"),
                                                 .body = COR_STR_INIT("{}")};

/* The bootstrap goes on while the start is undone, and ends in what is still there. */
TEST(testing, a_start_that_takes_too_long_is_undone)
{
    struct cor_testing_error why = {.message = ""};
    struct cor_testing *fake;

    assert_int_equal(cor_testing_open(0, &fake, &why), -COR_ETIMEOUT);
    assert_string_equal(why.message, "the fake did not start");
}

static int react(void *arg, const struct cor_testing_action *seen, struct cor_testing_answer *ret)
{
    return 0;
}

TEST(testing, records_and_reactors_need_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_testing fake = {.nrecords = 0};
        int r;

        cor_lock_init(&fake.lock, COR_LOCK_TESTING);
        cor_cond_init(&fake.changed);
        r = cor_testing_note(&fake, &action);
        if (r == 0)
            r = cor_testing_prepend_reactor(&fake, "get", "pods", react, NULL);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_true(r < 0 || (fake.nrecords == 1 && fake.nreactions == 1));
        cor_testing_free_actions(&fake);
        cor_cond_deinit(&fake.changed);
        cor_lock_deinit(&fake.lock);
    }
}

/* Some allocations are those of caches and logs, which do without. */
static void check(int r, const char *message)
{
    assert_true(r == 0 || r == -COR_ENOMEM || test_alloc_failed());
    assert_true(r == 0 || message[0] != '\0');
}

/* The informer of definitions and the allocators try again a second later when they lack memory. Of
 * allocations whose failure costs that second every eighth fails. */
TEST(testing, a_fake_starts_or_says_why_not)
{
    size_t skipped = 0;

    for (size_t n = test_next_alloc(0); n > 0; n = test_next_alloc(n + skipped)) {
        const time_t began = time(NULL);
        struct cor_testing_error why = {.message = ""};
        struct cor_testing *fake = NULL;
        int r = cor_testing_new(&fake, &why);

        check(r, why.message);
        cor_testing_free(r == 0 ? fake : NULL);
        skipped = test_alloc_failed() && time(NULL) > began ? 7 : 0;
    }
}

TEST(testing, an_object_is_added_or_it_is_told_why_not)
{
    struct cor_testing_error why = {.message = ""};
    struct cor_testing *fake;
    char object[256];
    int i = 0;

    assert_int_equal(cor_testing_new(&fake, &why), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        snprintf(object, sizeof(object),
                 "kind: Pod\napiVersion: v1\nmetadata: {name: p%d, namespace: other}\n"
                 "spec: {containers: [{name: c, image: i}]}\nstatus: {phase: Running}\n",
                 i++);
        why.message[0] = '\0';
        r = cor_testing_add(fake, cor_strz(object), &why);
        check(r, why.message);
    }
    cor_testing_free(fake);
}
