/* clang-format off */
/* Two threads with a read-only connection each, and one queue of ranges and of pages for feeds. The
 * two kinds take turns, so that a feed far behind does not keep a LIST waiting, nor the reverse.
 *
 *   range: cor_readers_range() ──► queue (full: -COR_EBUSY) ──► read ──► answer by mail
 *   page:  cor_readers_feed()  ──► queue ──► read ──► the engine's feed_pages, and wake it
 *
 * Pages need no bound of their own: a feed has one at a time. A read that fails is answered with its
 * error; the thread goes on with the next. At the end, ranges that are still queued are answered
 * -COR_ECANCELED; no feed can be queued then, because the engine has closed them all.
 * Thread: the queue from any; the rest on the readers' own. */
/* clang-format on */
#include "storage/sqlite/sqlite_readers.h"

#include <assert.h>
#include <pthread.h>

#include "base/lock.h"
#include "base/mem.h"
#include "storage/sqlite/sqlite_feed.h"
#include "storage/sqlite/sqlite_range.h"

#define READERS 2

struct reader {
    struct cor_readers *pool;
    struct cor_sqlite_db *db;
    pthread_t thread;
    bool started;
};

struct cor_readers {
    struct cor_lock lock; /* guards the fields down to `stopping` */
    struct cor_cond wake;
    struct cor_dlist ranges;
    size_t nranges, ranges_max;
    struct cor_dlist feeds;
    bool feed_next; /* ranges and feeds take turns */
    bool stopping;
    struct reader readers[READERS];
};

static bool readers_have_work(const struct cor_readers *rs)
{
    return !cor_dlist_empty(&rs->ranges) || !cor_dlist_empty(&rs->feeds);
}

/* Waits for work, and sets one of the two results. False: the thread is to end. */
static bool readers_take(struct cor_readers *rs, struct cor_range_req **ret_range,
                         struct cor_sqlite_feed **ret_feed)
{
    struct cor_dlist *link = NULL;

    *ret_range = NULL;
    *ret_feed = NULL;
    cor_lock_acquire(&rs->lock);
    while (!rs->stopping && !readers_have_work(rs))
        cor_cond_wait(&rs->wake, &rs->lock);
    if (!rs->stopping) {
        bool feed = !cor_dlist_empty(&rs->feeds) && (rs->feed_next || cor_dlist_empty(&rs->ranges));

        link = cor_dlist_pop(feed ? &rs->feeds : &rs->ranges);
        rs->feed_next = !feed;
        if (feed) {
            *ret_feed = COR_CONTAINER_OF(link, struct cor_sqlite_feed, job);
        } else {
            rs->nranges--;
            *ret_range = COR_CONTAINER_OF(link, struct cor_range_req, req.mail.link);
        }
    }
    cor_lock_release(&rs->lock);
    return link != NULL;
}

static void *reader_main(void *arg)
{
    struct reader *reader = arg;
    struct cor_range_req *range;
    struct cor_sqlite_feed *feed;

    pthread_setname_np(pthread_self(), "cor-read");
    while (readers_take(reader->pool, &range, &feed)) {
        if (range)
            cor_engine_req_done(&range->req, cor_sqlite_range(reader->db, range));
        else
            cor_feed_read_page(feed, reader->db);
    }
    return NULL;
}

static int readers_start(struct cor_readers *rs, const char *path, enum cor_sqlite_mode mode,
                         struct cor_status *reterr_status)
{
    for (size_t i = 0; i < READERS; i++) {
        struct reader *reader = &rs->readers[i];
        int r = cor_sqlite_db_open(path, mode, &reader->db, reterr_status);

        if (r < 0)
            return r;
        reader->pool = rs;
        if (pthread_create(&reader->thread, NULL, reader_main, reader) != 0)
            return cor_status_set(reterr_status, -COR_EIO, "start a reader thread for %s", path);
        reader->started = true;
    }
    return 0;
}

int cor_readers_new(const char *path, enum cor_sqlite_mode mode, size_t ranges_max,
                    struct cor_readers **ret_readers, struct cor_status *reterr_status)
{
    struct cor_readers *rs = cor_calloc(1, sizeof(*rs));
    int r;

    if (!rs)
        return cor_status_no_memory(reterr_status);
    cor_lock_init(&rs->lock, COR_LOCK_SQLITE_READERS);
    cor_cond_init(&rs->wake);
    cor_dlist_init(&rs->ranges);
    cor_dlist_init(&rs->feeds);
    rs->ranges_max = ranges_max;
    r = readers_start(rs, path, mode, reterr_status);
    if (r < 0) {
        cor_readers_free(rs);
        return r;
    }
    *ret_readers = rs;
    return 0;
}

struct cor_readers *cor_readers_free(struct cor_readers *rs)
{
    struct cor_dlist *link;

    if (!rs)
        return NULL;
    cor_lock_acquire(&rs->lock);
    rs->stopping = true;
    cor_cond_broadcast(&rs->wake);
    cor_lock_release(&rs->lock);
    for (size_t i = 0; i < READERS; i++) {
        if (rs->readers[i].started)
            pthread_join(rs->readers[i].thread, NULL);
        cor_sqlite_db_free(rs->readers[i].db);
    }
    assert(cor_dlist_empty(&rs->feeds));
    while ((link = cor_dlist_pop(&rs->ranges)))
        cor_engine_req_fail(COR_CONTAINER_OF(link, struct cor_engine_req, mail.link),
                            -COR_ECANCELED, "the store is closing");
    cor_cond_deinit(&rs->wake);
    cor_lock_deinit(&rs->lock);
    return cor_free(rs);
}

void cor_readers_range(struct cor_readers *rs, struct cor_range_req *req)
{
    bool full;

    cor_lock_acquire(&rs->lock);
    full = rs->nranges >= rs->ranges_max;
    if (!full) {
        cor_dlist_push(&rs->ranges, &req->req.mail.link);
        rs->nranges++;
        cor_cond_signal(&rs->wake);
    }
    cor_lock_release(&rs->lock);
    if (full)
        cor_engine_req_fail(&req->req, -COR_EBUSY, "too many reads wait for the store");
}

void cor_readers_feed(struct cor_readers *rs, struct cor_sqlite_feed *feed)
{
    cor_lock_acquire(&rs->lock);
    cor_dlist_push(&rs->feeds, &feed->job);
    cor_cond_signal(&rs->wake);
    cor_lock_release(&rs->lock);
}
