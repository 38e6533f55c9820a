/* The rules of create and update: what the server fills in, and what it keeps from the old state.
 * Kinds differ by their strategy (api/all.strategies, schema/types/strategy.h), not by code here.
 *
 * An object is never decoded: a rule adds an edit (set or drop a member) to a list, and all edits
 * are applied to the canonical bytes in one pass (meta/object/object_edit.h). The texts that edits
 * point to live in struct scratch until then.
 *
 * cor_strategy_create, in order:
 *   0. fields of feature gates that are off dropped (schema/walk/gates.h);
 *   1. name from generateName; empty lists and maps of the metadata dropped, of kinds without a
 *      schema;
 *   2. uid, creationTimestamp, generation set; deletionTimestamp and its grace period dropped;
 *   3. namespace set from the URL;
 *   4. repeated owner references dropped, with a warning; managedFields dropped;
 *   5. the steps of the strategy;
 *   6. the edits applied.
 *
 * A custom resource has no table: its generation begins with 1 and counts every member but the
 * metadata, and its status is written where the version has the subresource, or with the rest
 * (contract crd 4.11).
 *
 * cor_strategy_update, in order:
 *   0. fields of feature gates that are off dropped, unless the old state uses them;
 *   1. a Scale becomes the object that it scales (scale_write.c);
 *   2. metadata: system fields come from the old state; managedFields dropped;
 *   3. the steps of the strategy for the endpoint that was written to;
 *   4. the generation grows if what counts has changed;
 *   5. the edits applied.
 *
 * What the result must not be is refused by the next stage (server/write/stage_validate.c).
 * Failures: no memory, an object over its maximum, and what scale_write.c refuses (422).
 * Nothing is returned on failure.
 * Thread: the thread that has the call (a stage, server/api/heavy.h): random numbers come from
 * cor_heavy_rand(), and nothing of the loop is used. */
#include "server/strategy/strategy_run.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/str_set.h"
#include "base/uuid.h"
#include "meta/metadata/object_meta.h"
#include "meta/object/object_edit.h"
#include "meta/value/time_text.h"
#include "schema/kinds/custom_row.h"
#include "schema/strategies/strategy_hooks.h"
#include "schema/walk/equal.h"
#include "schema/walk/gates.h"
#include "server/api/heavy.h"
#include "server/strategy/custom_counts.h"
#include "server/strategy/scale_write.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define SMALL_MAX       (64u * 1024)
#define MEMBERS_MAX     16 /* of an object that has a strategy; its type has fewer */
#define NAME_CHARACTERS "bcdfghjklmnpqrstvwxz2456789"

/* The texts that edits point to until they are applied. */
struct scratch {
    char created[COR_TIME_TEXT_MAX + 2];
    char generation[COR_GENERATION_TEXT_MAX];
    struct cor_buf name, uid, ns, owners;
    struct cor_buf made[COR_STRATEGY_HOOKS_MAX]; /* what hooks have made */
    size_t nmade;
};

static void scratch_init(struct scratch *s)
{
    cor_buf_init(&s->name, SMALL_MAX);
    cor_buf_init(&s->uid, 64);
    cor_buf_init(&s->ns, SMALL_MAX);
    cor_buf_init(&s->owners, COR_OBJECT_BYTES_MAX_DEFAULT);
    s->nmade = 0;
}

static void scratch_deinit(struct scratch *s)
{
    cor_buf_deinit(&s->name);
    cor_buf_deinit(&s->uid);
    cor_buf_deinit(&s->ns);
    cor_buf_deinit(&s->owners);
    while (s->nmade > 0)
        cor_buf_deinit(&s->made[--s->nmade]);
}

/* The type of what is stored; NULL: the kind has none. */
static const struct cor_type *strategy_type(const struct cor_call *call)
{
    return call->stored == call->type ? call->schema : cor_row_schema(call->stored);
}

