/* The rules of create and update: what the server fills in, and what it keeps from the old state.
 * Kinds differ by the flags of their row (schema/resource_row.h), not by code
 * here; the exception is the namespace, whose spec and name label belong to the server.
 *
 * An object is never decoded: a rule adds an edit (set or drop a member) to a list, and all edits
 * are applied to the canonical bytes in one pass (meta/object_edit.h). The texts that edits point
 * to live in struct scratch until then.
 *
 * cor_strategy_create, in order:
 *   1. name from generateName; empty lists and maps of the metadata dropped, of kinds without a
 *      schema;
 *   2. uid, creationTimestamp, generation 1 set; deletionTimestamp and its grace period dropped;
 *   3. namespace set from the URL; status reset to the kind's initial one; the spec that the row
 *      makes of the client's (a Job's selector and labels);
 *   4. repeated owner references dropped, with a warning;
 *   5. the edits applied.
 *
 * cor_strategy_update, in order:
 *   1. a subresource that reaches one part only (scale, resize, ...): parts.c makes the object, and
 *      nothing of the following runs;
 *   2. metadata: system fields come from the old state, generation follows if the content changed;
 *   3. which parts count: /status takes the status alone, /finalize the finalizers of a namespace,
 *      everything else all but the status;
 *   4. the edits applied.
 *
 * What the result must not be is refused by the next stage (server/write/validate.c).
 * Failures: no memory, an object over its maximum, and what parts.c refuses (422). Nothing is
 * returned on failure.
 * Thread: the thread that has the call (a stage, server/api/heavy.h): random numbers come from
 * cor_heavy_rand(), and nothing of the loop is used. */
#include "server/strategy/strategy.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str_set.h"
#include "meta/field_error.h"
#include "meta/object_edit.h"
#include "meta/object_meta.h"
#include "meta/time_text.h"
#include "server/api/heavy.h"
#include "server/strategy/parts.h"
#include "json/scan.h"
#include "json/writer.h"

#define SMALL_MAX       (64u * 1024)
#define NAME_LABEL      "kubernetes.io/metadata.name"
#define NAME_CHARACTERS "bcdfghjklmnpqrstvwxz2456789"

/* The texts that edits point to until they are applied. */
struct scratch {
    char created[COR_TIME_TEXT_MAX + 2];
    char generation[COR_GENERATION_TEXT_MAX];
    struct cor_buf name, uid, ns, labels, spec, owners;
};

static void scratch_init(struct scratch *s)
{
    cor_buf_init(&s->name, SMALL_MAX);
    cor_buf_init(&s->uid, 64);
    cor_buf_init(&s->ns, SMALL_MAX);
    cor_buf_init(&s->labels, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&s->spec, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&s->owners, COR_OBJECT_BYTES_MAX_DEFAULT);
}

static void scratch_deinit(struct scratch *s)
{
    cor_buf_deinit(&s->name);
    cor_buf_deinit(&s->uid);
    cor_buf_deinit(&s->ns);
    cor_buf_deinit(&s->labels);
    cor_buf_deinit(&s->spec);
    cor_buf_deinit(&s->owners);
}

