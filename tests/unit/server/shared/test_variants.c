#include "base/limits.h"
#include "server/shared/variants.h"

#include "base/err.h"
#include "test.h"

static const struct cor_resource_row *new_events(void)
{
    return cor_api_builtin(COR_STR("events.k8s.io"), COR_STR("v1"), COR_STR("events"));
}

static struct cor_object *event(size_t padding)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 20};
    struct cor_object *object;
    int r = cor_buf_addz(&json, "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"message\":\"");

    for (size_t i = 0; i < padding && r == 0; i++)
        r = cor_buf_addc(&json, 'x');
    assert_int_equal(cor_buf_addz(&json, "\",\"metadata\":{}}"), 0);
    assert_int_equal(cor_object_from_stored(cor_buf_str(&json), 7, &object, NULL, NULL), 0);
    return object;
}

static struct cor_object *get(struct cor_variants *variants, struct cor_object *source)
{
    struct cor_object *made;

    assert_int_equal(cor_variants_get(variants, &cor_event_conversion, new_events(), source, &made),
                     0);
    assert_int_equal(made->rev, source->rev);
    cor_object_unref(made);
    return made;
}

TEST(variants, an_object_that_is_asked_for_again_is_made_once)
{
    struct cor_variants variants = {.next = 0};
    struct cor_object *a = event(1), *b = event(2), *made = get(&variants, a);

    assert_ptr_not_equal(get(&variants, b), made);
    assert_ptr_equal(get(&variants, a), made);
    cor_variants_deinit(&variants);
    cor_object_unref(a);
    cor_object_unref(b);
}

TEST(variants, only_the_last_are_kept)
{
    struct cor_variants variants = {.next = 0};
    struct cor_object *first = event(1), *old = get(&variants, first);
    size_t kept = 0;

    for (size_t i = 0; i < COR_VARIANTS_MAX; i++) {
        struct cor_object *other = event(i);

        (void)get(&variants, other);
        cor_object_unref(other);
    }
    for (size_t i = 0; i < COR_VARIANTS_MAX; i++)
        kept += variants.v[i].source == first || variants.v[i].made == old;
    assert_int_equal(kept, 0);
    cor_variants_deinit(&variants);
    cor_object_unref(first);
}

TEST(variants, large_objects_are_not_kept)
{
    struct cor_variants variants = {.next = 0};
    struct cor_object *large = event(COR_VARIANT_BYTES_MAX);

    (void)get(&variants, large);
    assert_null(variants.v[0].source);
    cor_object_unref(large);
}

/* The product alone is small: a scale says little of what it scales. */
TEST(variants, a_large_source_is_not_kept_for_a_small_product)
{
    static const struct cor_resource_row scale = {.kind = COR_STR("Scale"),
                                                  .api_version = COR_STR("autoscaling/v1")};
    struct cor_variants variants = {.next = 0};
    struct cor_object *large = event(COR_VARIANT_BYTES_MAX), *made;

    assert_int_equal(cor_variants_get(&variants, &cor_scale_conversion, &scale, large, &made), 0);
    assert_true(made->len < COR_VARIANT_BYTES_MAX / 2);
    assert_null(variants.v[0].source);
    cor_object_unref(made);
    cor_object_unref(large);
    cor_variants_deinit(&variants);
}

TEST(variants, survive_failed_allocations)
{
    struct cor_variants variants = {.next = 0};
    struct cor_object *source = event(1);

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *made = NULL;
        int r = cor_variants_get(&variants, &cor_event_conversion, new_events(), source, &made);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_object_unref(made);
    }
    cor_variants_deinit(&variants);
    cor_object_unref(source);
}

static size_t freed;

static void count_free(const struct cor_resource_row *row)
{
    freed++;
}

/* As for frames: what is kept of an object keeps the row whose version it shows. */
TEST(variants, hold_the_row_that_they_are_found_by)
{
    struct cor_row_life life = {.place = 9999, .free_row = count_free};
    struct cor_resource_row row = *new_events();
    struct cor_variants variants = {.next = 0};
    struct cor_object *source = event(1), *made, *again;

    freed = 0;
    row.life = &life;
    cor_ref_init(&life.refs);
    assert_int_equal(cor_variants_get(&variants, &cor_event_conversion, &row, source, &made), 0);
    assert_int_equal(cor_variants_get(&variants, &cor_event_conversion, &row, source, &again), 0);
    assert_ptr_equal(made, again);
    cor_object_unref(made);
    cor_object_unref(again);
    cor_row_unref(&row);
    assert_int_equal(freed, 0);
    cor_variants_deinit(&variants);
    assert_int_equal(freed, 1);
    cor_object_unref(source);
}
