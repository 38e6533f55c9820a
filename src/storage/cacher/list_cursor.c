/* A list's answer read from a snapshot, as it is written out: nothing is collected. The head of an
 * answer says whether more follows its page, so the end of a page is found before that: at once
 * where the tree can count, and else by a walk of a bounded number of objects in each turn. */
#include "storage/cacher/reader_int.h"

#include "base/mem.h"
#include "meta/continue_token.h"
#include "meta/key.h"

#define TOKEN_MAX (16 * COR_KEY_BYTES_MAX)

struct tree_cursor {
    struct cor_list_cursor base;
    struct cacher_reader *reader;
    struct cor_dlist link; /* in the reader's cursors */
    struct cor_cache_snapshot snapshot;
    struct cor_cache_iter iter;
    const struct cor_predicate *predicate;
    size_t left; /* objects that it may still give */
    /* The walk to the end of the page. */
    struct cor_cache_iter search;
    struct cor_cache_entry *found; /* the last one that it has found */
    size_t missing;                /* how many it has to find yet */
    struct cor_buf token;
    size_t prefix_len;
    char prefix[];
};

static struct cor_object *next_selected(struct cor_cache_iter *it,
                                        const struct cor_predicate *predicate)
{
    struct cor_cache_entry *entry;

    while ((entry = cor_cache_iter_next(it))) {
        if (!predicate || cor_predicate_matches(predicate, entry->object))
            return entry->object;
    }
    return NULL;
}

/* What is left of `looks` after a look at the entry. */
static size_t pay_look(const struct tree_cursor *cursor, const struct cor_cache_entry *entry,
                       size_t looks)
{
    size_t cost = cursor->predicate ? cor_predicate_cost(cursor->predicate, entry->object) : 1;

    return cost < looks ? looks - cost : 0;
}

/* The same within the looks that are left. */
static struct cor_object *next_within(struct tree_cursor *cursor)
{
    struct cor_list_cursor *base = &cursor->base;
    struct cor_cache_entry *entry;

    while (base->looks_left > 0 && (entry = cor_cache_iter_next(&cursor->iter))) {
        base->looks_left = pay_look(cursor, entry, base->looks_left);
        if (!cor_predicate_matches(cursor->predicate, entry->object))
            continue;
        cursor->left--;
        return entry->object;
    }
    base->is_paused = base->looks_left == 0;
    return NULL;
}

static struct cor_object *cursor_next(struct cor_list_cursor *base)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;

    if (cursor->left == 0)
        return NULL;
    if (base->is_bounded && cursor->predicate)
        return next_within(cursor);
    cursor->left--;
    return next_selected(&cursor->iter, cursor->predicate);
}

static void cursor_free(struct cor_list_cursor *base)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;

    cursor->reader->busy--;
    cor_dlist_remove(&cursor->link);
    cor_cache_snapshot_deinit(&cursor->snapshot);
    cor_buf_deinit(&cursor->token);
    cor_free(cursor);
}

static const struct cor_list_cursor_ops cursor_ops = {cursor_next, cursor_free};

/* The last entry of a page of `limit` without a walk. False: a walk is needed. */
static bool count_to_last(struct tree_cursor *cursor, size_t limit)
{
    const struct cor_cache_iter *it = &cursor->iter;
    struct cor_btree_entry last;
    size_t first;

    if (cursor->predicate || cursor->snapshot.noverlay > 0 || !it->has_root)
        return false;
    first = it->root.at - 1;
    if (limit > it->root.end - first)
        return true;
    cor_btree_peek_nth(cor_btree_snap_view(cursor->snapshot.root), first + limit - 1, &last);
    cursor->found = last.item;
    cursor->missing = 0;
    return true;
}

/* More is said to follow when any object comes after the page, selected or not; as upstream does
 * it. */
static int set_page(struct tree_cursor *cursor)
{
    struct cor_str prefix = cor_str(cursor->prefix, cursor->prefix_len);
    struct cor_cache_entry *last = cursor->found;
    struct cor_str key;
    size_t rest;
    int r;

    if (cursor->missing > 0) /* The page is not full. */
        return 0;
    /* The NUL behind the key makes it the first key after the last one. */
    key = cor_str(last->key, last->key_len + 1);
    rest = cor_cache_snapshot_count(&cursor->snapshot, prefix, key);
    if (rest == 0)
        return 0;
    r = cor_continue_encode_after(cor_cache_entry_key(last), prefix, (int64_t)cursor->base.rev,
                                  &cursor->token, NULL);
    cursor->base.continue_token = cor_buf_z(&cursor->token);
    if (!cursor->predicate)
        cursor->base.remaining = (int64_t)rest;
    return r;
}

