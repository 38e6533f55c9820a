#include "kit/api_operation.h"

#include "base/err.h"
#include "meta/names/patch_type.h"
#include "test.h"

#define OPTIONS "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\""

static const struct cor_gvr pods = {COR_STR(""), COR_STR("v1"), COR_STR("pods")};

static struct cor_object *object_of(const char *json)
{
    struct cor_object *object;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

/* An operation of the verb, with everything that any verb takes; what the verb does not use must
 * not show. */
static struct cor_api_operation full(enum cor_api_verb verb, struct cor_object *object)
{
    bool has_object = verb == COR_API_VERB_CREATE || verb == COR_API_VERB_UPDATE;

    return (struct cor_api_operation){
        .verb = verb,
        .at = {.gvr = pods, .ns = COR_STR("x"), .name = COR_STR("a")},
        .metadata_only = true,
        .query = {.label_selector = COR_STR("k=v"), .list = {.resource_version = COR_STR("5")}},
        .object = has_object ? object : NULL,
        .patch_type = COR_PATCH_MERGE,
        .patch = COR_STR("{}"),
        .write = {.field_manager = COR_STR("me")},
        .removal = {.propagation = COR_STR("Orphan")},
    };
}

static const struct {
    enum cor_api_verb verb;
    enum cor_http_method method;
    enum cor_api_result result;
    const char *target, *content_type, *body;
} forms[] = {
    {COR_API_VERB_GET, COR_HTTP_GET, COR_API_RESULT_OBJECT,
     "/api/v1/namespaces/x/pods/a?resourceVersion=5", "", ""},
    {COR_API_VERB_LIST, COR_HTTP_GET, COR_API_RESULT_LIST,
     "/api/v1/namespaces/x/pods?labelSelector=k%3Dv&resourceVersion=5", "", ""},
    {COR_API_VERB_WATCH, COR_HTTP_GET, COR_API_RESULT_WATCH,
     "/api/v1/namespaces/x/pods?labelSelector=k%3Dv&watch=true&resourceVersion=5", "", ""},
    {COR_API_VERB_CREATE, COR_HTTP_POST, COR_API_RESULT_OBJECT,
     "/api/v1/namespaces/x/pods?fieldManager=me", "", ""},
    {COR_API_VERB_UPDATE, COR_HTTP_PUT, COR_API_RESULT_OBJECT,
     "/api/v1/namespaces/x/pods/a?fieldManager=me", "", ""},
    {COR_API_VERB_PATCH, COR_HTTP_PATCH, COR_API_RESULT_OBJECT,
     "/api/v1/namespaces/x/pods/a?fieldManager=me", "application/merge-patch+json", "{}"},
    {COR_API_VERB_DELETE, COR_HTTP_DELETE, COR_API_RESULT_OBJECT, "/api/v1/namespaces/x/pods/a", "",
     OPTIONS ",\"propagationPolicy\":\"Orphan\"}"},
    {COR_API_VERB_DELETECOLLECTION, COR_HTTP_DELETE, COR_API_RESULT_NOTHING,
     "/api/v1/namespaces/x/pods?labelSelector=k%3Dv&resourceVersion=5", "",
     OPTIONS ",\"propagationPolicy\":\"Orphan\"}"},
};

TEST(api_operation, has_the_form_of_its_verb)
{
    struct cor_object *object = object_of("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}");

    assert_int_equal(COR_ARRAY_LEN(forms), COR_API_VERB_COUNT);
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        COR_CLEANUP(cor_api_form_deinit) struct cor_api_form form;
        const struct cor_api_operation op = full(forms[i].verb, object);

        assert_int_equal(cor_api_form_init(&form, &op, NULL), 0);
        assert_int_equal(form.method, forms[i].method);
        assert_int_equal(form.result, forms[i].result);
        assert_str(cor_buf_str(&form.target), forms[i].target);
        assert_str(form.content_type, forms[i].content_type);
        assert_str(form.body, forms[i].body);
        assert_int_equal(form.metadata_only, forms[i].method != COR_HTTP_DELETE);
    }
    cor_object_unref(object);
}

