/* clang-format off */
/* A list's answer, read from a snapshot while it is written out.
 *
 * The head of an answer says whether more objects follow its page, so the end of the page is found
 * before the answer begins. How that is done:
 *
 *   no limit                     there is no end to find: objects are read from the snapshot and
 *                                matched as the answer is written
 *   limit, plain snapshot        the tree counts to the last object of the page
 *   limit, selector or overlay   a walk, COR_LIST_LOOKS_AT_ONCE objects in each turn of the loop,
 *                                collects the page's entries. Reading the page gives these out, so
 *                                that no object is matched twice
 *
 * The snapshot keeps every entry in memory; the collected page is pointers into it, at most `limit`.
 *
 * What fails: an allocation fails the list with -COR_ENOMEM before its answer has begun. Reading
 * the page out cannot fail. When the memory that only this snapshot holds is wanted back, the owner
 * of the answer decides (cor_cacher_cursors_let_go()).
 *
 * Thread: the reader's loop. Objects may also be read by a thread that the loop has lent the cursor
 * to. */
/* clang-format on */
#include "base/limits.h"
#include "storage/cacher/cache_reader_int.h"

#include "base/array.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "meta/select/continue_token.h"

#define TOKEN_MAX (16 * COR_KEY_BYTES_MAX)

struct tree_cursor {
    struct cor_list_cursor base;
    struct cacher_reader *reader;
    struct cor_dlist link; /* in the reader's cursors */
    struct cor_cache_snapshot snapshot;
    struct cor_cache_iter iter;  /* of the answer, or of the walk that collects the page */
    struct cor_cache_iter begin; /* the iterator as it was before the first object */
    const struct cor_predicate *predicate;
    struct cor_field_places places; /* of its fields in the notes of the entries */
    size_t left; /* objects that the answer may still give; when it is not collected */
    size_t most; /* `left` at the beginning */
    bool is_collected;
    struct cor_cache_entry **page; /* borrowed from the snapshot */
    size_t npage, page_cap, page_at;
    size_t limit;
    struct cor_buf token;
    size_t prefix_len;
    char prefix[];
};

static bool cursor_selects(const struct tree_cursor *cursor, struct cor_cache_entry *entry)
{
    return !cursor->predicate || cor_predicate_matches_noted(cursor->predicate, entry->object,
                                                             &entry->notes, &cursor->places);
}

/* What is left of `looks` after a look at the entry; `ret_may` as cor_predicate_may_match(). */
static size_t cursor_pay_look(const struct tree_cursor *cursor, const struct cor_cache_entry *entry,
                              size_t looks, bool *ret_may)
{
    size_t cost = 1;

    *ret_may = !cursor->predicate ||
               cor_predicate_may_match(cursor->predicate, &entry->notes, &cursor->places);
    if (cursor->predicate && *ret_may)
        cost = cor_predicate_cost(cursor->predicate, entry->object);
    return cost < looks ? looks - cost : 0;
}

/* The next selected object of the snapshot. A bounded cursor pauses when its looks are used up. */
static struct cor_object *cursor_next_matching(struct tree_cursor *cursor)
{
    struct cor_list_cursor *base = &cursor->base;
    bool pays = base->is_bounded && cursor->predicate;
    struct cor_cache_entry *entry;

    while ((!pays || base->looks_left > 0) && (entry = cor_cache_iter_next(&cursor->iter))) {
        bool may = true;

        if (pays)
            base->looks_left = cursor_pay_look(cursor, entry, base->looks_left, &may);
        if (!may || !cursor_selects(cursor, entry))
            continue;
        cursor->left--;
        return entry->object;
    }
    base->is_paused = pays && base->looks_left == 0;
    return NULL;
}

static struct cor_object *cursor_next(struct cor_list_cursor *base)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;

    if (cursor->is_collected)
        return cursor->page_at < cursor->npage ? cursor->page[cursor->page_at++]->object : NULL;
    return cursor->left > 0 ? cursor_next_matching(cursor) : NULL;
}

static void cursor_rewind(struct cor_list_cursor *base)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;

    cursor->page_at = 0;
    cursor->left = cursor->most;
    cursor->iter = cursor->begin;
}

static void cursor_free(struct cor_list_cursor *base)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;

    assert(cor_loop_is_current(cursor->reader->loop->loop));
    cursor->reader->busy--;
    cor_dlist_remove(&cursor->link);
    cor_cache_snapshot_deinit(&cursor->snapshot);
    cor_buf_deinit(&cursor->token);
    cor_free(cursor->page);
    cor_free(cursor);
}

static const struct cor_list_cursor_ops cursor_ops = {cursor_next, cursor_rewind, cursor_free};

/* Completes the head of a full page that ends with `last`. Any object after the page counts as
 * more, selected or not, as upstream does it. */
