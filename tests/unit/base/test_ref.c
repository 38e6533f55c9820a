#include <pthread.h>

#include "base/ref.h"
#include "test.h"

static struct cor_ref shared;
static _Atomic int last;

static void *get_and_put(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        cor_ref_get(&shared);
        assert(!cor_ref_put(&shared));
    }
    if (cor_ref_put(&shared))
        atomic_fetch_add(&last, 1);
    return arg;
}

TEST(ref, exactly_one_thread_drops_the_last_reference)
{
    pthread_t threads[4];

    cor_ref_init(&shared);
    assert_true(cor_ref_is_sole(&shared));
    for (int i = 0; i < 3; i++)
        cor_ref_get(&shared);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, get_and_put, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(last, 1);
}
