#include "storage/cacher/watch_index.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

#define BUCKETS_MAX (1u << 24)
/* Places for numbers that a bucket begins with; doubled and halved. */
#define NUMBERS_MIN 16

void cor_cacher_watch_index_init(struct watch_index *ix, struct cor_str prefix,
                                 _Atomic size_t *weight)
{
    ix->prefix = prefix;
    ix->weight = weight;
    for (size_t i = 0; i < BUCKET_KINDS; i++)
        cor_map_init(&ix->maps[i], BUCKETS_MAX);
    cor_dlist_init(&ix->empties);
}

static void drop_numbers(struct watch_bucket *b)
{
    atomic_fetch_sub(b->weight, b->cap * sizeof(*b->numbers));
    b->numbers = cor_free(b->numbers);
    b->head = b->nnumbers = b->cap = 0;
}

static void bucket_free(struct watch_bucket *bucket)
{
    drop_numbers(bucket);
    cor_free(bucket);
}

void cor_cacher_watch_index_purge(struct watch_index *ix)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&ix->empties))) {
        struct watch_bucket *bucket = COR_CONTAINER_OF(link, struct watch_bucket, empty);

        cor_map_remove(&ix->maps[bucket->kind], bucket->text);
        bucket_free(bucket);
    }
}

void cor_cacher_watch_index_deinit(struct watch_index *ix)
{
    cor_cacher_watch_index_purge(ix);
    for (size_t i = 0; i < BUCKET_KINDS; i++) {
        assert(cor_map_len(&ix->maps[i]) == 0);
        cor_map_deinit(&ix->maps[i]);
    }
}

int cor_cacher_watch_index_join(struct watch_index *ix, enum watch_bucket_kind kind,
                                struct cor_str text, struct watch_bucket **ret_bucket)
{
    struct watch_bucket *bucket = cor_map_peek(&ix->maps[kind], text);

    if (!bucket) {
        bucket = cor_calloc(1, sizeof(*bucket) + text.n);
        if (!bucket)
            return -COR_ENOMEM;
        if (text.n > 0)
            memcpy(bucket->bytes, text.p, text.n);
        bucket->text = cor_str(bucket->bytes, text.n);
        bucket->kind = kind;
        bucket->weight = ix->weight;
        cor_dlist_init(&bucket->idle);
        cor_dlist_init(&bucket->lagging);
        cor_dlist_init(&bucket->replaying);
        cor_dlist_init(&bucket->empty);
        cor_dlist_init(&bucket->turn);
        if (cor_map_put(&ix->maps[kind], bucket->text, bucket, NULL) < 0) {
            bucket_free(bucket);
            return -COR_ENOMEM;
        }
    }
    cor_dlist_remove(&bucket->empty);
    bucket->n++;
    *ret_bucket = bucket;
    return 0;
}

void cor_cacher_watch_index_leave(struct watch_index *ix, struct watch_bucket *bucket)
{
    assert(bucket->n > 0);
    if (--bucket->n == 0)
        cor_dlist_push(&ix->empties, &bucket->empty);
}

struct match {
    const struct watch_index *ix;
    struct watch_bucket **buckets;
    size_t n;
};

static void look_up(struct match *m, enum watch_bucket_kind kind, struct cor_str text)
{
    struct watch_bucket *bucket;

    if (cor_map_len(&m->ix->maps[kind]) == 0)
        return;
    bucket = cor_map_peek(&m->ix->maps[kind], text);
    if (bucket)
        m->buckets[m->n++] = bucket;
}

static void look_up_parents(struct match *m, struct cor_str key)
{
    size_t depth = 0;

    if (cor_map_len(&m->ix->maps[BUCKET_PREFIX]) == 0)
        return;
    for (size_t i = m->ix->prefix.n; i < key.n && depth < WATCH_PREFIX_DEPTH_MAX; i++) {
        if (key.p[i] != '/')
            continue;
        look_up(m, BUCKET_PREFIX, cor_str(key.p, i + 1));
        depth++;
    }
}

