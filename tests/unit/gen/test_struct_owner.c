/* Owner references of generated structs (coracle/types/owner.h). */
#include "coracle/types/owner.h"
#include "meta/object/object.h"
#include "test.h"

static struct cor_object *parse(const char *json)
{
    struct cor_object *object;

    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &object, NULL), 0);
    return object;
}

/* The rules of cor_builder_set_controller(). */
TEST(struct_values, have_one_controlling_owner)
{
    struct cor_object *site =
        parse("{\"kind\":\"Site\",\"apiVersion\":\"example.com/v2\",\"metadata\":{"
              "\"name\":\"home\",\"namespace\":\"n\",\"uid\":\"u-2\"}}");
    struct cor_object *other =
        parse("{\"kind\":\"Site\",\"apiVersion\":\"example.com/v2\",\"metadata\":{"
              "\"name\":\"away\",\"namespace\":\"n\",\"uid\":\"u-3\"}}");
    struct cor_object *unborn = parse("{\"kind\":\"Site\",\"apiVersion\":\"v2\",\"metadata\":{"
                                      "\"name\":\"away\"}}");
    struct cor_pool *pool;
    struct cor_meta_v1_object_meta_own meta = {.name = COR_STR_INIT("web")};
    struct cor_meta_v1_owner_reference_own *ref;

    assert_int_equal(cor_pool_new(0, &pool), 0);
    assert_int_equal(cor_own_set_controller(pool, &meta, site), -COR_EINVAL);
    meta.namespace_ = COR_STR("m");
    assert_int_equal(cor_own_set_controller(pool, &meta, site), -COR_EINVAL);
    meta.namespace_ = COR_STR("n");
    assert_int_equal(cor_own_set_controller(pool, &meta, unborn), -COR_EINVAL);
    /* An older entry of the same owner, and one that controls nothing. */
    ref = cor_meta_v1_owner_reference_own_list_add(pool, &meta.owner_references);
    *ref = (struct cor_meta_v1_owner_reference_own){
        .api_version = COR_STR("v1"), .kind = COR_STR("Site"), .name = COR_STR("home")};
    ref = cor_meta_v1_owner_reference_own_list_add(pool, &meta.owner_references);
    *ref = (struct cor_meta_v1_owner_reference_own){.api_version = COR_STR("example.com/v1"),
                                                    .kind = COR_STR("Site"),
                                                    .name = COR_STR("home"),
                                                    .uid = COR_STR("u-1")};
    assert_int_equal(cor_own_set_controller(pool, &meta, site), 0);
    assert_int_equal(meta.owner_references.n, 2);
    ref = &meta.owner_references.p[1];
    assert_str(ref->api_version, "example.com/v2");
    assert_str(ref->uid, "u-2");
    assert_true(ref->controller.value && ref->block_owner_deletion.value);
    assert_int_equal(cor_own_set_controller(pool, &meta, other), -COR_EPRECONDITION);
    meta.owner_references.n = 0;
    assert_int_equal(cor_own_set_controller(pool, &meta, other), 0);
    assert_int_equal(meta.owner_references.n, 1);
    assert_str(meta.owner_references.p[0].name, "away");
    cor_pool_free(pool);
    cor_object_unref(site);
    cor_object_unref(other);
    cor_object_unref(unborn);
}
