#include "conformance.h"
#include "storage/maintenance/compactor.h"

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static bool has_learned(void *arg)
{
    return cor_compactor_revision(arg) > 0;
}

/* RunTestCompactRevision */
TEST(conformance, compact_revision_is_exposed_and_ends_exact_lists)
{
    struct cor_compactor_opts opts = {0};
    struct cor_compactor *compactor;
    struct conf c;
    bool closed = false;

    conf_open(&c);
    opts.engine = c.engine;
    opts.loop = c.loop;
    assert_int_equal(cor_compactor_open(&opts, &compactor), 0);
    {
        struct cor_object *first = conf_put_pod(&c, "ns", "foo", "a");
        struct cor_object *second = conf_put_pod(&c, "ns", "foo", "b");
        struct cor_store_list_opts list = {
            .options = {.recursive = true,
                        .resource_version = cor_strz(conf_rv(first->rev)),
                        .resource_version_match = COR_STR("Exact")}};

        assert_true(cor_compactor_revision(compactor) < second->rev);
        {
            CONF_LIST before = conf_list(&c, "/pods", &list);

            assert_int_equal(before.err, 0);
            assert_object_rv(before.items[0], first->rev);
        }
        conf_compact(&c, second->rev);
        {
            CONF_LIST after = conf_list(&c, "/pods", &list);

            assert_int_equal(after.err, -COR_EEXPIRED);
            assert_string_equal(cor_status_message(&after.status),
                                "The resourceVersion for the provided list is too old.");
        }
        assert_true(cor_loop_run_until(c.loop, has_learned, compactor, CONF_TIMEOUT_MS));
        assert_int_equal(cor_compactor_revision(compactor), second->rev);
        cor_object_unref(first);
        cor_object_unref(second);
    }
    cor_compactor_close(compactor, on_closed, &closed);
    conf_wait(&c, &closed);
    conf_close(&c);
}

/* 1.10.4: compaction takes a revision of its own, so that a list afterwards is at another one. */
TEST(conformance, compaction_takes_a_revision)
{
    struct conf c;
    cor_rev before;

    conf_open(&c);
    before = conf_bump(&c);
    conf_compact(&c, before);
    assert_int_equal(conf_revision(&c), before + 1);
    conf_close(&c);
}