int cor_strategy_generate_name(struct cor_call *call, struct cor_str prefix, struct cor_buf *out)
{
    const struct cor_strategy *strategy = cor_strategy_of(strategy_type(call));
    size_t kept = COR_GENERATED_MAX - COR_GENERATED_SUFFIX;
    int r;

    if (strategy && strategy->has_plain_names)
        return cor_buf_adds(out, prefix);
    r = cor_buf_add(out, prefix.p, prefix.n > kept ? kept : prefix.n);
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

/* A name from generateName, if the body has no name (`quoted`, as JSON). Without both, the strategy
 * may ask for a UUID; else validation refuses the object. */
static int set_name(struct cor_call *call, const struct cor_object *body, struct cor_str quoted,
                    struct cor_edits *meta, struct scratch *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name = {0};
    const struct cor_strategy *strategy;
    struct cor_str prefix;
    int r;

    if (quoted.n > 2)
        return 0;
    if (cor_json_to_raw(cor_object_meta_member(body, COR_STR("generateName")), &prefix) < 0)
        prefix = COR_STR("");
    strategy = cor_strategy_of(strategy_type(call));
    if (prefix.n == 0 && !(strategy && strategy->has_uid_names))
        return 0;
    cor_buf_init(&name, SMALL_MAX);
    r = prefix.n > 0 ? cor_strategy_generate_name(call, prefix, &name)
                     : cor_uuid_add(cor_heavy_rand(call), &name);
    return r < 0 ? r : set_quoted(meta, COR_STR("name"), cor_buf_str(&name), &s->name);
}

static int set_system_fields(struct cor_call *call, const struct cor_strategy *strategy,
                             struct cor_edits *meta, struct scratch *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uid = {0};
    char time[COR_TIME_TEXT_MAX];
    struct cor_str now = cor_time_print(cor_call_now_ms(call) / 1000, time);
    int r;

    cor_buf_init(&uid, 64);
    r = cor_uuid_add(cor_heavy_rand(call), &uid);
    if (r == 0)
        r = set_quoted(meta, COR_STR("uid"), cor_buf_str(&uid), &s->uid);
    s->created[0] = s->created[now.n + 1] = '"';
    memcpy(s->created + 1, now.p, now.n);
    cor_edits_set(meta, COR_STR("creationTimestamp"), cor_str(s->created, now.n + 2));
    cor_edits_drop(meta, COR_STR("deletionTimestamp"));
    cor_edits_drop(meta, COR_STR("deletionGracePeriodSeconds"));
    if (call->res->custom || (strategy && strategy->generation > 0))
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

/* Drops empty lists and maps of the metadata of a kind without a schema; those of other kinds have
 * been normalised (server/write/stage_normalize.c). Absent members are named as well: a drop of an
 * absent member does nothing. */
static void drop_empty(const struct cor_object *body, struct cor_edits *meta)
{
    static const struct cor_str keys[] = {COR_STR("annotations"), COR_STR("finalizers"),
                                          COR_STR("labels"), COR_STR("ownerReferences")};
    struct cor_str values[COR_ARRAY_LEN(keys)];

    cor_json_get_each(cor_object_metadata(body), keys, COR_ARRAY_LEN(keys), values);
    for (size_t i = 0; i < COR_ARRAY_LEN(keys); i++) {
        if (!values[i].p || values[i].n == 2 || cor_json_type(values[i]) == COR_JSON_NULL)
            cor_edits_drop(meta, keys[i]);
    }
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

/* Bytes are canonical, so that equal references have equal bytes. */
int cor_strategy_unique_owners(struct cor_str owners, struct cor_buf *out, struct cor_buf *uids)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen;
    struct cor_json_iter it = cor_json_iter(owners);
    bool has_repeated = false;
    struct cor_json_writer w;
    int r = 0;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str owner = cor_json_iter_value(&it);
        bool is_new;

        r = cor_str_set_add(&seen, owner, &is_new);
        if (r == 0 && is_new)
            cor_json_raw(&w, owner);
        else if (r == 0) {
            has_repeated = true;
            r = note_repeated(owner, uids);
        }
    }
    cor_json_end_array(&w);
    if (r == 0)
        r = cor_json_writer_finish(&w);
    return r < 0 ? r : has_repeated;
}

/* Keeps the first of equal owner references. */
static int drop_repeated_owners(struct cor_call *call, const struct cor_object *body,
                                struct cor_edits *meta, struct scratch *s)
{
    struct cor_str owners = cor_object_owners(body);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uids = {.max = SMALL_MAX};
    int r = owners.n > 0 ? cor_strategy_unique_owners(owners, &s->owners, &uids) : 0;

    if (r <= 0)
        return r;
    cor_edits_set(meta, COR_STR("ownerReferences"), cor_buf_str(&s->owners));
    return warn_of_owners(call, cor_buf_str(&uids));
}

/* What a write changes: its edits, and what they come from. */
struct change {
    struct cor_call *call;
    const struct cor_type *type;          /* of what is stored; NULL: the kind has none */
    const struct cor_strategy *strategy;  /* NULL: none */
    const struct cor_object *body, *old;  /* `old` NULL: a create */
    const struct cor_object *sent;        /* `body` with what was dropped from it */
    struct cor_object *dropped;           /* `body` when something was dropped; else NULL */
    struct cor_edit members[MEMBERS_MAX]; /* of `body`, of a kind with a strategy */
    size_t nmembers;
    struct cor_object_edit edit;
    struct cor_prepare prepare;
    struct scratch scratch;
};

/* A member of the body; p == NULL: absent or null. Only of a kind with a strategy. */
static struct cor_str body_member(const struct change *change, struct cor_str name)
{
    for (size_t i = 0; i < change->nmembers; i++) {
        if (cor_str_eq(change->members[i].key, name))
            return change->members[i].value;
    }
    return (struct cor_str){NULL, 0};
}

static int change_warn(void *arg, struct cor_str text)
{
    struct change *change = arg;

    return cor_warnings_add(&change->call->warnings, text);
}

/* Makes `body` the object that was sent without the fields of gates that are off. */
static int change_drop_gated(struct change *change)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str old = change->old ? cor_object_json(change->old) : (struct cor_str){NULL, 0};
    int r =
        change->type ? cor_gates_drop(change->type, cor_object_json(change->sent), old, &json) : 0;

    if (r > 0)
        r = cor_object_from_sorted(cor_buf_str(&json), &change->dropped);
    change->body = change->dropped ? change->dropped : change->sent;
    return r;
}

