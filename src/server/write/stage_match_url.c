/* The stages MATCH_URL and READ_REVISION: what the object says about itself has to be what the URL
 * says, its namespace and its name; and its resourceVersion is read.
 *
 * A name is compared only where the URL has one, and not when a subresource is created (a Binding,
 * an Eviction: their verbs compare it in their own words).
 * Failures: 400 in upstream's words.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "meta/status/resource_version.h"
#include "server/write/stages.h"

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

int cor_stage_match_url(const struct cor_judging *write)
{
    int r = match_namespace(write->call, write->received->body);

    assert(write->received->body);
    return r < 0 ? r : match_name(write->call, write->received->body);
}

/* The resourceVersion of a new object counts only when it can be read; others must be valid. */
int cor_stage_read_revision(const struct cor_receiving *write)
{
    struct cor_call *call = write->call;

    if (call->name.n > 0)
        return cor_resource_version_parse_object(write->received->rv, &write->received->rev,
                                                 &call->status);
    if (cor_str_to_u64(write->received->rv, &write->received->rev) < 0)
        write->received->rev = 0;
    return 0;
}
