/* clang-format off */
/* The stages NORMALIZE and DEFAULT of built-in kinds: the object becomes what upstream's types
 * would make of it, in the version of the request.
 *
 *   NORMALIZE  fields that the type does not have are dropped, zero values and texts get the form
 *              in which Go writes them (schema/walk/normalize.h)
 *   DEFAULT    fills in the defaults of the kind (schema/walk/default.h)
 *
 * Both run after every decoding, also of what a patch made. The text of the first is what the
 * second reads: where both change something, one object is made of both.
 *
 * Failures: no memory, and an object that grows over its maximum (413).
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "schema/types/strategy.h"
#include "schema/walk/default.h"
#include "schema/walk/equal.h"
#include "schema/walk/normalize.h"
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
static void note_empty(const struct cor_receiving *write)
{
    const struct cor_type *type = write->call->schema;
    const struct cor_strategy *strategy = cor_strategy_of(type);
    struct cor_member member;
    bool is_meta;

    write->received->sends_empty = false;
    for (size_t i = 0; strategy && strategy->counts_exactly && i < strategy->ncounted; i++) {
        struct cor_str name = cor_strategy_counted(strategy, i, &is_meta);
        struct cor_str value = cor_object_member(write->received->body, name);

        if (!is_meta && value.p && cor_type_find_member(type, name, &member) &&
            cor_has_empty(cor_type_field_type(member.field), value))
            write->received->sends_empty = true;
    }
}

static int take_text(const struct cor_receiving *write, int r, const struct cor_buf *json)
{
    if (r == -COR_ETOOBIG)
        return cor_status_set(&write->call->status, r,
                              "Request entity too large: the object has too many empty elements");
    return cor_write_take_rewritten(write->call, r, json, &write->received->body);
}

bool cor_stage_defaults(const struct cor_judging *write)
{
    return write->call->schema && cor_type_is(write->call->schema, COR_TYPE_DEFAULTS);
}

int cor_stage_normalize(const struct cor_receiving *write)
{
    struct cor_normalize_notes notes = {.has_gated = false};
    int r;

    assert(write->received->body);
    write->received->sent = cor_object_unref(write->received->sent);
    if (!write->call->schema) /* a kind without a type has no form of its own */
        return 0;
    note_empty(write);
    cor_buf_reset(&write->received->normal);
    r = cor_normalize_noting(write->call->schema, cor_object_json(write->received->body),
                             &write->received->normal, &notes);
    write->received->has_gated = notes.has_gated;
    if (r > 0 && notes.has_empty)
        write->received->sent = cor_object_ref(write->received->body);
    if (r > 0 && cor_type_is(write->call->schema, COR_TYPE_DEFAULTS))
        return 0;
    r = take_text(write, r, &write->received->normal);
    cor_buf_reset(&write->received->normal);
    return r;
}

int cor_stage_default(const struct cor_receiving *write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_WRITE_JSON_MAX};
    bool is_changed = write->received->normal.n > 0;
    int r;

    assert(write->received->body);
    r = cor_default(write->call->schema,
                    is_changed ? cor_buf_str(&write->received->normal)
                               : cor_object_json(write->received->body),
                    &json);
    r = r == 0 && is_changed ? take_text(write, 1, &write->received->normal)
                             : take_text(write, r, &json);
    cor_buf_deinit(&write->received->normal);
    return r;
}
