/* clang-format off */
/* Writes to a subresource that change one member of the object: `parts` names, for each part that
 * the row of a subresource can have, the member and the function that makes its new value from the old object and the
 * body. All else, metadata included, stays as it is; generation grows when the member has changed.
 *
 *   scale                 spec.replicas
 *   ephemeralcontainers   spec.ephemeralContainers
 *   resize                resources and resizePolicy of the same containers in the same order
 *   approval              status.conditions, with the times that the client left out
 *
 * Failures: 422 for a value that is not allowed; no memory. Nothing is returned then.
 * Thread: the thread that has the call (a stage). */
/* clang-format on */
#include "server/strategy/parts.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/map.h"
#include "meta/field_error.h"
#include "meta/object_edit.h"
#include "meta/time_text.h"
#include "schema/conversion.h"
#include "schema/validate.h"
#include "json/scan.h"
#include "json/writer.h"

/* Appends the new value of the member. 0, or a failure in the call's status. */
typedef int (*part_fn)(struct cor_call *call, const struct cor_object *old,
                       const struct cor_object *body, struct cor_buf *out);

static int part_failed(struct cor_call *call, int r)
{
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

static struct cor_str object_or_empty(struct cor_str object)
{
    return object.p ? object : COR_STR("{}");
}

static struct cor_str spec_of(const struct cor_object *object)
{
    return cor_object_member(object, COR_STR("spec"));
}

/* The rules of what a client writes to a scale. */
static int check_scale(struct cor_call *call, const struct cor_object *body)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_validation validation = {
        .type = call->schema, .operation = COR_CHECK_SCALE, .object = cor_object_json(body)};
    struct cor_gk gk = cor_api_gk(call->type);

    (void)cor_validate(&validation, &errs);
    if (errs.n == 0 && errs.error == 0)
        return 0;
    return cor_status_invalid(&call->status, &gk, call->name, &errs);
}

static int set_replicas(struct cor_call *call, const struct cor_object *old,
                        const struct cor_object *body, struct cor_buf *out)
{
    struct cor_str replicas = cor_convert_member(spec_of(body), "replicas");
    struct cor_edits edits = {.n = 0};
    int r;

    if (!replicas.p)
        replicas = COR_STR("0");
    r = check_scale(call, body);
    if (r < 0)
        return r;
    cor_edits_set(&edits, COR_STR("replicas"), replicas);
    return part_failed(call, cor_edits_apply(&edits, object_or_empty(spec_of(old)), out));
}

static int set_ephemeral(struct cor_call *call, const struct cor_object *old,
                         const struct cor_object *body, struct cor_buf *out)
{
    struct cor_edits edits = {.n = 0};

    cor_edits_set(&edits, COR_STR("ephemeralContainers"),
                  cor_convert_member(spec_of(body), "ephemeralContainers"));
    return part_failed(call, cor_edits_apply(&edits, object_or_empty(spec_of(old)), out));
}

static int refuse_containers(struct cor_call *call, const char *member)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_field_path spec = cor_field_root(COR_STR("spec"));
    struct cor_field_path path = cor_field_child(&spec, cor_strz(member));
    struct cor_gk gk = cor_api_gk(call->type);

    cor_field_errors_add(&errs, COR_FIELD_FORBIDDEN, &path, cor_field_none(),
                         "containers may not be added, removed, renamed or reordered on resize");
    return cor_status_invalid(&call->status, &gk, call->name, &errs);
}

/* The old containers with the new ones' resources. */
static int resize_containers(struct cor_call *call, const char *member,
                             const struct cor_object *old, const struct cor_object *body,
                             struct cor_buf *out)
{
    struct cor_str before = cor_convert_member(spec_of(old), member);
    struct cor_str after = cor_convert_member(spec_of(body), member);
    struct cor_json_iter it = cor_json_iter(before.p ? before : COR_STR("[]"));
    struct cor_json_iter it_after = cor_json_iter(after.p ? after : COR_STR("[]"));
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str container = cor_json_iter_value(&it), next = {NULL, 0};
        struct cor_edits edits = {.n = 0};