static void look_up_trigger(struct match *m, const struct cor_window_event *event, unsigned i)
{
    enum watch_bucket_kind kind = BUCKET_TRIGGER + i;
    struct cor_str now = {0}, old = {0};

    if (cor_map_len(&m->ix->maps[kind]) == 0)
        return;
    if (event->now) {
        now = cor_cache_entry_trigger(event->now, i);
        look_up(m, kind, now);
    }
    if (event->old) {
        old = cor_cache_entry_trigger(event->old, i);
        if (!event->now || !cor_str_eq(now, old))
            look_up(m, kind, old);
    }
}

/* All entries of a cache have the same trigger fields; unreadable ones, which have none, are not
 * matched. */
static void look_up_triggers(struct match *m, const struct cor_window_event *event)
{
    unsigned n = (event->now ? event->now : event->old)->ntriggers;

    for (unsigned i = 0; i < n; i++)
        look_up_trigger(m, event, i);
}

size_t cor_cacher_watch_index_match(const struct watch_index *ix,
                                    const struct cor_window_event *event,
                                    struct watch_bucket *ret_buckets[WATCH_BUCKETS_MAX])
{
    struct match m = {.ix = ix, .buckets = ret_buckets};
    struct cor_str key = cor_cache_entry_key(event->now ? event->now : event->old);

    look_up(&m, BUCKET_KEY, key);
    look_up_parents(&m, key);
    look_up_triggers(&m, event);
    look_up(&m, BUCKET_ALL, cor_str("", 0));
    return m.n;
}

bool cor_cacher_watch_bucket_offer(struct watch_bucket *b, struct watch_offer *offer)
{
    bool is_first = !b->offers;

    offer->next = NULL;
    if (is_first)
        b->offers = offer;
    else
        b->last_offer->next = offer;
    b->last_offer = offer;
    return is_first;
}

static uint64_t *number_at(const struct watch_bucket *b, size_t i)
{
    return &b->numbers[(b->head + i) & (b->cap - 1)];
}

static int resize(struct watch_bucket *b, size_t cap)
{
    uint64_t *numbers = cor_alloc(cap * sizeof(*numbers));

    if (!numbers)
        return -COR_ENOMEM;
    for (size_t i = 0; i < b->nnumbers; i++)
        numbers[i] = *number_at(b, i);
    cor_free(b->numbers);
    atomic_fetch_add(b->weight, (cap - b->cap) * sizeof(*numbers));
    b->numbers = numbers;
    b->cap = cap;
    b->head = 0;
    return 0;
}

void cor_cacher_watch_bucket_push(struct watch_bucket *b, uint64_t number)
{
    /* Every event belongs to ALL: there is nothing to keep. */
    if (b->kind == BUCKET_ALL || b->is_partial)
        return;
    if (b->nnumbers == b->cap && resize(b, b->cap ? b->cap * 2 : NUMBERS_MIN) < 0) {
        b->is_partial = true;
        return;
    }
    b->nnumbers++;
    *number_at(b, b->nnumbers - 1) = number;
}

uint64_t cor_cacher_watch_bucket_after(const struct watch_bucket *b, uint64_t number)
{
    size_t lo = 0, hi = b->nnumbers;

    if (b->kind == BUCKET_ALL || b->is_partial)
        return number + 1;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (*number_at(b, mid) > number)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo < b->nnumbers ? *number_at(b, lo) : UINT64_MAX;
}

void cor_cacher_watch_bucket_trim(struct watch_bucket *b, uint64_t first)
{
    size_t cap;

    if (cor_dlist_empty(&b->lagging)) {
        drop_numbers(b);
        b->is_partial = false;
        return;
    }
    while (b->nnumbers > 0 && *number_at(b, 0) < first) {
        b->head = (b->head + 1) & (b->cap - 1);
        b->nnumbers--;
    }
    cap = b->cap;
    while (cap > NUMBERS_MIN && b->nnumbers <= cap / 4)
        cap /= 2;
    if (cap < b->cap)
        (void)resize(b, cap); /* Without memory it stays as large as it is. */
}
