/* clang-format off */
/* A number of events through a cache with a number of watchers, for tests/cost/watchers.py, which
 * compares the work of it, as work.h counts it, or valgrind.
 *
 *   watchers own EVENTS N        N watchers, each on a node of its own; events for the first
 *   watchers other EVENTS N      N watchers on another node than the events'
 *   watchers stuck EVENTS N S    N watchers on everything that read, and S that do not
 *
 * Prints the events that were delivered, a digest of who got them in which order, and the work. */
/* clang-format on */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "fake_engine.h"
#include "work.h"

#define SETTLE_EVERY 10

struct watcher {
    struct fake_watch watch;
    size_t number;
};

static struct fake f;
static struct watcher *watchers;
static uint64_t delivered, order, work;

/* Counted are applying a change and giving it to the watchers, not the engine that the program
 * plays: the linker leads the cacher's calls to here. */
void __real_cor_cacher_change(struct cor_cacher *cacher, const struct cor_feed_event *event,
                              bool last);
void __wrap_cor_cacher_change(struct cor_cacher *cacher, const struct cor_feed_event *event,
                              bool last);
void __wrap_cor_cacher_change(struct cor_cacher *cacher, const struct cor_feed_event *event,
                              bool last)
{
    uint64_t before = work_so_far();

    __real_cor_cacher_change(cacher, event, last);
    work += work_so_far() - before;
}

static void settle(void)
{
    uint64_t before = work_so_far();

    fake_settle(&f);
    work += work_so_far() - before;
}

static void on_each(struct fake_watch *w)
{
    struct watcher *watcher = COR_CONTAINER_OF(w, struct watcher, watch);

    delivered++;
    order = (order ^ watcher->number) * UINT64_C(0x100000001b3);
}

static void open_watch(struct watcher *watcher, size_t number, const char *fields)
{
    char rv[24];
    struct cor_reader_watch_opts opts;

    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)f.rev);
    opts = fake_watch_opts(&watcher->watch, rv, fields);
    watcher->number = number;
    watcher->watch.on_each = on_each;
    fake_watch_open(&f, &watcher->watch, "/pods", &opts);
}

static void open_watches(const char *what, size_t n, size_t stuck)
{
    for (size_t i = 0; i < n + stuck; i++) {
        char fields[64] = "";

        if (what[0] == 'o')
            snprintf(fields, sizeof(fields), "spec.nodeName=%s-%zu", what, i);
        open_watch(&watchers[i], i < stuck ? SIZE_MAX : i - stuck, fields);
    }
    fake_settle(&f);
    for (size_t i = 0; i < stuck; i++)
        cor_watch_pause(watchers[i].watch.watch);
}

static size_t number(char **argv, int argc, int i)
{
    uint64_t n = 0;

    if (i < argc && cor_str_to_u64(cor_strz(argv[i]), &n) < 0)
        fail_msg("not a number: %s", argv[i]);
    return (size_t)n;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "own";
    size_t events = number(argv, argc, 2), n = number(argv, argc, 3), stuck = number(argv, argc, 4);

    fake_open(&f, 0);
    f.brings_objects = true;
    watchers = cor_calloc(n + stuck + 1, sizeof(*watchers));
    assert_non_null(watchers);
    open_watches(what, n, stuck);
    work = 0;
    for (size_t i = 0; i < events; i++) {
        fake_put(&f, "ns", "p", "own-0", i % 2 ? "x" : "y");
        if (i % SETTLE_EVERY == 0)
            settle();
    }
    settle();
    printf("%llu %016llx %" PRIu64 "\n", (unsigned long long)delivered, (unsigned long long)order,
           work);
    for (size_t i = 0; i < n + stuck; i++)
        fake_watch_close(&watchers[i].watch);
    cor_free(watchers);
    fake_close(&f);
    return 0;
}
