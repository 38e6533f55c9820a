/* Instances in the store: where they are kept, and that none is left behind by its definition.
 * Numbers are lines of contract crd. */
#include "crd_fixture.h"

#define MAP "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}"
#define CRD_IN(group, plural, kind)                                                                \
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","           \
    "\"metadata\":{\"name\":\"" plural "." group "\"},\"spec\":{\"group\":\"" group                \
    "\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"" plural "\",\"kind\":\"" kind            \
    "\"},\"versions\":[" VERSION("v1", STORED, ANY) "]}}"

static const char *names_of(struct crd_fx *c, const char *collection)
{
    static char text[256];
    const char *list = fx_do(&c->fx, 200, "GET", collection, "");
    char path[64];

    text[0] = '\0';
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof(path), "items[%d].metadata.name", i);
        strncat(text, fx_at(list, path), sizeof(text) - strlen(text) - 1);
    }
    return text;
}

/* 3.2.2: the group is part of the key. */
static void check_apart(bool has_caches)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, has_caches);
    fx_do(&c.fx, 201, "POST", "/api/v1/namespaces/default/configmaps", MAP);
    define(&c, CRD_OF("configmaps", "ConfigMap", "", "Namespaced", VERSION("v1", STORED, ANY)));
    define(&c, CRD_IN("other.example.org", "configmaps", "ConfigMap"));
    await(&c, "/apis/other.example.org/v1/configmaps", "kind", "ConfigMapList");
    assert_string_equal(names_of(&c, "/apis/shop.example.org/v1/configmaps"), "");
    fx_do(&c.fx, 201, "POST", "/apis/shop.example.org/v1/namespaces/default/configmaps",
          "{\"kind\":\"ConfigMap\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"name\":"
          "\"b\"}}");
    assert_string_equal(names_of(&c, "/apis/shop.example.org/v1/configmaps"), "b");
    assert_string_equal(names_of(&c, "/apis/other.example.org/v1/configmaps"), "");
    assert_string_equal(names_of(&c, "/api/v1/configmaps"), "a");
    crd_fx_close(&c);
}

TEST(crd_instances, resources_of_the_same_name_in_other_groups_are_apart)
{
    check_apart(true);
    check_apart(false);
}
