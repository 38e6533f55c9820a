/* clang-format off */
/* The stage VALIDATE of built-in kinds: what the object that is about to be stored must not be. All that is wrong
 * is collected and answered together, in upstream's order.
 *
 *   create:               the program of the kind (schema/validate/validate.h); only when it has found
 *                         nothing, the metadata by the rules that all objects have
 *   update, subresource:  the metadata by the rules that all objects have, what of it may not
 *                         change, then the program of the kind: one list
 *
 * An object that nothing is wrong with may be warned of: the warn program of its kind.
 * A kind without a program has the rules of the metadata alone, with the name rule of its resource.
 * Failures: 422 with all field errors; no memory.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/metadata/object_meta.h"
#include "meta/names/field_error.h"
#include "meta/object/object_edit.h"
#include "net/crypto/cert_request.h"
#include "net/crypto/key_pair.h"
#include "schema/validate/validate.h"
#include "server/strategy/scale_write.h"
#include "server/write/stages.h"
#include "json/text/scan.h"

#define PRIVILEGED_HINT                                                                            \
    "this server runs without --allow-privileged, which would let containers be privileged"

/* Which program the call asks for. A subresource that has none of its own is an update. */
static enum cor_check_operation operation_of(const struct cor_judging *write,
                                             const struct cor_type *type)
{
    static const char *const names[] = {
#define X(symbol, name) [COR_CHECK_##symbol] = name,
        COR_CHECK_OPERATIONS(X)
#undef X
    };
    const struct cor_api_subresource *sub = write->call->sub;

    if (write->present->is_create)
        return COR_CHECK_CREATE;
    for (size_t i = COR_CHECK_STATUS; sub && i < COR_CHECK_OPERATIONS_N; i++) {
        if (strcmp(sub->name, names[i]) == 0 && cor_validate_has(type, (enum cor_check_operation)i))
            return (enum cor_check_operation)i;
    }
    return COR_CHECK_UPDATE;
}

static int add_warning(void *arg, struct cor_str text)
{
    struct cor_call *call = arg;

    return cor_warnings_add(&call->warnings, text);
}

/* May the object be warned of? Of the writes to a subresource, one to a scale has the warnings of
 * an update, and others those of a program that has the name of the subresource. */
static bool may_warn(const struct cor_call *call, enum cor_check_operation operation)
{
    return !call->sub || operation != COR_CHECK_UPDATE || call->sub->part == COR_PART_SCALE;
}

/* What the programs of the kind get to see. `type` is NULL for a kind without a type. */
static struct cor_validation make_validation(const struct cor_judging *write)
{
    struct cor_call *call = write->call;
    struct cor_validation validation = {
        .type = call->type == call->stored ? call->schema : cor_row_schema(call->stored),
        .operation = COR_CHECK_UPDATE,
        .object = cor_object_json(write->to_store->object),
        .meta = {call->res->name_rule, cor_api_is_namespaced(call->res),
                 call->res->flags & COR_API_ANY_FINALIZER},
        .api_version = call->res->api_version,
        .allow_privileged = call->loop->settings->allow_privileged,
        .check_request = cor_cert_request_check,
    };

    if (validation.type)
        validation.operation = operation_of(write, validation.type);
    if (!write->present->is_create)
        validation.old = cor_object_json(write->managed->old);
    if (write->received->sent && call->type == call->stored && !cor_scale_is_written(call))
        validation.sent = cor_object_json(write->received->sent);
    validation.ns_object = write->admitted->admission.ns_object;
    if (may_warn(call, validation.operation)) {
        validation.key_pair = cor_key_pair_mistake;
        validation.warn = add_warning;
        validation.warn_arg = call;
    }
    return validation;
}

/* Adds what is wrong with the object, in the order that the head describes. */
static void check_object(const struct cor_judging *write, struct cor_validation *validation,
                         struct cor_field_errors *errs)
{
    struct cor_object_meta_rules generic = {COR_NAME_PATH_SEGMENT, validation->meta.is_namespaced,
                                            true};
    bool has_program =
        validation->type && cor_validate_has(validation->type, validation->operation);
    const struct cor_object_meta_rules *rules = has_program ? &generic : &validation->meta;
    struct cor_str metadata = cor_object_metadata(write->to_store->object);

    if (write->present->is_create) {
        if (has_program && cor_validate(validation, errs))
            return;
        if (errs->n == 0)
            cor_object_meta_check(metadata, rules, errs);
        return;
    }
    cor_object_meta_check(metadata, rules, errs);
    generic.is_checked = errs->n == 0;
    cor_object_meta_check_update(metadata, cor_object_metadata(write->managed->old), &generic,
                                 errs);
    if (!has_program)
        return;
    validation->meta.is_checked = validation->meta.is_update_checked = errs->n == 0;
    (void)cor_validate(validation, errs);
}

/* A name that validation refuses may have escapes, which messages do not show twice. */
int cor_write_refuse_object(const struct cor_judging *write, const struct cor_field_errors *errs)
{
    /* Messages have the kind as it is stored: an Event of events.k8s.io is one of core. */
    struct cor_gk gk = cor_api_gk(write->call->stored);
    struct cor_str name = cor_object_name(write->to_store->object);
    char *text = NULL;
    int r;

    if (name.n > 0 && memchr(name.p, '\\', name.n)) {
        text = cor_alloc(name.n);
        if (!text)
            return cor_status_set_err(&write->call->status, -COR_ENOMEM);
        r = cor_json_unescape(name, text, name.n, &name);
        assert(r == 0);
        (void)r;
    }
    r = cor_status_invalid(&write->call->status, &gk, name, errs);
    cor_free(text);
    return r;
}

int cor_stage_validate(const struct cor_judging *write)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_call *call = write->call;
    struct cor_validation validation;
    bool meets_privileged = false;

    assert(write->to_store->object &&
           (write->present->is_create || (write->present->current && write->managed->old)));
    validation = make_validation(write);
    validation.ret_meets_privileged = &meets_privileged;
    check_object(write, &validation, &errs);
    if (errs.n == 0 && errs.error == 0)
        return 0;
    /* The words of the refusal are upstream's, and do not say what would allow it. */
    if (meets_privileged && cor_warnings_add(&call->warnings, COR_STR(PRIVILEGED_HINT)) < 0)
        return cor_status_set_err(&call->status, -COR_ENOMEM);
    return cor_write_refuse_object(write, &errs);
}
