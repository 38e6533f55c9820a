/* The schema of a custom resource is compiled with its first use, once. */
#include "schema/kinds/custom_schema.h"

#include <pthread.h>
#include <string.h>

#include "base/err.h"
#include "test.h"

#define KETTLE                                                                                     \
    "{\"openAPIV3Schema\":{\"properties\":{\"spec\":{\"properties\":{\"litres\":{\"type\":"        \
    "\"integer\"}},\"type\":\"object\"}},\"type\":\"object\"}}"
#define NTHREADS 4

static struct cor_custom_schema *make(const char *json)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *crd = NULL;
    const struct cor_structural_opts opts = {0};
    struct cor_custom_schema *schema;

    assert_int_equal(cor_object_parse(COR_STR("{}"), NULL, NULL, NULL, &crd, NULL), 0);
    schema = cor_custom_schema_new(crd, cor_strz(json), &opts);
    assert_non_null(schema);
    return schema;
}

TEST(custom_schema, is_compiled_with_its_first_use)
{
    struct cor_custom_schema *schema = make(KETTLE);
    const struct cor_structural *first, *second;

    assert_int_equal(cor_custom_schema_weight(schema), strlen(KETTLE));
    assert_int_equal(cor_custom_schema_peek(schema, &first), 0);
    assert_non_null(first);
    assert_int_equal(cor_custom_schema_weight(schema), 0);
    assert_int_equal(cor_custom_schema_peek(schema, &second), 0);
    assert_ptr_equal(first, second);
    cor_custom_schema_unref(schema);
}

TEST(custom_schema, of_openapi_is_not_kept_compiled)
{
    struct cor_custom_schema *schema = make(KETTLE);
    const struct cor_structural *compiled;

    assert_true(cor_custom_schema_is_shown(schema));
    assert_int_equal(cor_custom_schema_weight(schema), strlen(KETTLE));
    assert_int_equal(cor_custom_schema_peek(schema, &compiled), 0);
    assert_non_null(compiled);
    assert_true(cor_custom_schema_is_shown(schema));
    cor_custom_schema_unref(schema);
}

/* Objects of a definition whose schema cannot be used stay as they are. */
TEST(custom_schema, that_is_not_structural_is_not_used)
{
    static const char *const texts[] = {"{\"openAPIV3Schema\":{\"anyOf\":[3],\"type\":\"object\"}}",
                                        "{\"openAPIV3Schema\":3}", "{}", "null"};
    const struct cor_structural *compiled;

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
        struct cor_custom_schema *schema = make(texts[i]);

        assert_int_equal(cor_custom_schema_peek(schema, &compiled), 0);
        assert_null(compiled);
        assert_false(cor_custom_schema_is_shown(schema));
        assert_int_equal(cor_custom_schema_weight(schema), 0);
        cor_custom_schema_unref(schema);
    }
    assert_int_equal(cor_custom_schema_peek(NULL, &compiled), 0);
    assert_null(compiled);
    assert_false(cor_custom_schema_is_shown(NULL));
    assert_int_equal(cor_custom_schema_weight(NULL), 0);
}

struct peeker {
    struct cor_custom_schema *schema;
    pthread_barrier_t *start;
    const struct cor_structural *compiled;
    int r;
};

static void *peek(void *arg)
{
    struct peeker *p = arg;

    pthread_barrier_wait(p->start);
    p->r = cor_custom_schema_peek(p->schema, &p->compiled);
    return NULL;
}

TEST(custom_schema, is_compiled_once_for_all_threads)
{
    for (size_t round = 0; round < 20; round++) {
        struct cor_custom_schema *schema = make(KETTLE);
        struct peeker peekers[NTHREADS];
        pthread_t threads[NTHREADS];
        pthread_barrier_t start;

        pthread_barrier_init(&start, NULL, NTHREADS);
        for (size_t i = 0; i < NTHREADS; i++) {
            peekers[i] = (struct peeker){.schema = schema, .start = &start};
            assert_int_equal(pthread_create(&threads[i], NULL, peek, &peekers[i]), 0);
        }
        for (size_t i = 0; i < NTHREADS; i++)
            pthread_join(threads[i], NULL);
        for (size_t i = 0; i < NTHREADS; i++) {
            assert_int_equal(peekers[i].r, 0);
            assert_non_null(peekers[i].compiled);
            assert_ptr_equal(peekers[i].compiled, peekers[0].compiled);
        }
        pthread_barrier_destroy(&start);
        cor_custom_schema_unref(schema);
    }
}

TEST(custom_schema, is_compiled_by_the_next_call_after_a_failure)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *crd = NULL;
        const struct cor_structural_opts opts = {0};
        const struct cor_structural *compiled = NULL;
        struct cor_custom_schema *schema = NULL;
        int r = cor_object_parse(COR_STR("{}"), NULL, NULL, NULL, &crd, NULL);

        if (r == 0) {
            schema = cor_custom_schema_new(crd, COR_STR(KETTLE), &opts);
            r = schema ? cor_custom_schema_peek(schema, &compiled) : -COR_ENOMEM;
        }
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (schema) {
            assert_int_equal(cor_custom_schema_peek(schema, &compiled), 0);
            assert_non_null(compiled);
        }
        cor_custom_schema_unref(schema);
    }
}
