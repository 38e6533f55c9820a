/* clang-format off */
/* The engine as what the cacher's reflector lists and watches.
 *
 *   home:   start, tick ──► list ──► BEGIN     parts … ──► INSTALL            retry ──► tick
 *                                      │         ▲            │                 ▲
 *   writer:                       keep changes ──┘     last part: replaced      │ the round is over
 *                                                      watch: kept changes, then changes … ──┘
 *
 *   1. The reflector asks for a list (source_begin_list()). The BEGIN command makes the writer keep the
 *      resource's changes from now on.
 *   2. The home loop reads the resource page by page, and reads one page ahead. A turn of the loop
 *      decodes a bounded part of a page and hands it to the reflector (source_on_turn()). A part with
 *      values that must be brought into the form of the schema is decoded by an offload thread
 *      (decoder.h) and handed in when it comes back; one part at a time, so that parts stay in order.
 *   3. The INSTALL command makes the writer hand in the end of the list, then the kept changes, and
 *      from then on each change as it is committed (cacher.c). That is the watch: it needs no request
 *      of its own, and nothing is lost between list and watch.
 *
 * A value that cannot be decoded is set aside (unreadable.h), and the list goes on without it.
 *
 * What fails: a page that cannot be read, an allocation, or a command that the writer refuses end
 * the list and the round. A page that is being read ahead is waited for. The next round begins after
 * RETRY_MS. Closing the cacher ends the list the same way, without a next round; a thread that has a
 * part stops after the value that it decodes (cor_cacher_source_stop()).
 *
 * The reflector is the writer's from INSTALL until its round is over, and the home loop's otherwise;
 * mail hands it over. Of the reflector a cacher uses rounds, the staging of lists and the handling of
 * failures, and the numbers of revisions; it does not use their texts, paging, backoff, bookmarks or
 * resync. */
/* clang-format on */
#include "storage/cacher/cacher_int.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"

static void source_on_read(struct cor_engine_req *req);
static void source_on_begun(struct cor_mail *mail);
static void source_on_installed(struct cor_mail *mail);
static void source_on_turn(struct cor_mail *mail);

static struct cor_cacher *source_of_mail(struct cor_mail *mail)
{
    return COR_CONTAINER_OF(mail, struct cor_cacher, list.mail);
}

/* The time of the cachers' clock, which may be a test's. It never goes back, and a tick moves it to
 * the time that the reflector asked for: the timer runs on the loop's clock. */
uint64_t cor_cacher_source_now_ms(struct cor_cacher *cacher)
{
    uint64_t now = cor_cachers_now_ms(cacher->cachers);

    if (now > cacher->now_ms)
        cacher->now_ms = now;
    return cacher->now_ms;
}

/* On the writer. */

static void source_on_begin(struct cor_mail *mail)
{
    struct cor_cacher *cacher = source_of_mail(mail);

    cacher->list.err = cor_cacher_begin_list(cacher);
    mail->on_mail = source_on_begun;
    cor_cachers_answer(cacher->cachers, mail);
}

static void source_on_install(struct cor_mail *mail)
{
    struct cor_cacher *cacher = source_of_mail(mail);

    cacher->list.err = cor_cacher_install(cacher, cacher->list.rev);
    mail->on_mail = source_on_installed;
    cor_cachers_answer(cacher->cachers, mail);
}

/* On the home loop. */

static void source_drop_page(struct source_list *list)
{
    for (size_t i = 0; i < list->nkvs; i++)
        cor_kv_unref(list->kvs[i]);
    list->kvs = cor_free(list->kvs);
    list->nkvs = list->at = 0;
}

/* The list is over; when it `failed`, the round is over too. */
static void source_end(struct cor_cacher *cacher, bool failed)
{
    struct source_list *list = &cacher->list;

    assert(list->under_way && !list->part && cor_loop_is_current(cacher->cachers->home));
    list->is_over = true;
    list->has_failed = failed;
    if (list->is_reading)
        return; /* source_on_read() comes back here. */
    source_drop_page(list);
    cor_store_pages_deinit(&list->pages);
    list->under_way = false;
    if (failed && !cacher->is_closing)
        cor_cacher_source_retry(cacher);
    cor_cacher_ended(cacher);
}

static void source_fail(struct cor_cacher *cacher, struct cor_status *status)
{
    if (!cacher->is_closing)
        cor_reflector_list_failed(cacher->reflector, cor_cacher_source_now_ms(cacher), status);
    source_end(cacher, true);
}

static void source_fail_with(struct cor_cacher *cacher, int err)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    cor_cachers_list_error(cacher->cachers, err, &status);
    source_fail(cacher, &status);
}