        if (cor_json_iter_elem(&it_after))
            next = cor_json_iter_value(&it_after);
        if (!cor_str_eq(cor_convert_member(container, "name"), cor_convert_member(next, "name")))
            return refuse_containers(call, member);
        cor_edits_set(&edits, COR_STR("resources"), cor_convert_member(next, "resources"));
        cor_edits_set(&edits, COR_STR("resizePolicy"), cor_convert_member(next, "resizePolicy"));
        cor_json_begin_object(&w);
        cor_edits_write(&edits, container, false, &w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    if (cor_json_iter_elem(&it_after))
        return refuse_containers(call, member);
    return part_failed(call, cor_json_writer_finish(&w));
}

static int set_resources(struct cor_call *call, const struct cor_object *old,
                         const struct cor_object *body, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain = {0}, init = {0};
    struct cor_edits edits = {.n = 0};
    int r;

    cor_buf_init(&plain, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&init, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = resize_containers(call, "containers", old, body, &plain);
    if (r == 0)
        r = resize_containers(call, "initContainers", old, body, &init);
    if (r < 0)
        return r;
    if (plain.n > 2)
        cor_edits_set(&edits, COR_STR("containers"), cor_buf_str(&plain));
    if (init.n > 2)
        cor_edits_set(&edits, COR_STR("initContainers"), cor_buf_str(&init));
    return part_failed(call, cor_edits_apply(&edits, object_or_empty(spec_of(old)), out));
}

/* Appends the key of a condition: its type and status, as JSON. */
static int add_condition_key(struct cor_str condition, struct cor_buf *out)
{
    struct cor_str type = cor_convert_member(condition, "type");
    struct cor_str status = cor_convert_member(condition, "status");

    return cor_buf_addf(out, "%.*s:%.*s", COR_STR_ARG(type.p ? type : COR_STR("")),
                        COR_STR_ARG(status.p ? status : COR_STR("")));
}

/* The lastTransitionTime of each old condition, by its key. A map, because a client chooses the
 * number of conditions. */
struct transitions {
    struct cor_map by_key; /* to the start of the time in the old object */
    struct cor_buf keys;   /* the keys' bytes, reserved before the first one */
    struct cor_buf wanted; /* the key that is looked for */
    const char *end;       /* of the old conditions */
};

static void transitions_deinit(struct transitions *t)
{
    cor_map_deinit(&t->by_key);
    cor_buf_deinit(&t->keys);
    cor_buf_deinit(&t->wanted);
}

static int transitions_init(struct transitions *t, struct cor_str old_conditions)
{
    struct cor_str conditions = old_conditions.p ? old_conditions : COR_STR("[]");
    struct cor_json_iter it = cor_json_iter(conditions);
    int r;

    t->end = conditions.p + conditions.n;
    cor_map_init(&t->by_key, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&t->keys, 2 * COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&t->wanted, 2 * COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_buf_reserve(&t->keys, conditions.n);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str old = cor_json_iter_value(&it), key;
        struct cor_str at = cor_convert_member(old, "lastTransitionTime");
        size_t mark = t->keys.n;

        if (!at.p)
            continue;
        r = add_condition_key(old, &t->keys);
        key = cor_str_from(cor_buf_str(&t->keys), mark);
        /* The first of equal keys counts. */
        if (r == 0 && !cor_map_peek(&t->by_key, key))
            r = cor_map_put(&t->by_key, key, (void *)at.p, NULL);
    }
    return r;
}

/* The old lastTransitionTime when the old list has the condition in this status, else `now`. */
static int transition_of(struct transitions *t, struct cor_str condition, struct cor_str now,
                         struct cor_str *ret)
{
    const char *at;
    int r;

    cor_buf_reset(&t->wanted);
    r = add_condition_key(condition, &t->wanted);
    if (r < 0)
        return r;
    at = cor_map_peek(&t->by_key, cor_buf_str(&t->wanted));
    *ret = at ? cor_json_first_value(cor_str(at, (size_t)(t->end - at))) : now;
    return 0;
}

/* The conditions as they were sent, with the times filled in that they lack. */
static int write_conditions(struct cor_call *call, struct cor_str old, struct cor_str conditions,
                            struct cor_buf *out)
{
    struct cor_json_iter it = cor_json_iter(conditions.p ? conditions : COR_STR("[]"));
    char text[COR_TIME_TEXT_MAX], quoted[COR_TIME_TEXT_MAX + 2];
    struct cor_str at = cor_time_print(cor_call_now_ms(call) / 1000, text);
    struct cor_str now = cor_str(quoted, at.n + 2);
    COR_CLEANUP(transitions_deinit) struct transitions since;
    struct cor_json_writer w;
    int r = transitions_init(&since, old);

    snprintf(quoted, sizeof(quoted), "\"%.*s\"", COR_STR_ARG(at));
    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str condition = cor_json_iter_value(&it), moved = now;
        struct cor_edits edits = {.n = 0};

        if (!cor_convert_member(condition, "lastUpdateTime").p)
            cor_edits_set(&edits, COR_STR("lastUpdateTime"), now);
        if (!cor_convert_member(condition, "lastTransitionTime").p) {
            r = transition_of(&since, condition, now, &moved);
            cor_edits_set(&edits, COR_STR("lastTransitionTime"), moved);
        }
        cor_json_begin_object(&w);
        cor_edits_write(&edits, condition, false, &w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    return r < 0 ? r : cor_json_writer_finish(&w);
}

static int set_approval(struct cor_call *call, const struct cor_object *old,
                        const struct cor_object *body, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf conditions = {0};
    struct cor_str before = cor_object_member(old, COR_STR("status"));
    struct cor_str after = cor_object_member(body, COR_STR("status"));
    struct cor_edits edits = {.n = 0};
    int r;

    cor_buf_init(&conditions, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = write_conditions(call, cor_convert_member(before, "conditions"),
                         cor_convert_member(after, "conditions"), &conditions);
    if (r < 0)
        return part_failed(call, r);
    cor_edits_set(&edits, COR_STR("conditions"),
                  conditions.n > 2 ? cor_buf_str(&conditions) : (struct cor_str){NULL, 0});
    return part_failed(call, cor_edits_apply(&edits, object_or_empty(before), out));
}

static const struct part {
    const char *member;
    part_fn make; /* NULL: not a part that this file writes */
} parts[COR_PART_COUNT] = {
    [COR_PART_APPROVAL] = {"status", set_approval},
    [COR_PART_EPHEMERAL_CONTAINERS] = {"spec", set_ephemeral},
    [COR_PART_RESOURCES] = {"spec", set_resources},
    [COR_PART_SCALE] = {"spec", set_replicas},
};

static const struct part *part_of_call(const struct cor_call *call)
{
    return call->sub && parts[call->sub->part].make ? &parts[call->sub->part] : NULL;
}

bool cor_part_is_written(const struct cor_call *call)
{
    return part_of_call(call) != NULL;
}

int cor_part_update(struct cor_call *call, const struct cor_object *old,
                    const struct cor_object *body, struct cor_object **ret_object)
{
    const struct part *part = part_of_call(call);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf value = {0};
    struct cor_str before = cor_object_member(old, cor_strz(part->member));
    struct cor_object_edit edit = {
        .kind = call->stored->kind,
        .api_version = call->stored->api_version,
        .top = cor_object_json(old),
        .metadata = cor_object_metadata(old),
    };
    char generation[COR_GENERATION_TEXT_MAX];
    int r;

    assert(call->stored && old && body);
    cor_buf_init(&value, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = part->make(call, old, body, &value);
    if (r < 0)
        return r;
    cor_edits_set(&edit.top_edits, cor_strz(part->member), cor_buf_str(&value));
    if ((call->res->flags & COR_API_GENERATION_UPDATE) &&
        !cor_str_eq(object_or_empty(before), cor_buf_str(&value)))
        cor_edits_set(&edit.meta_edits, COR_STR("generation"),
                      cor_object_next_generation(old, generation));
    return cor_object_edit(&edit, ret_object, &call->status);
}
