/* What a queue's transform sees, in both of its orders. Objects are moved up by 100 revisions, so
 * that what was transformed twice, or not at all, shows. */
#include "base/err.h"
#include "delta_log.h"
#include "test.h"

static int ncalls;

static int move_up(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    struct cor_object *moved;

    ncalls++;
    if (cor_str_eqz(cor_object_name(*object), "r"))
        return cor_status_set(reterr, -COR_EINVALID, "refused");
    if (cor_object_at(*object, (*object)->rev + 100, &moved) < 0)
        return cor_status_set(reterr, -COR_ENOMEM, "no memory");
    cor_object_unref(*object);
    *object = moved;
    return 0;
}

static void begin(struct delta_log *log, bool by_key, const char *known)
{
    const struct cor_delta_fifo_opts opts = {COR_DELTA_FIFO_OPTS, .by_key = by_key,
                                             .transform = move_up};

    ncalls = 0;
    delta_log_begin_with(log, opts, known);
}

/* Contract client 1.6.15, 1.6.16, 1.7.10: tombstones and resyncs repeat what was transformed
 * before. */
TEST(delta_fifo_transform, each_object_is_transformed_once_before_anybody_sees_it)
{
    static const char *const expected[] = {
        "a:Added101 a:Updated102 a:Deleted103 b:Added104 b:Lost104 k:Lost1 c:Replaced105",
        "a:Added101,Updated102,Deleted103 b:Added104,Lost104 c:Replaced105 k:Lost1",
    };

    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        begin(&log, by_key, "k");
        delta_log_add(&log, "a", 1);
        delta_log_update(&log, "a", 2);
        delta_log_delete(&log, "a", 3);
        delta_log_add(&log, "b", 4);
        delta_log_replace(&log, "c5");
        assert_int_equal(ncalls, 5);
        assert_string_equal(delta_log_pop_all(&log), expected[by_key]);
        delta_log_resync(&log);
        assert_string_equal(delta_log_pop_all(&log), "k:Sync1");
        assert_int_equal(ncalls, 5);
        delta_log_end(&log);
    }
}

/* Contract client 1.6.15: one that another list finds in the queue is not transformed again either.
 */
TEST(delta_fifo_transform, a_list_that_waits_is_not_transformed_again)
{
    static const char *const expected[] = {"a:Replaced101! a:Lost101 b:Replaced102",
                                           "a:Replaced101,Lost101! b:Replaced102"};

    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        begin(&log, by_key, "");
        delta_log_replace(&log, "a1");
        delta_log_resync(&log);
        delta_log_replace(&log, "b2");
        assert_int_equal(ncalls, 2);
        assert_string_equal(delta_log_pop_all(&log), expected[by_key]);
        delta_log_end(&log);
    }
}

/* Contract client 1.6.15. */
TEST(delta_fifo_transform, what_it_refuses_is_not_queued)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        begin(&log, by_key, "r");
        assert_int_equal(delta_log_add(&log, "r", 1), -COR_EINVALID);
        assert_int_equal(delta_log_update(&log, "r", 2), -COR_EINVALID);
        assert_int_equal(delta_log_delete(&log, "r", 3), -COR_EINVALID);
        assert_int_equal(delta_log_replace(&log, "a4 r5"), -COR_EINVALID);
        assert_int_equal(cor_delta_fifo_len(log.fifo), 0);
        assert_int_equal(delta_log_add(&log, "a", 6), 0);
        assert_string_equal(delta_log_pop_all(&log), "a:Added106");
        delta_log_end(&log);
    }
}

static int rename_object(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    cor_object_unref(*object);
    return cor_object_from_json(
        COR_STR("{\"metadata\":{\"name\":\"z\",\"resourceVersion\":\"9\"}}"), object, reterr);
}

TEST(delta_fifo_transform, an_object_is_named_before_it_is_transformed)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        const struct cor_delta_fifo_opts opts = {COR_DELTA_FIFO_OPTS, .by_key = by_key,
                                                 .transform = rename_object};
        struct delta_log log;

        delta_log_begin_with(&log, opts, "d");
        delta_log_add(&log, "a", 1);
        delta_log_update(&log, "b", 2);
        delta_log_delete(&log, "d", 3);
        assert_string_equal(delta_log_pop_all(&log), "a:Added9 b:Updated9 d:Deleted9");
        delta_log_replace(&log, "d1 e2");
        assert_string_equal(delta_log_pop_all(&log), "d:Replaced9 e:Replaced9");
        delta_log_end(&log);
    }
}
