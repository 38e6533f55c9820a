/* How a cache is filled: the resource is read page by page on the home loop, while the writer keeps
 * the changes that come meanwhile; then the writer installs the list and applies them.
 *
 *   source_begin ──► BEGIN (writer) ──► read, decode (home) … ──► INSTALL (writer) ──► done
 *         ▲                │                    │                        │
 *         └─── 1 s ◄───────┴────────────────────┴────────────────────────┘ failed
 *
 * The list is read after the writer began to keep changes, so nothing falls between them. */
#include "storage/cacher/cacher_int.h"

#include "base/mem.h"
#include "meta/key.h"

struct source_list {
    struct cor_cacher *cacher;
    struct cor_mail mail; /* a command, its answer, or the next turn */
    struct cor_range_req range;
    struct cor_buf from; /* where the page begins */
    size_t at;           /* the page's next key */
    cor_rev rev;
    struct cor_btree_entry *entries;
    size_t n, cap;
    bool stopped;
    int err;
    struct cor_status status;
};

static void on_read(struct cor_engine_req *req);
static void on_begun(struct cor_mail *mail);
static void on_installed(struct cor_mail *mail);

static struct source_list *of_mail(struct cor_mail *mail)
{
    return COR_CONTAINER_OF(mail, struct source_list, mail);
}

static void list_free(struct source_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        cor_cache_entry_unref(list->entries[i].item);
    cor_free(list->entries);
    cor_range_req_deinit(&list->range);
    cor_buf_deinit(&list->from);
    cor_status_deinit(&list->status);
    cor_free(list);
}

/* The writer's. */

static void on_begin(struct cor_mail *mail)
{
    struct source_list *list = of_mail(mail);

    list->err = cacher_begin_list(list->cacher);
    if (list->err < 0)
        cor_status_set(&list->status, list->err, "%s", cor_err_text(list->err));
    mail->on_mail = on_begun;
    caches_answer(list->cacher->caches, mail);
}

static void on_install(struct cor_mail *mail)
{
    struct source_list *list = of_mail(mail);

    list->err = cacher_install(list->cacher, list->entries, list->n, list->rev, &list->status);
    mail->on_mail = on_installed;
    caches_answer(list->cacher->caches, mail);
}

/* The home loop's. */

static void end(struct source_list *list)
{
    struct cor_cacher *cacher = list->cacher;

    if (list->err < 0) {
        pthread_mutex_lock(&cacher->cache.lock);
        cor_ready_fail(&cacher->ready, cor_status_message(&list->status),
                       caches_now_ms(cacher->caches));
        pthread_mutex_unlock(&cacher->cache.lock);
    }
    cacher->list = NULL;
    if (!cacher->is_closing && list->err < 0)
        source_retry(cacher);
    list_free(list);
    cacher_ended(cacher);
}

static void fail(struct source_list *list, int err)
{
    list->err = list->stopped ? -COR_ECANCELED : err;
    end(list);
}

static void read_page(struct source_list *list)
{
    cor_range_req_deinit(&list->range);
    cor_range_req_init(&list->range, list->cacher->caches->home, on_read);
    list->at = 0;
    list->range.key = cor_buf_str(&list->from);
    list->range.end = store_key_end(&list->cacher->prefix);
    list->range.at = list->rev;
    cor_engine_range(list->cacher->caches->engine, &list->range);
}

static int add(struct source_list *list, const struct cor_kv *kv)
{
    struct cor_object *object;
    struct cor_cache_entry *entry;
    int r;

    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 64;
        struct cor_btree_entry *entries = cor_realloc(list->entries, cap * sizeof(*entries));

        if (!entries)
            return store_no_memory(&list->status);
        list->entries = entries;
        list->cap = cap;
    }
    r = store_decode(list->cacher->store, kv, 0, &object, NULL, &list->status);
    if (r < 0)
        return r;
    entry = cor_cache_entry_new(cor_kv_key(kv), object, list->cacher->trigger);
    if (!entry)
        return store_no_memory(&list->status);
    list->entries[list->n++] = (struct cor_btree_entry){entry, entry->object->fingerprint};
    return 0;
}

static void go_on(struct source_list *list)
{
    struct cor_kv *last;

    if (!list->range.ret_more) {
        list->mail.on_mail = on_install;
        caches_command(list->cacher->caches, &list->mail);
        return;
    }
    last = list->range.ret_kvs[list->range.ret_nkvs - 1];
    cor_buf_reset(&list->from);
    if (cor_buf_adds(&list->from, cor_kv_key(last)) < 0 || cor_buf_addc(&list->from, 0) < 0)
        fail(list, store_no_memory(&list->status));
    else
        read_page(list);
}

static void on_turn(struct cor_mail *mail)
{
    struct source_list *list = of_mail(mail);
    size_t bytes = 0, items = 0;
    int r = 0;

    while (list->at < list->range.ret_nkvs && r == 0 && !list->stopped) {
        const struct cor_kv *kv = list->range.ret_kvs[list->at++];

        if (items++ == STORE_TURN_ITEMS_MAX || bytes >= STORE_TURN_BYTES_MAX) {
            list->at--;
            cor_loop_reply(list->cacher->caches->home, mail);
            return;
        }
        r = add(list, kv);
        bytes += kv->value_len;
    }
    if (r < 0 || list->stopped)
        fail(list, r);
    else
        go_on(list);
}

static void on_read(struct cor_engine_req *req)
{
    struct source_list *list = COR_CONTAINER_OF(req, struct source_list, range.req);

    if (req->result < 0 || list->stopped) {
        cor_status_move(&list->status, &req->status);
        fail(list, req->result);
        return;
    }
    if (list->rev == 0)
        list->rev = list->range.ret_rev;
    list->mail.on_mail = on_turn;
    on_turn(&list->mail);
}

static void on_begun(struct cor_mail *mail)
{
    struct source_list *list = of_mail(mail);

    if (list->err < 0 || list->stopped)
        fail(list, list->err);
    else
        read_page(list);
}

static void on_installed(struct cor_mail *mail)
{
    end(of_mail(mail));
}

static struct source_list *list_new(struct cor_cacher *cacher)
{
    struct source_list *list = cor_calloc(1, sizeof(*list));

    if (!list)
        return NULL;
    list->cacher = cacher;
    cor_status_init(&list->status);
    cor_range_req_init(&list->range, cacher->caches->home, on_read);
    cor_buf_init(&list->from, 2 * COR_KEY_BYTES_MAX);
    if (cor_buf_adds(&list->from, store_key_str(&cacher->prefix)) < 0) {
        list_free(list);
        return NULL;
    }
    return list;
}

int source_begin(struct cor_cacher *cacher)
{
    assert(!cacher->list);
    cacher->list = list_new(cacher);
    if (!cacher->list)
        return -COR_ENOMEM;
    cacher->list->mail.on_mail = on_begin;
    caches_command(cacher->caches, &cacher->list->mail);
    return 0;
}

void source_retry(struct cor_cacher *cacher)
{
    cor_list_push(&cacher->caches->retries, &cacher->retry);
    caches_retry_soon(cacher->caches);
}

void source_stop(struct cor_cacher *cacher)
{
    if (cacher->list)
        cacher->list->stopped = true;
}