static void source_read_page(struct cor_cacher *cacher)
{
    struct source_list *list = &cacher->list;

    list->is_reading = true;
    cor_store_pages_read(&list->pages, cacher->cachers->engine, store_key_end(&cacher->prefix),
                         list->rev);
}

/* The page that was read becomes the one to decode, and the next one is read meanwhile. */
static void source_take_page(struct cor_cacher *cacher)
{
    struct source_list *list = &cacher->list;
    struct cor_range_req *page = &list->pages.range;

    if (page->req.result < 0) {
        source_fail(cacher, &page->req.status);
        return;
    }
    if (list->rev == 0)
        list->rev = page->ret_rev;
    source_drop_page(list);
    list->kvs = COR_STEAL(page->ret_kvs);
    list->nkvs = page->ret_nkvs;
    page->ret_nkvs = 0;
    list->more = page->ret_more;
    if (list->more) {
        if (cor_store_pages_go_on(&list->pages, cor_kv_key(list->kvs[list->nkvs - 1])) < 0) {
            source_fail_with(cacher, -COR_ENOMEM);
            return;
        }
        source_read_page(cacher);
    }
    list->mail.on_mail = source_on_turn;
    source_on_turn(&list->mail);
}

/* All of the page has been handed in. */
static void source_go_on(struct cor_cacher *cacher)
{
    struct source_list *list = &cacher->list;

    if (!list->more) {
        list->mail.on_mail = source_on_install;
        cor_cachers_command(cacher->cachers, &list->mail);
    } else if (list->is_reading) {
        list->is_waiting = true;
    } else {
        source_take_page(cacher);
    }
}

/* A cache that is filled again meets the values that it could not read before. Only a value that
 * the cache does not know yet is counted as a failure. */
static void source_count_unreadable(struct cor_cacher *cacher, const struct cor_kv *kv)
{
    struct cor_watch_cache *cache = &cacher->cache;

    if (!COR_LOCKED(&cache->lock, cor_unreadable_has(&cache->unreadable, kv)))
        cor_store_count_unreadable(cacher->store);
}

/* A part of a page: what one turn of the loop or one job of a thread decodes. */
struct source_part {
    struct cor_decode_job job;
    struct cor_cacher *cacher;
    _Atomic bool stops; /* the cacher closes: nothing more need be decoded */
    struct cor_kv *const *kvs;
    size_t nkvs, bytes;
    struct cor_object *objects[STORE_TURN_ITEMS_MAX];
    struct cor_str keys[STORE_TURN_ITEMS_MAX];
    size_t n;                                 /* of these two */
    struct cor_kv *bad[STORE_TURN_ITEMS_MAX]; /* values that cannot be decoded; borrowed */
    size_t nbad;
    struct cor_status first_bad; /* why the first of them cannot be */
    struct cor_status status;    /* of `err` */
    int err;
};

/* Only the counts: the arrays are large, and are written before they are read. */
static void source_part_init(struct source_part *part, struct cor_cacher *cacher)
{
    part->cacher = cacher;
    atomic_init(&part->stops, false);
    part->nkvs = part->bytes = part->n = part->nbad = 0;
    cor_status_init(&part->first_bad);
    cor_status_init(&part->status);
    part->err = 0;
}

static void source_part_deinit(struct source_part *part)
{
    for (size_t i = 0; i < part->n; i++)
        cor_object_unref(part->objects[i]);
    part->n = 0;
    cor_status_deinit(&part->first_bad);
    cor_status_deinit(&part->status);
}

/* Takes the next values of the page, as many as a turn may have. True: one of them must be renewed,
 * which takes too long for the loop. */
static bool source_part_take(struct source_part *part)
{
    struct source_list *list = &part->cacher->list;
    bool renews = false;

    part->kvs = list->nkvs > 0 ? list->kvs + list->at : NULL; /* an empty page has no array */
    while (list->at < list->nkvs && part->nkvs < STORE_TURN_ITEMS_MAX &&
           part->bytes < STORE_TURN_BYTES_MAX) {
        const struct cor_kv *kv = list->kvs[list->at++];

        renews |= cor_store_decodes_slowly(part->cacher->store, kv);
        part->bytes += kv->value_len;
        part->nkvs++;
    }
    return renews;
}

/* On the home loop or on a thread: touches nothing of the cacher but its store, which stays as it
 * is. */
