/* StorageObjectInUseProtection: a new volume, claim or class of volumes gets the finalizer that its
 * row names, so that it is not removed while it is used (controllers/small/protection.c takes it
 * off again). An object that has the finalizer stays as it is. Failures: no memory, or an object
 * that would be too large: in the call's status. Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "meta/metadata/metadata.h"
#include "meta/object/builder.h"
#include "server/admission/plugins.h"

bool cor_storage_in_use_applies(const struct cor_call *call)
{
    return call->res->in_use_finalizer != NULL;
}

int cor_storage_in_use_run(struct cor_admission *ad)
{
    COR_CLEANUP(cor_builder_freep) struct cor_builder *builder = NULL;
    struct cor_object *object = NULL;
    int r;

    assert(ad->object && ad->call->res->in_use_finalizer);
    if (cor_object_has_finalizer(ad->object, ad->call->res->in_use_finalizer))
        return 0;
    r = cor_builder_new(ad->object, &builder);
    if (r == 0)
        r = cor_builder_add_finalizer(builder, ad->call->res->in_use_finalizer);
    if (r >= 0)
        r = cor_builder_finish(builder, &object, NULL);
    if (r < 0)
        return cor_status_set_err(&ad->call->status, r);
    cor_admission_replace(ad, object);
    return 0;
}
