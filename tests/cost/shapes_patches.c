/* Patches of the three kinds, with a growing number of members, elements and operations. */
#include "shapes.h"

#define ROLES "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"

static void make_nested_merge(struct request *rq)
{
    TEXT body = shape_text();

    shape_add(&body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    shape_nest(&body, rq->n, "1");
    shape_add(&body, "}");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
    shape_patch(rq, MAPS "/x", "application/merge-patch+json");
    shape_add(&rq->body, "{\"deep\":");
    shape_nest(&rq->body, rq->n, "2");
    shape_add(&rq->body, "}");
}

static void make_new_nested_merge(struct request *rq)
{
    shape_store_map(rq, NULL, NULL);
    shape_patch(rq, MAPS "/x", "application/merge-patch+json");
    shape_add(&rq->body, "{\"deep\":");
    shape_nest(&rq->body, rq->n, "2");
    shape_add(&rq->body, "}");
}

static void make_nested_strategic(struct request *rq)
{
    TEXT body = shape_text();

    shape_add(&body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    shape_nest(&body, rq->n, "1");
    shape_add(&body, "}");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
    shape_patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"deep\":");
    shape_nest(&rq->body, rq->n, "2");
    shape_add(&rq->body, "}");
}

static void make_new_nested_strategic(struct request *rq)
{
    shape_store_map(rq, NULL, NULL);
    shape_patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"deep\":");
    shape_nest(&rq->body, rq->n, "2");
    shape_add(&rq->body, "}");
}

static void make_merge(struct request *rq)
{
    TEXT data = shape_text();

    shape_members(&data, rq->n, "v");
    shape_store_map(rq, NULL, &data);
    shape_patch(rq, MAPS "/x", "application/merge-patch+json");
    shape_add(&rq->body, "{\"data\":{");
    shape_members(&rq->body, rq->n, "w");
    shape_add(&rq->body, "}}");
}

static void make_strategic_members(struct request *rq)
{
    TEXT data = shape_text();

    shape_members(&data, rq->n, "v");
    shape_store_map(rq, NULL, &data);
    shape_patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"data\":{");
    shape_members(&rq->body, rq->n, "w");
    shape_add(&rq->body, "}}");
}

static void make_strategic_new_members(struct request *rq)
{
    TEXT data = shape_text();

    shape_members(&data, rq->n, "v");
    shape_store_map(rq, NULL, &data);
    shape_patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"data\":{");
    EACH(&rq->body, rq->n, "\"n%06zu\":\"w\"", i);
    shape_add(&rq->body, "}}");
}

static void make_retain_keys(struct request *rq)
{
    TEXT data = shape_text();

    shape_members(&data, rq->n, "v");
    shape_store_map(rq, NULL, &data);
    shape_patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"data\":{\"$retainKeys\":[");
    EACH(&rq->body, rq->n, "\"k%06zu\"", i);
    shape_add(&rq->body, "],");
    shape_members(&rq->body, rq->n, "w");
    shape_add(&rq->body, "}}");
}

/* A PodTemplate, whose containers may come and go, and a strategic patch of them. */
static void patch_template(struct request *rq)
{
    TEXT body = shape_text();

    shape_add(&body, "{\"metadata\":{\"name\":\"x\"},\"template\":{\"spec\":{\"containers\":[");
    EACH(&body, rq->n, "{\"name\":\"c%06zu\",\"image\":\"a\"}", i);
    shape_add(&body, "]}}}");
    (void)fx_do(rq->fx, 201, "POST", TEMPLATES, cor_buf_z(&body));
    shape_patch(rq, TEMPLATES "/x", "application/strategic-merge-patch+json");
}

static void make_strategic_list(struct request *rq)
{
    patch_template(rq);
    shape_add(&rq->body, "{\"template\":{\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"c%06zu\",\"image\":\"b\"}", i);
    shape_add(&rq->body, "]}}}");
}

static void make_strategic_new_list(struct request *rq)
{
    patch_template(rq);
    shape_add(&rq->body, "{\"template\":{\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"d%06zu\",\"image\":\"b\"}", i);
    shape_add(&rq->body, "]}}}");
}

static void make_strategic_order(struct request *rq)
{
    patch_template(rq);
    shape_add(&rq->body, "{\"template\":{\"spec\":{\"$setElementOrder/containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"c%06zu\"}", rq->n - 1 - i);
    shape_add(&rq->body, "]}}}");
}

