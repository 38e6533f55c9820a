/* clang-format off */
/* The engine as what a reflector lists and watches. The resource is read page by page on the home
 * loop, the next one while a page is decoded, while the writer keeps the changes that come
 * meanwhile; the writer hands in the end of the list, then those changes, then each change as it is
 * committed.
 *
 *   home:   start, tick ──► list ──► BEGIN     parts … ──► INSTALL            retry ──► tick
 *                                      │         ▲            │                 ▲
 *   writer:                       keep changes ──┘     last part: replaced      │ the round is over
 *                                                      watch: kept changes, then changes … ──┘
 *
 * The list is read after the writer began to keep changes, so nothing falls between them, and the
 * watch needs no request of its own. The reflector is the writer's from INSTALL until its round is
 * over, and the home loop's otherwise; mail hands it over. */
/* clang-format on */
#include "storage/cacher/cacher_int.h"

#include <stdio.h>

#include "base/mem.h"
#include "meta/key.h"

static void on_read(struct cor_engine_req *req);
static void on_begun(struct cor_mail *mail);
static void on_installed(struct cor_mail *mail);
static void on_turn(struct cor_mail *mail);

static struct cor_cacher *of_mail(struct cor_mail *mail)
{
    return COR_CONTAINER_OF(mail, struct cor_cacher, list.mail);
}

/* The reflector's time: the caches', but for a retry, which comes when the timer says so. */
uint64_t cor_cacher_source_now_ms(struct cor_cacher *cacher)
{
    uint64_t now = cor_cachers_now_ms(cacher->cachers);

    if (now > cacher->now_ms)
        cacher->now_ms = now;
    return cacher->now_ms;
}

/* The writer's. */

static void on_begin(struct cor_mail *mail)
{
    struct cor_cacher *cacher = of_mail(mail);

    cacher->list.err = cor_cacher_begin_list(cacher);
    mail->on_mail = on_begun;
    cor_cachers_answer(cacher->cachers, mail);
}

static void on_install(struct cor_mail *mail)
{
    struct cor_cacher *cacher = of_mail(mail);

    cacher->list.err = cor_cacher_install(cacher, cacher->list.rev);
    mail->on_mail = on_installed;
    cor_cachers_answer(cacher->cachers, mail);
}

/* The home loop's. */

static void drop_page(struct source_list *list)
{
    for (size_t i = 0; i < list->nkvs; i++)
        cor_kv_unref(list->kvs[i]);
    list->kvs = cor_free(list->kvs);
    list->nkvs = list->at = 0;
}

/* The list is over; the round too, when it `failed`. A page that is being read ahead is waited
 * for. */
static void end(struct cor_cacher *cacher, bool failed)
{
    struct source_list *list = &cacher->list;

    list->is_over = true;
    list->has_failed = failed;
    if (list->is_reading)
        return;
    drop_page(list);
    cor_range_req_deinit(&list->range);
    cor_buf_deinit(&list->from);
    list->under_way = false;
    if (failed && !cacher->is_closing)
        cor_cacher_source_retry(cacher);
    cor_cacher_ended(cacher);
}

static void fail(struct cor_cacher *cacher, struct cor_status *status)
{
    if (!cacher->is_closing)
        cor_reflector_list_failed(cacher->reflector, cor_cacher_source_now_ms(cacher), status);
    end(cacher, true);
}

static void fail_with(struct cor_cacher *cacher, int err)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    cor_cachers_list_error(cacher->cachers, err, &status);
    fail(cacher, &status);
}

static void read_page(struct cor_cacher *cacher)
{
    struct source_list *list = &cacher->list;

    cor_range_req_deinit(&list->range);
    cor_range_req_init(&list->range, cacher->cachers->home, on_read);
    list->range.key = cor_buf_str(&list->from);
    list->range.end = store_key_end(&cacher->prefix);
    list->range.at = list->rev;
    list->is_reading = true;
    cor_engine_range(cacher->cachers->engine, &list->range);
}

static int read_ahead(struct cor_cacher *cacher)
{
    struct source_list *list = &cacher->list;

    cor_buf_reset(&list->from);
    if (cor_buf_adds(&list->from, cor_kv_key(list->kvs[list->nkvs - 1])) < 0 ||
        cor_buf_addc(&list->from, 0) < 0)
        return -COR_ENOMEM;
    read_page(cacher);
    return 0;
}

/* The page that was read is the one to decode. */
static void take_page(struct cor_cacher *cacher)
{
    struct source_list *list = &cacher->list;

    if (list->range.req.result < 0) {
        fail(cacher, &list->range.req.status);
        return;
    }
    if (list->rev == 0)
        list->rev = list->range.ret_rev;
    drop_page(list);
    list->kvs = COR_STEAL(list->range.ret_kvs);
    list->nkvs = list->range.ret_nkvs;
    list->range.ret_nkvs = 0;
    list->more = list->range.ret_more;
    if (list->more && read_ahead(cacher) < 0) {
        fail_with(cacher, -COR_ENOMEM);
        return;
    }
    list->mail.on_mail = on_turn;
    on_turn(&list->mail);
}

static void go_on(struct cor_cacher *cacher)
{
    struct source_list *list = &cacher->list;

    if (!list->more) {
        list->mail.on_mail = on_install;
        cor_cachers_command(cacher->cachers, &list->mail);
    } else if (list->is_reading) {
        list->is_waiting = true;
    } else {
        take_page(cacher);
    }
}