static void source_part_decode(struct source_part *part)
{
    const struct cor_store *store = part->cacher->store;

    for (size_t i = 0; part->err == 0 && i < part->nkvs; i++) {
        struct cor_kv *kv = part->kvs[i];

        if (atomic_load_explicit(&part->stops, memory_order_relaxed))
            return;
        part->err =
            cor_store_try_decode(store, kv, 0, &part->objects[part->n], NULL, &part->status);
        if (part->err == 0) {
            part->keys[part->n++] = cor_kv_key(kv);
        } else if (part->err == -COR_EINTERNAL) {
            if (part->nbad == 0)
                cor_status_move(&part->first_bad, &part->status);
            cor_status_deinit(&part->status);
            part->bad[part->nbad++] = kv;
            part->err = 0;
        }
    }
}

/* The log names the first value of a list only: a lost key of encryption concerns many. */
static int source_set_aside(struct source_part *part)
{
    struct cor_cacher *cacher = part->cacher;

    for (size_t i = 0; i < part->nbad; i++) {
        source_count_unreadable(cacher, part->bad[i]);
        if (cacher->staged_unreadable.n == 0)
            COR_LOG_ERROR("a stored value cannot be read; what contains it will fail",
                          COR_F_STR("err", cor_status_message(&part->first_bad)));
        if (cor_unreadable_reserve(&cacher->staged_unreadable) < 0)
            return cor_store_no_memory(&part->status);
        cor_unreadable_put(&cacher->staged_unreadable, part->bad[i]);
    }
    return 0;
}

/* Hands what was decoded to the reflector, as a part of the list's only page, and goes on with the
 * page. */
static void source_hand_in(struct source_part *part)
{
    struct cor_cacher *cacher = part->cacher;
    struct source_list *list = &cacher->list;
    struct cor_list_page page = {part->objects, part->keys, part->n, .more_parts = true};

    if (part->err == 0)
        part->err = source_set_aside(part);
    if (part->err < 0) {
        source_fail(cacher, &part->status);
        return;
    }
    cor_reflector_list_page(cacher->reflector, cor_cacher_source_now_ms(cacher), &page);
    if (list->cancelled) /* The sink refused the part, and the round is over. */
        source_end(cacher, true);
    else if (list->at < list->nkvs)
        cor_loop_post_always(cacher->cachers->home, &list->mail);
    else
        source_go_on(cacher);
}

static struct source_part *source_part_free(struct source_part *part)
{
    source_part_deinit(part);
    return cor_free(part);
}

static void source_run_part(struct cor_decode_job *job)
{
    source_part_decode(COR_CONTAINER_OF(job, struct source_part, job));
}

static void source_on_part(struct cor_decode_job *job)
{
    struct source_part *part = COR_CONTAINER_OF(job, struct source_part, job);
    struct cor_cacher *cacher = part->cacher;

    assert(cacher->list.part == part);
    cacher->list.part = NULL;
    if (cacher->is_closing)
        source_end(cacher, false);
    else
        source_hand_in(part);
    source_part_free(part);
}

/* Lets a thread decode the part that was taken. */
static void source_start_part(struct cor_cacher *cacher, const struct source_part *taken)
{
    struct source_part *part = cor_alloc(sizeof(*part));

    if (!part) {
        source_fail_with(cacher, -COR_ENOMEM);
        return;
    }
    source_part_init(part, cacher);
    part->kvs = taken->kvs;
    part->nkvs = taken->nkvs;
    part->bytes = taken->bytes;
    part->job.run = source_run_part;
    part->job.on_done = source_on_part;
    cacher->list.part = part;
    cor_decoder_submit(&cacher->cachers->decoder, &part->job, part->bytes);
}

void cor_cacher_source_stop(struct cor_cacher *cacher)
{
    struct source_part *part = cacher->list.part;

    assert(cor_loop_is_current(cacher->cachers->home) && cacher->is_closing);
    if (!part)
        return;
    if (!cor_decoder_cancel(&part->job)) {
        atomic_store_explicit(&part->stops, true, memory_order_relaxed);
        return;
    }
    cacher->list.part = source_part_free(part);
    /* The next turn finds that the cacher closes. */
    cor_loop_post_always(cacher->cachers->home, &cacher->list.mail);
}

static void source_on_turn(struct cor_mail *mail)
{
    struct cor_cacher *cacher = source_of_mail(mail);
    COR_CLEANUP(source_part_deinit) struct source_part part;

    source_part_init(&part, cacher);
    if (cacher->is_closing) {
        source_end(cacher, false);
    } else if (source_part_take(&part) && cacher->cachers->decoder.offload) {
        source_start_part(cacher, &part);
    } else {
        source_part_decode(&part);
        source_hand_in(&part);
    }
}

static void source_on_read(struct cor_engine_req *req)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(req, struct cor_cacher, list.pages.range.req);
    struct source_list *list = &cacher->list;

    list->is_reading = false;
    if (list->is_over) {
        source_end(cacher, list->has_failed);
    } else if (list->is_waiting) {
        list->is_waiting = false;
        source_take_page(cacher);
    }
}