/* Sets the status when r < 0, with the code's own text. Returns r, or 0. */
static int strategy_failed(struct cor_call *call, int r)
{
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Appends the prefix, cut so that the whole fits, and a random suffix. */
static int generate_name(struct cor_call *call, struct cor_str prefix, struct cor_buf *out)
{
    size_t keep_member = COR_GENERATED_MAX - COR_GENERATED_SUFFIX;
    int r = cor_buf_add(out, prefix.p, prefix.n > keep_member ? keep_member : prefix.n);

    for (int i = 0; i < COR_GENERATED_SUFFIX && r == 0; i++)
        r = cor_buf_addc(
            out,
            NAME_CHARACTERS[cor_rand_below(cor_heavy_rand(call), sizeof(NAME_CHARACTERS) - 1)]);
    return r;
}

static int set_quoted(struct cor_edits *edits, struct cor_str key, struct cor_str text,
                      struct cor_buf *scratch)
{
    int r = cor_json_quote(scratch, text);

    if (r == 0)
        cor_edits_set(edits, key, cor_buf_str(scratch));
    return r;
}

/* A name from generateName, if the body has no name (`quoted`, as JSON). Without both, validation
 * refuses the object.
 */
static int set_name(struct cor_call *call, const struct cor_object *body, struct cor_str quoted,
                    struct cor_edits *meta, struct scratch *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name = {0};
    struct cor_str prefix;
    int r;

    if (quoted.n > 2 ||
        cor_json_to_raw(cor_object_meta_member(body, COR_STR("generateName")), &prefix) < 0 ||
        prefix.n == 0)
        return 0;
    cor_buf_init(&name, SMALL_MAX);
    r = generate_name(call, prefix, &name);
    return r < 0 ? r : set_quoted(meta, COR_STR("name"), cor_buf_str(&name), &s->name);
}

static int set_system_fields(struct cor_call *call, struct cor_edits *meta, struct scratch *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uid = {0};
    char time[COR_TIME_TEXT_MAX];
    struct cor_str now = cor_time_print(cor_call_now_ms(call) / 1000, time);
    int r;

    cor_buf_init(&uid, 64);
    r = cor_api_add_uuid(cor_heavy_rand(call), &uid);
    if (r == 0)
        r = set_quoted(meta, COR_STR("uid"), cor_buf_str(&uid), &s->uid);
    s->created[0] = s->created[now.n + 1] = '"';
    memcpy(s->created + 1, now.p, now.n);
    cor_edits_set(meta, COR_STR("creationTimestamp"), cor_str(s->created, now.n + 2));
    cor_edits_drop(meta, COR_STR("deletionTimestamp"));
    cor_edits_drop(meta, COR_STR("deletionGracePeriodSeconds"));
    if (call->res->flags & COR_API_GENERATION_CREATE)
        cor_edits_set(meta, COR_STR("generation"), COR_STR("1"));
    return r;
}

static int set_namespace(struct cor_call *call, struct cor_edits *meta, struct scratch *s)
{
    if (!cor_api_is_namespaced(call->res)) {
        cor_edits_drop(meta, COR_STR("namespace"));
        return 0;
    }
    return set_quoted(meta, COR_STR("namespace"), call->ns, &s->ns);
}

/* The spec that the kind's row makes of the body's, if it does. A body without a spec has an empty
 * one. */
static int set_new_spec(struct cor_call *call, const struct cor_object *body, struct cor_edits *top,
                        struct scratch *s)
{
    struct cor_str spec, name;
    int r;

    if (!call->res->new_spec)
        return 0;
    spec = cor_object_member(body, COR_STR("spec"));
    name = cor_object_meta_member(body, COR_STR("name"));
    r = call->res->new_spec(spec.p ? spec : COR_STR("{}"),
                            s->name.n > 0 ? cor_buf_str(&s->name)
                            : name.p      ? name
                                          : COR_STR("\"\""),
                            cor_buf_str(&s->uid), &s->spec);
    if (r == 0)
        cor_edits_set(top, COR_STR("spec"), cor_buf_str(&s->spec));
    return r;
}

/* Drops empty lists and maps of the metadata of a kind without a schema; those of other kinds have
 * been normalised (server/write/default.c). Absent members are named as well: a drop of an absent
 * member does nothing. */
static void drop_empty(const struct cor_object *body, struct cor_edits *meta)
{
    static const struct cor_str keys[] = {COR_STR("annotations"), COR_STR("finalizers"),
                                          COR_STR("labels"), COR_STR("managedFields"),
                                          COR_STR("ownerReferences")};
    struct cor_str values[COR_ARRAY_LEN(keys)];

    cor_json_get_each(cor_object_metadata(body), keys, COR_ARRAY_LEN(keys), values);
    for (size_t i = 0; i < COR_ARRAY_LEN(keys); i++) {
        if (!values[i].p || values[i].n == 2 || cor_json_type(values[i]) == COR_JSON_NULL)
            cor_edits_drop(meta, keys[i]);
    }
}

/* A namespace has its name as a label too. */
static int set_name_label(const struct cor_object *body, struct cor_str quoted_name,
                          struct cor_edits *meta, struct scratch *s)
{
    struct cor_str labels = cor_object_meta_member(body, COR_STR("labels"));
    struct cor_edits edits = {.n = 0};
    int r;

    cor_edits_set(&edits, COR_STR(NAME_LABEL), quoted_name);
    r = cor_edits_apply(&edits, labels.p ? labels : COR_STR("{}"), &s->labels);
    cor_edits_set(meta, COR_STR("labels"), cor_buf_str(&s->labels));
    return r;
}

static int warn_of_owners(struct cor_call *call, struct cor_str uids)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init(&text, SMALL_MAX);
    r = cor_buf_addf(
        &text,
        ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references "
        "in 1.20+, and may reject such requests as early as 1.24; please fix your requests; "
        "duplicate UID(s) observed: %.*s",
        call->verb == &cor_verb_patch ? " after mutating admission happens" : "",
        COR_STR_ARG(uids));
    return r == -COR_ENOMEM ? r : cor_warnings_add(&call->warnings, cor_buf_str(&text));
}

