/* The stage "match": what the object says about itself has to be what the URL says: the version,
 * the namespace, the name. It also reads the resourceVersion of the object.
 *
 * A name is compared only where the URL has one, and not when a subresource is created (a Binding,
 * an Eviction: their verbs compare it in their own words).
 * Failures: 400 in upstream's words; 422 and 500 for the version of a patched custom resource.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "meta/status/resource_version.h"
#include "server/write/custom_stages.h"
#include "server/write/stages.h"

static int match_version(struct cor_call *call, struct cor_str version)
{
    if ((version.n == 0 && !call->type->custom) || cor_str_eq(version, call->type->api_version))
        return 0;
    return cor_status_bad_request(
        &call->status,
        "the API version in the data (%.*s) does not match the expected API version (%.*s)",
        COR_STR_ARG(version), COR_STR_ARG(call->type->api_version));
}

/* Upstream's handler does not compare the version of what a patch made of a custom resource; its
 * validation does, as it does the kind. */
static int match_patched_version(struct cor_call *call, struct cor_str version)
{
    if (version.n > 0 && version.p[version.n - 1] != '/')
        return 0;
    return cor_status_internal(
        &call->status, "Object 'apiVersion' is missing in 'object has no apiVersion field'");
}

static int match_name(struct cor_call *call, const struct cor_object *object)
{
    struct cor_str name;

    if (call->name.n == 0 || (call->sub && call->req->info.verb == COR_API_VERB_CREATE))
        return 0;
    name = cor_object_name(object);
    if (name.n == 0)
        return cor_status_bad_request(
            &call->status,
            "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
            COR_STR_ARG(call->name));
    if (!cor_str_eq(name, call->name))
        return cor_status_bad_request(
            &call->status,
            "the name of the object (%.*s) does not match the name on the URL (%.*s)",
            COR_STR_ARG(name), COR_STR_ARG(call->name));
    return 0;
}

static int match_namespace(struct cor_call *call, const struct cor_object *object)
{
    struct cor_str ns;

    if (!cor_api_is_namespaced(call->res))
        return 0;
    ns = cor_object_namespace(object);
    if (ns.n > 0 && !cor_str_eq(ns, call->ns))
        return cor_status_bad_request(
            &call->status, "the namespace of the provided object does not match the namespace "
                           "sent on the request");
    return 0;
}

/* The resourceVersion of a new object counts only when it can be read; others must be valid. */
static int match_read_revision(struct cor_write *write)
{
    struct cor_call *call = &write->call;

    if (call->name.n > 0)
        return cor_resource_version_parse_object(write->rv, &write->rev, &call->status);
    if (cor_str_to_u64(write->rv, &write->rev) < 0)
        write->rev = 0;
    return 0;
}

int cor_write_match(struct cor_write *write)
{
    bool is_patched = write->apply && !write->is_applied && cor_write_is_custom(&write->call);
    int r = is_patched ? match_patched_version(&write->call, write->api_version)
                       : match_version(&write->call, write->api_version);

    assert(write->body);
    if (r == 0)
        r = match_namespace(&write->call, write->body);
    if (r == 0)
        r = match_name(&write->call, write->body);
    if (r == 0 && cor_write_is_custom(&write->call))
        r = cor_custom_match_kind(write);
    return r < 0 ? r : match_read_revision(write);
}
