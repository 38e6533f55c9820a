/* The stage MATCH_VERSION: the object is of the version of the URL. A body of a built-in kind may
 * leave its version out.
 * Failures: 400 in upstream's words; 500 for a patched custom resource without a version.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "server/write/stages.h"

static int match_version(struct cor_call *call, struct cor_str version)
{
    if (cor_str_eq(version, call->type->api_version))
        return 0;
    return cor_status_bad_request(
        &call->status,
        "the API version in the data (%.*s) does not match the expected API version (%.*s)",
        COR_STR_ARG(version), COR_STR_ARG(call->type->api_version));
}

int cor_stage_match_version(const struct cor_judging *write)
{
    assert(write->received->body);
    return write->received->api_version.n == 0
               ? 0
               : match_version(write->call, write->received->api_version);
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

int cor_stage_match_version_custom(const struct cor_judging *write)
{
    bool is_patched = write->asked->apply && !write->asked->is_applied;

    assert(write->received->body && write->call->type->custom);
    return is_patched ? match_patched_version(write->call, write->received->api_version)
                      : match_version(write->call, write->received->api_version);
}