/* Appends the uid of a repeated owner to the list that the warning shows. */
static int note_repeated(struct cor_str owner, struct cor_buf *uids)
{
    struct cor_str value, uid;
    int r;

    if (cor_json_get(owner, COR_STR("uid"), COR_JSON_SORTED, &value) < 0 ||
        cor_json_to_raw(value, &uid) < 0)
        return 0;
    r = cor_buf_addf(uids, "%s%.*s", uids->n > 0 ? ", " : "", COR_STR_ARG(uid));
    /* A list that is too long for the warning is cut off; the owners are dropped all the same. */
    return r == -COR_ETOOBIG ? 0 : r;
}

/* Keeps the first of equal owner references. Bytes are canonical, so that equal references have
 * equal bytes. */
static int drop_repeated_owners(struct cor_call *call, const struct cor_object *body,
                                struct cor_edits *meta, struct scratch *s)
{
    struct cor_str owners = cor_object_meta_member(body, COR_STR("ownerReferences"));
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uids = {0};
    struct cor_json_iter it = cor_json_iter(owners.p ? owners : COR_STR("[]"));
    struct cor_json_writer w;
    int r = 0;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    if (!owners.p)
        return 0;
    cor_buf_init(&uids, SMALL_MAX);
    cor_json_writer_init(&w, &s->owners);
    cor_json_begin_array(&w);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str owner = cor_json_iter_value(&it);
        bool is_new;

        r = cor_str_set_add(&seen, owner, &is_new);
        if (r == 0 && is_new)
            cor_json_raw(&w, owner);
        else if (r == 0)
            r = note_repeated(owner, &uids);
    }
    cor_json_end_array(&w);
    if (r == 0)
        r = cor_json_writer_finish(&w);
    if (r < 0 || uids.n == 0)
        return r;
    cor_edits_set(meta, COR_STR("ownerReferences"), cor_buf_str(&s->owners));
    return warn_of_owners(call, cor_buf_str(&uids));
}

static int strategy_edit_created(struct cor_call *call, const struct cor_object *body,
                                 struct scratch *s, struct cor_object_edit *edit)
{
    struct cor_str name = cor_object_meta_member(body, COR_STR("name"));
    int r = set_name(call, body, name, &edit->meta_edits, s);

    if (!call->schema)
        drop_empty(body, &edit->meta_edits);
    if (r == 0)
        r = set_system_fields(call, &edit->meta_edits, s);
    if (r == 0)
        r = set_namespace(call, &edit->meta_edits, s);
    if (call->res->initial_status && !(call->res->flags & COR_API_KEEP_STATUS_ON_CREATE))
        cor_edits_set(&edit->top_edits, COR_STR("status"), cor_strz(call->res->initial_status));
    if (r == 0)
        r = set_new_spec(call, body, &edit->top_edits, s);
    if (r == 0)
        r = drop_repeated_owners(call, body, &edit->meta_edits, s);
    if (r == 0 && call->res->role == COR_ROLE_NAMESPACES) {
        r = set_name_label(body, s->name.n > 0 ? cor_buf_str(&s->name) : name, &edit->meta_edits,
                           s);
        cor_edits_set(&edit->top_edits, COR_STR("spec"),
                      COR_STR("{\"finalizers\":[\"kubernetes\"]}"));
    }
    return strategy_failed(call, r);
}

int cor_strategy_create(struct cor_call *call, const struct cor_object *body,
                        struct cor_object **ret_object)
{
    COR_CLEANUP(scratch_deinit) struct scratch s;
    struct cor_object_edit edit = {
        .kind = call->stored->kind,
        .api_version = call->stored->api_version,
        .top = cor_object_json(body),
        .metadata = cor_object_metadata(body),
    };
    int r;

