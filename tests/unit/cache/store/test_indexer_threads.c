/* Readers beside a writer: what they see is whole, whatever the writer does. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/err.h"
#include "cache/store/indexer.h"
#include "test.h"

#define READERS 4
#define OBJECTS 64
#define ROUNDS  300

static struct cor_indexer *ix;
static atomic_bool done;
static atomic_int torn;

static int by_parity(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    struct cor_str name = cor_object_name(o);

    return cor_index_values_add(out,
                                (name.p[name.n - 1] - '0') % 2 ? COR_STR("odd") : COR_STR("even"));
}

static struct cor_object *object(int i, int version)
{
    struct cor_object *o = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    char json[128];

    snprintf(json, sizeof(json), "{\"data\":{\"v\":%d},\"metadata\":{\"name\":\"k%02d\"}}", version,
             i);
    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &o, &status), 0);
    return o;
}

static size_t count(struct cor_object_iter *it)
{
    struct cor_object *o;
    size_t n = 0;

    for (; cor_object_iter_next(it, &o, NULL); n++)
        if (cor_object_name(o).n != 3)
            atomic_fetch_add(&torn, 1);
    cor_object_iter_deinit(it);
    return n;
}

/* A replace has all objects or none; single puts change no count. */
static void *read_all(void *arg)
{
    struct cor_object_iter it;
    struct cor_object *o;

    while (!atomic_load(&done)) {
        size_t n;

        if (cor_indexer_list(ix, &it) == 0 && (n = count(&it)) != 0 && n != OBJECTS)
            atomic_fetch_add(&torn, 1);
        if (cor_indexer_by_index(ix, COR_STR("parity"), COR_STR("odd"), &it) == 0 &&
            (n = count(&it)) != 0 && n != OBJECTS / 2)
            atomic_fetch_add(&torn, 1);
        if (cor_indexer_get(ix, COR_STR("k07"), &o) == 0)
            cor_object_unref(o);
    }
    return NULL;
}

/* Contract client 1.1.1. */
TEST(indexer_threads, readers_see_whole_states)
{
    const struct cor_index_def def = {COR_STR("parity"), by_parity, NULL};
    struct cor_object *objects[OBJECTS];
    pthread_t readers[READERS];

    assert_int_equal(cor_indexer_new(&def, 1, &ix), 0);
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < OBJECTS; i++)
            objects[i] = object(i, round);
        assert_int_equal(cor_indexer_replace(ix, objects, OBJECTS), 0);
        for (int i = 0; i < OBJECTS; i += 5)
            assert_int_equal(cor_indexer_put(ix, objects[i], NULL), 0);
        for (int i = 0; i < OBJECTS; i++)
            cor_object_unref(objects[i]);
    }
    atomic_store(&done, true);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(atomic_load(&torn), 0);
    ix = cor_indexer_free(ix);
}