/* Finds the members of the body once: what steps and the generation look at. */
static void change_find_members(struct change *change)
{
    struct cor_json_iter it = cor_json_iter(cor_object_json(change->body));
    struct cor_str key;

    change->nmembers = 0;
    while (change->nmembers < MEMBERS_MAX && cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (cor_json_type(value) != COR_JSON_NULL)
            change->members[change->nmembers++] = (struct cor_edit){key, value};
    }
}

/* To be deinitialised in any case. 0, -COR_ENOMEM, -COR_ETOOBIG. */
static int change_init(struct change *change, struct cor_call *call, enum cor_strategy_on on,
                       const struct cor_strategy_input *input, const struct cor_object *sent)
{
    int r = 0;

    change->call = call;
    change->type = strategy_type(call);
    change->strategy = cor_strategy_of(change->type);
    change->sent = change->body = sent;
    change->old = input->old;
    change->dropped = NULL;
    scratch_init(&change->scratch);
    if (input->has_gated)
        r = change_drop_gated(change);
    change->edit = (struct cor_object_edit){
        .kind = call->stored->kind,
        .api_version = call->stored->api_version,
        .top = cor_object_json(change->body),
        .metadata = cor_object_metadata(change->body),
    };
    change->nmembers = 0;
    if (change->strategy)
        change_find_members(change);
    change->prepare = (struct cor_prepare){
        .on = on,
        .type = change->type,
        .object = cor_object_json(change->body),
        .spec = body_member(change, COR_STR("spec")),
        .old = input->old ? cor_object_json(input->old) : (struct cor_str){NULL, 0},
        .sender = input->sender,
        .now_s = cor_call_now_ms(call) / 1000,
        .warn = change_warn,
        .arg = change,
    };
    return r;
}

static void change_deinit(struct change *change)
{
    cor_object_unref(change->dropped);
    scratch_deinit(&change->scratch);
}

/* The end of both: makes the object. */
static int change_apply(struct change *change, int r, struct cor_object **ret_object)
{
    struct cor_call *call = change->call;

    if (r < 0)
        return cor_status_set_err(&call->status, r);
    return cor_object_edit(&change->edit, ret_object, &call->status);
}

