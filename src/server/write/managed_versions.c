/* What the stages "managed fields" and "apply" share: the versions in which objects are compared,
 * the bytes that are compared, and the mask of the endpoint. */
#include "server/write/managed_versions.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object_edit.h"
#include "meta/value/time_text.h"
#include "schema/custom/custom_scale.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "schema/types/raw_values.h"
#include "schema/walk/normalize.h"
#include "server/strategy/scale_write.h"
#include "server/strategy/strategy_run.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/writer.h"

#define SETS_MAX (64u << 20) /* of the arena of a request */

/* ---- versions ---- */

/* A version of a custom resource, also one that is not served. */
static const struct cor_resource_row *custom_version_row(const struct cor_resource_row *stored,
                                                         struct cor_str version)
{
    const struct cor_resource_row *row = stored;

    do {
        if (cor_str_eq(row->api_version, version))
            return row;
        row = row->custom->next;
    } while (row != stored);
    return NULL;
}

/* The row of a version in which the object can be compared; NULL: the version is not known.
 * Upstream knows those of the request's own group alone, also of Events, which two groups have. */
static const struct cor_resource_row *version_row(const struct cor_managing *write,
                                                  struct cor_str version)
{
    const struct cor_resource_row *stored = write->call->stored, *rows;
    struct cor_str group = write->call->res->group;
    size_t n;

    if (stored->custom)
        return custom_version_row(stored, version);
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

/* Most rows are that of the request, whose type is known already. */
static const struct cor_type *row_type(const struct cor_call *call,
                                       const struct cor_resource_row *row)
{
    return row == call->type ? call->schema : cor_row_schema(row);
}

/* A failure is kept in the arena. */
static bool version_place(struct cor_managed *m, struct cor_str version,
                          struct cor_apply_place *ret_place)
{
    const struct cor_resource_row *row = version_row(m->write, version);
    const struct cor_type *type = row ? row_type(m->write->call, row) : NULL;
    const struct cor_structural *schema = NULL;
    int r = row && row->custom ? cor_custom_schema_peek(row->custom->schema, &schema) : 0;

    if (r < 0 && m->arena.error == 0)
        m->arena.error = r;
    if (!row || r < 0)
        return false;
    if (type)
        *ret_place = cor_apply_place_builtin(type);
    else if (schema)
        *ret_place = cor_apply_place_structural(schema);
    else
        *ret_place = cor_apply_place_schema(&cor_apply_deduced);
    return true;
}

static bool managed_place(void *arg, struct cor_str version, struct cor_apply_place *ret_place)
{
    struct cor_managed *m = arg;
    const struct cor_managing *write = m->write;

    if (!cor_scale_is_written(write->call))
        return version_place(m, version, ret_place);
    *ret_place = cor_apply_place_builtin(write->call->schema);
    return cor_str_eq(version, write->call->type->api_version);
}

/* Who creates an object sets no deletionTimestamp: it is dropped before ownership is judged. */
static struct cor_fieldset deletion_fields(struct cor_arena *arena)
{
    static const struct cor_path_element fields[] = {
        {COR_STR_INIT("deletionGracePeriodSeconds"), COR_PATH_FIELD},
        {COR_STR_INIT("deletionTimestamp"), COR_PATH_FIELD},
    };
    static const struct cor_path_element metadata = {COR_STR_INIT("metadata"), COR_PATH_FIELD};
    struct cor_field_level root = {0}, level = {0};

    for (size_t i = 0; i < COR_ARRAY_LEN(fields); i++)
        cor_field_level_add(arena, &level, &fields[i], true, NULL);
    cor_field_level_add(arena, &root, &metadata, false, cor_field_level_end(&level));
    return (struct cor_fieldset){cor_field_level_end(&root)};
}

/* What the endpoint resets of a custom resource (contract crd 4.11.6). */
static struct cor_str custom_mask(const struct cor_call *call)
{
    if (cor_strategy_endpoint(call) == COR_ON_STATUS)
        return COR_STR("{\"f:spec\":{}}");
    return cor_api_has_part(call->res, COR_PART_STATUS) ? COR_STR("{\"f:status\":{}}")
                                                        : COR_STR("");
}

/* The mask of the endpoint. A failure is kept in the arena. That of a custom resource counts in the
 * version of the request alone. */
static struct cor_fieldset managed_mask(void *arg, struct cor_str version)
{
    struct cor_managed *m = arg;
    const struct cor_call *call = m->write->call;
    struct cor_str text = COR_STR("");
    int r = 0;

