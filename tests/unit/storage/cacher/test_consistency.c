/* The comparison of a cache with its store. */
#include <stdio.h>

#include "fake_engine.h"
#include "storage/cacher/cacher_int.h"

static struct fake f;

static struct cor_cacher_stats check(void)
{
    assert_true(cor_cacher_consistency_begin(f.cacher));
    assert_false(cor_cacher_consistency_begin(f.cacher));
    while (f.cacher->check.under_way)
        fake_settle(&f);
    return cor_cacher_stats(f.cacher);
}

static void fill(void)
{
    for (int i = 0; i < 600; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        fake_put(&f, "ns", name, "a", NULL);
    }
}

struct listed {
    size_t n;
    bool done;
};

static void on_listed(void *arg, int err, struct cor_status *status,
                      struct cor_list_cursor *take_cursor)
{
    struct listed *listed = arg;

    assert_int_equal(err, 0);
    while (cor_list_cursor_next(take_cursor))
        listed->n++;
    listed->done = true;
    cor_list_cursor_free(take_cursor);
}

static bool is_listed(void *arg)
{
    return ((struct listed *)arg)->done;
}

/* How many objects a list at the present revision has. */
static size_t list_exact(void)
{
    struct cor_store_list_opts opts = {
        .options = {.recursive = true, .resource_version_match = COR_STR("Exact")}};
    struct listed listed = {0};
    char rv[24];

    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)f.rev);
    opts.options.resource_version = cor_strz(rv);
    assert_int_equal(cor_reader_list(f.reader, COR_STR("/pods"), &opts, on_listed, &listed, NULL),
                     0);
    fake_wait(&f, is_listed, &listed);
    return listed.n;
}

/* TestMarkConsistent */
TEST(consistency, after_a_difference_the_past_is_read_from_the_store_until_a_check_agrees)
{
    struct cor_kv *lost;

    fake_open(&f, 0);
    fill();
    assert_int_equal(check().checks_passed, 1);
    lost = cor_map_remove(&f.kvs, COR_STR("/registry/pods/ns/p7"));
    assert_int_equal(list_exact(), 600);
    assert_int_equal(check().checks_failed, 1);
    assert_int_equal(list_exact(), 599);
    assert_int_equal(cor_map_put(&f.kvs, cor_kv_key(lost), lost, NULL), 0);
    assert_int_equal(check().checks_passed, 2);
    lost = cor_map_remove(&f.kvs, COR_STR("/registry/pods/ns/p7"));
    assert_int_equal(list_exact(), 600);
    assert_int_equal(cor_map_put(&f.kvs, cor_kv_key(lost), lost, NULL), 0);
    fake_close(&f);
}

/* Each page of the store begins behind the one before, and each is looked at. */
TEST(consistency, a_store_is_read_in_pages)
{
    struct cor_kv *lost;

    fake_open(&f, 0);
    fill();
    f.page_max = 250;
    assert_int_equal(check().checks_passed, 1);
    lost = cor_map_remove(&f.kvs, COR_STR("/registry/pods/ns/p99"));
    assert_int_equal(check().checks_failed, 1);
    assert_int_equal(cor_map_put(&f.kvs, cor_kv_key(lost), lost, NULL), 0);
    assert_int_equal(check().checks_passed, 2);
    fake_close(&f);
}

TEST(consistency, closing_drops_a_check_that_is_under_way)
{
    fake_open(&f, 0);
    fill();
    assert_true(cor_cacher_consistency_begin(f.cacher));
    fake_close(&f);
}

TEST(consistency, a_cache_without_its_list_is_not_compared)
{
    fake_open(&f, 0);
    fake_break(&f);
    assert_false(cor_cacher_consistency_begin(f.cacher));
    fake_close(&f);
}
