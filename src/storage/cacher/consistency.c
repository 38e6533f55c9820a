/* clang-format off */
/* Is a cache what the store says it is? Now and then a digest of all its keys and revisions is
 * compared with one of the store at the same revision, one cache at a time. After a difference the
 * past is read from the store, until a later check agrees; as upstream does it.
 *
 *   begin ──► digest of a snapshot, in turns ──► pages of the store at its revision … ──► verdict
 */
/* clang-format on */
#include "storage/cacher/cacher_int.h"

#include "base/mem.h"
#include "meta/key.h"

#define PERIOD_MS     (5u * 60 * 1000)
#define FNV_64_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_64_PRIME  UINT64_C(0x100000001b3)

static void on_read(struct cor_engine_req *req);

static uint64_t add_bytes(uint64_t digest, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        digest = (digest ^ p[i]) * FNV_64_PRIME;
    return digest;
}

static uint64_t add_version(uint64_t digest, struct cor_str key, cor_rev rev)
{
    return add_bytes(add_bytes(digest, key.p, key.n), &rev, sizeof(rev));
}

static void plan_next(struct cor_cacher *cacher)
{
    cacher->check.due_ms = cor_cachers_now_ms(cacher->cachers) + PERIOD_MS +
                           cor_rand_below(&cacher->check.rand, PERIOD_MS / 2);
}

void cor_cacher_consistency_init(struct cor_cacher *cacher)
{
    cor_rand_init(&cacher->check.rand);
    atomic_init(&cacher->check.agrees, true);
    plan_next(cacher);
}

static void end(struct cor_cacher *cacher)
{
    struct consistency_check *check = &cacher->check;

    cor_cache_snapshot_deinit(&check->snapshot);
    cor_range_req_deinit(&check->range);
    cor_buf_deinit(&check->from);
    check->under_way = false;
    plan_next(cacher);
    cor_cacher_ended(cacher);
}

static void judge(struct cor_cacher *cacher)
{
    struct consistency_check *check = &cacher->check;
    bool agrees = check->ours == check->theirs;

    atomic_store(&check->agrees, agrees);
    atomic_fetch_add(agrees ? &check->passed : &check->failed, 1);
    end(cacher);
}

static void fail(struct cor_cacher *cacher)
{
    atomic_fetch_add(&cacher->check.errors, 1);
    end(cacher);
}

static void read_page(struct cor_cacher *cacher)
{
    struct consistency_check *check = &cacher->check;

    cor_range_req_deinit(&check->range);
    cor_range_req_init(&check->range, cacher->cachers->home, on_read);
    check->range.key = cor_buf_str(&check->from);
    check->range.end = store_key_end(&cacher->prefix);
    check->range.at = check->rev;
    cor_engine_range(cacher->cachers->engine, &check->range);
}

static void on_read(struct cor_engine_req *req)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(req, struct cor_cacher, check.range.req);
    struct consistency_check *check = &cacher->check;
    struct cor_str last = {0};

    if (req->result < 0 || cacher->is_closing) {
        fail(cacher);
        return;
    }
    for (size_t i = 0; i < check->range.ret_nkvs; i++) {
        last = cor_kv_key(check->range.ret_kvs[i]);
        check->theirs = add_version(check->theirs, last, check->range.ret_kvs[i]->mod_rev);
    }
    if (!check->range.ret_more) {
        judge(cacher);
        return;
    }
    cor_buf_reset(&check->from);
    if (cor_buf_adds(&check->from, last) < 0 || cor_buf_addc(&check->from, 0) < 0)
        fail(cacher);
    else
        read_page(cacher);
}

/* The digest is all that is needed of the snapshot: the store's answers may take their time. */
static void begin_reading(struct cor_cacher *cacher)
{
    cacher->check.rev = cacher->check.snapshot.rev;
    cor_cache_snapshot_deinit(&cacher->check.snapshot);
    read_page(cacher);
}

static void on_turn(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, check.turn);
    struct consistency_check *check = &cacher->check;
    struct cor_cache_entry *entry = NULL;

    for (size_t i = 0; i < STORE_TURN_ITEMS_MAX && !cacher->is_closing; i++) {
        entry = cor_cache_iter_next(&check->iter);
        if (!entry)
            break;
        check->ours = add_version(check->ours, cor_cache_entry_key(entry), entry->object->rev);
    }
    if (cacher->is_closing)
        fail(cacher);
    else if (entry)
        cor_loop_post_always(cacher->cachers->home, mail);
    else
        begin_reading(cacher);
}

/* The snapshot's own revision counts, not the published one: the store is read at it. */
bool cor_cacher_consistency_begin(struct cor_cacher *cacher)
{
    struct consistency_check *check = &cacher->check;
    struct cor_str prefix = store_key_str(&cacher->prefix);

    if (check->under_way || cacher->is_closing || !cor_cacher_is_ready(cacher) ||
        cor_cache_snapshot_now(&cacher->cache, &check->snapshot) < 0)
        return false;
    check->under_way = true;
    check->ours = check->theirs = FNV_64_OFFSET;
    cor_range_req_init(&check->range, cacher->cachers->home, on_read);
    cor_buf_init(&check->from, 2 * COR_KEY_BYTES_MAX);
    cor_cache_iter_init(&check->iter, &check->snapshot, prefix, prefix, 0);
    if (cor_buf_adds(&check->from, prefix) < 0) {
        fail(cacher);
        return false;
    }
    check->turn.on_mail = on_turn;
    cor_loop_post_always(cacher->cachers->home, &check->turn);
    return true;
}

void cor_cacher_consistency_tick(struct cor_cacher *cacher)
{
    if (cor_cachers_now_ms(cacher->cachers) >= cacher->check.due_ms &&
        !cor_cacher_consistency_begin(cacher))
        plan_next(cacher);
}