    assert(call->res && call->stored && body);
    scratch_init(&s);
    r = strategy_edit_created(call, body, &s, &edit);
    return r < 0 ? r : cor_object_edit(&edit, ret_object, &call->status);
}

/* Takes a metadata member from the old state, or drops it when the old state has none. */
static void keep_member(struct cor_edits *meta, const struct cor_object *old, const char *key)
{
    cor_edits_set(meta, cor_strz(key), cor_object_meta_member(old, cor_strz(key)));
}

static bool has_member(const struct cor_object *object, const char *key)
{
    return cor_object_meta_member(object, cor_strz(key)).p != NULL;
}

/* Which metadata a write to /status may change: by the kind's row. */
static void keep_for_status(struct cor_call *call, struct cor_edits *meta,
                            const struct cor_object *old)
{
    static const char *const all[] = {"annotations", "finalizers", "labels", "ownerReferences"};

    switch (call->res->status_meta) {
    case COR_STATUS_META_PASS:
        break;
    case COR_STATUS_META_KEEP_LABELS:
        keep_member(meta, old, "labels");
        break;
    case COR_STATUS_META_KEEP_OWNERS:
        keep_member(meta, old, "ownerReferences");
        break;
    case COR_STATUS_META_KEEP_ALL:
        for (size_t i = 0; i < COR_ARRAY_LEN(all); i++)
            keep_member(meta, old, all[i]);
        break;
    }
}

static bool same_value(struct cor_str a, struct cor_str b)
{
    return cor_str_eq(a.p ? a : COR_STR(""), b.p ? b : COR_STR(""));
}

/* The next top-level member whose change makes a new generation. */
static bool next_content(struct cor_json_iter *it, struct cor_str *ret_key)
{
    while (cor_json_iter_member(it, ret_key)) {
        if (!cor_str_eq(*ret_key, COR_STR("kind")) &&
            !cor_str_eq(*ret_key, COR_STR("apiVersion")) &&
            !cor_str_eq(*ret_key, COR_STR("metadata")) && !cor_str_eq(*ret_key, COR_STR("status")))
            return true;
    }
    return false;
}

/* Does anything differ besides type, metadata and status? Both are canonical: equal content has
 * equal bytes, and the members come in the same order. */
static bool content_differs(const struct cor_object *a, const struct cor_object *b)
{
    struct cor_json_iter ia = cor_json_iter(cor_object_json(a));
    struct cor_json_iter ib = cor_json_iter(cor_object_json(b));
    struct cor_str ka, kb;

    for (;;) {
        bool more_a = next_content(&ia, &ka), more_b = next_content(&ib, &kb);

        if (!more_a || !more_b)
            return more_a != more_b;
        if (!cor_str_eq(ka, kb) || !cor_str_eq(cor_json_iter_value(&ia), cor_json_iter_value(&ib)))
            return true;
    }
}

/* Keeps the old generation. A negative one, which an earlier version may have stored, is dropped:
 * validation would refuse it, and the object could never be changed again. */
static void keep_generation(struct cor_edits *meta, const struct cor_object *old)
{
    if (cor_object_meta_int(old, COR_STR("generation"), 0) < 0)
        cor_edits_drop(meta, COR_STR("generation"));
    else
        keep_member(meta, old, "generation");
}

/* The generation grows by one when the content has changed, and for some kinds when annotations
 * have.
 */
static void set_generation(struct cor_call *call, const struct cor_object *old,
                           const struct cor_object *body, struct cor_edits *meta, struct scratch *s)
{
    bool changed;

    if (call->sub || !(call->res->flags & COR_API_GENERATION_UPDATE)) {
        keep_generation(meta, old);
        return;
    }
    changed = content_differs(old, body);
    if (!changed && (call->res->flags & COR_API_GENERATION_ANNOTATIONS))
        changed = !same_value(cor_object_meta_member(old, COR_STR("annotations")),
                              cor_object_meta_member(body, COR_STR("annotations")));
    if (!changed) {
        keep_generation(meta, old);
        return;
    }
    cor_edits_set(meta, COR_STR("generation"), cor_object_next_generation(old, s->generation));
}

static bool is_empty_array(struct cor_str value)
{
    struct cor_json_iter it = cor_json_iter(value.p ? value : COR_STR("[]"));

    return !cor_json_iter_elem(&it);
}

