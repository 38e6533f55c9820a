/* clang-format off */
/* Compares a watch cache with the store, now and then: a digest of all keys and revisions of a
 * snapshot with one of the store at the same revision.
 *
 *   begin ──► digest of a snapshot, in turns ──► pages of the store at its revision … ──► verdict
 *
 * After a difference, lists of past revisions and later pages are read from the store, until a later
 * check agrees; as upstream does it. Only one cacher is checked at a time.
 *
 * What fails: without memory, or when the store cannot be read at that revision, the check is an
 * error and has no verdict. The next check is due after a whole period in any case. When the cacher
 * closes, the check ends at its next step.
 *
 * Thread: the home loop's. */
/* clang-format on */
#include "storage/cacher/cacher_int.h"

#include "base/mem.h"

#define PERIOD_MS     (5u * 60 * 1000)
#define FNV_64_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_64_PRIME  UINT64_C(0x100000001b3)

static uint64_t digest_add_bytes(uint64_t digest, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        digest = (digest ^ p[i]) * FNV_64_PRIME;
    return digest;
}

static uint64_t digest_add(uint64_t digest, struct cor_str key, cor_rev rev)
{
    return digest_add_bytes(digest_add_bytes(digest, key.p, key.n), &rev, sizeof(rev));
}

/* The random part keeps the checks of many cachers apart. */
static void check_plan_next(struct cor_cacher *cacher)
{
    cacher->check.due_ms = cor_cachers_now_ms(cacher->cachers) + PERIOD_MS +
                           cor_rand_below(&cacher->check.rand, PERIOD_MS / 2);
}

void cor_cacher_consistency_init(struct cor_cacher *cacher)
{
    cor_rand_init(&cacher->check.rand);
    atomic_init(&cacher->check.agrees, true);
    check_plan_next(cacher);
}

static void check_end(struct cor_cacher *cacher)
{
    struct consistency_check *check = &cacher->check;

    cor_cache_snapshot_deinit(&check->snapshot);
    cor_store_pages_deinit(&check->pages);
    check->under_way = false;
    check_plan_next(cacher);
    cor_cacher_ended(cacher);
}

static void check_fail(struct cor_cacher *cacher)
{
    atomic_fetch_add(&cacher->check.errors, 1);
    check_end(cacher);
}

static void check_read_page(struct cor_cacher *cacher)
{
    cor_store_pages_read(&cacher->check.pages, cacher->cachers->engine,
                         store_key_end(&cacher->prefix), cacher->check.rev);
}

static void check_on_read(struct cor_engine_req *req)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(req, struct cor_cacher, check.pages.range.req);
    struct consistency_check *check = &cacher->check;
    const struct cor_range_req *page = &check->pages.range;
    struct cor_str last = {0};
    bool agrees;

    if (req->result < 0 || cacher->is_closing) {
        check_fail(cacher);
        return;
    }
    for (size_t i = 0; i < page->ret_nkvs; i++) {
        last = cor_kv_key(page->ret_kvs[i]);
        check->theirs = digest_add(check->theirs, last, page->ret_kvs[i]->mod_rev);
    }
    if (page->ret_more) {
        if (cor_store_pages_go_on(&check->pages, last) < 0)
            check_fail(cacher);
        else
            check_read_page(cacher);
        return;
    }
    agrees = check->ours == check->theirs;
    atomic_store(&check->agrees, agrees);
    atomic_fetch_add(agrees ? &check->passed : &check->failed, 1);
    check_end(cacher);
}

static void check_on_turn(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, check.turn);
    struct consistency_check *check = &cacher->check;
    struct cor_cache_entry *entry = NULL;

    for (size_t i = 0; i < STORE_TURN_ITEMS_MAX && !cacher->is_closing; i++) {
        entry = cor_cache_iter_next(&check->iter);
        if (!entry)
            break;
        check->ours = digest_add(check->ours, cor_cache_entry_key(entry), entry->object->rev);
    }
    if (cacher->is_closing) {
        check_fail(cacher);
    } else if (entry) {
        cor_loop_post_always(cacher->cachers->home, mail);
    } else {
        /* The store may answer slowly: the snapshot is not kept for that. */
        check->rev = check->snapshot.rev;
        cor_cache_snapshot_deinit(&check->snapshot);
        check_read_page(cacher);
    }
}

/* The store is read at the snapshot's own revision, which may be below the published one. */
bool cor_cacher_consistency_begin(struct cor_cacher *cacher)
{
    struct consistency_check *check = &cacher->check;
    struct cor_str prefix = store_key_str(&cacher->prefix);

    assert(cor_loop_is_current(cacher->cachers->home));
    if (check->under_way || cacher->is_closing || !cor_cacher_is_ready(cacher) ||
        cor_cache_snapshot_now(&cacher->cache, NULL, &check->snapshot) < 0)
        return false;
    /* The store has the keys of unreadable values, and the cache has no object of them. */
    if (cor_watch_cache_is_blind(&cacher->cache, prefix, true, check->snapshot.rev)) {
        cor_cache_snapshot_deinit(&check->snapshot);
        return false;
    }
    check->under_way = true;
    check->ours = check->theirs = FNV_64_OFFSET;
    cor_cache_iter_init(&check->iter, &check->snapshot, prefix, prefix, NULL);
    if (cor_store_pages_begin(&check->pages, cacher->cachers->home, check_on_read, prefix) < 0) {
        check_fail(cacher);
        return false;
    }
    check->turn.on_mail = check_on_turn;
    cor_loop_post_always(cacher->cachers->home, &check->turn);
    return true;
}

void cor_cacher_consistency_tick(struct cor_cacher *cacher)
{
    if (cor_cachers_now_ms(cacher->cachers) >= cacher->check.due_ms &&
        !cor_cacher_consistency_begin(cacher))
        check_plan_next(cacher);
}