/* A member of the object or of its metadata; p == NULL: absent or null. */
static struct cor_str member_of(const struct cor_object *object, struct cor_str name, bool is_meta)
{
    return is_meta ? cor_object_meta_member(object, name) : cor_object_member(object, name);
}

/* A member as the edits so far have made it. */
static struct cor_str member_so_far(const struct change *change, struct cor_str name, bool is_meta)
{
    const struct cor_edits *edits = is_meta ? &change->edit.meta_edits : &change->edit.top_edits;

    for (size_t i = 0; i < edits->n; i++) {
        if (cor_str_eq(edits->v[i].key, name))
            return edits->v[i].value;
    }
    return is_meta ? cor_object_meta_member(change->body, name) : body_member(change, name);
}

static int change_run_hook(struct change *change, const struct cor_strategy_step *step,
                           struct cor_edits *edits)
{
    struct cor_str name = cor_strategy_step_name(step);
    struct cor_buf *made;
    int r;

    assert(change->scratch.nmade < COR_STRATEGY_HOOKS_MAX);
    made = &change->scratch.made[change->scratch.nmade++];
    cor_buf_init(made, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_strategy_hook_run((enum cor_strategy_hook)step->hook, &change->prepare,
                              member_so_far(change, name, step->is_meta), made);
    if (r > 0)
        cor_edits_set(edits, name, cor_buf_str(made));
    return r < 0 ? r : 0;
}

/* Runs the steps that the strategy has for the endpoint. */
static int change_run_steps(struct change *change)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < change->strategy->nsteps; i++) {
        const struct cor_strategy_step *step = cor_strategy_step(change->strategy, i);
        struct cor_edits *edits =
            step->is_meta ? &change->edit.meta_edits : &change->edit.top_edits;
        struct cor_str name = cor_strategy_step_name(step);

        if (step->on != change->prepare.on)
            continue;
        switch ((enum cor_strategy_does)step->does) {
        case COR_STRATEGY_SET:
            cor_edits_set(edits, name, cor_strategy_step_value(step));
            break;
        case COR_STRATEGY_KEEP:
            cor_edits_set(edits, name, member_of(change->old, name, step->is_meta));
            break;
        case COR_STRATEGY_HOOK:
            r = change_run_hook(change, step, edits);
            break;
        case COR_STRATEGY_MASK:
            break;
        }
    }
    return r;
}

/* The name that will be stored, as JSON. */
static struct cor_str change_name(const struct change *change)
{
    struct cor_str name = member_so_far(change, COR_STR("name"), true);

    return name.p ? name : COR_STR("\"\"");
}

int cor_strategy_create(struct cor_call *call, const struct cor_strategy_input *input,
                        struct cor_object **ret_object)
{
    COR_CLEANUP(change_deinit) struct change change;
    const struct cor_object *body = input->body;
    struct cor_edits *meta = &change.edit.meta_edits;
    int r;

    assert(call->res && call->stored && body);
    r = change_init(&change, call, COR_ON_CREATE, input, body);
    if (r == 0)
        r = set_name(call, body, cor_object_meta_member(body, COR_STR("name")), meta,
                     &change.scratch);
    if (!call->schema)
        drop_empty(body, meta);
    if (r == 0)
        r = set_system_fields(call, change.strategy, meta, &change.scratch);
    if (r == 0)
        r = set_namespace(call, meta, &change.scratch);
    if (r == 0)
        r = drop_repeated_owners(call, body, meta, &change.scratch);
    cor_edits_drop(meta, COR_STR("managedFields"));
    if (call->res->custom && cor_api_has_part(call->res, COR_PART_STATUS))
        cor_edits_drop(&change.edit.top_edits, COR_STR("status"));
    if (r == 0 && change.strategy) {
        change.prepare.name = change_name(&change);
        change.prepare.uid = cor_buf_str(&change.scratch.uid);
        r = change_run_steps(&change);
    }
    return change_apply(&change, r, ret_object);
}

static bool has_member(const struct cor_object *object, const char *key)
{
    return cor_object_meta_member(object, cor_strz(key)).p != NULL;
}

