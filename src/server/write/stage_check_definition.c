/* The stage CHECK_DEFINITION of custom resources: nothing is created while the definition is being
 * deleted. A creation that may go on is counted at the gate of the definition until it ends, so
 * that a deletion of the definition can wait for it (schema/kinds/creation_gate.h). Failures: 403
 * in upstream's words. Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "schema/kinds/creation_gate.h"
#include "schema/kinds/custom_row.h"
#include "server/write/stages.h"

bool cor_stage_checks_definition(const struct cor_judging *write)
{
    return write->present->is_create && !write->admitted->gate;
}

int cor_stage_check_definition(const struct cor_admitting *write)
{
    struct cor_call *call = write->call;
    struct cor_gr gr = cor_api_gr(call->res);

    assert(write->received->body && call->res->custom);
    if (cor_creation_gate_enter(call->res->life->gate)) {
        write->admitted->gate = call->res->life->gate;
        return 0;
    }
    return cor_status_forbidden(
        &call->status, &gr, cor_object_name(write->received->body),
        "create not allowed while custom resource definition is terminating");
}
