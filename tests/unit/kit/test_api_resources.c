/* The enumeration of resources: what it copies, how it finds a kind, and its words about versions
 * that could not be enumerated. The ports that make it: kit/api_port_http, server/inner_port. */
#include "kit/api_resources.h"

#include "base/err.h"
#include "scripted_port.h"
#include "test.h"

#define GVR(group, version, resource)                                                              \
    {                                                                                              \
        COR_STR(group), COR_STR(version), COR_STR(resource)                                        \
    }

static const struct cor_port_resource samples[] = {
    {.gvr = GVR("", "v1", "pods"),
     .kind = COR_STR("Pod"),
     .is_namespaced = true,
     .is_preferred = true,
     .verbs = COR_API_VERB_BIT(LIST)},
    {.gvr = GVR("", "v1", "events"), .kind = COR_STR("Event"), .is_preferred = true},
    {.gvr = GVR("autoscaling", "v2", "horizontalpodautoscalers"),
     .kind = COR_STR("HorizontalPodAutoscaler"),
     .is_preferred = true},
    {.gvr = GVR("autoscaling", "v1", "horizontalpodautoscalers"),
     .kind = COR_STR("HorizontalPodAutoscaler")},
    {.gvr = GVR("events.k8s.io", "v1", "events"), .kind = COR_STR("Event"), .is_preferred = true},
};

static const struct cor_api_resources_failure failures[] = {
    {{COR_STR("z.io"), COR_STR("v1")}, COR_STR("stale GroupVersion discovery: z.io/v1")},
    {{COR_STR("a.io"), COR_STR("v1")}, COR_STR("the server is busy")},
};

static const struct cor_port_resource *of_kind(const struct cor_api_resources *resources,
                                               const char *group, const char *version,
                                               const char *kind)
{
    const struct cor_gvk gvk = {cor_strz(group), cor_strz(version), cor_strz(kind)};

    return cor_api_resources_of_kind(resources, &gvk);
}

TEST(api_resources, a_kind_is_found_in_exactly_its_version)
{
    COR_CLEANUP(cor_api_resources_unrefp) struct cor_api_resources *resources = NULL;
    const struct cor_gvr v1 = GVR("autoscaling", "v1", "horizontalpodautoscalers");
    const struct cor_gvr none = GVR("autoscaling", "v3", "horizontalpodautoscalers");
    const struct cor_port_resource *found;

    assert_int_equal(cor_api_resources_new(samples, COR_ARRAY_LEN(samples), NULL, 0, &resources),
                     0);
    found = of_kind(resources, "autoscaling", "v1", "HorizontalPodAutoscaler");
    assert_non_null(found);
    assert_str(found->gvr.version, "v1");
    assert_false(found->is_preferred);
    assert_ptr_equal(found, cor_api_resources_find(resources, &v1));
    found = of_kind(resources, "", "v1", "Event");
    assert_non_null(found);
    assert_str(found->gvr.group, "");
    found = of_kind(resources, "events.k8s.io", "v1", "Event");
    assert_non_null(found);
    assert_str(found->gvr.group, "events.k8s.io");
    assert_null(of_kind(resources, "autoscaling", "v3", "HorizontalPodAutoscaler"));
    assert_null(of_kind(resources, "", "v1", "Zebra"));
    assert_null(cor_api_resources_find(resources, &none));
    /* The list keeps the server's order, and has strings of its own. */
    assert_str(resources->list[0].kind, "Pod");
    assert_true(resources->list[0].kind.p != samples[0].kind.p);
}

TEST(api_resources, failures_are_sorted_and_have_upstreams_words)
{
    COR_CLEANUP(cor_api_resources_unrefp) struct cor_api_resources *resources = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, 4096);
    assert_int_equal(cor_api_resources_new(NULL, 0, failures, COR_ARRAY_LEN(failures), &resources),
                     0);
    assert_int_equal(cor_api_resources_print_failures(resources, &text), 0);
    assert_str(cor_buf_str(&text), "unable to retrieve the complete list of server APIs: "
                                   "a.io/v1: the server is busy, "
                                   "z.io/v1: stale GroupVersion discovery: z.io/v1");
    assert_null(of_kind(resources, "", "v1", "Pod"));
}

TEST(api_resources, the_resources_of_a_version_that_failed_are_unknown)
{
    COR_CLEANUP(cor_api_resources_unrefp) struct cor_api_resources *resources = NULL;
    const struct cor_gvr failed = GVR("a.io", "v1", "things"), other = GVR("a.io", "v2", "things");
    const struct cor_gvr known = GVR("", "v1", "pods");

    assert_int_equal(cor_api_resources_new(samples, COR_ARRAY_LEN(samples), failures,
                                           COR_ARRAY_LEN(failures), &resources),
                     0);
    assert_true(cor_api_resources_has_failed(resources, &failed));
    assert_false(cor_api_resources_has_failed(resources, &other));
    assert_false(cor_api_resources_has_failed(resources, &known));
}

TEST(api_resources, lacking_memory_is_reported)
{
    FOR_EACH_FAILED_ALLOC(attempt) {
        COR_CLEANUP(cor_api_resources_unrefp) struct cor_api_resources *resources = NULL;
        int r = cor_api_resources_new(samples, COR_ARRAY_LEN(samples), failures,
                                      COR_ARRAY_LEN(failures), &resources);

        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            assert_null(resources);
            continue;
        }
        assert_int_equal(resources->n, COR_ARRAY_LEN(samples));
        assert_non_null(of_kind(resources, "", "v1", "Pod"));
        assert_str(resources->failures[0].message, "the server is busy");
    }
}

struct asker {
    struct cor_api_request req;
    struct cor_api_resources *resources;
    int err;
};

static void on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct asker *a = COR_CONTAINER_OF(req, struct asker, req);

    a->err = answer->error ? answer->error->err : 0;
    if (answer->resources)
        a->resources = cor_api_resources_ref(answer->resources);
}

TEST(api_resources, the_receiver_may_keep_the_enumeration)
{
    static const struct cor_api_request_cbs cbs = {.on_done = on_done};
    struct cor_api_resources *resources = NULL;
    struct asker a = {.req.cbs = &cbs, .err = 1};
    struct scripted_port sp;

    assert_int_equal(cor_api_resources_new(samples, COR_ARRAY_LEN(samples), NULL, 0, &resources),
                     0);
    scripted_port_init(&sp);
    scripted_resources(&sp, 5, resources);
    cor_api_resources(&sp.port, &a.req);
    scripted_run(&sp, 10);
    cor_api_resources_unref(resources);
    assert_int_equal(a.err, 0);
    assert_non_null(of_kind(a.resources, "", "v1", "Pod"));
    cor_api_resources_unref(a.resources);
    scripted_assert_log(&sp, "RESOURCES\n");
    scripted_port_deinit(&sp);
}
