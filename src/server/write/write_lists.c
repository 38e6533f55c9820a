/* The lists of stages that a write goes through, from its top to its bottom: of built-in kinds, of
 * custom resources, and of the Scale of a custom resource, which is sent as a built-in kind and
 * stored as a part of a custom resource.
 *
 * A list is data: write_run.c runs the rows that apply, and the verbs say from which named stage to
 * which other one. They go back to a named stage as well: a PUT whose compare was lost begins again
 * at MANAGE_FIELDS, a PATCH at APPLY_PATCH, a generated name that is taken at ALLOCATE.
 * Admission is a list of its own (server/admission/), which the body passes at ADMIT_MUTATING and
 * the object at ADMIT_VALIDATING. Thread: any (constants). */
#include <assert.h>

#include "server/write/stage_list.h"
#include "server/write/stages.h"

static int apply_patch(const struct cor_applying *write)
{
    return write->asked->apply(write);
}

static bool is_patch(const struct cor_judging *write)
{
    return write->asked->apply != NULL;
}

static const struct cor_stage_row builtin_rows[] = {
    /* What was sent, in the version of the request. */
    {COR_STAGE_APPLY_PATCH, .apply = apply_patch, .applies = is_patch},
    {COR_STAGE_DECODE, .receive = cor_stage_decode},
    {COR_STAGE_CHECK_FIELDS, .judge = cor_stage_check_fields},
    {COR_STAGE_MATCH_VERSION, .judge = cor_stage_match_version},
    {COR_STAGE_MATCH_URL, .judge = cor_stage_match_url},
    {COR_STAGE_READ_REVISION, .receive = cor_stage_read_revision},
    {COR_STAGE_NORMALIZE, .receive = cor_stage_normalize},
    {COR_STAGE_DEFAULT, .receive = cor_stage_default, .applies = cor_stage_defaults},
    /* The hub's version from here on. */
    {COR_STAGE_TO_HUB, .receive = cor_stage_to_hub},
    {COR_STAGE_MANAGE_FIELDS, .manage = cor_stage_manage_fields},
    {COR_STAGE_ADMIT_MUTATING, .start_admit = cor_stage_admit_mutating,
     .applies = cor_stage_admits_mutating},
    {COR_STAGE_CHECK_REVISION, .judge = cor_stage_check_revision,
     .applies = cor_stage_checks_revision},
    {COR_STAGE_ALLOCATE, .start_store = cor_stage_allocate, .applies = cor_stage_allocates},
    {COR_STAGE_PREPARE, .store = cor_stage_prepare},
    {COR_STAGE_DEFAULT_COPIES, .store = cor_stage_default_copies,
     .applies = cor_stage_defaults_late},
    {COR_STAGE_CHECK_UID, .judge = cor_stage_check_uid, .applies = cor_stage_checks_uid},
    {COR_STAGE_VALIDATE, .judge = cor_stage_validate},
    {COR_STAGE_DEFAULT_LATE, .store = cor_stage_default_late, .applies = cor_stage_defaults_late},
    {COR_STAGE_PUT_MANAGED_FIELDS, .store = cor_stage_put_managed_fields,
     .applies = cor_stage_has_managed},
    {COR_STAGE_ADMIT_VALIDATING, .start_admit = cor_stage_admit_validating,
     .applies = cor_stage_admits_validating},
};