/* The type of a member of the object or of its metadata. */
static const struct cor_type *member_type(const struct cor_type *type, struct cor_str name,
                                          bool is_meta)
{
    struct cor_member member;

    if (is_meta)
        type = member_type(type, COR_STR("metadata"), false);
    return type && cor_type_find_member(type, name, &member) ? cor_type_field_type(member.field)
                                                             : NULL;
}

/* Has something changed that makes a new generation? 0 or 1, -COR_ENOMEM. */
static int change_counts(const struct change *change)
{
    const struct cor_strategy *strategy = change->strategy;
    bool is_equal = true;
    int r = 0;

    for (size_t i = 0; r == 0 && is_equal && i < strategy->ncounted; i++) {
        bool is_meta;
        struct cor_str name = cor_strategy_counted(strategy, i, &is_meta);
        struct cor_str after = strategy->counts_as_sent ? member_of(change->sent, name, is_meta)
                                                        : member_so_far(change, name, is_meta);

        r = cor_equal(member_type(change->type, name, is_meta),
                      member_of(change->old, name, is_meta), after, &is_equal);
    }
    return r < 0 ? r : !is_equal;
}

/* What an update of a custom resource keeps: the status, where that is a subresource. */
static void keep_custom(struct change *change)
{
    if (cor_api_has_part(change->call->res, COR_PART_STATUS) && change->prepare.on == COR_ON_UPDATE)
        cor_edits_set(&change->edit.top_edits, COR_STR("status"),
                      cor_object_member(change->old, COR_STR("status")));
}

/* A write to the status of a custom resource: the old state with the status that was sent. */
static int strategy_update_custom_status(struct cor_call *call,
                                         const struct cor_strategy_input *input,
                                         struct cor_object **ret_object)
{
    struct cor_object_edit edit = {
        .kind = call->stored->kind,
        .api_version = call->stored->api_version,
        .top = cor_object_json(input->old),
        .metadata = cor_object_metadata(input->old),
    };

    cor_edits_set(&edit.top_edits, COR_STR("status"),
                  cor_object_member(input->body, COR_STR("status")));
    cor_edits_drop(&edit.meta_edits, COR_STR("resourceVersion"));
    cor_edits_drop(&edit.meta_edits, COR_STR("managedFields"));
    return cor_object_edit(&edit, ret_object, &call->status);
}

/* The generation grows by one when something that counts has changed; a write to /status changes
 * nothing that counts. A negative one, which an earlier version may have stored, is dropped:
 * validation would refuse it, and the object could never be changed again. */
static int set_generation(struct change *change, bool sends_empty)
{
    struct cor_str generation = cor_object_meta_member(change->old, COR_STR("generation"));
    struct cor_edits *meta = &change->edit.meta_edits;
    int64_t number;
    int r = 0;

    if (change->strategy && change->prepare.on != COR_ON_STATUS)
        r = sends_empty ? 1 : change_counts(change);
    if (change->call->res->custom)
        r = cor_custom_counts(change->call, change->body, change->old, &change->edit.top_edits);
    if (r > 0)
        cor_edits_set(meta, COR_STR("generation"),
                      cor_object_next_generation(change->old, change->scratch.generation));
    else if (cor_json_to_i64(generation, &number) == 0 && number < 0)
        cor_edits_drop(meta, COR_STR("generation"));
    else
        cor_edits_set(meta, COR_STR("generation"), generation);
    return r < 0 ? r : 0;
}

