#include <stdio.h>
#include <string.h>

#include "api_fixture.h"

#define PODS      "/api/v1/namespaces/default/pods"
#define SERVICES  "/api/v1/namespaces/default/services"
#define ENDPOINTS "/api/v1/namespaces/default/endpoints"
#define NODES     "/api/v1/nodes"
#define REFUSED   "this server opens no connections to "

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

static void add_pod(struct fx *fx, const char *name, const char *node)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s%s%s" FX_CONTAINERS "}}", name,
             *node ? "\"nodeName\":\"" : "", node, *node ? "\"," : "");
    fx_do(fx, 201, "POST", PODS, body);
}

static void add_node(struct fx *fx, const char *name, const char *addresses)
{
    char body[512];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"addresses\":[%s]}}",
             name, addresses);
    fx_do(fx, 201, "POST", NODES, body);
}

static void set_addresses(struct fx *fx, const char *pod, const char *ip)
{
    char path[128], body[128];

    snprintf(path, sizeof(path), PODS "/%s/status", pod);
    snprintf(body, sizeof(body), "{\"status\":{\"podIP\":\"%s\",\"podIPs\":[{\"ip\":\"%s\"}]}}", ip,
             ip);
    fx_do_with(fx, 200, "PATCH", path, body,
               &(struct fx_headers){.content_type = "application/merge-patch+json"});
}

static void assert_refused(struct fx *fx, int status, const char *method, const char *target,
                           const char *message)
{
    assert_at(fx_do(fx, status, method, target, ""), "message", message);
}

TEST(connect, a_pod_without_a_node_has_an_empty_log_and_no_streams)
{
    struct fx fx;

    open_ready(&fx);
    add_pod(&fx, "p", "");
    assert_string_equal(fx_do(&fx, 204, "GET", PODS "/p/log", ""), "");
    assert_string_equal(fx_do(&fx, 204, "GET", PODS "/p/log?container=c&follow=maybe", ""), "");
    assert_refused(&fx, 400, "GET", PODS "/p/exec", "pod p does not have a host assigned");
    assert_refused(&fx, 400, "POST", PODS "/p/exec?command=a",
                   "pod p does not have a host assigned");
    assert_refused(&fx, 400, "POST", PODS "/p/attach", "pod p does not have a host assigned");
    assert_refused(&fx, 400, "POST", PODS "/p/portforward", "pod p does not have a host assigned");
    assert_refused(&fx, 404, "GET", PODS "/q/log", "pods \"q\" not found");
    assert_refused(&fx, 404, "GET", PODS "/q/exec", "pods \"q\" not found");
    fx_close(&fx);
}

TEST(connect, the_container_must_be_one_of_the_pod)
{
    struct fx fx;

    open_ready(&fx);
    add_pod(&fx, "one", "");
    fx_do(
        &fx, 201, "POST", PODS,
        "{\"metadata\":{\"name\":\"two\"},\"spec\":{\"initContainers\":[{\"name\":\"a\",\"image\":"
        "\"i\"}],\"containers\":[{\"name\":\"b\",\"image\":\"i\"},{\"name\":\"c\",\"image\":"
        "\"i\"}]}}");
    assert_refused(&fx, 400, "GET", PODS "/one/log?container=x",
                   "container x is not valid for pod one");
    assert_refused(&fx, 400, "GET", PODS "/two/log",
                   "a container name must be specified for pod two, choose one of: [a b c]");
    assert_refused(&fx, 400, "GET", PODS "/two/exec",
                   "a container name must be specified for pod two, choose one of: [a b c]");
    fx_do(&fx, 204, "GET", PODS "/two/log?container=a", "");
    assert_refused(&fx, 400, "GET", PODS "/two/portforward",
                   "pod two does not have a host assigned");
    fx_close(&fx);
}

