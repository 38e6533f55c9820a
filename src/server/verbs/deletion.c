/* What a deletion does to an object in a given state. The order of decisions, as upstream's:
 *
 *   1. preconditions (uid, resourceVersion): 409 when they do not match;
 *   2. namespaces: one that is not being deleted is marked; one that still has spec.finalizers
 *      stays as it is;
 *   3. definitions of custom resources: one that is not being deleted is marked, and gets the
 *      finalizer under which its instances are deleted first;
 *   4. graceful kinds (pods): the grace period is computed, or the deletion is under way already
 *      and the request does not shorten it;
 *   5. finalizers: `orphan` and `foregroundDeletion` are set or removed as the options ask;
 *   6. without finalizers and without a grace period the object is removed now, else it is marked
 *      with deletionTimestamp and stays. A graceful kind is marked also when nothing keeps it, with
 *      a period of 0 seconds, and removed after that: its watchers see in both events that it ends,
 *      and for how long it had been asked to.
 * A mark that changes nothing means that the object is left as it is.
 *
 * Nothing is stored here, and no plugin is asked: delete.c runs the decision inside a store
 * operation and again when the object has changed. Thread: the call's loop, or a thread that has
 * the call (a stage). */
#include "server/verbs/deletion.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object_edit.h"
#include "meta/value/time_text.h"
#include "schema/kinds/crd_object.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define ORPHAN     "orphan"
#define FOREGROUND "foregroundDeletion"
#define POD_GRACE  30

static int check_precondition(struct cor_call *call, const char *what, const char *wanted,
                              struct cor_str found, const char *changed)
{
    struct cor_gr gr = {call->res->group, call->res->kind};

    if (!wanted || cor_str_eqz(found, wanted))
        return 0;
    return cor_status_conflict(
        &call->status, &gr, call->name,
        "the %s in the precondition (%s) does not match the %s in record (%.*s). The object might "
        "have been %s",
        what, wanted, what, COR_STR_ARG(found), changed);
}

static bool has_finalizer(struct cor_str finalizers, const char *name)
{
    struct cor_json_iter it = cor_json_iter(finalizers);
    struct cor_str raw;

    while (cor_json_iter_elem(&it)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 && cor_str_eqz(raw, name))
            return true;
    }
    return false;
}

static bool should_orphan(struct cor_call *call, const struct cor_delete_options *o,
                          struct cor_str finalizers)
{
    if (call->res->flags & COR_API_NO_GC)
        return false;
    if (o->orphan_dependents != COR_UNSET)
        return o->orphan_dependents == COR_TRUE;
    if (o->propagation != COR_PROPAGATE_DEFAULT)
        return o->propagation == COR_PROPAGATE_ORPHAN;
    if (has_finalizer(finalizers, ORPHAN))
        return true;
    return !has_finalizer(finalizers, FOREGROUND) && (call->res->flags & COR_API_ORPHAN);
}

static bool should_wait_for_dependents(struct cor_call *call, const struct cor_delete_options *o,
                                       struct cor_str finalizers)
{
    if ((call->res->flags & COR_API_NO_GC) || o->orphan_dependents != COR_UNSET)
        return false;
    if (o->propagation != COR_PROPAGATE_DEFAULT)
        return o->propagation == COR_PROPAGATE_FOREGROUND;
    return has_finalizer(finalizers, FOREGROUND) && !has_finalizer(finalizers, ORPHAN);
}

/* Writes the finalizers that this deletion leaves; `ret_n` is their number. */
static int write_finalizers(struct cor_call *call, const struct cor_delete_options *o,
                            struct cor_str old, struct cor_buf *out, size_t *ret_n)
{
    struct cor_json_iter it = cor_json_iter(old);
    struct cor_json_writer w;
    size_t n = 0;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (cor_str_eq(value, COR_STR("\"" ORPHAN "\"")) ||
            cor_str_eq(value, COR_STR("\"" FOREGROUND "\"")))
            continue;
        cor_json_raw(&w, value);
        n++;
    }
    if (should_orphan(call, o, old)) {
        cor_json_string(&w, COR_STR(ORPHAN));
        n++;
    }
    if (should_wait_for_dependents(call, o, old)) {
        cor_json_string(&w, COR_STR(FOREGROUND));
        n++;
    }
    cor_json_end_array(&w);
    *ret_n = n;
    return cor_json_writer_finish(&w);
}

static struct cor_str text_at(const struct cor_object *object, const char *part, const char *key)
{
    struct cor_str outer = cor_object_member(object, cor_strz(part)), value, raw;

    if (!outer.p || cor_json_get(outer, cor_strz(key), COR_JSON_SORTED, &value) < 0 ||
        cor_json_to_raw(value, &raw) < 0)
        return COR_STR("");
    return raw;
}

