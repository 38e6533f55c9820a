/* clang-format off */
/* The stage READ_METADATA of custom resources: the metadata is read as upstream's typed ObjectMeta
 * and written back, so that it has what every object's metadata has, and nothing else.
 *
 *   the type of all metadata ──► unknown and repeated fields are findings for CHECK_FIELDS ──►
 *   the metadata in its normal form, if that is another one
 *
 * Failures: 400 for a body, 422 for what a patch made, in upstream's words; no memory.
 * Thread: the thread that has the call. */
/* clang-format on */
#include "base/err.h"
#include "meta/object/object_edit.h"
#include "schema/kinds/resource_row.h"
#include "schema/walk/read.h"
#include "schema/walk/rewrite.h"
#include "server/write/custom_body.h"
#include "server/write/stages.h"

const struct cor_type *cor_write_metadata_type(void)
{
    struct cor_member member;
    const struct cor_type *any =
        cor_row_schema(cor_api_of_role(COR_ROLE_NAMESPACES)); /* it has metadata, as all have */

    return cor_type_find_member(any, COR_STR("metadata"), &member)
               ? cor_type_field_type(member.field)
               : NULL;
}

/* The findings of the walk over the metadata name paths below it: `unknown field "colour"`. */
static int add_metadata_findings(struct cor_write_received *received,
                                 const struct cor_read_report *report)
{
    int r = 0;

    for (size_t i = 0; i < report->n && r == 0; i++) {
        struct cor_str finding = cor_read_finding(report, i);
        struct cor_str rest = finding, what = cor_str_cut(&rest, '"');

        r = cor_buf_adds(&received->findings, what);
        if (r == 0)
            r = cor_buf_addz(&received->findings, "\"metadata.");
        if (r == 0)
            r = cor_buf_adds(&received->findings, rest);
        if (r == 0)
            r = cor_buf_addc(&received->findings, '\0');
    }
    return r == -COR_ETOOBIG ? 0 : r;
}

bool cor_stage_has_kind(const struct cor_judging *write)
{
    return cor_custom_is_of_kind(write->call, write->received->body);
}

int cor_stage_read_metadata(const struct cor_receiving *write)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal = {.max = COR_WRITE_JSON_MAX};
    struct cor_str metadata = cor_object_member(write->received->body, COR_STR("metadata"));
    const struct cor_type *type = cor_write_metadata_type();
    struct cor_call *call = write->call;
    struct cor_object_edit edit;
    struct cor_object *made;
    int r;

    if (!metadata.p)
        return 0;
    if (!cor_read_is_clean(metadata, type)) {
        report = cor_read_report_new();
        r = report ? cor_read(metadata, type, report) : -COR_ENOMEM;
        if (r == -COR_EINVAL)
            return cor_custom_refuse(write, cor_buf_z(&report->error));
        if (r == 0)
            r = add_metadata_findings(write->received, report);
        if (r < 0)
            return cor_status_set_err(&call->status, r);
    }
    r = cor_rewrite(type, metadata, &normal);
    if (r <= 0)
        return r < 0 ? cor_status_set_err(&call->status, r) : 0;
    edit = (struct cor_object_edit){
        .kind = cor_object_kind(write->received->body),
        .api_version = cor_object_api_version(write->received->body),
        .top = cor_object_json(write->received->body),
        .metadata = cor_buf_str(&normal),
    };
    r = cor_object_edit(&edit, &made, &call->status);
    if (r < 0)
        return r;
    cor_object_unref(write->received->body);
    write->received->body = made;
    write->received->api_version = cor_custom_version(made);
    return 0;
}