static int cursor_set_head(struct tree_cursor *cursor, const struct cor_cache_entry *last)
{
    struct cor_str prefix = cor_str(cursor->prefix, cursor->prefix_len);
    /* The NUL behind the key makes it the first key after the last one. */
    struct cor_str after = cor_str(cor_cache_entry_key(last).p, last->key_len + 1);
    size_t rest = cor_cache_snapshot_count(&cursor->snapshot, prefix, after);
    int r;

    if (rest == 0)
        return 0;
    r = cor_continue_encode_after(cor_cache_entry_key(last), prefix, (int64_t)cursor->base.rev,
                                  &cursor->token, NULL);
    cursor->base.continue_token = cor_buf_z(&cursor->token);
    if (!cursor->predicate)
        cursor->base.remaining = (int64_t)rest;
    return r;
}

static int cursor_collect(struct tree_cursor *cursor, struct cor_cache_entry *entry)
{
    int r = COR_ARRAY_RESERVE(&cursor->page, cursor->npage, &cursor->page_cap, COR_ARRAY_NO_MAX);

    if (r < 0)
        return r;
    cursor->base.bytes = cursor->page_cap * sizeof(*cursor->page);
    cursor->page[cursor->npage++] = entry;
    return 0;
}

int cor_cacher_cursor_find_page(struct cor_list_cursor *base, size_t looks)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;

    assert(cursor->is_collected && cor_loop_is_current(cursor->reader->loop->loop));
    while (cursor->npage < cursor->limit) {
        struct cor_cache_entry *entry;
        bool may;

        if (looks == 0)
            return 1;
        entry = cor_cache_iter_next(&cursor->iter);
        if (!entry)
            return 0; /* The page is not full, so nothing follows it. */
        looks = cursor_pay_look(cursor, entry, looks, &may);
        if (may && cursor_selects(cursor, entry) && cursor_collect(cursor, entry) < 0)
            return -COR_ENOMEM;
    }
    return cursor_set_head(cursor, cursor->page[cursor->npage - 1]);
}

/* Finds the end of the page by counting: nothing but the tree is between its first object and its
 * last, and every object of the tree counts. */
static int cursor_count_page(struct tree_cursor *cursor)
{
    const struct cor_cache_iter *it = &cursor->iter;
    size_t first = it->root.at - 1;
    struct cor_btree_entry last;

    if (cursor->limit > it->root.end - first)
        return 0;
    cor_btree_peek_nth(cor_btree_snap_view(cursor->snapshot.root), first + cursor->limit - 1,
                       &last);
    return cursor_set_head(cursor, last.item);
}

/* A list of one key has that object or none. */
static size_t cursor_count_one(const struct tree_cursor *cursor, struct cor_str key)
{
    struct cor_cache_iter it = cursor->iter;
    struct cor_cache_entry *entry = cor_cache_iter_next(&it);

    return entry && cor_str_eq(cor_cache_entry_key(entry), key) && cursor_selects(cursor, entry);
}

int cor_cacher_cursor_new(struct cacher_reader *reader, struct cor_str prefix,
                          struct cor_list_cursor **ret_cursor,
                          struct cor_cache_snapshot **ret_snapshot)
{
    struct tree_cursor *cursor = cor_calloc(1, sizeof(*cursor) + prefix.n + 1);

    assert(cor_loop_is_current(reader->loop->loop) && prefix.n > 0);
    if (!cursor)
        return -COR_ENOMEM;
    memcpy(cursor->prefix, prefix.p, prefix.n);
    cursor->prefix_len = prefix.n;
    cursor->base.ops = &cursor_ops;
    cursor->base.is_cached = true;
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

    assert(cursor->snapshot.cache && !cursor->page);
    base->rev = cursor->snapshot.rev;
    base->continue_token = "";
    base->remaining = -1;
    cursor->predicate = predicate;
    cor_watch_cache_places(cursor->snapshot.cache, predicate, &cursor->places);
    cursor->limit = limit;
    cursor->left = limit ? limit : SIZE_MAX;
    cor_cache_snapshot_set_owner(&cursor->snapshot, cursor->reader);
    cor_cache_iter_init(&cursor->iter, &cursor->snapshot, prefix, from.n ? from : prefix,
                        predicate);
    cursor->begin = cursor->iter;
    if (prefix.p[prefix.n - 1] != '/')
        cursor->left = cursor_count_one(cursor, prefix);
    cursor->most = cursor->left;
    if (prefix.p[prefix.n - 1] != '/')
        return 0;
    if (limit == 0)
        return 0;
    if (!predicate && cursor->snapshot.noverlay == 0 && cursor->iter.has_root)
        return cursor_count_page(cursor);
    cursor->is_collected = true;
    return cor_cacher_cursor_find_page(base, COR_LIST_LOOKS_AT_ONCE);
}

/* A callback frees its own cursor, and perhaps others: each cursor is in one of the two lists at
 * any time. */
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