static struct cor_str namespace_finalizers(const struct cor_object *object)
{
    struct cor_str spec = cor_object_member(object, COR_STR("spec")), value = {NULL, 0};

    if (spec.p)
        (void)cor_json_get(spec, COR_STR("finalizers"), COR_JSON_SORTED, &value);
    return value;
}

/* Which parts of the object come from the body and which from the old state, by endpoint. */
static int strategy_edit_parts(struct cor_call *call, const struct cor_object *old,
                               const struct cor_object *body, struct cor_object_edit *edit,
                               struct scratch *s)
{
    struct cor_edits spec_edits = {.n = 0};
    struct cor_str spec = cor_object_member(old, COR_STR("spec"));
    struct cor_str left = namespace_finalizers(body);
    int r;

    edit->top = cor_object_json(body);
    if (call->sub && call->sub->part == COR_PART_STATUS) {
        edit->top = cor_object_json(old);
        cor_edits_set(&edit->top_edits, COR_STR("status"),
                      cor_object_member(body, COR_STR("status")));
        keep_for_status(call, &edit->meta_edits, old);
        return 0;
    }
    if (call->sub && call->sub->part == COR_PART_FINALIZERS) {
        edit->top = cor_object_json(old);
        edit->metadata = cor_object_metadata(old);
        cor_edits_set(&spec_edits, COR_STR("finalizers"),
                      is_empty_array(left) ? (struct cor_str){NULL, 0} : left);
        r = cor_edits_apply(&spec_edits, spec.p ? spec : COR_STR("{}"), &s->spec);
        cor_edits_set(&edit->top_edits, COR_STR("spec"), cor_buf_str(&s->spec));
        return r;
    }
    if (call->res->initial_status)
        cor_edits_set(&edit->top_edits, COR_STR("status"),
                      cor_object_member(old, COR_STR("status")));
    if (call->res->role == COR_ROLE_NAMESPACES)
        cor_edits_set(&edit->top_edits, COR_STR("spec"), spec);
    return 0;
}

static int strategy_edit_metadata(struct cor_call *call, const struct cor_object *old,
                                  const struct cor_object *body, struct cor_edits *meta,
                                  struct scratch *s)
{
    int r;

    if (!call->schema)
        drop_empty(body, meta);
    if (!has_member(body, "uid"))
        keep_member(meta, old, "uid");
    keep_member(meta, old, "creationTimestamp");
    if (has_member(old, "deletionTimestamp") || !has_member(body, "deletionTimestamp"))
        keep_member(meta, old, "deletionTimestamp");
    if (!has_member(body, "deletionGracePeriodSeconds"))
        keep_member(meta, old, "deletionGracePeriodSeconds");
    set_generation(call, old, body, meta, s);
    r = drop_repeated_owners(call, body, meta, s);
    if (r == 0 && call->res->role == COR_ROLE_NAMESPACES)
        r = set_name_label(body, cor_object_meta_member(old, COR_STR("name")), meta, s);
    return r < 0 ? r : set_namespace(call, meta, s);
}

int cor_strategy_update(struct cor_call *call, const struct cor_object *old,
                        const struct cor_object *body, struct cor_object **ret_object)
{
    COR_CLEANUP(scratch_deinit) struct scratch s = {0};
    struct cor_object_edit edit = {
        .kind = call->stored->kind,
        .api_version = call->stored->api_version,
        .metadata = cor_object_metadata(body),
    };
    int r;

    assert(call->res && call->stored && old && body);
    if (cor_part_is_written(call))
        return cor_part_update(call, old, body, ret_object);
    scratch_init(&s);
    r = strategy_edit_metadata(call, old, body, &edit.meta_edits, &s);
    if (r == 0)
        r = strategy_edit_parts(call, old, body, &edit, &s);
    r = strategy_failed(call, r);
    return r < 0 ? r : cor_object_edit(&edit, ret_object, &call->status);
}

bool cor_strategy_is_finished(const struct cor_call *call, const struct cor_object *object)
{
    assert(call->res && object);
    if (!has_member(object, "deletionTimestamp") ||
        cor_object_meta_int(object, COR_STR("deletionGracePeriodSeconds"), 0) != 0 ||
        !is_empty_array(cor_object_meta_member(object, COR_STR("finalizers"))))
        return false;
    return call->res->role != COR_ROLE_NAMESPACES || is_empty_array(namespace_finalizers(object));
}
