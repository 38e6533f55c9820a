/* The stages ADMIT_MUTATING and ADMIT_VALIDATING: a write passes the two points of admission
 * (server/admission/). Plugins that mutate see the body before the server fills anything in; those
 * that validate see what will be stored. The body as plugins have left it is the one that the later
 * stages take. A body that is not stored (of a Binding, an Eviction, a review) is validated as it
 * is. Failures: what a plugin refuses; no memory. Thread: the call's loop; the predicates also on
 * the thread that has the call. */
#include <assert.h>

#include "server/write/settle.h"
#include "server/write/stage_later.h"
#include "server/write/stages.h"
#include "server/write/write_options.h"

static enum cor_admission_op op_of(const struct cor_write_present *present)
{
    return present->is_create ? COR_ADMISSION_CREATE : COR_ADMISSION_UPDATE;
}

bool cor_stage_admits_mutating(const struct cor_judging *write)
{
    return cor_admission_has_work(write->call, COR_ADMISSION_MUTATES, op_of(write->present));
}

bool cor_stage_admits_validating(const struct cor_judging *write)
{
    return cor_admission_has_work(write->call, COR_ADMISSION_VALIDATES, op_of(write->present));
}

static void admit(const struct cor_admitting *write, enum cor_admission_point point,
                  struct cor_object *object, struct cor_object *old, cor_admission_done done)
{
    struct cor_admission *ad = &write->admitted->admission;

    assert(object && !ad->object);
    ad->call = write->call;
    ad->op = op_of(write->present);
    ad->is_dry_run = cor_call_is_dry_run(write->call);
    ad->settle = cor_write_settle;
    ad->object = cor_object_ref(object);
    cor_object_unref(ad->old);
    ad->old = old ? cor_object_ref(old) : NULL;
    cor_admission_run(ad, point, done);
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
    write->admitted->has_gated = false;
    admit(write, COR_ADMISSION_MUTATES, write->received->body, write->managed->old,
          admit_on_mutated);
}

static void admit_on_validated(struct cor_admission *ad, int r)
{
    ad->object = cor_object_unref(ad->object);
    cor_write_resume(ad->call, r);
}

void cor_stage_admit_validating(const struct cor_admitting *write)
{
    struct cor_object *object = write->to_store->object
                                    ? write->to_store->object
                                    : cor_admitted_body(write->received, write->admitted);

    admit(write, COR_ADMISSION_VALIDATES, object, write->present->current, admit_on_validated);
}