/* The system fields of the metadata: those of the old state, or none when it has none. */
static int keep_metadata(struct change *change)
{
    static const struct cor_str keys[] = {COR_STR_INIT("creationTimestamp"),
                                          COR_STR_INIT("deletionGracePeriodSeconds"),
                                          COR_STR_INIT("deletionTimestamp"), COR_STR_INIT("uid")};
    enum { CREATED, GRACE, DELETED, UID };
    struct cor_str old[COR_ARRAY_LEN(keys)], sent[COR_ARRAY_LEN(keys)];
    struct cor_edits *meta = &change->edit.meta_edits;
    const struct cor_object *body = change->body;
    int r;

    cor_object_meta_members(change->old, keys, COR_ARRAY_LEN(keys), old);
    cor_object_meta_members(body, keys, COR_ARRAY_LEN(keys), sent);
    if (!change->call->schema)
        drop_empty(body, meta);
    if (!sent[UID].p)
        cor_edits_set(meta, keys[UID], old[UID]);
    cor_edits_set(meta, keys[CREATED], old[CREATED]);
    if (old[DELETED].p || !sent[DELETED].p)
        cor_edits_set(meta, keys[DELETED], old[DELETED]);
    if (!sent[GRACE].p)
        cor_edits_set(meta, keys[GRACE], old[GRACE]);
    r = drop_repeated_owners(change->call, body, meta, &change->scratch);
    return r < 0 ? r : set_namespace(change->call, meta, &change->scratch);
}

enum cor_strategy_on cor_strategy_endpoint(const struct cor_call *call)
{
    static const enum cor_strategy_on endpoints[COR_PART_COUNT] = {
        [COR_PART_ALL] = COR_ON_UPDATE,
        [COR_PART_STATUS] = COR_ON_STATUS,
        [COR_PART_FINALIZERS] = COR_ON_FINALIZE,
        [COR_PART_APPROVAL] = COR_ON_APPROVAL,
        [COR_PART_EPHEMERAL_CONTAINERS] = COR_ON_EPHEMERALCONTAINERS,
        [COR_PART_RESOURCES] = COR_ON_RESIZE,
        [COR_PART_SCALE] = COR_ON_UPDATE,
    };

    return endpoints[call->sub ? call->sub->part : COR_PART_ALL];
}

static int strategy_update(struct cor_call *call, const struct cor_strategy_input *input,
                           struct cor_object **ret_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *scaled = NULL;
    const struct cor_object *body = input->body, *old = input->old;
    COR_CLEANUP(change_deinit) struct change change = {.call = NULL};
    int r;

    assert(call->res && call->stored && old && body);
    if (cor_scale_is_written(call)) {
        r = cor_scale_apply(call, old, body, &scaled);
        if (r < 0)
            return r;
        body = scaled;
    }
    if (call->res->custom && cor_strategy_endpoint(call) == COR_ON_STATUS)
        return strategy_update_custom_status(call, input, ret_object);
    r = change_init(&change, call, cor_strategy_endpoint(call), input, body);
    change.prepare.name = cor_object_meta_member(old, COR_STR("name"));
    change.prepare.uid = cor_object_meta_member(old, COR_STR("uid"));
    if (r == 0)
        r = keep_metadata(&change);
    cor_edits_drop(&change.edit.meta_edits, COR_STR("managedFields"));
    if (r == 0 && change.strategy)
        r = change_run_steps(&change);
    if (call->res->custom)
        keep_custom(&change);
    if (r == 0)
        r = set_generation(&change, input->sends_empty);
    return change_apply(&change, r, ret_object);
}

/* What a write to a custom resource keeps of the old state is what its version shows of that, as
 * upstream has it: validation compares the two in that version, and what the version drops would
 * count as a change. */
int cor_strategy_update(struct cor_call *call, const struct cor_strategy_input *input,
                        struct cor_object **ret_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *shown = NULL;
    struct cor_strategy_input in_version = *input;
    int r = 0;

    assert(call->res && call->stored && input->old && input->body);
    if (call->res->custom && call->res != call->stored)
        r = cor_row_convert(call->res, call->res->conversion, input->old, &shown);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (shown)
        in_version.old = shown;
    return strategy_update(call, &in_version, ret_object);
}

static bool is_empty_array(struct cor_str value)
{
    struct cor_json_iter it = cor_json_iter(value.p ? value : COR_STR("[]"));

    return !cor_json_iter_elem(&it);
}

/* The finalizers of a namespace that its controller removes. */
static struct cor_str namespace_finalizers(const struct cor_object *object)
{
    struct cor_str spec = cor_object_member(object, COR_STR("spec")), value = {NULL, 0};

    if (spec.p)
        (void)cor_json_get(spec, COR_STR("finalizers"), COR_JSON_SORTED, &value);
    return value;
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