TEST(connect, the_options_of_a_log_are_checked_before_the_pod)
{
    static const struct {
        int status;
        const char *query, *message;
    } rows[] = {
        {400, "tailLines=x", "strconv.ParseInt: parsing \\\"x\\\": invalid syntax"},
        {400, "limitBytes=99999999999999999999",
         "strconv.ParseInt: parsing \\\"99999999999999999999\\\": value out of range"},
        {422, "tailLines=-1",
         "PodLogOptions \\\"q\\\" is invalid: tailLines: Invalid value: -1: must be greater than or "
         "equal to 0"},
        {422, "limitBytes=0&sinceSeconds=0",
         "PodLogOptions \\\"q\\\" is invalid: [limitBytes: Invalid value: 0: must be greater than "
         "0, sinceSeconds: Invalid value: 0: must be greater than 0]"},
        {422, "sinceSeconds=1&sinceTime=2025-01-01T00:00:00Z",
         "PodLogOptions \\\"q\\\" is invalid: []: Forbidden: at most one of `sinceTime` or "
         "`sinceSeconds` may be specified"},
        {422, "limitBytes=%2B0",
         "PodLogOptions \\\"q\\\" is invalid: limitBytes: Invalid value: 0: must be greater than 0"},
        {400, "tailLines=%2B-1", "strconv.ParseInt: parsing \\\"+-1\\\": invalid syntax"},
        {422, "stream=Stdout",
         "PodLogOptions \\\"q\\\" is invalid: stream: Forbidden: may not be specified"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        char target[256];

        snprintf(target, sizeof(target), PODS "/q/log?%s", rows[i].query);
        assert_non_null(strstr(fx_do(&fx, rows[i].status, "GET", target, ""), rows[i].message));
    }
    fx_close(&fx);
}

TEST(connect, a_container_of_any_length_is_not_one_of_the_pods)
{
    static char target[6000];
    struct fx fx;

    open_ready(&fx);
    add_pod(&fx, "p", "");
    snprintf(target, sizeof(target), PODS "/p/log?container=%05000d", 0);
    assert_non_null(strstr(fx_do(&fx, 400, "GET", target, ""), "0 is not valid for pod p"));
    fx_close(&fx);
}

TEST(connect, a_pod_on_a_node_is_looked_for_there)
{
    struct fx fx;

    open_ready(&fx);
    add_node(&fx, "bare", "");
    add_node(&fx, "odd", "{\"type\":\"Carrier\",\"address\":\"pigeon\"}");
    add_node(&fx, "n", "{\"type\":\"InternalIP\",\"address\":\"192.0.2.1\"}");
    add_pod(&fx, "lost", "lost");
    add_pod(&fx, "bare", "bare");
    add_pod(&fx, "odd", "odd");
    add_pod(&fx, "p", "n");
    assert_refused(&fx, 404, "GET", PODS "/lost/log", "pods \"lost\" not found");
    assert_refused(&fx, 500, "GET", PODS "/bare/exec",
                   "no preferred addresses found; known addresses: []");
    assert_refused(&fx, 500, "GET", PODS "/odd/log",
                   "no preferred addresses found; known addresses: [{Carrier pigeon}]");
    assert_refused(&fx, 500, "GET", PODS "/p/log", REFUSED "nodes");
    assert_refused(&fx, 500, "POST", PODS "/p/exec?command=a", REFUSED "nodes");
    assert_refused(&fx, 500, "GET", PODS "/p/portforward", REFUSED "nodes");
    fx_close(&fx);
}

TEST(connect, a_proxy_needs_an_address_that_is_not_the_servers_own)
{
    struct fx fx;

    open_ready(&fx);
    add_pod(&fx, "none", "");
    add_pod(&fx, "loop", "");
    set_addresses(&fx, "loop", "127.0.0.1");
    add_pod(&fx, "local", "");
    set_addresses(&fx, "local", "fe80::1");
    add_pod(&fx, "p", "");
    set_addresses(&fx, "p", "192.0.2.1");
    add_node(&fx, "loop", "{\"type\":\"InternalIP\",\"address\":\"127.0.0.1\"}");
    add_node(&fx, "n",
             "{\"type\":\"InternalIP\",\"address\":\"127.0.0.1\"},"
             "{\"type\":\"Hostname\",\"address\":\"n.example\"}");
    assert_refused(&fx, 400, "GET", PODS "/none/proxy", "address not allowed");
    assert_refused(&fx, 400, "PUT", PODS "/loop/proxy/a/b", "address not allowed");
    assert_refused(&fx, 400, "GET", PODS "/local/proxy/", "address not allowed");
    assert_refused(&fx, 500, "DELETE", PODS "/https:p:443/proxy/a", REFUSED "pods");
    assert_refused(&fx, 400, "GET", PODS "/a:p:b:c/proxy", "invalid pod request \"a:p:b:c\"");
    assert_refused(&fx, 400, "GET", PODS "/ftp:p:1/proxy", "invalid pod request \"ftp:p:1\"");
    assert_refused(&fx, 400, "GET", PODS "/:1/proxy", "invalid pod request \":1\"");
    assert_refused(&fx, 400, "GET", NODES "/loop/proxy/stats", "address not allowed");
    assert_refused(&fx, 500, "POST", NODES "/n:1/proxy/stats", REFUSED "nodes");
    assert_refused(&fx, 404, "GET", NODES "/x/proxy", "nodes \"x\" not found");
    fx_close(&fx);
}

TEST(connect, the_proxy_of_a_service_needs_a_pod_behind_it)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", SERVICES,
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"name\":\"w\",\"port\":80}]}}");
    assert_refused(&fx, 404, "GET", SERVICES "/x/proxy", "services \"x\" not found");
    assert_refused(&fx, 404, "GET", SERVICES "/s/proxy", "services \"s\" not found");
    assert_refused(&fx, 503, "GET", SERVICES "/s:81/proxy/x",
                   "no service port 81 found for service \"s\"");
    fx_do(&fx, 201, "POST", ENDPOINTS, "{\"metadata\":{\"name\":\"s\"}}");
    assert_refused(&fx, 503, "GET", SERVICES "/s:w/proxy",
                   "no endpoints available for service \"s\"");
    fx_do(&fx, 200, "PUT", ENDPOINTS "/s",
          "{\"metadata\":{\"name\":\"s\"},\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.1\"}],"
          "\"ports\":[{\"name\":\"w\",\"port\":80}]}]}");
    assert_refused(&fx, 503, "GET", SERVICES "/s:w/proxy",
                   "no endpoints available for service \"s:w\"");
    fx_do(
        &fx, 200, "PUT", ENDPOINTS "/s",
        "{\"metadata\":{\"name\":\"s\"},\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.1\","
        "\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p\"}}],\"ports\":[{\"name\":\"w\",\"port\":80}]"
        "}]}");
    assert_refused(&fx, 500, "GET", SERVICES "/s:w/proxy", REFUSED "pods");
    assert_refused(&fx, 500, "GET", SERVICES "/http:s:80/proxy/", REFUSED "pods");
    /* A port is a number as Go reads numbers. */
    assert_refused(&fx, 500, "GET", SERVICES "/s:080/proxy/", REFUSED "pods");
    assert_refused(&fx, 500, "GET", SERVICES "/s:+80/proxy/", REFUSED "pods");
    assert_refused(&fx, 503, "GET", SERVICES "/s:-080/proxy/",
                   "no service port -80 found for service \"s\"");
    assert_refused(&fx, 503, "GET", SERVICES "/s:+-80/proxy/",
                   "no endpoints available for service \"s:+-80\"");
    assert_refused(&fx, 503, "GET", SERVICES "/s:v/proxy",
                   "no endpoints available for service \"s:v\"");
    fx_close(&fx);
}

