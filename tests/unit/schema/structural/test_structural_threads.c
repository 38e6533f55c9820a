/* Schemas of custom resources that are compiled by several threads at once. */
#include <pthread.h>

#include "base/err.h"
#include "schema/structural/structural.h"
#include "test.h"

static void *compile_refused(void *arg)
{
    pthread_barrier_t *start = arg;
    struct cor_structural *schema = NULL;

    pthread_barrier_wait(start);
    for (int i = 0; i < 20000; i++) {
        int r = cor_structural_compile(COR_STR("{\"type\":\"object\",\"anyOf\":[3]}"), NULL,
                                       &schema, NULL);

        if (r != -COR_EINVALID || schema)
            return start;
    }
    return NULL;
}

/* A builder that has failed goes on to the end of the keyword, and writes to no place that others
 * have too; ThreadSanitizer sees it. */
TEST(structural_threads, fails_on_two_threads_at_once)
{
    pthread_barrier_t start;
    pthread_t threads[2];
    void *wrong[2];

    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_refused, &start), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &wrong[i]);
    pthread_barrier_destroy(&start);
    assert_null(wrong[0]);
    assert_null(wrong[1]);
}
