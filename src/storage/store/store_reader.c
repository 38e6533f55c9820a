/* The store itself as a reader (--watch-cache=false, and resources without a watch cache). A list's
 * cursor is the array that the store's list returned. A watch is the store's watch, behind the
 * interface of a reader: on_open is called once, by a mail or before the first event, whichever
 * comes first. Thread: the loop's. */
#include "storage/store/reader.h"

#include "base/mem.h"
#include "loop/loop.h"
#include "storage/store/store_int.h"

struct store_reader {
    struct cor_reader base;
    struct cor_store *store;
};

struct array_cursor {
    struct cor_list_cursor base;
    struct cor_object **items;
    size_t nitems, at;
    char continue_token[];
};

struct list_op {
    cor_reader_list_cb on_done;
    void *arg;
};

struct raw_watch {
    struct cor_watch base;
    struct cor_store_watch *watch;
    struct cor_mail open_mail;
    bool open_posted; /* the mail is on its way */
    bool is_open;     /* on_open was called */
    bool is_closed;   /* the store's watch is gone, or about to be */
    bool is_gone;
    void (*on_open)(void *arg, int err, struct cor_status *status);
    cor_watch_cb on_event;
    void (*on_held)(void *arg);
    void *arg;
    void (*on_closed)(void *arg);
    void *closed_arg;
};

static int reader_get(struct cor_reader *reader, struct cor_str key,
                      const struct cor_store_get_opts *opts, cor_store_cb on_done, void *arg,
                      struct cor_status *reterr_status)
{
    return cor_store_get(((struct store_reader *)reader)->store, key, opts, on_done, arg,
                         reterr_status);
}

static struct cor_object *cursor_next(struct cor_list_cursor *cursor)
{
    struct array_cursor *own = (struct array_cursor *)cursor;

    return own->at < own->nitems ? own->items[own->at++] : NULL;
}

static void cursor_rewind(struct cor_list_cursor *cursor)
{
    ((struct array_cursor *)cursor)->at = 0;
}

static void cursor_free(struct cor_list_cursor *cursor)
{
    struct array_cursor *own = (struct array_cursor *)cursor;

    for (size_t i = 0; i < own->nitems; i++)
        cor_object_unref(own->items[i]);
    cor_free(own->items);
    cor_free(own);
}

static const struct cor_list_cursor_ops cursor_ops = {cursor_next, cursor_rewind, cursor_free};

static void on_list(void *arg, struct cor_store_list_reply *reply)
{
    struct list_op op = *(struct list_op *)arg;
    struct array_cursor *cursor;
    size_t n;

    cor_free(arg);
    if (reply->err < 0) {
        op.on_done(op.arg, reply->err, reply->status, NULL);
        return;
    }
    n = strlen(reply->continue_token);
    cursor = cor_alloc(sizeof(*cursor) + n + 1);
    if (!cursor) {
        COR_CLEANUP(cor_status_deinit) struct cor_status status;

        cor_status_init(&status);
        op.on_done(op.arg, cor_store_no_memory(&status), &status, NULL);
        return;
    }
    memcpy(cursor->continue_token, reply->continue_token, n + 1);
    cursor->base = (struct cor_list_cursor){&cursor_ops, reply->rev, cursor->continue_token,
                                            reply->remaining, .bytes = reply->bytes};
    cursor->at = 0;
    cursor->nitems = reply->nitems;
    cursor->items = COR_STEAL(reply->items);
    op.on_done(op.arg, 0, NULL, &cursor->base);
}

static int reader_list(struct cor_reader *reader, struct cor_str key,
                       const struct cor_store_list_opts *opts, cor_reader_list_cb on_done,
                       void *arg, struct cor_status *reterr_status)
{
    struct list_op *op = cor_alloc(sizeof(*op));
    int r;

    if (!op)
        return cor_store_no_memory(reterr_status);
    *op = (struct list_op){on_done, arg};
    r = cor_store_list(((struct store_reader *)reader)->store, key, opts, on_list, op,
                       reterr_status);
    if (r < 0)
        cor_free(op);
    return r;
}

static void raw_release(struct raw_watch *w)
{
    if (w->is_gone && !w->open_posted)
        cor_free(w);
}

