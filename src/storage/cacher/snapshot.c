/* Taking the state of a watch cache at a revision, and walking over it.
 *
 * The present state is a root of the tree, taken under the lock. A past state is the newest kept
 * root at or below the revision, with an overlay: the events after the root up to the revision,
 * sorted by key, one item per key. Root and pin are taken under one hold of the lock; then the
 * events are copied segment by segment, and the lock is held only to get each segment.
 *
 * A walk merges root and overlay in key order: the overlay's item wins over the root's entry. The
 * root may be the range of one value in an index (cache_range.h), which is in key order too; the
 * overlay then has objects of other values, which the caller's match passes over.
 *
 * What fails: without memory -COR_ENOMEM. When the writer evicts a segment before it was copied,
 * the state cannot be had any more: -COR_EEXPIRED, and the caller reads the store. */
#include "storage/cacher/snapshot.h"

#include <stdlib.h>

#include <assert.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/value/fingerprint.h"
#include "storage/cacher/cache_range.h"

/* An overlay that is being made. */
struct overlay {
    struct cor_watch_cache *cache;
    struct cor_overlay_item *items;
    size_t n, cap;
};

void cor_cache_snapshot_deinit(struct cor_cache_snapshot *s)
{
    if (!s->cache)
        return;
    cor_lock_acquire(&s->cache->lock);
    cor_pins_remove_locked(&s->cache->pins, &s->pin);
    cor_lock_release(&s->cache->lock);
    for (size_t i = 0; i < s->noverlay; i++)
        cor_cache_entry_unref(s->overlay[i].entry);
    cor_free(s->overlay);
    cor_btree_snap_unref(s->root);
    cor_field_roots_deinit(&s->fields);
    *s = (struct cor_cache_snapshot){0};
}

void cor_cache_snapshot_stay(struct cor_cache_snapshot *s)
{
    cor_lock_acquire(&s->cache->lock);
    cor_pins_stay_locked(&s->cache->pins, &s->pin);
    cor_lock_release(&s->cache->lock);
}

int cor_cache_snapshot_now_locked(struct cor_watch_cache *c, const struct cor_predicate *predicate,
                                  struct cor_cache_snapshot *ret_snapshot)
{
    unsigned wanted = cor_cache_range_indexes(c, predicate);
    struct cor_field_roots fields = {0};
    struct cor_btree_snap *root;
    int r = cor_btree_snapshot(c->tree, &root);

    if (r == 0 && wanted) {
        r = cor_field_roots_take(&c->index, wanted, &fields);
        if (r < 0)
            cor_btree_snap_unref(root);
    }
    if (r < 0)
        return r;
    *ret_snapshot = (struct cor_cache_snapshot){
        .cache = c, .root = root, .fields = fields, .rev = c->rev, .next = c->window.next};
    cor_pins_add_locked(&c->pins, &ret_snapshot->pin, NULL, c->window.next, c->rev, c->bytes);
    return 0;
}

int cor_cache_snapshot_now(struct cor_watch_cache *c, const struct cor_predicate *predicate,
                           struct cor_cache_snapshot *ret_snapshot)
{
    return COR_LOCKED(&c->lock, cor_cache_snapshot_now_locked(c, predicate, ret_snapshot));
}