static void assert_target(const struct cor_api_operation *op, const char *target)
{
    COR_CLEANUP(cor_api_form_deinit) struct cor_api_form form;

    assert_int_equal(cor_api_form_init(&form, op, NULL), 0);
    assert_str(cor_buf_str(&form.target), target);
}

/* Contract client 4.14.2. */
TEST(api_operation, takes_the_name_of_its_object)
{
    struct cor_object *object = object_of("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}");
    struct cor_api_operation op = {
        .verb = COR_API_VERB_UPDATE, .at = {.gvr = pods}, .object = object};

    assert_target(&op, "/api/v1/pods/b");
    op.at.subresource = COR_STR("status");
    assert_target(&op, "/api/v1/pods/b/status");
    op.verb = COR_API_VERB_CREATE;
    op.at.subresource = COR_STR("eviction");
    assert_target(&op, "/api/v1/pods/b/eviction");
    op.at.name = COR_STR("a");
    assert_target(&op, "/api/v1/pods/a/eviction");
    op.at.subresource = COR_STR("");
    assert_target(&op, "/api/v1/pods");
    cor_object_unref(object);
}

TEST(api_operation, asks_for_the_document_of_a_group_and_version)
{
    struct cor_api_operation op = {
        .verb = COR_API_VERB_GET,
        .at.gvr = {COR_STR("apps"), COR_STR("v1"), COR_STR("")},
        .is_discovery = true,
    };
    COR_CLEANUP(cor_api_form_deinit) struct cor_api_form form;

    assert_int_equal(cor_api_form_init(&form, &op, NULL), 0);
    assert_str(cor_buf_str(&form.target), "/apis/apps/v1");
    assert_int_equal(form.result, COR_API_RESULT_NOTHING);
    op.at.gvr = (struct cor_gvr){COR_STR(""), COR_STR("v1"), COR_STR("")};
    assert_target(&op, "/api/v1");
}

static void refused(struct cor_api_operation op, const char *message)
{
    COR_CLEANUP(cor_api_form_deinit) struct cor_api_form form;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    assert_int_equal(cor_api_form_init(&form, &op, &why), -COR_EINVAL);
    assert_string_equal(cor_status_message(&why), message);
}

/* Contract client 4.14.3. */
TEST(api_operation, refuses_what_cannot_be_sent)
{
    struct cor_object *nameless = object_of("{\"kind\":\"Pod\"}");
    struct cor_api_operation op = full(COR_API_VERB_PATCH, nameless);

    op.patch_type = COR_PATCH_TYPES;
    refused(op, "there is no patch type 4");
    refused(full(COR_API_VERB_NONE, nameless), "there is no verb 8");
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        op = full(forms[i].verb, nameless);
        op.at.name = COR_STR("");
        if (forms[i].verb == COR_API_VERB_CREATE)
            op.at.subresource = COR_STR("eviction");
        if (forms[i].verb == COR_API_VERB_CREATE || strstr(forms[i].target, "pods/a"))
            refused(op, "name is required");
        op.at.ns = COR_STR("a/b");
        op.at.name = COR_STR("n");
        refused(op, "invalid namespace \"a/b\": [may not contain '/']");
    }
    cor_object_unref(nameless);
}

TEST(api_operation, survives_failed_allocations)
{
    struct cor_object *object = object_of("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}");

    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        const struct cor_api_operation op = full(forms[i].verb, object);

        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_api_form_deinit) struct cor_api_form form;
            COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
            int r = cor_api_form_init(&form, &op, &why);

            if (r == 0)
                assert_str(cor_buf_str(&form.target), forms[i].target);
            else
                assert_true(r == -COR_ENOMEM && why.err == r && test_alloc_failed());
        }
    }
    cor_object_unref(object);
}