/* How many seconds a pod has to end by itself. */
static int64_t pod_grace(const struct cor_object *pod, const struct cor_delete_options *o)
{
    struct cor_str spec = cor_object_member(pod, COR_STR("spec")), value;
    struct cor_str phase = text_at(pod, "status", "phase");
    int64_t period = POD_GRACE;

    if (o->has_grace)
        period = o->grace_s;
    else if (spec.p && cor_json_get(spec, COR_STR("terminationGracePeriodSeconds"), COR_JSON_SORTED,
                                    &value) == 0)
        (void)cor_json_to_i64(value, &period);
    if (text_at(pod, "spec", "nodeName").n == 0 || cor_str_eq(phase, COR_STR("Failed")) ||
        cor_str_eq(phase, COR_STR("Succeeded")))
        return 0;
    return period < 0 ? 1 : period;
}

/* A time and a number of seconds together, as Go adds them: the seconds are multiplied to
 * nanoseconds in an int64 that wraps, so a period of more than 292 years ends at another time, and
 * 2^63-1 seconds end a second ago. A client may say any number, and a typed client must be able to
 * read the sum: it stays within the years that RFC 3339 has. */
static int64_t add_seconds(int64_t at_s, int64_t seconds)
{
    int64_t ns = (int64_t)((uint64_t)seconds * 1000000000u);
    int64_t sum = at_s + ns / 1000000000 - (ns % 1000000000 < 0);

    return sum < COR_TIME_MIN_S ? COR_TIME_MIN_S : sum > COR_TIME_MAX_S ? COR_TIME_MAX_S : sum;
}

struct mark {
    int64_t at_s;              /* deletionTimestamp */
    int64_t grace_s;           /* < 0: not written */
    struct cor_str finalizers; /* "": none; p == NULL: as they are */
    struct cor_str status;     /* p == NULL: as it is */
    bool keeps_generation;
};

static int write_mark(struct cor_call *call, const struct cor_object *object,
                      const struct mark *mark, struct cor_object **ret_marked)
{
    char time[COR_TIME_TEXT_MAX], at[COR_TIME_TEXT_MAX + 2], grace[24];
    char generation[COR_GENERATION_TEXT_MAX];
    struct cor_str when = cor_time_print(mark->at_s, time);
    int64_t old_generation = cor_object_meta_int(object, COR_STR("generation"), 0);
    struct cor_object_edit edit = {
        .kind = call->stored->kind,
        .api_version = call->stored->api_version,
        .top = cor_object_json(object),
        .metadata = cor_object_metadata(object),
    };
    bool fresh = !cor_object_meta_member(object, COR_STR("deletionTimestamp")).p;

    snprintf(at, sizeof(at), "\"%.*s\"", COR_STR_ARG(when));
    snprintf(grace, sizeof(grace), "%lld", (long long)mark->grace_s);
    cor_edits_set(&edit.meta_edits, COR_STR("deletionTimestamp"), cor_strz(at));
    if (mark->grace_s >= 0)
        cor_edits_set(&edit.meta_edits, COR_STR("deletionGracePeriodSeconds"), cor_strz(grace));
    if (mark->finalizers.p)
        cor_edits_set(&edit.meta_edits, COR_STR("finalizers"),
                      mark->finalizers.n > 0 ? mark->finalizers : (struct cor_str){NULL, 0});
    if (fresh && old_generation > 0 && !mark->keeps_generation)
        cor_edits_set(&edit.meta_edits, COR_STR("generation"),
                      cor_object_next_generation(object, generation));
    if (mark->status.p)
        cor_edits_set(&edit.top_edits, COR_STR("status"), mark->status);
    return cor_object_edit(&edit, ret_marked, &call->status);
}

static int64_t deletion_time(const struct cor_object *object, int64_t otherwise)
{
    struct cor_str raw;
    int64_t at;

    if (cor_json_to_raw(cor_object_meta_member(object, COR_STR("deletionTimestamp")), &raw) < 0 ||
        cor_time_parse(raw, &at) < 0)
        return otherwise;
    return at;
}

/* The first deletion of a namespace: its phase changes, and it gets the finalizers that the options
 * ask for. */
