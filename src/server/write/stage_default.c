/* The stage "default": the object becomes what upstream's types would make of it, in the version of
 * the request: fields that the type does not have are dropped, zero values and texts get the form
 * in which Go writes them (schema/walk/rewrite.h). This runs after every decoding, also of what a
 * patch made. A kind without a type, which no built-in is, stays as it is.
 *
 * The stage "default late" fills in the defaults of a kind that copy what the server has added to
 * the object. Upstream does so when it decodes the object that it has stored, so that nothing
 * validates them. Those that had something to copy before, of what the client sent, are filled in
 * by the stage "prepare" and are validated.
 *
 * Failures: no memory, and an object that grows over its maximum (413).
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "schema/types/strategy.h"
#include "schema/walk/default.h"
#include "schema/walk/equal.h"
#include "schema/walk/rewrite.h"
#include "server/write/custom_stages.h"
#include "server/write/stages.h"

int cor_write_take_rewritten(struct cor_call *call, int r, const struct cor_buf *json,
                             struct cor_object **object)
{
    struct cor_object *rewritten;

    if (r == 0)
        return 0;
    if (r > 0)
        r = cor_object_from_sorted(cor_buf_str(json), &rewritten);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    cor_object_unref(*object);
    *object = rewritten;
    return 0;
}

/* Notes what the generation of a few kinds counts and the normal form does not have. */
static void default_note_empty(struct cor_write *write)
{
    const struct cor_type *type = write->call.schema;
    const struct cor_strategy *strategy = cor_strategy_of(type);
    struct cor_member member;
    bool is_meta;

    write->sends_empty = false;
    for (size_t i = 0; strategy && strategy->counts_exactly && i < strategy->ncounted; i++) {
        struct cor_str name = cor_strategy_counted(strategy, i, &is_meta);
        struct cor_str value = cor_object_member(write->body, name);

        if (!is_meta && value.p && cor_type_find_member(type, name, &member) &&
            cor_has_empty(cor_type_field_type(member.field), value))
            write->sends_empty = true;
    }
}

int cor_write_default(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    struct cor_normalize_notes notes;
    int r;

    assert(write->body);
    write->sent = cor_object_unref(write->sent);
    if (!call->schema)
        return 0;
    default_note_empty(write);
    cor_buf_init(&json, COR_WRITE_JSON_MAX);
    r = cor_rewrite_noting(call->schema, cor_object_json(write->body), &json, &notes);
    write->has_gated = notes.has_gated;
    if (r > 0 && notes.has_empty)
        write->sent = cor_object_ref(write->body);
    if (r == -COR_ETOOBIG)
        return cor_status_set(&call->status, r,
                              "Request entity too large: the object has too many empty elements");
    return cor_write_take_rewritten(call, r, &json, &write->body);
}

const struct cor_type *cor_write_late_type(const struct cor_write *write)
{
    const struct cor_call *call = &write->call;
    const struct cor_type *type =
        call->stored == call->type ? call->schema : cor_row_schema(call->stored);

    return type && cor_type_is(type, COR_TYPE_LATE) ? type : NULL;
}

bool cor_write_defaults_late(const struct cor_write *write)
{
    return cor_write_late_type(write) != NULL || cor_custom_is_stored(write);
}

int cor_write_default_late(struct cor_write *write)
{
    const struct cor_type *type = cor_write_late_type(write);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    int r;

    if (!type)
        return cor_custom_to_stored(write);
    assert(write->object);
    cor_buf_init(&json, COR_WRITE_JSON_MAX);
    r = cor_default_late(type, cor_object_json(write->object), &json);
    return cor_write_take_rewritten(&write->call, r, &json, &write->object);
}
