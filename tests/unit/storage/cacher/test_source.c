#include <stdio.h>

#include "fake_engine.h"

static struct fake f;

static bool is_ready(void *arg)
{
    return cor_cacher_is_ready(arg);
}

static bool is_held(void *arg)
{
    return ((struct fake *)arg)->held != NULL;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

/* Ten pods, of which a page has three. */
static void open_paged(void)
{
    char name[16];

    fake_open(&f, 0);
    f.page_max = 3;
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        fake_put(&f, "ns", name, "node", NULL);
    }
    fake_settle(&f);
}

TEST(source, a_list_in_pages_has_every_object_once)
{
    struct cor_reader_watch_opts opts;
    struct fake_watch w;

    open_paged();
    fake_break(&f);
    fake_settle(&f);
    fake_wait(&f, is_ready, f.cacher);
    opts = fake_watch_opts(&w, "", "");
    fake_watch_open(&f, &w, "/pods", &opts);
    fake_settle(&f);
    assert_int_equal(w.n, 10);
    fake_watch_close(&w);
    fake_close(&f);
}

/* Lists anew and lets every page but the second be read. */
static void list_until_second_page(void)
{
    fake_break(&f);
    f.hold_next = true;
    fake_wait(&f, is_held, &f);
    assert_int_equal(f.held->op, COR_ENGINE_RANGE);
    fake_release(&f);
    f.hold_next = true;
    fake_wait(&f, is_held, &f);
    fake_settle(&f);
}

TEST(source, a_page_that_comes_late_is_waited_for)
{
    open_paged();
    list_until_second_page();
    assert_false(cor_cacher_is_ready(f.cacher));
    fake_release(&f);
    fake_wait(&f, is_ready, f.cacher);
    fake_close(&f);
}

TEST(source, closing_waits_for_the_page_that_is_read_ahead)
{
    bool closed = false;

    open_paged();
    list_until_second_page();
    cor_reader_free(f.reader);
    f.reader = NULL;
    cor_cacher_close(f.cacher, set_true, &closed);
    f.cacher = NULL;
    fake_settle(&f);
    assert_false(closed);
    fake_release(&f);
    fake_wait(&f, is_true, &closed);
    fake_close(&f);
}