/* All but the first one, which a template needs. */
static void make_strategic_deletes(struct request *rq)
{
    patch_template(rq);
    shape_add(&rq->body, "{\"template\":{\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n - 1, "{\"name\":\"c%06zu\",\"$patch\":\"delete\"}", rq->n - 1 - i);
    shape_add(&rq->body, "]}}}");
}

static void make_strategic_finalizers(struct request *rq)
{
    shape_store_pod(rq);
    shape_patch(rq, PODS "/x", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[");
    EACH(&rq->body, rq->n / 2, "\"example.com/f%zu\"", i);
    shape_add(&rq->body, "]}}");
}

static void store_array(struct request *rq)
{
    TEXT body = shape_text();

    /* One verb more than is ever removed. */
    shape_add(&body, "{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[");
    EACH(&body, rq->n + 1, "\"%zu\"", i);
    shape_add(&body, "]}],\"metadata\":{\"name\":\"x\",\"annotations\":{");
    shape_members(&body, rq->n, "v");
    shape_add(&body, "}}}");
    (void)fx_do(rq->fx, 201, "POST", ROLES, cor_buf_z(&body));
    shape_patch(rq, ROLES "/x", "application/json-patch+json");
}

#define JSON_PATCH_SHAPE(name, ...)                                                                \
    static void name(struct request *rq)                                                           \
    {                                                                                              \
        store_array(rq);                                                                           \
        shape_add(&rq->body, "[");                                                                 \
        EACH(&rq->body, rq->n, __VA_ARGS__);                                                       \
        shape_add(&rq->body, "]");                                                                 \
    }

JSON_PATCH_SHAPE(make_add_members,
                 "{\"op\":\"add\",\"path\":\"/metadata/annotations/n%zu\",\"value\":\"v\"}", i)
JSON_PATCH_SHAPE(make_replace_members,
                 "{\"op\":\"replace\",\"path\":\"/metadata/annotations/k%06zu\",\"value\":\"w\"}",
                 i)
JSON_PATCH_SHAPE(make_remove_members,
                 "{\"op\":\"remove\",\"path\":\"/metadata/annotations/k%06zu\"}", rq->n - 1 - i)
JSON_PATCH_SHAPE(make_test_members,
                 "{\"op\":\"test\",\"path\":\"/metadata/annotations/k%06zu\",\"value\":\"v\"}",
                 rq->n - 1 - i)
JSON_PATCH_SHAPE(make_append_elements,
                 "{\"op\":\"add\",\"path\":\"/rules/0/verbs/-\",\"value\":\"%zu\"}", i)
JSON_PATCH_SHAPE(make_insert_elements,
                 "{\"op\":\"add\",\"path\":\"/rules/0/verbs/%zu\",\"value\":\"w\"}", rq->n / 2 + i)
JSON_PATCH_SHAPE(make_replace_elements,
                 "{\"op\":\"replace\",\"path\":\"/rules/0/verbs/%zu\",\"value\":\"w\"}", i)
JSON_PATCH_SHAPE(make_remove_elements, "{\"op\":\"remove\",\"path\":\"/rules/0/verbs/%zu\"}",
                 rq->n - 1 - i)
JSON_PATCH_SHAPE(
    make_move_elements,
    "{\"op\":\"move\",\"from\":\"/rules/0/verbs/%zu\",\"path\":\"/rules/0/verbs/%zu\"}", rq->n / 2,
    i)
JSON_PATCH_SHAPE(
    make_move_members,
    "{\"op\":\"move\",\"from\":\"/metadata/annotations/k%06zu\",\"path\":\"/metadata/annotations/m%zu\"}",
    i, i)
JSON_PATCH_SHAPE(make_move_whole,
                 "{\"op\":\"move\",\"from\":\"/rules/0/%s\",\"path\":\"/rules/0/%s\"}",
                 i % 2 ? "resourceNames" : "verbs", i % 2 ? "verbs" : "resourceNames")
JSON_PATCH_SHAPE(
    make_copy_members,
    "{\"op\":\"copy\",\"from\":\"/metadata/annotations/k%06zu\",\"path\":\"/metadata/annotations/m%zu\"}",
    i, i)

JSON_PATCH_SHAPE(make_unknown_members,
                 "{\"op\":\"test\",\"path\":\"/rules/0/verbs/0\",\"value\":\"0\",\"x%zu\":{\"a\":1,"
                 "\"a\":2}}",
                 i)

/* The whole object is tested, after its members were put in another order. */
static void make_test_whole(struct request *rq)
{
    store_array(rq);
    shape_add(
        &rq->body,
        "[{\"op\":\"remove\",\"path\":\"/metadata/annotations/k000000\"},{\"op\":\"add\",\"path\":"
        "\"/metadata/annotations/k000000\",\"value\":\"v\"},{\"op\":\"test\",\"path\":\"/metadata/annotations\","
        "\"value\":{");
    shape_members(&rq->body, rq->n, "v");
    shape_add(&rq->body, "}}]");
}

static const struct shape table[] = {
    {"merge-patch", make_merge, 0},
    {"merge-patch-nested", make_nested_merge, 980},
    {"merge-patch-nested-new", make_new_nested_merge, 980},
    {"strategic-members", make_strategic_members, 0},
    {"strategic-new-members", make_strategic_new_members, 0},
    {"strategic-retain-keys", make_retain_keys, 0},
    {"strategic-list", make_strategic_list, 0},
    {"strategic-new-list", make_strategic_new_list, 0},
    {"strategic-order", make_strategic_order, 0},
    {"strategic-delete-markers", make_strategic_deletes, 0},
    {"strategic-delete-scalars", make_strategic_finalizers, 0},
    {"strategic-nested", make_nested_strategic, 980},
    {"strategic-nested-new", make_new_nested_strategic, 980},
    {"json-patch-add-members", make_add_members, 10000},
    {"json-patch-replace-members", make_replace_members, 10000},
    {"json-patch-remove-members", make_remove_members, 10000},
    {"json-patch-test-members", make_test_members, 10000},
    {"json-patch-append-elements", make_append_elements, 10000},
    {"json-patch-insert-elements", make_insert_elements, 10000},
    {"json-patch-replace-elements", make_replace_elements, 10000},
    {"json-patch-remove-elements", make_remove_elements, 10000},
    {"json-patch-move-elements", make_move_elements, 10000},
    {"json-patch-move-members", make_move_members, 10000},
    {"json-patch-move-whole", make_move_whole, 10000},
    {"json-patch-copy-members", make_copy_members, 10000},
    {"json-patch-unknown-members", make_unknown_members, 10000},
    {"json-patch-test-whole", make_test_whole, 10000},
};

const struct shapes shapes_of_patches = SHAPES(table);
