#include "server/shared/protobuf_cache.h"

#include <pthread.h>
#include <stdio.h>

#include "loop/loop.h"
#include "test.h"

#define EVERYTHING UINT64_MAX
#define OBJECTS    64

struct cache_fx {
    struct cor_loop *loop;
    struct cor_protobuf_cache cache;
    struct cor_protobuf_cache_loop part;
    const struct cor_type *type;
    const struct cor_resource_row *rows;
    struct cor_object *objects[OBJECTS];
};

static struct cor_object *object(cor_rev rev)
{
    struct cor_object *made;

    assert_int_equal(cor_object_from_stored(
                         COR_STR("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{}}"),
                         rev, &made, NULL, NULL),
                     0);
    return made;
}

/* `bytes_max` as a multiple of what an item of fill() costs, in each shard. */
static void open_for(struct cache_fx *fx, size_t items_per_shard)
{
    struct cor_object *one = object(10);
    size_t cost = one->len + COR_PROTOBUF_ITEM_OVERHEAD + strlen("item 10");
    size_t nrows;

    cor_object_unref(one);
    *fx = (struct cache_fx){.type = cor_type_named(COR_STR("meta_v1.ListMeta"))};
    fx->rows = cor_api_builtins(&nrows);
    assert_true(fx->type && nrows > 1);
    assert_int_equal(cor_loop_new(64, &fx->loop), 0);
    cor_protobuf_cache_init(&fx->cache, items_per_shard * cost * COR_PROTOBUF_SHARDS);
    cor_protobuf_cache_loop_init(&fx->part, &fx->cache, fx->loop);
    for (size_t i = 0; i < OBJECTS; i++)
        fx->objects[i] = object(10 + i);
}

static void close_it(struct cache_fx *fx)
{
    cor_protobuf_cache_loop_deinit(&fx->part);
    cor_protobuf_cache_deinit(&fx->cache);
    for (size_t i = 0; i < OBJECTS; i++)
        cor_object_unref(fx->objects[i]);
    cor_loop_free(fx->loop);
}

static struct cor_protobuf_item_key key_of(const struct cache_fx *fx, size_t i)
{
    return (struct cor_protobuf_item_key){fx->objects[i], fx->rows, fx->type, 2};
}

static struct cor_str item_text(size_t i, char text[16])
{
    return cor_str(text, (size_t)snprintf(text, 16, "item %zu", 10 + i));
}

static void add(struct cache_fx *fx, struct cor_protobuf_cache_loop *part, size_t i,
                uint64_t since_ms)
{
    struct cor_protobuf_item_key key = key_of(fx, i);
    char text[16];

    cor_protobuf_cache_add(part, &key, item_text(i, text), since_ms);
}

/* Is the item kept? Then it has its own bytes. */
static bool is_kept(struct cache_fx *fx, struct cor_protobuf_cache_loop *part, size_t i)
{
    struct cor_protobuf_item_key key = key_of(fx, i);
    struct cor_protobuf_item *item = cor_protobuf_cache_use(part, &key);
    char text[16];
    bool is_right = item && cor_str_eq(cor_protobuf_item_bytes(item), item_text(i, text));

    assert_true(!item || is_right);
    cor_protobuf_item_unref(item);
    return is_right;
}

TEST(protobuf_cache, finds_items_by_object_row_type_and_field)
{
    struct cor_protobuf_item_key other;
    struct cor_protobuf_item *item;
    struct cache_fx fx;

    open_for(&fx, OBJECTS);
    add(&fx, &fx.part, 0, EVERYTHING);
    assert_true(is_kept(&fx, &fx.part, 0));
    assert_false(is_kept(&fx, &fx.part, 1));
    other = key_of(&fx, 0);
    other.number = 1;
    assert_null(cor_protobuf_cache_use(&fx.part, &other));
    other = key_of(&fx, 0);
    other.type = cor_type_named(COR_STR("meta_v1.PartialObjectMetadata"));
    assert_null(cor_protobuf_cache_use(&fx.part, &other));
    other = key_of(&fx, 0);
    other.row++;
    assert_null(cor_protobuf_cache_use(&fx.part, &other));
    assert_int_equal(cor_protobuf_cache_stats(&fx.cache).hits, 1);
    assert_int_equal(cor_protobuf_cache_stats(&fx.cache).misses, 4);

    /* A reader has an item longer than the cache. */
    other = key_of(&fx, 0);
    item = cor_protobuf_cache_use(&fx.part, &other);
    assert_int_equal(cor_protobuf_cache_drop_unused(&fx.cache, EVERYTHING, 100), 1);
    assert_int_equal(cor_protobuf_cache_stats(&fx.cache).bytes, 0);
    assert_str(cor_protobuf_item_bytes(item), "item 10");
    cor_protobuf_item_unref(item);
    close_it(&fx);
}

TEST(protobuf_cache, drops_what_was_not_used_for_longest)
{
    struct cache_fx fx;
    size_t nkept = 0;

    open_for(&fx, 2);
    for (size_t i = 0; i < OBJECTS; i++) {
        add(&fx, &fx.part, i, EVERYTHING);
        assert_true(cor_protobuf_cache_stats(&fx.cache).bytes <= fx.cache.bytes_max);
        assert_true(is_kept(&fx, &fx.part, i));
        /* Is always the last but one of its shard, which has room for two. */
        assert_true(is_kept(&fx, &fx.part, 0));
    }
    for (size_t i = 0; i < OBJECTS; i++)
        nkept += is_kept(&fx, &fx.part, i);
    assert_true(nkept <= 2 * COR_PROTOBUF_SHARDS && nkept < OBJECTS);
    close_it(&fx);
}

