#include "base/err.h"
#include "cache/informers/mutation_detector.h"
#include "fake_server.h"
#include "test.h"

static int found;

static void on_mutation(void *arg, const struct cor_object *object)
{
    assert_ptr_equal(arg, &found);
    found++;
}

static struct cor_mutation_detector *begin(void)
{
    const struct cor_mutation_detector_opts opts = {on_mutation, &found};
    struct cor_mutation_detector *d;

    found = 0;
    assert_int_equal(cor_mutation_detector_new(&opts, 0, &d), 0);
    return d;
}

TEST(mutation_detector, says_nothing_of_objects_that_stay_as_they_are)
{
    struct cor_mutation_detector *d = begin();
    struct cor_object *o = fake_object("a", 1);

    assert_int_equal(cor_mutation_detector_add(d, o), 0);
    for (uint64_t now = 0; now < 300000; now += COR_MUTATION_PERIOD_MS)
        cor_mutation_detector_look(d, now);
    assert_int_equal(found, 0);
    cor_object_unref(o);
    cor_mutation_detector_free(d);
}

/* Contract client 1.21.2, 1.21.3. */
TEST(mutation_detector, tells_once_of_an_object_however_often_it_is_written_into)
{
    struct cor_mutation_detector *d = begin();
    struct cor_object *o = fake_object("a", 1);

    assert_int_equal(cor_mutation_detector_add(d, o), 0);
    o->bytes[3] ^= 1;
    cor_mutation_detector_look(d, 1000);
    cor_mutation_detector_look(d, 5000);
    assert_int_equal(found, 1);
    o->bytes[3] ^= 1;
    cor_mutation_detector_look(d, 6000);
    o->bytes[4] ^= 1;
    cor_mutation_detector_look(d, 7000);
    assert_int_equal(found, 1);
    cor_object_unref(o);
    cor_mutation_detector_free(d);
}

/* A resync brings the same object again, after it was written into or before. */
TEST(mutation_detector, tells_once_of_an_object_however_often_it_comes)
{
    struct cor_mutation_detector *d = begin();
    struct cor_object *o = fake_object("a", 1), *other = fake_object("b", 2);

    for (int i = 0; i < 3; i++)
        assert_int_equal(cor_mutation_detector_add(d, o), 0);
    assert_int_equal(cor_mutation_detector_add(d, other), 0);
    cor_mutation_detector_look(d, 120000);
    o->bytes[3] ^= 1;
    assert_int_equal(cor_mutation_detector_add(d, o), 0);
    cor_mutation_detector_look(d, 240000);
    assert_int_equal(found, 1);
    other->bytes[3] ^= 1;
    assert_int_equal(cor_mutation_detector_add(d, o), 0);
    cor_mutation_detector_look(d, 241000);
    assert_int_equal(found, 1);
    cor_object_unref(o);
    cor_object_unref(other);
    cor_mutation_detector_free(d);
}

/* Contract client 1.21.2. */
TEST(mutation_detector, keeps_an_object_for_one_rotation_more)
{
    struct cor_mutation_detector *d = begin();
    size_t live = test_live_allocs();
    struct cor_object *o = fake_object("a", 1);

    assert_int_equal(cor_mutation_detector_add(d, o), 0);
    cor_object_unref(o);
    cor_mutation_detector_look(d, 120000);
    assert_true(test_live_allocs() > live);
    cor_mutation_detector_look(d, 239999);
    assert_true(test_live_allocs() > live);
    cor_mutation_detector_look(d, 241000);
    assert_int_equal(test_live_allocs(), live);
    cor_mutation_detector_free(d);
}

TEST(mutation_detector, refuses_what_it_has_no_memory_for)
{
    const struct cor_mutation_detector_opts opts = {on_mutation, &found};
    struct cor_object *o = fake_object("a", 1);

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_mutation_detector *d;
        int r;

        if (cor_mutation_detector_new(&opts, 0, &d) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        found = 0;
        r = cor_mutation_detector_add(d, o);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        o->bytes[3] ^= 1;
        cor_mutation_detector_look(d, 1000);
        assert_int_equal(found, r == 0);
        cor_mutation_detector_free(d);
    }
    cor_object_unref(o);
}