/* Index of the first item whose key is not below `key`. */
static size_t overlay_lower(const struct cor_overlay_item *items, size_t n, struct cor_str key)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (cor_str_cmp(cor_cache_entry_key(items[mid].entry), key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Adds the events as they come; overlay_sort() makes one item of all events of a key. */
static int overlay_add(struct overlay *o, const struct cor_window_event *event)
{
    struct cor_cache_entry *entry = event->now ? event->now : event->old;
    int r = COR_ARRAY_RESERVE(&o->items, o->n, &o->cap, COR_ARRAY_NO_MAX);

    if (r < 0)
        return r;
    o->items[o->n] = (struct cor_overlay_item){
        .entry = cor_cache_entry_ref(entry),
        .order = o->n,
        .deleted = !event->now || !event->now->object,
        .in_root = event->old != NULL,
    };
    o->n++;
    return 0;
}

static int overlay_compare(const void *a, const void *b)
{
    const struct cor_overlay_item *x = a, *y = b;
    int by_key = cor_str_cmp(cor_cache_entry_key(x->entry), cor_cache_entry_key(y->entry));

    return by_key != 0 ? by_key : x->order < y->order ? -1 : 1;
}

/* By key. Of a key's events the last one says what is there now, and the first one whether the root
 * has an object. */
static void overlay_sort(struct overlay *o)
{
    size_t n = 0;

    if (o->n > 1)
        qsort(o->items, o->n, sizeof(*o->items), overlay_compare);
    for (size_t i = 0; i < o->n; i++) {
        struct cor_overlay_item *last = n > 0 ? &o->items[n - 1] : NULL;

        if (!last ||
            !cor_str_eq(cor_cache_entry_key(last->entry), cor_cache_entry_key(o->items[i].entry))) {
            o->items[n++] = o->items[i];
            continue;
        }
        cor_cache_entry_unref(last->entry);
        last->entry = o->items[i].entry;
        last->deleted = o->items[i].deleted;
    }
    o->n = n;
}

/* The segment of event `number`, with a reference; NULL: it has left the window. */
static struct cor_window_segment *get_segment(struct cor_watch_cache *c, uint64_t number)
{
    struct cor_window_segment *segment = NULL;

    cor_lock_acquire(&c->lock);
    if (number >= c->window.first && number < c->window.next)
        segment = cor_window_get(&c->window, number);
    cor_lock_release(&c->lock);
    return segment;
}

static int overlay_fill(struct overlay *o, uint64_t from, uint64_t to)
{
    int r = 0;

    while (from < to && r == 0) {
        COR_CLEANUP(cor_window_segment_unrefp)
        struct cor_window_segment *s = get_segment(o->cache, from);
        uint64_t end;

        if (!s)
            return -COR_EEXPIRED;
        end = s->number + COR_WINDOW_SEGMENT_EVENTS;
        for (; from < to && from < end && r == 0; from++)
            r = overlay_add(o, cor_window_segment_at(s, from));
    }
    return r;
}

/* Takes the newest root at or below `rev`, and finds the numbers of the events after it up to
 * `rev`.
 */
static int find_root(struct cor_watch_cache *c, cor_rev rev, const struct cor_predicate *predicate,
                     struct cor_cache_snapshot *ret, uint64_t *ret_from, uint64_t *ret_to)
{
    const struct cor_kept_root *root;
    size_t i = c->nroots;

    while (i > 0 && c->roots[i - 1].rev > rev)
        i--;
    if (i == 0)
        return -COR_EEXPIRED;
    root = &c->roots[i - 1];
    *ret = (struct cor_cache_snapshot){.cache = c, .root = cor_btree_snap_ref(root->snap)};
    if (root->fields)
        cor_field_roots_ref(root->fields, cor_cache_range_indexes(c, predicate), &ret->fields);
    *ret_from = root->next;
    *ret_to = cor_window_after(&c->window, rev);
    /* The overlay will hold entries that are in the window now. */
    cor_pins_add_locked(&c->pins, &ret->pin, root->pin, root->next, rev,
                        root->bytes + c->window.bytes);
    return 0;
}

int cor_cache_snapshot_at(struct cor_watch_cache *c, cor_rev rev,
                          const struct cor_predicate *predicate,
                          struct cor_cache_snapshot *ret_snapshot)
{
    struct overlay overlay = {.cache = c};
    uint64_t from = 0, to = 0;
    int r;

    cor_lock_acquire(&c->lock);
    if (rev < c->compact_rev)
        r = -COR_EEXPIRED;
    else if (rev >= c->rev)
        r = cor_cache_snapshot_now_locked(c, predicate, ret_snapshot);
    else
        r = find_root(c, rev, predicate, ret_snapshot, &from, &to);
    cor_lock_release(&c->lock);
    if (r < 0)
        return r;
    r = overlay_fill(&overlay, from, to);
    if (r == 0)
        overlay_sort(&overlay);
    ret_snapshot->overlay = overlay.items;
    ret_snapshot->noverlay = overlay.n;
    ret_snapshot->rev = rev;
    if (r < 0)
        cor_cache_snapshot_deinit(ret_snapshot);
    return r;
}

size_t cor_cache_snapshot_count(const struct cor_cache_snapshot *s, struct cor_str prefix,
                                struct cor_str from)
{
    struct cor_btree_view view = cor_btree_snap_view(s->root);
    size_t count = cor_btree_rank_past(view, prefix) - cor_btree_rank(view, from);

    for (size_t i = overlay_lower(s->overlay, s->noverlay, from); i < s->noverlay; i++) {
        const struct cor_overlay_item *item = &s->overlay[i];

        if (!cor_str_starts(cor_cache_entry_key(item->entry), prefix))
            break;
        count += !item->deleted;
        count -= item->in_root;
    }
    return count;
}

/* Moves on to the next entry of the root. */
static void pass_root(struct cor_cache_iter *it)
{
    it->has_root = it->mask ? cor_btree_iter_next_covering(&it->root, it->mask)
                            : cor_btree_iter_next(&it->root);
}

void cor_cache_iter_init(struct cor_cache_iter *it, const struct cor_cache_snapshot *s,
                         struct cor_str prefix, struct cor_str from,
                         const struct cor_predicate *predicate)
{
    struct cache_range range;

    cor_cache_range_init(&range, s->cache, prefix, predicate);
    if (cor_str_cmp(from, range.prefix) < 0)
        from = range.prefix;
    *it = (struct cor_cache_iter){.snapshot = s,
                                  .mask = predicate ? cor_predicate_mask(predicate) : 0};
    cor_cache_range_seek(&range, s, predicate, from, &it->root);
    it->overlay = overlay_lower(s->overlay, s->noverlay, from);
    it->overlay_end = it->overlay;
    while (it->overlay_end < s->noverlay &&
           cache_range_has(&range, cor_cache_entry_key(s->overlay[it->overlay_end].entry)))
        it->overlay_end++;
    pass_root(it);
}

static const struct cor_overlay_item *peek_overlay(const struct cor_cache_iter *it)
{
    return it->overlay < it->overlay_end ? &it->snapshot->overlay[it->overlay] : NULL;
}

struct cor_cache_entry *cor_cache_iter_next(struct cor_cache_iter *it)
{
    const struct cor_overlay_item *over;

    while ((over = peek_overlay(it))) {
        struct cor_cache_entry *root = it->has_root ? it->root.entry.item : NULL;
        int cmp = -1;

        if (root)
            cmp = cor_str_cmp(cor_cache_entry_key(over->entry), cor_cache_entry_key(root));
        if (cmp > 0)
            break;
        it->overlay++;
        if (cmp == 0)
            pass_root(it);
        if (!over->deleted && cor_fingerprint_may_match(over->entry->object->fingerprint, it->mask))
            return over->entry;
    }
    if (it->has_root) {
        struct cor_cache_entry *entry = it->root.entry.item;

        pass_root(it);
        return entry;
    }
    return NULL;
}