/* Otherwise a list that is longer than the maximum would never find an item. */
TEST(protobuf_cache, keeps_what_the_same_list_has_used)
{
    bool was_kept[OBJECTS];
    struct cache_fx fx;
    uint64_t since_ms;

    open_for(&fx, 2);
    since_ms = cor_loop_now_ms(fx.loop);
    for (size_t i = 0; i < OBJECTS; i++)
        add(&fx, &fx.part, i, since_ms);
    for (size_t i = 0; i < OBJECTS; i++)
        was_kept[i] = is_kept(&fx, &fx.part, i);
    assert_true(was_kept[0] && was_kept[1]);
    for (size_t i = 0; i < OBJECTS; i++)
        add(&fx, &fx.part, i, since_ms);
    for (size_t i = 0; i < OBJECTS; i++)
        assert_int_equal(is_kept(&fx, &fx.part, i), was_kept[i]);
    close_it(&fx);
}

TEST(protobuf_cache, does_not_keep_an_item_that_needs_more_than_a_shard)
{
    static char large[4096];
    struct cor_protobuf_item_key key;
    struct cache_fx fx;

    open_for(&fx, 1);
    add(&fx, &fx.part, 0, EVERYTHING);
    key = key_of(&fx, 1);
    cor_protobuf_cache_add(&fx.part, &key, cor_str(large, sizeof(large)), EVERYTHING);
    assert_null(cor_protobuf_cache_use(&fx.part, &key));
    assert_true(is_kept(&fx, &fx.part, 0));
    close_it(&fx);
}

/* The timer is set while something is kept, and drops what nobody has used for a minute. */
TEST(protobuf_cache, drops_what_is_not_used)
{
    struct cache_fx fx;
    uint64_t now_ms;

    open_for(&fx, OBJECTS);
    now_ms = cor_loop_now_ms(fx.loop);
    assert_false(cor_timer_is_set(&fx.part.timer));
    for (size_t i = 0; i < OBJECTS; i++)
        add(&fx, &fx.part, i, EVERYTHING);
    assert_true(cor_timer_is_set(&fx.part.timer));

    cor_timer_cancel(&fx.part.timer);
    fx.part.timer.on_timer(&fx.part.timer);
    assert_true(cor_timer_is_set(&fx.part.timer));
    assert_true(is_kept(&fx, &fx.part, 0));

    assert_int_equal(cor_protobuf_cache_drop_unused(&fx.cache, now_ms, OBJECTS), 0);
    assert_int_equal(cor_protobuf_cache_drop_unused(&fx.cache, EVERYTHING, 10), 10);
    assert_int_equal(cor_protobuf_cache_drop_unused(&fx.cache, EVERYTHING, OBJECTS), OBJECTS - 10);
    assert_int_equal(cor_protobuf_cache_stats(&fx.cache).bytes, 0);
    for (size_t i = 0; i < OBJECTS; i++)
        assert_true(cor_ref_is_sole(&fx.objects[i]->ref));
    cor_timer_cancel(&fx.part.timer);
    fx.part.timer.on_timer(&fx.part.timer);
    assert_false(cor_timer_is_set(&fx.part.timer));
    close_it(&fx);
}

TEST(protobuf_cache, keeps_an_item_whole_or_not_at_all)
{
    struct cache_fx fx;

    open_for(&fx, OBJECTS);
    FOR_EACH_FAILED_ALLOC(n) {
        size_t bytes;

        add(&fx, &fx.part, 0, EVERYTHING);
        bytes = cor_protobuf_cache_stats(&fx.cache).bytes;
        assert_true(is_kept(&fx, &fx.part, 0) ? bytes > 0 : bytes == 0);
        cor_protobuf_cache_deinit(&fx.cache);
        cor_protobuf_cache_init(&fx.cache, fx.cache.bytes_max);
    }
    assert_true(cor_ref_is_sole(&fx.objects[0]->ref));
    close_it(&fx);
}

static void *use_and_add(void *arg)
{
    struct cache_fx *fx = arg;
    struct cor_protobuf_cache_loop part;
    struct cor_loop *loop;
    uintptr_t wrong = 0;

    if (cor_loop_new(64, &loop) < 0)
        return (void *)1;
    cor_protobuf_cache_loop_init(&part, &fx->cache, loop);
    for (size_t i = 0; i < 50 * OBJECTS; i++) {
        struct cor_protobuf_item_key key = key_of(fx, i * 7 % OBJECTS);
        struct cor_protobuf_item *item = cor_protobuf_cache_use(&part, &key);
        char text[16];

        if (item)
            wrong |= !cor_str_eq(cor_protobuf_item_bytes(item), item_text(i * 7 % OBJECTS, text));
        else
            add(fx, &part, i * 7 % OBJECTS, EVERYTHING);
        cor_protobuf_item_unref(item);
    }
    cor_protobuf_cache_loop_deinit(&part);
    cor_loop_free(loop);
    return (void *)wrong;
}

TEST(protobuf_cache, is_shared_by_all_loops)
{
    pthread_t threads[3];
    struct cache_fx fx;

    open_for(&fx, 2);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_and_add, &fx), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++) {
        void *wrong;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_true(cor_protobuf_cache_stats(&fx.cache).bytes <= fx.cache.bytes_max);
    assert_true(cor_protobuf_cache_stats(&fx.cache).bytes > 0);
    /* What one loop has added, another one finds. */
    add(&fx, &fx.part, 5, EVERYTHING);
    assert_true(is_kept(&fx, &fx.part, 5));
    close_it(&fx);
}