static void source_on_begun(struct cor_mail *mail)
{
    struct cor_cacher *cacher = source_of_mail(mail);
    struct source_list *list = &cacher->list;

    if (list->err == 0)
        list->err = cor_store_pages_begin(&list->pages, cacher->cachers->home, source_on_read,
                                          store_key_str(&cacher->prefix));
    if (list->err < 0) {
        source_fail_with(cacher, list->err);
    } else if (cacher->is_closing) {
        source_end(cacher, false);
    } else {
        list->is_waiting = true;
        source_read_page(cacher);
    }
}

static void source_on_installed(struct cor_mail *mail)
{
    struct cor_cacher *cacher = source_of_mail(mail);

    cor_cacher_drop_staged(cacher);
    cor_unreadable_deinit(&cacher->staged_unreadable);
    if (cacher->list.err == 0 && !cacher->is_closing && cacher->on_filled)
        cacher->on_filled(cacher->on_filled_arg);
    source_end(cacher, cacher->list.err < 0);
}

void cor_cacher_source_retry(struct cor_cacher *cacher)
{
    assert(cor_loop_is_current(cacher->cachers->home));
    cor_dlist_push(&cacher->cachers->retries, &cacher->retry);
    cor_cachers_retry_soon(cacher->cachers);
}

void cor_cacher_source_tick(struct cor_cacher *cacher)
{
    assert(cor_loop_is_current(cacher->cachers->home) && !cacher->is_closing);
    if (cacher->now_ms < cacher->wake_ms)
        cacher->now_ms = cacher->wake_ms;
    cor_reflector_tick(cacher->reflector, cor_cacher_source_now_ms(cacher));
}

/* The requests of the reflector. */

static struct cor_cacher *source_of_driver(struct cor_reflector_driver *driver)
{
    return COR_CONTAINER_OF(driver, struct cor_cacher, driver);
}

/* Reads the latest state whatever the options ask for: an engine has no older one that would be
 * cheaper. */
static void source_begin_list(struct cor_reflector_driver *driver,
                              const struct cor_list_options *opts)
{
    struct cor_cacher *cacher = source_of_driver(driver);
    struct source_list *list = &cacher->list;

    assert(!list->under_way && cor_loop_is_current(cacher->cachers->home));
    list->pages = (struct store_pages){0};
    cor_unreadable_deinit(&cacher->staged_unreadable);
    list->under_way = true;
    list->cancelled = list->is_over = false;
    list->rev = 0;
    list->err = 0;
    list->mail.on_mail = source_on_begin;
    cor_cachers_command(cacher->cachers, &list->mail);
}

/* Nothing to request: the changes that the writer has kept since the list began are the watch. */
static void source_watch(struct cor_reflector_driver *driver, const struct cor_list_options *opts,
                         uint32_t timeout_s)
{
}

static void source_cancel(struct cor_reflector_driver *driver)
{
    source_of_driver(driver)->list.cancelled = true;
}

static void source_wake_at(struct cor_reflector_driver *driver, uint64_t at_ms)
{
    source_of_driver(driver)->wake_ms = at_ms;
}

static const struct cor_reflector_driver_ops source_ops = {
    .list = source_begin_list,
    .watch = source_watch,
    .cancel = source_cancel,
    .wake_at = source_wake_at,
};

static void source_on_report(void *arg, enum cor_reflector_report what,
                             const struct cor_status *status)
{
    struct cor_cacher *cacher = arg;

    snprintf(cacher->why, sizeof(cacher->why), "%s", cor_status_message(status));
}

static void source_on_round_end(void *arg, const struct cor_status *error)
{
    struct cor_cacher *cacher = arg;

    cor_lock_acquire(&cacher->cache.lock);
    cor_ready_fail(&cacher->ready, error ? cor_status_message(error) : cacher->why,
                   cor_cachers_now_ms(cacher->cachers));
    cor_lock_release(&cacher->cache.lock);
}

int cor_cacher_source_init(struct cor_cacher *cacher)
{
    struct cor_reflector_opts opts = {
        .name = store_key_str(&cacher->prefix),
        .type_description = store_key_str(&cacher->prefix),
        .round_delay_ms = RETRY_MS,
        .rand = &cacher->rand,
        .on_round_end = source_on_round_end,
        .on_report = source_on_report,
        .arg = cacher,
    };

    cor_rand_init(&cacher->rand);
    cacher->driver.ops = &source_ops;
    cacher->sink.ops = &cor_cacher_sink_ops;
    return cor_reflector_new(&opts, &cacher->driver, &cacher->sink, &cacher->reflector);
}
