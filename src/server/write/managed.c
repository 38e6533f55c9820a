/* What the stages "managed fields" and "apply" share: the versions in which objects are compared,
 * the bytes that are compared, and the mask of the endpoint. */
#include "server/write/managed.h"

#include <assert.h>

#include "base/err.h"
#include "meta/object_edit.h"
#include "meta/time_text.h"
#include "schema/normalize.h"
#include "server/strategy/scale.h"
#include "server/strategy/strategy.h"
#include "json/scan.h"

#define SETS_MAX (64u << 20) /* of the arena of a request */

/* ---- versions ---- */

/* The row of a version in which the object can be compared; NULL: the version is not known.
 * Upstream knows those of the request's own group alone, also of Events, which two groups have. */
static const struct cor_resource_row *version_row(const struct cor_write *write,
                                                  struct cor_str version)
{
    const struct cor_resource_row *stored = write->call.stored, *rows;
    struct cor_str group = write->call.res->group;
    size_t n;

    if (cor_str_eq(version, stored->api_version))
        return cor_str_eq(stored->group, group) ? stored : NULL;
    rows = cor_api_builtins(&n);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].conversion && cor_str_eq(rows[i].api_version, version) &&
            cor_str_eq(rows[i].kind, stored->kind) && cor_str_eq(rows[i].group, group) &&
            cor_str_eq(rows[i].stored_as, stored->api_version))
            return &rows[i];
    }
    return NULL;
}

static bool version_place(void *arg, struct cor_str version, struct cor_apply_place *ret_place)
{
    const struct cor_resource_row *row = version_row(arg, version);
    const struct cor_type *type = row ? cor_row_schema(row) : NULL;

    if (!type)
        return false;
    *ret_place = cor_apply_place_builtin(type);
    return true;
}

static bool managed_place(void *arg, struct cor_str version, struct cor_apply_place *ret_place)
{
    return version_place(((struct cor_managed *)arg)->write, version, ret_place);
}

static struct cor_fieldset managed_mask(void *arg, struct cor_str version)
{
    (void)version;
    return ((struct cor_managed *)arg)->mask;
}

/* One step of a conversion: between the stored version and another one. */
static int convert_step(cor_convert_fn fn, const struct cor_resource_row *to,
                        struct cor_object **object)
{
    struct cor_object *converted;
    int r = cor_convert_object(fn, to->kind, to->api_version, *object, &converted);

    if (r < 0)
        return r;
    cor_object_unref(*object);
    *object = converted;
    return 0;
}

/* All versions are converted through the stored one. */
static int managed_convert(void *arg, struct cor_str object, struct cor_str from, struct cor_str to,
                           struct cor_buf *out)
{
    struct cor_write *write = ((struct cor_managed *)arg)->write;
    const struct cor_resource_row *from_row = version_row(write, from);
    const struct cor_resource_row *to_row = version_row(write, to);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *converted = NULL;
    int r;

    assert(from_row && to_row);
    r = cor_object_from_sorted(object, &converted);
    if (r == 0 && from_row->conversion)
        r = convert_step(from_row->conversion->to_stored, write->call.stored, &converted);
    if (r == 0 && to_row->conversion)
        r = convert_step(to_row->conversion->from_stored, to_row, &converted);
    return r < 0 ? r : cor_buf_adds(out, cor_object_json(converted));
}

/* ---- objects ---- */

/* Appends an object without managedFields and resourceVersion. */
static int add_bare(const struct cor_object *object, struct cor_buf *out)
{
    struct cor_str list = cor_object_meta_member(object, COR_STR("managedFields")), before, after;
    const char *begin, *end;
    int r;

    cor_object_stored_spans(object, &before, &after);
    if (!list.p)
        begin = end = before.p;
    else {
        /* In canonical bytes the key stands right before the value. A resourceVersion that follows
         * at once has its comma in front, or behind when managedFields are the first member. */
        begin = list.p - sizeof("\"managedFields\":") + 1;
        end = list.p + list.n;
        if (end < before.p + before.n && *end == ',')
            end++;
        else if (begin[-1] == ',')
            begin--;
        else if (end == before.p + before.n && after.p[0] == ',')
            after = cor_str_from(after, 1);
    }
    r = cor_buf_reserve(out, before.n + after.n);
    if (r == 0)
        r = cor_buf_add(out, before.p, (size_t)(begin - before.p));
    if (r == 0)
        r = cor_buf_add(out, end, (size_t)(before.p + before.n - end));
    return r < 0 ? r : cor_buf_adds(out, after);
}

int cor_managed_add_object(struct cor_write *write, struct cor_object *object, struct cor_buf *out)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *shown = NULL;
    int r;

    if (cor_scale_is_written(&write->call))
        return add_bare(object, out);
    r = cor_call_convert(&write->call, object, &shown);
    return r < 0 ? r : add_bare(shown, out);
}

int cor_managed_add_zero(const struct cor_call *call, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf empty = {.max = 1024};
    int r = cor_buf_addf(&empty, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\"}",
                         COR_STR_ARG(call->type->kind), COR_STR_ARG(call->type->api_version));

    if (r == 0)
        r = cor_normalize(call->schema, cor_buf_str(&empty), out);
    if (r == 0)
        r = cor_buf_adds(out, cor_buf_str(&empty));
    return r < 0 ? r : 0;
}

/* ---- the request ---- */

/* Raw text, as entries have it: without the quotes. */
static struct cor_str manager_name(const struct cor_write *write)
{
    struct cor_str quoted = cor_buf_str(&write->manager);

    return quoted.n < 2 ? COR_STR("") : cor_str(quoted.p + 1, quoted.n - 2);
}

/* The mask of the endpoint. Who creates an object sets no deletionTimestamp: it is dropped before
 * ownership is judged. */
static int read_mask(struct cor_managed *m)
{
    static const char never[] =
        "{\"f:metadata\":{\"f:deletionGracePeriodSeconds\":{},\"f:deletionTimestamp\":{}}}";
    const struct cor_call *call = &m->write->call;
    const struct cor_strategy *strategy = cor_strategy_of(cor_row_schema(call->stored));
    struct cor_str text = COR_STR("");
    struct cor_fieldset deletion = {NULL};
    int r = 0;

    if (!cor_scale_is_written(call))
        text = cor_strategy_mask(strategy, cor_strategy_endpoint(call));
    if (text.n > 0)
        r = cor_fieldset_read(&m->arena, text, &m->mask);
    if (r == 0 && m->write->is_create) {
        r = cor_fieldset_read(&m->arena, cor_str(never, sizeof(never) - 1), &deletion);
        m->mask = cor_fieldset_union(&m->arena, m->mask, deletion);
    }
    return r < 0 ? r : m->arena.error;
}

int cor_managed_init(struct cor_managed *m, struct cor_write *write)
{
    struct cor_call *call = &write->call;
    bool is_scale = cor_scale_is_written(call);

    *m = (struct cor_managed){
        .write = write,
        .versions = {m, managed_place, managed_mask, managed_convert},
        .request =
            {
                .arena = &m->arena,
                .versions = &m->versions,
                .manager = manager_name(write),
                .api_version = is_scale ? call->stored->api_version : call->type->api_version,
                .subresource = call->sub ? cor_strz(call->sub->name) : COR_STR(""),
            },
    };
    /* Upstream's entries of a scale have no time. */
    if (!is_scale)
        m->request.now = cor_time_print(cor_call_now_ms(call) / 1000, m->time);
    cor_arena_init(&m->arena, SETS_MAX);
    return read_mask(m);
}

void cor_managed_deinit(struct cor_managed *m)
{
    cor_arena_deinit(&m->arena);
}