static const struct cor_stage_row custom_rows[] = {
    /* What was sent, in the version of the request, which is also that of the hub. */
    {COR_STAGE_APPLY_PATCH, .apply = apply_patch, .applies = is_patch},
    {COR_STAGE_DECODE, .receive = cor_stage_decode_custom},
    {COR_STAGE_READ_METADATA, .receive = cor_stage_read_metadata, .applies = cor_stage_has_kind},
    {COR_STAGE_PRUNE_AND_DEFAULT, .receive = cor_stage_prune_and_default,
     .applies = cor_stage_prunes},
    {COR_STAGE_CHECK_FIELDS, .judge = cor_stage_check_fields},
    {COR_STAGE_MATCH_VERSION, .judge = cor_stage_match_version_custom},
    {COR_STAGE_MATCH_URL, .judge = cor_stage_match_url},
    {COR_STAGE_MATCH_KIND, .judge = cor_stage_match_kind},
    {COR_STAGE_READ_REVISION, .receive = cor_stage_read_revision},
    /* Of what a server-side apply made, which is not pruned before it is stored. */
    {COR_STAGE_DEFAULT, .receive = cor_stage_default_applied,
     .applies = cor_stage_defaults_applied},
    {COR_STAGE_MANAGE_FIELDS, .manage = cor_stage_manage_fields},
    {COR_STAGE_ADMIT_MUTATING, .start_admit = cor_stage_admit_mutating,
     .applies = cor_stage_admits_mutating},
    {COR_STAGE_CHECK_DEFINITION, .admit = cor_stage_check_definition,
     .applies = cor_stage_checks_definition},
    {COR_STAGE_CHECK_REVISION, .judge = cor_stage_check_revision,
     .applies = cor_stage_checks_revision},
    {COR_STAGE_PREPARE, .store = cor_stage_prepare},
    {COR_STAGE_VALIDATE, .judge = cor_stage_validate_custom},
    {COR_STAGE_WARN, .judge = cor_stage_warn_custom, .applies = cor_stage_warns},
    {COR_STAGE_TO_STORED, .store = cor_stage_to_stored},
    {COR_STAGE_PUT_MANAGED_FIELDS, .store = cor_stage_put_managed_fields,
     .applies = cor_stage_has_managed},
    {COR_STAGE_ADMIT_VALIDATING, .start_admit = cor_stage_admit_validating,
     .applies = cor_stage_admits_validating},
};

static const struct cor_stage_row custom_scale_rows[] = {
    {COR_STAGE_APPLY_PATCH, .apply = apply_patch, .applies = is_patch},
    {COR_STAGE_DECODE, .receive = cor_stage_decode},
    {COR_STAGE_CHECK_FIELDS, .judge = cor_stage_check_fields},
    {COR_STAGE_MATCH_VERSION, .judge = cor_stage_match_version},
    {COR_STAGE_MATCH_URL, .judge = cor_stage_match_url},
    {COR_STAGE_READ_REVISION, .receive = cor_stage_read_revision},
    {COR_STAGE_NORMALIZE, .receive = cor_stage_normalize},
    {COR_STAGE_DEFAULT, .receive = cor_stage_default, .applies = cor_stage_defaults},
    {COR_STAGE_MANAGE_FIELDS, .manage = cor_stage_manage_fields},
    {COR_STAGE_ADMIT_MUTATING, .start_admit = cor_stage_admit_mutating,
     .applies = cor_stage_admits_mutating},
    {COR_STAGE_CHECK_REVISION, .judge = cor_stage_check_revision},
    {COR_STAGE_PREPARE, .store = cor_stage_prepare},
    {COR_STAGE_CHECK_UID, .judge = cor_stage_check_uid},
    {COR_STAGE_VALIDATE, .judge = cor_stage_validate_custom},
    {COR_STAGE_WARN, .judge = cor_stage_warn_custom},
    {COR_STAGE_TO_STORED, .store = cor_stage_to_stored},
    {COR_STAGE_PUT_MANAGED_FIELDS, .store = cor_stage_put_managed_fields,
     .applies = cor_stage_has_managed},
    {COR_STAGE_ADMIT_VALIDATING, .start_admit = cor_stage_admit_validating,
     .applies = cor_stage_admits_validating},
};

static const struct cor_stage_list builtin = {builtin_rows, COR_ARRAY_LEN(builtin_rows)};
static const struct cor_stage_list custom = {custom_rows, COR_ARRAY_LEN(custom_rows)};
static const struct cor_stage_list custom_scale = {custom_scale_rows,
                                                   COR_ARRAY_LEN(custom_scale_rows)};

const struct cor_stage_list *cor_stage_list_of(const struct cor_call *call)
{
    assert(call->type && call->stored);
    if (!call->stored->custom)
        return &builtin;
    return call->type->custom ? &custom : &custom_scale;
}