static void raw_open(struct raw_watch *w)
{
    if (w->is_open || w->is_closed)
        return;
    w->is_open = true;
    w->on_open(w->arg, 0, NULL);
}

static void on_open_mail(struct cor_mail *mail)
{
    struct raw_watch *w = COR_CONTAINER_OF(mail, struct raw_watch, open_mail);

    w->open_posted = false;
    raw_open(w);
    raw_release(w);
}

static void on_raw_event(void *arg, const struct cor_reader_event *event)
{
    struct raw_watch *w = arg;

    raw_open(w);
    if (!w->is_closed)
        w->on_event(w->arg, event);
}

static void on_raw_held(void *arg)
{
    struct raw_watch *w = arg;

    if (w->on_held && !w->is_closed)
        w->on_held(w->arg);
}

static void raw_pause(struct cor_watch *watch)
{
    cor_store_watch_pause(((struct raw_watch *)watch)->watch);
}

static void raw_resume(struct cor_watch *watch)
{
    cor_store_watch_resume(((struct raw_watch *)watch)->watch);
}

static bool raw_finish(struct cor_watch *watch, cor_rev upto)
{
    return cor_store_watch_finish(((struct raw_watch *)watch)->watch, upto);
}

static void on_raw_closed(void *arg)
{
    struct raw_watch *w = arg;

    w->is_gone = true;
    if (w->on_closed)
        w->on_closed(w->closed_arg);
    raw_release(w);
}

static void raw_close(struct cor_watch *watch, void (*on_closed)(void *arg), void *arg)
{
    struct raw_watch *w = (struct raw_watch *)watch;

    w->is_closed = true;
    w->on_closed = on_closed;
    w->closed_arg = arg;
    cor_store_watch_close(w->watch, on_raw_closed, w);
}

static size_t raw_held(struct cor_watch *watch)
{
    return cor_store_watch_held(((struct raw_watch *)watch)->watch);
}

static bool raw_waits(const struct cor_watch *watch)
{
    return cor_store_watch_waits(((const struct raw_watch *)watch)->watch);
}

static const struct cor_watch_ops watch_ops = {raw_pause, raw_resume, raw_finish,
                                               raw_close, raw_held,   raw_waits};

static int reader_watch(struct cor_reader *reader, struct cor_str key,
                        const struct cor_reader_watch_opts *opts, struct cor_watch **ret_watch,
                        struct cor_status *reterr_status)
{
    struct cor_store *store = ((struct store_reader *)reader)->store;
    struct raw_watch *w = cor_calloc(1, sizeof(*w));
    struct cor_store_watch_opts raw = {
        .options = opts->options,
        .progress_ms = opts->options.allow_bookmarks && store->kind[0] ? COR_READER_BOOKMARK_MS : 0,
        .predicate = opts->predicate,
        .on_event = on_raw_event,
        .on_held = on_raw_held,
        .arg = w,
    };
    int r = 0;

    if (!w)
        return cor_store_no_memory(reterr_status);
    w->base.ops = &watch_ops;
    w->on_open = opts->on_open;
    w->on_event = opts->on_event;
    w->on_held = opts->on_held;
    w->arg = opts->arg;
    w->open_mail.on_mail = on_open_mail;
    if (opts->on_feed)
        r = opts->on_feed(opts->arg, reterr_status);
    if (r == 0)
        r = cor_store_watch_open(store, key, &raw, &w->watch, reterr_status);
    if (r < 0) {
        cor_free(w);
        return r;
    }
    w->open_posted = true;
    cor_loop_post_always(store->loop, &w->open_mail);
    *ret_watch = &w->base;
    return 0;
}

static struct cor_object *reader_suggest(struct cor_reader *reader, struct cor_str key)
{
    return NULL;
}

static void reader_free(struct cor_reader *reader)
{
    cor_free(reader);
}

static const struct cor_reader_ops reader_ops = {
    .get = reader_get,
    .list = reader_list,
    .watch = reader_watch,
    .suggest = reader_suggest,
    .free = reader_free,
};

int cor_store_reader_new(struct cor_store *store, struct cor_reader **ret_reader)
{
    struct store_reader *reader = cor_alloc(sizeof(*reader));

    if (!reader)
        return -COR_ENOMEM;
    *reader = (struct store_reader){{&reader_ops}, store};
    *ret_reader = &reader->base;
    return 0;
}
