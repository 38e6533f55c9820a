/* Tree, indexes, window and kept roots, changed together under one lock.
 *
 * A change (cor_watch_cache_apply_locked()): room in the window is reserved first, then the tree
 * and the indexes are changed, then the event is pushed, which cannot fail. So a change is in all
 * or in none. Every 256 events a root of the tree is kept, with those of the indexes.
 *
 * What leaves the window or the tree may still be shown by snapshots: whatever is dropped here is
 * charged to their pins (pins.h) under the same hold of the lock.
 *
 * A value that cannot be decoded has no entry in the tree. Its key is among the unreadable ones,
 * and what would contain it is read from the store. When it is overwritten or deleted, reads of the
 * revisions in between still go there: `blind_rev`.
 *
 * What fails: allocations. A change or a list that fails leaves everything as it was; a root that
 * cannot be kept is done without.
 *
 * Thread: the writer's for changes. Memory is freed after the lock is released where that may take
 * long. */
#include "storage/cacher/watch_cache.h"

#include <assert.h>
#include <limits.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

/* Bytes per entry of a tree with full leaves: the least that the present state can weigh. */
#define ENTRY_BYTES_MIN 17

int cor_watch_cache_init(struct cor_watch_cache *c, const struct cor_triggers *triggers,
                         struct cor_pin_totals *totals)
{
    *c = (struct cor_watch_cache){.root_at = COR_WINDOW_FIRST_NUMBER, .triggers = triggers};
    if (cor_field_index_init(&c->index, triggers ? triggers->n : 0) == 0)
        c->tree = cor_btree_new(&cor_cache_entry_type);
    if (!c->tree) {
        cor_field_index_deinit(&c->index);
        return -COR_ENOMEM;
    }
    cor_window_init(&c->window);
    cor_pins_init(&c->pins, totals);
    cor_lock_init(&c->lock, COR_LOCK_WATCH_CACHE);
    return 0;
}

/* The `n` oldest. */
static void drop_roots(struct cor_watch_cache *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cor_btree_snap_unref(c->roots[i].snap);
        if (c->roots[i].fields)
            cor_field_roots_deinit(c->roots[i].fields);
        cor_free(c->roots[i].fields);
        cor_pins_remove_locked(&c->pins, c->roots[i].pin);
        cor_free(c->roots[i].pin);
    }
    c->nroots -= n;
    if (n > 0)
        memmove(c->roots, c->roots + n, c->nroots * sizeof(*c->roots));
}

/* Window and tree are about to be dropped: what a snapshot shows of them is charged to it. */
static void charge_all(struct cor_watch_cache *c)
{
    uint64_t number = c->window.first;

    while (!cor_dlist_empty(&c->pins.list) && number < c->window.next) {
        COR_CLEANUP(cor_window_segment_unrefp)
        struct cor_window_segment *s = cor_window_get(&c->window, number);

        cor_pins_charge_segment_locked(&c->pins, s);
        number = s->number + COR_WINDOW_SEGMENT_EVENTS;
    }
    cor_pins_charge_tree_locked(&c->pins, c->bytes);
}

static void reset_window(struct cor_watch_cache *c, cor_rev base)
{
    cor_window_reset(&c->window, base);
    c->history_end = 0;
    c->history_bytes = 0;
}

void cor_watch_cache_clear(struct cor_watch_cache *c)
{
    cor_lock_acquire(&c->lock);
    drop_roots(c, c->nroots);
    charge_all(c);
    reset_window(c, c->rev);
    cor_btree_clear(c->tree);
    cor_field_index_clear(&c->index);
    c->bytes = 0;
    cor_lock_release(&c->lock);
}

bool cor_watch_cache_reclaim(struct cor_watch_cache *c, size_t max_nodes)
{
    bool more = cor_btree_reclaim(c->tree, max_nodes);

    return cor_field_index_reclaim(&c->index, max_nodes) || more;
}

void cor_watch_cache_deinit(struct cor_watch_cache *c)
{
    if (!c->tree)
        return;
    drop_roots(c, c->nroots);
    cor_free(c->roots);
    cor_window_deinit(&c->window);
    cor_unreadable_deinit(&c->unreadable);
    cor_noted_fields_deinit(&c->noted);
    assert(cor_btree_snapshots(c->tree) == 0 && cor_dlist_empty(&c->pins.list));
    c->tree = cor_btree_free(c->tree);
    cor_field_index_deinit(&c->index);
    cor_lock_deinit(&c->lock);
}