    if (call->type->custom && !cor_str_eq(version, call->type->api_version))
        return (struct cor_fieldset){NULL};
    if (m->has_mask)
        return m->mask;
    if (call->type->custom)
        text = custom_mask(call);
    else if (!cor_scale_is_written(call))
        text = cor_strategy_mask(cor_strategy_of(row_type(call, call->stored)),
                                 cor_strategy_endpoint(call));
    if (text.n > 0)
        r = cor_fieldset_read(&m->arena, text, &m->mask);
    if (m->write->present->is_create)
        m->mask = cor_fieldset_union(&m->arena, m->mask, deletion_fields(&m->arena));
    if (r < 0 && m->arena.error == 0)
        m->arena.error = r;
    m->has_mask = true;
    return m->mask;
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

/* Appends an object with the resourceVersion that it had before it was converted: a configuration
 * may name one, which the stage READ_REVISION reads. */
static int add_with_revision(const struct cor_object *object, const struct cor_resource_row *row,
                             struct cor_str revision, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf metadata = {.max = COR_WRITE_JSON_MAX};
    struct cor_edits top = {.n = 0}, meta = {.n = 0};
    struct cor_json_writer w;
    int r;

    if (!revision.p)
        return cor_buf_adds(out, cor_object_json(object));
    cor_edits_set(&meta, COR_STR("resourceVersion"), revision);
    r = cor_edits_apply(&meta, cor_object_metadata(object), &metadata);
    if (r < 0)
        return r;
    cor_edits_set(&top, COR_STR("metadata"), cor_buf_str(&metadata));
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), row->kind);
    cor_json_member(&w, COR_STR("apiVersion"), row->api_version);
    cor_edits_write(&top, cor_object_json(object), true, &w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* A custom resource gets another apiVersion, and nothing else. */
static int convert_custom(struct cor_str object, const struct cor_resource_row *to,
                          struct cor_buf *out)
{
    static const struct cor_edits none = {.n = 0};
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), to->kind);
    cor_json_member(&w, COR_STR("apiVersion"), to->api_version);
    cor_edits_write(&none, object, true, &w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* All versions are converted through the stored one. What apply takes out of an object leaves null,
 * also in place of the metadata; Go's types do not have these, so the object is normalised first.
 */
static int managed_convert(void *arg, struct cor_str object, struct cor_str from, struct cor_str to,
                           struct cor_buf *out)
{
    const struct cor_managing *write = ((struct cor_managed *)arg)->write;
    const struct cor_resource_row *from_row = version_row(write, from);
    const struct cor_resource_row *to_row = version_row(write, to);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *converted = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal = {.max = COR_WRITE_JSON_MAX};
    struct cor_str metadata, revision = cor_str(NULL, 0);
    int r;

    assert(from_row && to_row);
    if (to_row->custom)
        return convert_custom(object, to_row, out);
    if (cor_json_get(object, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) == 0 &&
        cor_json_type(metadata) == COR_JSON_OBJECT &&
        cor_json_get(metadata, COR_STR("resourceVersion"), COR_JSON_ANY_ORDER, &revision) < 0)
        revision = cor_str(NULL, 0);
    r = cor_normalize(cor_row_schema(from_row), object, &normal);
    if (r >= 0)
        r = cor_object_read_stored(r > 0 ? cor_buf_str(&normal) : object, 0, &cor_raw_values,
                                   &converted, NULL, NULL);
    if (r == 0 && from_row->conversion)
        r = convert_step(from_row->conversion->to_stored, write->call->stored, &converted);
    if (r == 0 && to_row->conversion)
        r = convert_step(to_row->conversion->from_stored, to_row, &converted);
    return r < 0 ? r : add_with_revision(converted, to_row, revision, out);
}

/* ---- objects ---- */

int cor_managed_add_bare(const struct cor_object *object, struct cor_buf *out)
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

int cor_managed_add_object(struct cor_call *call, struct cor_object *object, struct cor_buf *out)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *shown = NULL;
    int r;

    r = cor_call_convert(call, object, &shown);
    return r < 0 ? r : cor_managed_add_bare(shown, out);
}

int cor_managed_add_zero(const struct cor_call *call, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf empty = {.max = 1024};
    int r = cor_buf_addf(&empty, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\"}",
                         COR_STR_ARG(call->type->kind), COR_STR_ARG(call->type->api_version));

    if (r == 0 && call->schema)
        r = cor_normalize(call->schema, cor_buf_str(&empty), out);
    if (r == 0)
        r = cor_buf_adds(out, cor_buf_str(&empty));
    return r < 0 ? r : 0;
}

/* ---- the request ---- */

/* Raw text, as entries have it: without the quotes. */
static struct cor_str manager_name(const struct cor_managing *write)
{
    struct cor_str quoted = cor_buf_str(&write->asked->manager);