static int mark_namespace(struct cor_call *call, const struct cor_delete_options *o,
                          const struct cor_object *object, struct cor_object **ret_marked)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf finalizers = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf status = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str old = cor_object_meta_member(object, COR_STR("finalizers"));
    struct cor_str before = cor_object_member(object, COR_STR("status"));
    struct mark mark = {.at_s = cor_call_now_ms(call) / 1000, .grace_s = -1};
    struct cor_delete_options asked = *o;
    struct cor_edits phase = {.n = 0};
    size_t n;
    int r;

    /* Of a namespace, upstream takes orphanDependents=false for a foreground deletion. */
    if (o->orphan_dependents == COR_FALSE) {
        asked.orphan_dependents = COR_UNSET;
        asked.propagation = COR_PROPAGATE_FOREGROUND;
    }
    r = write_finalizers(call, &asked, old.p ? old : COR_STR("[]"), &finalizers, &n);
    cor_edits_set(&phase, COR_STR("phase"), COR_STR("\"Terminating\""));
    if (r == 0)
        r = cor_edits_apply(&phase, before.p ? before : COR_STR("{}"), &status);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    mark.status = cor_buf_str(&status);
    if (n > 0)
        mark.finalizers = cor_buf_str(&finalizers);
    return write_mark(call, object, &mark, ret_marked);
}

/* A namespace is marked, and stays until its controller has emptied it and removed
 * spec.finalizers. */
static int decide_namespace(struct cor_call *call, const struct cor_delete_options *o,
                            const struct cor_object *object, struct cor_deletion *ret)
{
    struct cor_str spec = cor_object_member(object, COR_STR("spec")), finalizers = {NULL, 0};
    struct cor_json_iter it;

    if (!cor_object_meta_member(object, COR_STR("deletionTimestamp")).p) {
        ret->step = COR_DELETION_MARK;
        return mark_namespace(call, o, object, &ret->marked);
    }
    if (spec.p)
        (void)cor_json_get(spec, COR_STR("finalizers"), COR_JSON_SORTED, &finalizers);
    it = cor_json_iter(finalizers.p ? finalizers : COR_STR("[]"));
    if (cor_json_iter_elem(&it)) {
        ret->step = COR_DELETION_PENDING;
        ret->is_under_way = true;
    }
    return 0;
}

/* The first deletion of a CustomResourceDefinition, whatever the options ask for (contract
 * crd 5.2).
 */
static int mark_definition(struct cor_call *call, const struct cor_object *object,
                           struct cor_object **ret_marked)
{
    static const struct cor_crd_change pending = {
        .conditions = {{.type = "Terminating",
                        .reason = "InstanceDeletionPending",
                        .message = COR_STR_INIT("CustomResourceDefinition marked for deletion; "
                                                "CustomResource deletion will begin soon"),
                        .is_true = true}},
        .nconditions = 1,
    };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf finalizers = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf status = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf conditions = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str old = cor_object_meta_member(object, COR_STR("finalizers"));
    struct cor_crd crd = cor_crd_of(object);
    struct cor_str before = crd.status.json;
    struct mark mark = {
        .at_s = cor_call_now_ms(call) / 1000, .grace_s = -1, .keeps_generation = true};
    struct cor_json_iter it = cor_json_iter(old.p ? old : COR_STR("[]"));
    struct cor_edits edits = {.n = 0};
    char time[COR_TIME_TEXT_MAX];
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, &finalizers);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it))
        cor_json_raw(&w, cor_json_iter_value(&it));
    if (!cor_crd_has_finalizer(object))
        cor_json_string(&w, COR_STR(COR_CRD_FINALIZER));
    cor_json_end_array(&w);
    r = cor_json_writer_finish(&w);
    if (r == 0)
        r = cor_crd_write_conditions(&crd, &pending, cor_time_print(mark.at_s, time), &conditions);
    cor_edits_set(&edits, COR_STR("conditions"), cor_buf_str(&conditions));
    if (r == 0)
        r = cor_edits_apply(&edits, before.p ? before : COR_STR("{}"), &status);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    mark.status = cor_buf_str(&status);
    mark.finalizers = cor_buf_str(&finalizers);
    return write_mark(call, object, &mark, ret_marked);
}

/* Computes the grace period into `mark`. True: the deletion is under way already, and this request
 * does not shorten its period, so that nothing changes. */
static bool grace_pending(const struct cor_object *object, const struct cor_delete_options *o,
                          struct mark *mark, int64_t now_s)
{
    int64_t old = cor_object_meta_int(object, COR_STR("deletionGracePeriodSeconds"), 0);
    int64_t wanted = o->grace_s < 0 ? 1 : o->grace_s, began_s;

    if (!cor_object_meta_member(object, COR_STR("deletionTimestamp")).p) {
        mark->grace_s = pod_grace(object, o);
        mark->at_s = add_seconds(now_s, mark->grace_s);
        return false;
    }
    old = old < 0 ? 1 : old;
    mark->grace_s = old;
    if (old == 0)
        return false;
    if (!o->has_grace || wanted >= old)
        return true;
    /* The period is shortened from its beginning, but not to an end that is over. */
    began_s =
        add_seconds(deletion_time(object, add_seconds(now_s, old)), (int64_t)(0 - (uint64_t)old));
    mark->at_s = add_seconds(began_s, wanted);
    mark->grace_s = wanted;
    if (mark->at_s < now_s) {
        mark->at_s = now_s;
        mark->grace_s = wanted > 0 ? 1 : 0;
    }
    return false;
}