/* Without memory no root is kept: exact reads then begin at an older one, or go to the store. */
static void keep_root(struct cor_watch_cache *c)
{
    COR_CLEANUP(cor_freep) struct cor_field_roots *fields = NULL;
    COR_CLEANUP(cor_freep) struct cor_pin *pin = NULL;
    struct cor_btree_snap *snap;

    c->root_at = c->window.next + COR_KEPT_ROOT_EVENTS;
    if (COR_ARRAY_RESERVE(&c->roots, c->nroots, &c->roots_cap, COR_ARRAY_NO_MAX) < 0)
        return;
    pin = cor_alloc(sizeof(*pin));
    fields = c->index.n > 0 ? cor_alloc(sizeof(*fields)) : NULL;
    if (!pin || (c->index.n > 0 && !fields) || cor_btree_snapshot(c->tree, &snap) < 0)
        return;
    if (fields && cor_field_roots_take(&c->index, UINT_MAX, fields) < 0) {
        cor_btree_snap_unref(snap);
        return;
    }
    cor_pins_add_locked(&c->pins, pin, NULL, c->window.next, c->rev, 0);
    c->roots[c->nroots++] = (struct cor_kept_root){snap,   COR_STEAL(fields), c->window.next,
                                                   c->rev, c->bytes,          COR_STEAL(pin)};
}

int cor_watch_cache_replace(struct cor_watch_cache *c, const struct cor_btree_entry *entries,
                            size_t n, size_t bytes, struct cor_unreadable *unreadable, cor_rev rev)
{
    COR_CLEANUP(cor_field_index_staged_deinit) struct cor_field_index_staged staged = {0};
    struct cor_unreadable none = {0};
    int r = cor_field_index_stage(&c->index, entries, n, &staged);

    if (r < 0)
        return r;
    cor_lock_acquire(&c->lock);
    r = cor_btree_replace(c->tree, entries, n);
    assert(r != -COR_EINVAL);
    if (r == 0) {
        cor_field_index_commit(&staged);
        drop_roots(c, c->nroots);
        charge_all(c);
        reset_window(c, rev);
        c->bytes = bytes;
        c->rev = rev;
        c->blind_rev = 0;
        none = c->unreadable;
        c->unreadable = unreadable ? *unreadable : (struct cor_unreadable){0};
        atomic_store(&c->may_be_blind, c->unreadable.n > 0);
        keep_root(c);
    }
    cor_lock_release(&c->lock);
    if (r == 0 && unreadable)
        *unreadable = none;
    else
        cor_unreadable_deinit(&none);
    return r;
}

void cor_watch_cache_set_blind_locked(struct cor_watch_cache *c, cor_rev rev)
{
    if (rev > c->blind_rev)
        c->blind_rev = rev;
    atomic_store(&c->may_be_blind, true);
}

bool cor_watch_cache_is_blind_locked(const struct cor_watch_cache *c, struct cor_str key,
                                     bool recursive, cor_rev rev)
{
    return rev < c->blind_rev || cor_unreadable_covers(&c->unreadable, key, recursive);
}

bool cor_watch_cache_is_blind(struct cor_watch_cache *c, struct cor_str key, bool recursive,
                              cor_rev rev)
{
    bool blind;

    if (!atomic_load(&c->may_be_blind))
        return false;
    cor_lock_acquire(&c->lock);
    blind = cor_watch_cache_is_blind_locked(c, key, recursive, rev);
    cor_lock_release(&c->lock);
    return blind;
}

/* What was put into the tree leaves it again. That needs no memory: its path is owned. */
static void undo_put(struct cor_watch_cache *c, struct cor_cache_entry *now,
                     struct cor_cache_entry *take_old)
{
    COR_CLEANUP(cor_cache_entry_unrefp) struct cor_cache_entry *old = take_old;
    int r;

    if (old)
        r = cor_btree_put(c->tree, old, old->object->fingerprint, NULL);
    else
        r = cor_btree_remove(c->tree, cor_cache_entry_key(now), NULL);
    (void)r;
    assert(r == 0);
}

static int put_entry(struct cor_watch_cache *c, struct cor_cache_entry *now,
                     struct cor_cache_entry **ret_old)
{
    void *old = NULL;
    int r = cor_btree_put(c->tree, now, now->object->fingerprint, &old);