int cor_cacher_cursor_find_page(struct cor_list_cursor *base, size_t looks)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;

    while (cursor->missing > 0) {
        struct cor_cache_entry *entry;

        if (looks == 0)
            return 1;
        entry = cor_cache_iter_next(&cursor->search);
        if (!entry)
            break;
        looks = pay_look(cursor, entry, looks);
        if (cursor->predicate && !cor_predicate_matches(cursor->predicate, entry->object))
            continue;
        cursor->found = entry;
        cursor->missing--;
    }
    return set_page(cursor);
}

/* A list of one key has that object or none. */
static size_t count_one(const struct tree_cursor *cursor, struct cor_str key)
{
    struct cor_cache_iter it = cursor->iter;
    struct cor_cache_entry *entry = cor_cache_iter_next(&it);

    if (!entry || !cor_str_eq(cor_cache_entry_key(entry), key))
        return 0;
    return !cursor->predicate || cor_predicate_matches(cursor->predicate, entry->object);
}

int cor_cacher_cursor_new(struct cacher_reader *reader, struct cor_str prefix,
                          struct cor_list_cursor **ret_cursor,
                          struct cor_cache_snapshot **ret_snapshot)
{
    struct tree_cursor *cursor = cor_calloc(1, sizeof(*cursor) + prefix.n + 1);

    if (!cursor)
        return -COR_ENOMEM;
    memcpy(cursor->prefix, prefix.p, prefix.n);
    cursor->prefix_len = prefix.n;
    cursor->base.ops = &cursor_ops;
    cursor->reader = reader;
    cor_buf_init(&cursor->token, TOKEN_MAX);
    reader->busy++;
    cor_dlist_push(&reader->cursors, &cursor->link);
    *ret_cursor = &cursor->base;
    *ret_snapshot = &cursor->snapshot;
    return 0;
}

int cor_cacher_cursor_begin(struct cor_list_cursor *base, struct cor_str from, size_t limit,
                            const struct cor_predicate *predicate)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;
    struct cor_str prefix = cor_str(cursor->prefix, cursor->prefix_len);
    bool one = prefix.n == 0 || prefix.p[prefix.n - 1] != '/';

    base->rev = cursor->snapshot.rev;
    base->continue_token = "";
    base->remaining = -1;
    cursor->predicate = predicate;
    cursor->left = limit ? limit : SIZE_MAX;
    cor_cache_snapshot_set_owner(&cursor->snapshot, cursor->reader);
    cor_cache_iter_init(&cursor->iter, &cursor->snapshot, prefix, from.n ? from : prefix,
                        predicate ? cor_predicate_mask(predicate) : 0);
    if (one)
        cursor->left = count_one(cursor, prefix);
    if (one || limit == 0)
        return 0;
    cursor->missing = limit;
    if (count_to_last(cursor, limit))
        return set_page(cursor);
    cursor->search = cursor->iter;
    return cor_cacher_cursor_find_page(base, COR_LIST_LOOKS_AT_ONCE);
}

/* A callback frees its own cursor, and perhaps others: each is in one of the lists at any time. */
void cor_cacher_cursors_let_go(struct cacher_reader *reader)
{
    struct cor_dlist todo, *link;

    cor_dlist_init(&todo);
    cor_dlist_splice(&todo, &reader->cursors);
    while ((link = cor_dlist_pop(&todo))) {
        struct tree_cursor *cursor = COR_CONTAINER_OF(link, struct tree_cursor, link);

        cor_dlist_push(&reader->cursors, link);
        if (!cor_cache_snapshot_is_leaving(&cursor->snapshot))
            continue;
        if (cursor->base.on_lost && cursor->base.on_lost(cursor->base.lost_arg))
            atomic_fetch_add(&reader->cacher->cachers->ended_lists, 1);
        else
            cor_cache_snapshot_stay(&cursor->snapshot);
    }
}