static int decide_object(struct cor_call *call, const struct cor_delete_options *o,
                         const struct cor_object *object, struct cor_deletion *ret)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf finalizers = {0};
    struct cor_str old = cor_object_meta_member(object, COR_STR("finalizers"));
    bool going = cor_object_meta_member(object, COR_STR("deletionTimestamp")).p != NULL;
    int64_t old_grace = cor_object_meta_int(object, COR_STR("deletionGracePeriodSeconds"), 0);
    int64_t now_s = cor_call_now_ms(call) / 1000;
    struct mark mark = {.at_s = now_s, .grace_s = 0};
    size_t n;
    int r;

    if ((call->res->flags & COR_API_GRACEFUL) && grace_pending(object, o, &mark, now_s)) {
        ret->step = COR_DELETION_PENDING;
        ret->is_under_way = true;
        return 0;
    }
    cor_buf_init(&finalizers, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = write_finalizers(call, o, old.p ? old : COR_STR("[]"), &finalizers, &n);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (n > 0 || old.p)
        mark.finalizers = n > 0 ? cor_buf_str(&finalizers) : COR_STR("");
    if (n == 0 && mark.grace_s == 0) {
        if (!(call->res->flags & COR_API_GRACEFUL) || (going && old_grace == 0))
            return 0;
        ret->step = COR_DELETION_MARK;
        ret->ends = true;
        return write_mark(call, object, &mark, &ret->marked);
    }
    if (going && (!(call->res->flags & COR_API_GRACEFUL) || old_grace == 0) &&
        deletion_time(object, now_s) <= now_s)
        mark.at_s = deletion_time(object, now_s);
    ret->step = COR_DELETION_MARK;
    return write_mark(call, object, &mark, &ret->marked);
}

int cor_deletion_check_preconditions(struct cor_call *call,
                                     const struct cor_delete_options *options,
                                     const struct cor_object *object)
{
    int r = check_precondition(call, "UID", options->uid, cor_object_uid(object),
                               "deleted and then recreated");

    assert(options && object);
    return r < 0 ? r
                 : check_precondition(call, "ResourceVersion", options->resource_version,
                                      cor_object_resource_version(object), "modified");
}

/* Upstream has other words for the preconditions of a namespace and of a CustomResourceDefinition.
 */
static int check_namespace_precondition(struct cor_call *call, const char *what, const char *wanted,
                                        struct cor_str found)
{
    struct cor_gr gr = cor_api_gr(call->res);

    if (!wanted || cor_str_eqz(found, wanted))
        return 0;
    return cor_status_conflict(
        &call->status, &gr, call->name,
        "Precondition failed: %s in precondition: %s, %s in object meta: %.*s", what, wanted, what,
        COR_STR_ARG(found));
}

static int check_namespace_preconditions(struct cor_call *call,
                                         const struct cor_delete_options *options,
                                         const struct cor_object *object)
{
    int r = check_namespace_precondition(call, "UID", options->uid, cor_object_uid(object));

    return r < 0 ? r
                 : check_namespace_precondition(call, "ResourceVersion", options->resource_version,
                                                cor_object_resource_version(object));
}

int cor_deletion_decide(struct cor_call *call, const struct cor_delete_options *options,
                        const struct cor_object *object, struct cor_deletion *ret_deletion)
{
    bool is_namespace = call->res->role == COR_ROLE_NAMESPACES;
    bool is_definition = call->res->role == COR_ROLE_DEFINITIONS;
    int r = is_namespace || is_definition ? check_namespace_preconditions(call, options, object)
                                          : cor_deletion_check_preconditions(call, options, object);

    assert(call->stored && object);
    *ret_deletion = (struct cor_deletion){.step = COR_DELETION_NOW};
    if (r < 0)
        return r;
    if (is_definition && !cor_crd_is_deleted(object)) {
        ret_deletion->step = COR_DELETION_MARK;
        return mark_definition(call, object, &ret_deletion->marked);
    }
    if (is_namespace) {
        r = decide_namespace(call, options, object, ret_deletion);
        if (r < 0 || ret_deletion->step != COR_DELETION_NOW)
            return r;
    }
    r = decide_object(call, options, object, ret_deletion);
    /* The same mark is there already: nothing has to be stored. */
    if (r == 0 && ret_deletion->step == COR_DELETION_MARK &&
        cor_object_same_stored(ret_deletion->marked, object)) {
        ret_deletion->marked = cor_object_unref(ret_deletion->marked);
        ret_deletion->step = COR_DELETION_PENDING;
    }
    return r;
}