    return quoted.n < 2 ? COR_STR("") : cor_str(quoted.p + 1, quoted.n - 2);
}

/* The set of the one field at a path such as ".spec.replicas". */
static int read_path(struct cor_managed *m, struct cor_str path, struct cor_fieldset *ret)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 16 * COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str rest = path.n > 0 && path.p[0] == '.' ? cor_str_from(path, 1) : path, kept;
    struct cor_json_writer w;
    size_t depth = 0;

    cor_json_writer_init(&w, &text);
    cor_json_begin_object(&w);
    while (rest.p) {
        struct cor_str segment = cor_str_cut(&rest, '.');
        char *name = cor_arena_alloc(&m->arena, segment.n + 2);

        if (!name)
            return m->arena.error;
        memcpy(name, "f:", 2);
        memcpy(name + 2, segment.p, segment.n);
        cor_json_key(&w, cor_str(name, segment.n + 2));
        cor_json_begin_object(&w);
        depth++;
    }
    for (; depth > 0; depth--)
        cor_json_end_object(&w);
    cor_json_end_object(&w);
    if (w.error < 0)
        return w.error;
    /* The set borrows from the text. */
    kept = cor_arena_copy(&m->arena, cor_buf_str(&text));
    return kept.p ? cor_fieldset_read(&m->arena, kept, ret) : m->arena.error;
}

/* How the managers of a scale are translated. Nothing of a scale is masked. */
static int read_scale(struct cor_managed *m)
{
    static const struct cor_str replicas = COR_STR("{\"f:spec\":{\"f:replicas\":{}}}");
    const struct cor_call *call = m->write->call;
    const struct cor_custom_row *custom = call->res->custom;
    int r = cor_fieldset_read(&m->arena, replicas, &m->scale.scale_fields);

    m->scale.arena = &m->arena;
    m->scale.parent_version = custom ? call->res->api_version : call->stored->api_version;
    m->scale.scale_version = call->type->api_version;
    m->scale.parent_fields = m->scale.scale_fields;
    if (r == 0 && custom)
        r = read_path(m, custom->scale->spec, &m->scale.parent_fields);
    return r;
}

int cor_managed_init(struct cor_managed *m, const struct cor_managing *write)
{
    struct cor_call *call = write->call;

    assert(call->type);
    *m = (struct cor_managed){
        .write = write,
        .versions = {m, managed_place, managed_mask, managed_convert, call->type->custom != NULL},
        .request =
            {
                .arena = &m->arena,
                .versions = &m->versions,
                .manager = manager_name(write),
                .api_version = call->type->api_version,
                .subresource = call->sub ? cor_strz(call->sub->name) : COR_STR(""),
            },
    };
    m->request.now = cor_time_print(cor_call_now_ms(call) / 1000, m->time);
    cor_arena_init(&m->arena, SETS_MAX);
    m->arena.work = write->work;
    return cor_scale_is_written(call) ? read_scale(m) : 0;
}

void cor_managed_deinit(struct cor_managed *m)
{
    cor_arena_deinit(&m->arena);
}

/* ---- the entries ---- */

int cor_managed_read(struct cor_managed *m, struct cor_str list, struct cor_field_managers *ret,
                     struct cor_buf *words)
{
    int r = cor_field_managers_read(&m->arena, list, ret, words);

    if (r < 0 || !cor_scale_is_written(m->write->call))
        return r;
    m->parent = *ret;
    return cor_scale_managers_show(&m->scale, &m->parent, ret);
}

int cor_managed_write(struct cor_managed *m, struct cor_field_managers *managers)
{
    const struct cor_managing *write = m->write;
    struct cor_field_managers parent;
    int r = 0;

    cor_buf_reset(&write->managed->text);
    write->managed->next = cor_str(NULL, 0);
    if (cor_scale_is_written(write->call)) {
        r = cor_scale_managers_return(&m->scale, &m->parent, managers, &parent);
        managers = &parent;
    }
    if (r == 0)
        r = cor_field_managers_write(managers, &write->managed->text);
    (void)cor_work_charge(write->work, write->managed->text.n / COR_WORK_STEP_BYTES);
    if (r == 0 && managers->n > 0)
        write->managed->next = cor_buf_str(&write->managed->text);
    return r;
}