    if (r == 0 && c->index.n > 0) {
        r = cor_field_index_put(&c->index, old, now);
        if (r < 0) {
            undo_put(c, now, old);
            return r;
        }
    }
    *ret_old = old;
    return r;
}

static int remove_entry(struct cor_watch_cache *c, struct cor_str key,
                        struct cor_cache_entry **ret_old)
{
    struct cor_btree_entry found;
    void *old = NULL;
    int r;

    if (c->index.n > 0) {
        if (!cor_btree_peek(cor_btree_live(c->tree), key, &found))
            return -COR_ENOTFOUND;
        r = cor_field_index_own(&c->index, found.item);
        if (r < 0)
            return r;
    }
    r = cor_btree_remove(c->tree, key, &old);
    if (r == 0)
        cor_field_index_remove(&c->index, old);
    *ret_old = old;
    return r;
}

static int change_tree(struct cor_watch_cache *c, struct cor_str key, struct cor_cache_entry *now,
                       struct cor_cache_entry **ret_old)
{
    return now ? put_entry(c, now, ret_old) : remove_entry(c, key, ret_old);
}

static void note_change(struct cor_watch_cache *c, cor_rev rev)
{
    c->nth = cor_window_next_nth(c->rev, c->nth, rev);
    c->rev = rev;
}

int cor_watch_cache_apply_locked(struct cor_watch_cache *c, struct cor_str key,
                                 struct cor_cache_entry *take_now, cor_rev rev, uint64_t now_ms)
{
    COR_CLEANUP(cor_cache_entry_unrefp) struct cor_cache_entry *now = take_now;
    struct cor_cache_entry *old = NULL;
    size_t bytes;
    int r;

    assert(rev >= c->rev && (now || key.n > 0));
    r = cor_window_reserve(&c->window);
    if (r == 0)
        r = change_tree(c, key, now, &old);
    if (r < 0 && r != -COR_ENOTFOUND)
        return r;
    note_change(c, rev);
    if (c->unreadable.n > 0 &&
        cor_unreadable_remove(&c->unreadable, now ? cor_cache_entry_key(now) : key))
        cor_watch_cache_set_blind_locked(c, rev);
    if (r == -COR_ENOTFOUND)
        return 0;
    bytes = old ? cor_cache_entry_bytes(old) : 0;
    c->bytes += (now ? cor_cache_entry_bytes(now) : 0) - bytes;
    cor_window_push(&c->window, (struct cor_window_event){COR_STEAL(now), old, rev, now_ms, c->nth},
                    bytes);
    if (c->window.next >= c->root_at)
        keep_root(c);
    return 0;
}

int cor_watch_cache_apply_unreadable_locked(struct cor_watch_cache *c, struct cor_kv *kv,
                                            uint64_t now_ms)
{
    COR_CLEANUP(cor_cache_entry_unrefp)
    struct cor_cache_entry *now = cor_cache_entry_new_unreadable(cor_kv_key(kv));
    struct cor_cache_entry *old = NULL;
    size_t bytes;
    int r = now ? cor_window_reserve(&c->window) : -COR_ENOMEM;

    assert(kv->mod_rev >= c->rev);
    if (r == 0)
        r = cor_unreadable_reserve(&c->unreadable);
    if (r == 0)
        r = change_tree(c, cor_kv_key(kv), NULL, &old);
    if (r < 0 && r != -COR_ENOTFOUND)
        return r;
    note_change(c, kv->mod_rev);
    cor_unreadable_put(&c->unreadable, kv);
    atomic_store(&c->may_be_blind, true);
    bytes = (old ? cor_cache_entry_bytes(old) : 0);
    c->bytes -= bytes;
    bytes += cor_cache_entry_bytes(now);
    cor_window_push(&c->window,
                    (struct cor_window_event){COR_STEAL(now), old, c->rev, now_ms, c->nth}, bytes);
    if (c->window.next >= c->root_at)
        keep_root(c);
    return 0;
}

