#include "kit/resource_path.h"

#include "base/err.h"
#include "kit/request_options.h"
#include "test.h"

static struct cor_str path_of(struct cor_resource_path at, struct cor_buf *to)
{
    struct cor_status why = {0};

    cor_buf_reset(to);
    assert_int_equal(cor_resource_path_write(&at, to, &why), 0);
    return cor_buf_str(to);
}

static const struct cor_gvr pods = {COR_STR(""), COR_STR("v1"), COR_STR("pods")};
static const struct cor_gvr deployments = {COR_STR("apps"), COR_STR("v1"), COR_STR("deployments")};

/* Contract client 4.7.5, 4.8.1, 4.14.2. */
TEST(resource_path, stands_under_api_or_apis)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf to;

    cor_buf_init(&to, 1024);
    assert_str(path_of((struct cor_resource_path){.gvr = pods}, &to), "/api/v1/pods");
    assert_str(path_of((struct cor_resource_path){.gvr = deployments, .ns = COR_STR("x")}, &to),
               "/apis/apps/v1/namespaces/x/deployments");
    assert_str(path_of((struct cor_resource_path){.gvr = deployments,
                                                  .ns = COR_STR("x"),
                                                  .name = COR_STR("d"),
                                                  .subresource = COR_STR("status")},
                       &to),
               "/apis/apps/v1/namespaces/x/deployments/d/status");
    assert_str(path_of((struct cor_resource_path){.gvr = pods,
                                                  .ns = COR_STR("x"),
                                                  .name = COR_STR("p"),
                                                  .subresource = COR_STR("proxy/metrics")},
                       &to),
               "/api/v1/namespaces/x/pods/p/proxy/metrics");
    assert_str(
        path_of((struct cor_resource_path){.gvr = pods, .name = COR_STR("system:a b?")}, &to),
        "/api/v1/pods/system:a%20b%3F");
}

static void refused(struct cor_resource_path at, const char *message)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf to;
    struct cor_status why = {0};

    cor_buf_init(&to, 1024);
    assert_int_equal(cor_resource_path_write(&at, &to, &why), -COR_EINVAL);
    assert_string_equal(cor_status_message(&why), message);
    cor_status_deinit(&why);
}

/* Contract client 4.7.3, 4.8.3, 4.14.3. */
TEST(resource_path, refuses_what_is_no_segment)
{
    refused((struct cor_resource_path){.gvr = pods, .ns = COR_STR("..")},
            "invalid namespace \"..\": [may not be '..']");
    refused((struct cor_resource_path){.gvr = pods, .ns = COR_STR("x"), .name = COR_STR("a/b%")},
            "invalid resource name \"a/b%\": [may not contain '/' may not contain '%']");
    refused((struct cor_resource_path){.gvr = pods, .name = COR_STR(".")},
            "invalid resource name \".\": [may not be '.']");
    refused((struct cor_resource_path){.gvr = pods,
                                       .name = COR_STR("a"),
                                       .subresource = COR_STR("proxy/..")},
            "invalid subresource \"..\": [may not be '..']");
    refused((struct cor_resource_path){.gvr = pods, .subresource = COR_STR("status")},
            "name is required");
    refused((struct cor_resource_path){.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("")}},
            "resource is required");
    refused((struct cor_resource_path){.gvr = {COR_STR(""), COR_STR(""), COR_STR("pods")}},
            "version is required");
}

TEST(resource_path, survives_failed_allocations)
{
    struct cor_resource_path at = {.gvr = pods, .ns = COR_STR("a/b")};

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf to;
        struct cor_status why = {0};
        int r;

        cor_buf_init(&to, 1024);
        r = cor_resource_path_write(&at, &to, &why);
        assert_true(r == -COR_EINVAL || (r == -COR_ENOMEM && test_alloc_failed()));
        assert_int_equal(why.err, r);
        cor_status_deinit(&why);
    }
}

/* Contract client 4.8.6: what is empty is left out. */
TEST(request_options, of_a_list)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf to;
    struct cor_list_query q = {0};

    cor_buf_init(&to, 1024);
    cor_buf_addz(&to, "/api/v1/pods");
    assert_int_equal(cor_list_query_write(&q, &to), 0);
    assert_str(cor_buf_str(&to), "/api/v1/pods");
    q = (struct cor_list_query){
        .label_selector = COR_STR("a in (b, c),d!=e"),
        .field_selector = COR_STR("spec.nodeName=n"),
        .list = {.resource_version = COR_STR("5"),
                 .resource_version_match = COR_STR("NotOlderThan"),
                 .continue_token = COR_STR("e+/="),
                 .limit = 500,
                 .watch = true,
                 .allow_bookmarks = true,
                 .send_initial_events = COR_FALSE},
        .timeout_s = 300,
    };
    assert_int_equal(cor_list_query_write(&q, &to), 0);
    assert_str(cor_buf_str(&to),
               "/api/v1/pods?labelSelector=a+in+%28b%2C+c%29%2Cd%21%3De&fieldSelector="
               "spec.nodeName%3Dn&watch=true&allowWatchBookmarks=true&sendInitialEvents=false&"
               "resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=500&continue=e%2B%2F%3D&"
               "timeoutSeconds=300");
}

TEST(request_options, of_a_write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf to;
    struct cor_write_options opts = {.dry_run = true,
                                     .field_manager = COR_STR("me"),
                                     .field_validation = COR_STR("Strict"),
                                     .force = COR_TRUE};

    cor_buf_init(&to, 1024);
    cor_buf_addz(&to, "/x");
    assert_int_equal(cor_write_options_write(&opts, &to), 0);
    assert_str(cor_buf_str(&to), "/x?dryRun=All&force=true&fieldManager=me&fieldValidation=Strict");
}

/* Contract client 4.14.6. */
TEST(request_options, of_a_deletion)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf to;
    struct cor_removal_options opts = {0};

    cor_buf_init(&to, 1024);
    assert_int_equal(cor_removal_options_write(&opts, &to), 0);
    assert_str(cor_buf_str(&to), "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"}");
    cor_buf_reset(&to);
    opts = (struct cor_removal_options){.dry_run = true,
                                        .has_grace = true,
                                        .propagation = COR_STR("Foreground"),
                                        .uid = COR_STR("u"),
                                        .resource_version = COR_STR("7")};
    assert_int_equal(cor_removal_options_write(&opts, &to), 0);
    assert_str(cor_buf_str(&to),
               "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0,"
               "\"preconditions\":{\"uid\":\"u\",\"resourceVersion\":\"7\"},"
               "\"propagationPolicy\":\"Foreground\",\"dryRun\":[\"All\"]}");
}