/* Some of the page's objects as one part of the reflector's list. */
struct part {
    struct cor_object *objects[STORE_TURN_ITEMS_MAX];
    struct cor_str keys[STORE_TURN_ITEMS_MAX];
    size_t n;
};

static int decode_part(struct cor_cacher *cacher, struct part *part,
                       struct cor_status *reterr_status)
{
    struct source_list *list = &cacher->list;
    size_t bytes = 0;

    while (list->at < list->nkvs && part->n < STORE_TURN_ITEMS_MAX &&
           bytes < STORE_TURN_BYTES_MAX) {
        const struct cor_kv *kv = list->kvs[list->at++];
        int r =
            cor_store_decode(cacher->store, kv, 0, &part->objects[part->n], NULL, reterr_status);

        if (r < 0)
            return r;
        part->keys[part->n++] = cor_kv_key(kv);
        bytes += kv->value_len;
    }
    return 0;
}

static void on_turn(struct cor_mail *mail)
{
    struct cor_cacher *cacher = of_mail(mail);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct part part = {.n = 0};
    int r;

    cor_status_init(&status);
    if (cacher->is_closing) {
        end(cacher, false);
        return;
    }
    r = decode_part(cacher, &part, &status);
    if (r == 0) {
        struct cor_list_page page = {part.objects, part.keys, part.n, .more_parts = true};

        cor_reflector_list_page(cacher->reflector, cor_cacher_source_now_ms(cacher), &page);
    }
    for (size_t i = 0; i < part.n; i++)
        cor_object_unref(part.objects[i]);
    if (r < 0)
        fail(cacher, &status);
    else if (cacher->list.cancelled)
        end(cacher, true);
    else if (cacher->list.at < cacher->list.nkvs)
        cor_loop_post_always(cacher->cachers->home, mail);
    else
        go_on(cacher);
}

static void on_read(struct cor_engine_req *req)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(req, struct cor_cacher, list.range.req);
    struct source_list *list = &cacher->list;

    list->is_reading = false;
    if (list->is_over) {
        end(cacher, list->has_failed);
    } else if (list->is_waiting) {
        list->is_waiting = false;
        take_page(cacher);
    }
}

static void on_begun(struct cor_mail *mail)
{
    struct cor_cacher *cacher = of_mail(mail);
    struct source_list *list = &cacher->list;

    if (list->err == 0 && cor_buf_adds(&list->from, store_key_str(&cacher->prefix)) < 0)
        list->err = -COR_ENOMEM;
    if (list->err < 0) {
        fail_with(cacher, list->err);
    } else if (cacher->is_closing) {
        end(cacher, false);
    } else {
        list->is_waiting = true;
        read_page(cacher);
    }
}

static void on_installed(struct cor_mail *mail)
{
    struct cor_cacher *cacher = of_mail(mail);

    cor_cacher_drop_staged(cacher);
    end(cacher, cacher->list.err < 0);
}

void cor_cacher_source_retry(struct cor_cacher *cacher)
{
    cor_dlist_push(&cacher->cachers->retries, &cacher->retry);
    cor_cachers_retry_soon(cacher->cachers);
}

void cor_cacher_source_tick(struct cor_cacher *cacher)
{
    if (cacher->now_ms < cacher->wake_ms)
        cacher->now_ms = cacher->wake_ms;
    cor_reflector_tick(cacher->reflector, cor_cacher_source_now_ms(cacher));
}

/* The reflector's requests. */

static struct cor_cacher *of_driver(struct cor_reflector_driver *driver)
{
    return COR_CONTAINER_OF(driver, struct cor_cacher, driver);
}

/* It reads the latest state whatever is asked for: the engine has none that could be older. */
static void driver_list(struct cor_reflector_driver *driver, const struct cor_list_options *opts)
{
    struct cor_cacher *cacher = of_driver(driver);
    struct source_list *list = &cacher->list;

    assert(!list->under_way);
    cor_range_req_init(&list->range, cacher->cachers->home, on_read);
    cor_buf_init(&list->from, 2 * COR_KEY_BYTES_MAX);
    list->under_way = true;
    list->cancelled = list->is_over = false;
    list->rev = 0;
    list->err = 0;
    list->mail.on_mail = on_begin;
    cor_cachers_command(cacher->cachers, &list->mail);
}

/* What the writer has kept since the list began, and keeps coming, is the watch. */
static void driver_watch(struct cor_reflector_driver *driver, const struct cor_list_options *opts,
                         uint32_t timeout_s)
{
}

static void driver_cancel(struct cor_reflector_driver *driver)
{
    of_driver(driver)->list.cancelled = true;
}

static void driver_wake_at(struct cor_reflector_driver *driver, uint64_t at_ms)
{
    of_driver(driver)->wake_ms = at_ms;
}

static const struct cor_reflector_driver_ops driver_ops = {
    .list = driver_list,
    .watch = driver_watch,
    .cancel = driver_cancel,
    .wake_at = driver_wake_at,
};

static void on_report(void *arg, enum cor_reflector_report what, const struct cor_status *status)
{
    struct cor_cacher *cacher = arg;

    snprintf(cacher->why, sizeof(cacher->why), "%s", cor_status_message(status));
}

static void on_round_end(void *arg, const struct cor_status *error)
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
        .on_round_end = on_round_end,
        .on_report = on_report,
        .arg = cacher,
    };

    cor_rand_init(&cacher->rand);
    cacher->driver.ops = &driver_ops;
    cacher->sink.ops = &cor_cacher_sink_ops;
    return cor_reflector_new(&opts, &cacher->driver, &cacher->sink, &cacher->reflector);
}