size_t cor_watch_cache_prepend(struct cor_watch_cache *c, const struct cor_window_event *events,
                               const size_t *bytes, size_t n, cor_rev base)
{
    struct cor_window *w = &c->window;
    size_t all = n, before;

    cor_lock_acquire(&c->lock);
    before = w->bytes;
    if (w->first > c->history_end)
        c->history_end = w->first;
    while (n > 0 && cor_window_reserve_front(w) == 0) {
        n--;
        cor_window_push_front(w, events[n], bytes[n]);
    }
    /* Events of a revision that could not be taken as a whole are released. */
    while (n > 0 && n < all && events[n].rev == events[n - 1].rev)
        cor_window_unpush_front(w, bytes[n++]);
    w->base = n > 0 ? events[n - 1].rev : base;
    c->history_bytes += w->bytes - before;
    cor_lock_release(&c->lock);
    return n;
}

/* A root serves exact reads as long as all events after it are in the window. */
static void drop_old_roots(struct cor_watch_cache *c)
{
    size_t n = 0;

    while (n < c->nroots && c->roots[n].next < c->window.first)
        n++;
    drop_roots(c, n);
}

static void forget_history(struct cor_watch_cache *c, size_t bytes)
{
    c->history_bytes -= bytes < c->history_bytes ? bytes : c->history_bytes;
    if (c->window.first >= c->history_end)
        c->history_bytes = 0;
}

/* The segments are freed after the lock is released. */
static bool evict(struct cor_watch_cache *c,
                  struct cor_window_segment *(*peek)(const struct cor_window *w))
{
    COR_CLEANUP(cor_window_chain_unrefp) struct cor_window_segment *left = NULL;

    cor_lock_acquire(&c->lock);
    if (peek(&c->window)) {
        size_t before = c->window.bytes;

        left = cor_window_pop_oldest(&c->window);
        forget_history(c, before - c->window.bytes);
        drop_old_roots(c);
        for (const struct cor_window_segment *s = left; s; s = s->chain)
            cor_pins_charge_segment_locked(&c->pins, s);
    }
    cor_lock_release(&c->lock);
    return left != NULL;
}

bool cor_watch_cache_evict(struct cor_watch_cache *c)
{
    return evict(c, cor_window_peek_oldest);
}

bool cor_watch_cache_evict_stale(struct cor_watch_cache *c)
{
    return evict(c, cor_window_peek_stale);
}

/* The newest root at or below `rev` is kept: it serves reads from `rev` on. */
void cor_watch_cache_compact(struct cor_watch_cache *c, cor_rev rev)
{
    size_t n = 0;

    cor_lock_acquire(&c->lock);
    c->compact_rev = rev;
    while (n + 1 < c->nroots && c->roots[n + 1].rev <= rev)
        n++;
    drop_roots(c, n);
    cor_lock_release(&c->lock);
}

size_t cor_watch_cache_history_bytes(struct cor_watch_cache *c)
{
    size_t nodes = cor_btree_bytes(c->tree);
    size_t live = cor_btree_count(cor_btree_live(c->tree)) * ENTRY_BYTES_MIN;

    return c->window.bytes + (nodes > live ? nodes - live : 0) +
           cor_field_index_extra_bytes(&c->index, ENTRY_BYTES_MIN);
}

struct cor_object *cor_watch_cache_get(struct cor_watch_cache *c, struct cor_str key,
                                       bool *ret_unreadable)
{
    struct cor_btree_entry found;
    struct cor_object *object = NULL;

    cor_lock_acquire(&c->lock);
    if (cor_btree_peek(cor_btree_live(c->tree), key, &found))
        object = cor_object_ref(((struct cor_cache_entry *)found.item)->object);
    *ret_unreadable = !object && cor_unreadable_covers(&c->unreadable, key, false);
    cor_lock_release(&c->lock);
    return object;
}

struct cor_cache_entry *cor_watch_cache_get_version(struct cor_watch_cache *c, struct cor_str key,
                                                    cor_rev rev)
{
    struct cor_cache_entry *entry = NULL;
    struct cor_btree_entry found;

    cor_lock_acquire(&c->lock);
    if (cor_btree_peek(cor_btree_live(c->tree), key, &found))
        entry = found.item;
    entry = entry && entry->object->rev == rev ? cor_cache_entry_ref(entry) : NULL;
    cor_lock_release(&c->lock);
    return entry;
}

void cor_watch_cache_places(struct cor_watch_cache *c, const struct cor_predicate *predicate,
                            struct cor_field_places *ret_places)
{
    if (!predicate || !predicate->fields)
        return;
    cor_lock_acquire(&c->lock);
    cor_noted_fields_place(&c->noted, predicate, ret_places);
    cor_lock_release(&c->lock);
}