TEST(connect, only_the_methods_of_the_subresource_are_allowed)
{
    static const char *const methods[] = {"PUT", "DELETE", "PATCH"};
    struct fx fx;

    open_ready(&fx);
    add_pod(&fx, "p", "");
    for (size_t i = 0; i < COR_ARRAY_LEN(methods); i++) {
        fx_do(&fx, 405, methods[i], PODS "/p/exec", "");
        fx_do(&fx, 405, methods[i], PODS "/p/log", "");
        fx_do(&fx, 400, methods[i], PODS "/p/proxy", "");
    }
    fx_do(&fx, 405, "POST", PODS "/p/log", "");
    fx_do(&fx, 404, "GET", PODS "/p/log/x", "");
    fx_do(&fx, 404, "GET", PODS "/p/exec/x", "");
    fx_close(&fx);
}

TEST(connect, survives_failed_allocations)
{
    static const char *const targets[] = {PODS "/p/log?tailLines=3&container=c",
                                          PODS "/p/log?tailLines=-3", PODS "/p/exec?container=x",
                                          PODS "/p/proxy/x", SERVICES "/s:80/proxy/"};
    struct fx fx;

    open_ready(&fx);
    add_node(&fx, "odd", "{\"type\":\"Carrier\",\"address\":\"pigeon\"}");
    add_pod(&fx, "p", "odd");
    fx_do(&fx, 201, "POST", SERVICES,
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"name\":\"w\",\"port\":80}]}}");
    fx_do(&fx, 201, "POST", ENDPOINTS, "{\"metadata\":{\"name\":\"s\"}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++)
        fx_fail_each_alloc(&fx, "GET", targets[i], "", NULL);
    fx_close(&fx);
}
