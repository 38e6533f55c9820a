/* The stages ADMIT_MUTATING and ADMIT_VALIDATING: a write passes the two points of admission
 * (server/admission/). Plugins that mutate see the body in the version that is stored, before the
 * server fills anything in; those that validate see what will be stored. The body as plugins have
 * left it is the one that the later stages take.
 * Failures: what a plugin refuses; no memory.
 * Thread: the call's loop; the predicates also on the thread that has the call. */
#include <assert.h>

#include "server/write/stage_later.h"
#include "server/write/stages.h"

static enum cor_admission_op op_of(const struct cor_write_present *present)
{
    return present->is_create ? COR_ADMISSION_CREATE : COR_ADMISSION_UPDATE;
}

bool cor_stage_admits_mutating(const struct cor_judging *write)
{
    return cor_admission_has_work(&cor_admission_plugins, write->call, COR_ADMISSION_MUTATES,
                                  op_of(write->present));
}

bool cor_stage_admits_validating(const struct cor_judging *write)
{
    return cor_admission_has_work(&cor_admission_plugins, write->call, COR_ADMISSION_VALIDATES,
                                  op_of(write->present));
}

static void admit_on_mutated(struct cor_admission *ad, int r)
{
    struct cor_write_admitted *admitted =
        COR_CONTAINER_OF(ad, struct cor_write_admitted, admission);
    struct cor_object *object = COR_STEAL(ad->object);

    cor_object_unref(admitted->body);
    admitted->body = object;
    cor_write_resume(ad->call, r);
}

void cor_stage_admit_mutating(const struct cor_admitting *write)
{
    struct cor_admission *ad = &write->admitted->admission;

    assert(write->received->body && !ad->object);
    ad->call = write->call;
    ad->list = &cor_admission_plugins;
    ad->op = op_of(write->present);
    ad->object = cor_object_ref(write->received->body);
    ad->old = write->managed->old;
    cor_admission_run(ad, COR_ADMISSION_MUTATES, admit_on_mutated);
}

static void admit_on_validated(struct cor_admission *ad, int r)
{
    ad->object = cor_object_unref(ad->object);
    cor_write_resume(ad->call, r);
}

void cor_stage_admit_validating(const struct cor_admitting *write)
{
    struct cor_admission *ad = &write->admitted->admission;

    assert(write->to_store->object && !ad->object);
    ad->call = write->call;
    ad->list = &cor_admission_plugins;
    ad->op = op_of(write->present);
    ad->object = cor_object_ref(write->to_store->object);
    ad->old = write->managed->old;
    cor_admission_run(ad, COR_ADMISSION_VALIDATES, admit_on_validated);
}
