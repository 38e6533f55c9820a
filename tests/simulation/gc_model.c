#include "gc_model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "test.h"

const char *const model_api_versions[MODEL_KINDS] = {"v1", "v1", "example.com/v1",
                                                     "rbac.authorization.k8s.io/v1"};
const char *const model_kinds[MODEL_KINDS] = {"ConfigMap", "Secret", "Widget", "ClusterRole"};
const char *const model_resources[MODEL_KINDS] = {"configmaps", "secrets", "widgets",
                                                  "clusterroles"};

enum { WIDGET = 2, CLUSTER_ROLE = 3 };

int model_place(int kind, int ns, int name)
{
    return kind == CLUSTER_ROLE ? CLUSTER_ROLE * MODEL_NAMESPACES * MODEL_NAMES + name
                                : (kind * MODEL_NAMESPACES + ns) * MODEL_NAMES + name;
}

int model_kind_of(int place)
{
    return place / (MODEL_NAMESPACES * MODEL_NAMES);
}

int model_namespace_of(int place)
{
    return model_kind_of(place) == CLUSTER_ROLE ? -1 : place / MODEL_NAMES % MODEL_NAMESPACES;
}

void model_violation(struct model *m, const char *fmt, ...)
{
    va_list ap;

    if (m->violation[0])
        return;
    va_start(ap, fmt);
    vsnprintf(m->violation, sizeof(m->violation), fmt, ap);
    va_end(ap);
}

static void print_uid(unsigned uid, char to[48])
{
    snprintf(to, 48, "00000000-0000-4000-8000-%012x", uid);
}

static unsigned read_uid(struct cor_str text)
{
    char last[16] = "";

    if (text.n != 36)
        return 0;
    memcpy(last, text.p + 24, 12);
    return (unsigned)strtoul(last, NULL, 16);
}

struct cor_object *model_json(const struct model *m, int place)
{
    const struct model_object *o = &m->objects[place];
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_object *stored, *served;
    int kind = model_kind_of(place), ns = model_namespace_of(place);
    char uid[48];
    const char *comma = "";

    cor_buf_init(&json, 8192);
    print_uid(o->uid, uid);
    cor_buf_addf(
        &json,
        "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"n%d\",\"uid\":\"%s\"",
        model_api_versions[kind], model_kinds[kind], place % MODEL_NAMES, uid);
    if (ns >= 0)
        cor_buf_addf(&json, ",\"namespace\":\"ns%d\"", ns);
    if (o->is_terminating)
        cor_buf_addz(&json, ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"");
    if (o->finalizers) {
        static const char *const names[] = {"foregroundDeletion", "orphan", "example.com/foreign"};

        cor_buf_addz(&json, ",\"finalizers\":[");
        for (int i = 0; i < 3; i++) {
            if (o->finalizers & 1u << i) {
                cor_buf_addf(&json, "%s\"%s\"", comma, names[i]);
                comma = ",";
            }
        }
        cor_buf_addz(&json, "]");
    }
    comma = "";
    if (o->nrefs > 0) {
        cor_buf_addz(&json, ",\"ownerReferences\":[");
        for (size_t i = 0; i < o->nrefs; i++) {
            int owner = o->refs[i].place;

            print_uid(o->refs[i].uid, uid);
            cor_buf_addf(
                &json,
                "%s{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"n%d\",\"uid\":\"%s\"%s}",
                comma, model_api_versions[model_kind_of(owner)], model_kinds[model_kind_of(owner)],
                owner % MODEL_NAMES, uid, o->refs[i].blocks ? ",\"blockOwnerDeletion\":true" : "");
            comma = ",";
        }
        cor_buf_addz(&json, "]");
    }
    cor_buf_addz(&json, "}}");
    assert_int_equal(cor_object_parse(cor_buf_str(&json), NULL, NULL, NULL, &stored, NULL), 0);
    assert_int_equal(cor_object_at(stored, (cor_rev)o->rv, &served), 0);
    cor_object_unref(stored);
    return served;
}

/* The rules of the API. */

static void model_changed(struct model *m, int place)
{
    m->objects[place].rv = ++m->rv;
    m->on_change(m->arg, place, false, model_json(m, place));
}

static void model_gone(struct model *m, int place)
{
    m->objects[place].rv = ++m->rv;
    m->on_change(m->arg, place, true, model_json(m, place));
    m->objects[place] = (struct model_object){0};
}

void model_create(struct model *m, int place, const struct model_ref *refs, size_t n)
{
    struct model_object *o = &m->objects[place];

    assert_false(o->exists);
    assert_true(n <= MODEL_REFS_MAX);
    *o = (struct model_object){.exists = true, .uid = ++m->next_uid, .nrefs = n};
    if (n > 0)
        memcpy(o->refs, refs, n * sizeof(refs[0]));
    o->refs_since_ms = sim_now(m->time);
    o->refs_rv = m->rv + 1;
    model_changed(m, place);
}

void model_set_refs(struct model *m, int place, const struct model_ref *refs, size_t n)
{
    struct model_object *o = &m->objects[place];

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < o->nrefs; k++) {
            if (refs[i].uid == o->refs[k].uid && refs[i].place != o->refs[k].place)
                o->is_odd = true;
        }
    }
    o->nrefs = n;
    if (n > 0)
        memcpy(o->refs, refs, n * sizeof(refs[0]));
    o->refs_since_ms = sim_now(m->time);
    o->shown_ms = 0;
    o->refs_rv = m->rv + 1;
    model_changed(m, place);
}

void model_set_finalizers(struct model *m, int place, unsigned finalizers)
{
    struct model_object *o = &m->objects[place];

    o->finalizers = finalizers;
    if (o->is_terminating && finalizers == 0)
        model_gone(m, place);
    else
        model_changed(m, place);
}

void model_delete(struct model *m, int place, const char *policy)
{
    struct model_object *o = &m->objects[place];
    unsigned finalizers = o->finalizers & MODEL_FOREIGN;

    if (strcmp(policy, "Foreground") == 0)
        finalizers |= MODEL_FOREGROUND;
    if (strcmp(policy, "Orphan") == 0)
        finalizers |= MODEL_ORPHAN;
    if (o->is_terminating && finalizers == o->finalizers)
        return;
    o->is_terminating = true;
    o->had_foreground |= (finalizers & MODEL_FOREGROUND) != 0;
    model_set_finalizers(m, place, finalizers);
}

enum model_verdict model_judge(const struct model *m, int place, const struct model_ref *ref)
{
    int ns = model_namespace_of(place), owner_kind = model_kind_of(ref->place);
    int owner = model_place(owner_kind, ns, ref->place % MODEL_NAMES);
    const struct model_object *o;

    if (owner_kind != CLUSTER_ROLE && ns < 0)
        return MODEL_NEVER;
    o = &m->objects[owner];
    if (!o->exists || o->uid != ref->uid)
        return MODEL_DANGLING;
    return o->is_terminating && o->finalizers & MODEL_FOREGROUND ? MODEL_WAITING : MODEL_SOLID;
}

/* What the collector asks for. */

static void request_fail(struct model_request *r, int err, const char *text)
{
    r->has_error = true;
    cor_status_set(&r->error, err, "%s", text);
}

/* The collector deletes an object: none of its owners may be alive. */
static void check_deletion(struct model *m, const struct model_request *r)
{
    const struct model_object *o = &m->objects[r->place];

    /* A second try is without the resourceVersion (contract 2.5.11): a user may have changed the
     * references since the collector has compared them. */
    if (r->rv[0] == '\0' && m->fault != MODEL_DELETES_UNGUARDED &&
        sim_now(m->time) - o->refs_since_ms <= 4 * m->delay_max_ms)
        return;
    for (size_t i = 0; i < o->nrefs; i++) {
        const struct model_ref *ref = &o->refs[i];
        int owner = model_place(model_kind_of(ref->place), model_namespace_of(r->place),
                                ref->place % MODEL_NAMES);

        if (model_judge(m, r->place, ref) == MODEL_SOLID && !m->objects[owner].had_foreground)
            model_violation(m, "place %d was deleted, and its owner at %d is alive", r->place,
                            owner);
    }
    if (o->nrefs == 0)
        model_violation(m, "place %d was deleted, and it has no owner references", r->place);
    m->ncollected++;
}

static void apply_remove(struct model *m, struct model_request *r)
{
    struct model_object *o = &m->objects[r->place];

    if (m->fault == MODEL_DELETES_UNGUARDED)
        r->uid[0] = r->rv[0] = '\0';
    if ((r->uid[0] && read_uid(cor_strz(r->uid)) != o->uid) ||
        (r->rv[0] && strtoull(r->rv, NULL, 10) != o->rv)) {
        request_fail(r, -COR_ECONFLICT, "conflict");
        return;
    }
    check_deletion(m, r);
    model_delete(m, r->place, r->policy);
}

/* The references whose dependents were shown to the collector before the owner's deletion must be
 * gone when the finalizer goes. */
static void check_orphaned(struct model *m, int owner)
{
    const struct model_object *o = &m->objects[owner];

    for (int place = 0; place < MODEL_PLACES; place++) {
        const struct model_object *d = &m->objects[place];

        for (size_t i = 0; d->exists && i < d->nrefs; i++) {
            /* A reference with wrong coordinates does not concern the owner. */
            if (d->refs[i].uid == o->uid && d->shown_ms > 0 && d->shown_ms < o->gone_shown_ms &&
                model_judge(m, place, &d->refs[i]) == MODEL_SOLID)
                model_violation(m,
                                "the orphan finalizer of place %d is gone, and place %d has its "
                                "reference",
                                owner, place);
        }
    }
}

static void patch_finalizers(struct model *m, struct model_request *r, struct cor_view value)
{
    struct cor_view_iter it = cor_view_iter(value);
    unsigned finalizers = 0;

    while (cor_view_next(&it)) {
        struct cor_str name = cor_view_text_or(it.value, NULL, 0, "");

        finalizers |= cor_str_eqz(name, "foregroundDeletion") ? MODEL_FOREGROUND
                      : cor_str_eqz(name, "orphan")           ? MODEL_ORPHAN
                                                              : MODEL_FOREIGN;
    }
    if (m->objects[r->place].finalizers & MODEL_ORPHAN && !(finalizers & MODEL_ORPHAN))
        check_orphaned(m, r->place);
    model_set_finalizers(m, r->place, finalizers);
}

/* Both forms: a strategic list changes the references that it names, a merge list is the whole. */
static void patch_refs(struct model *m, struct model_request *r, struct cor_view value)
{
    struct model_object *o = &m->objects[r->place];
    struct model_ref refs[MODEL_REFS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < o->nrefs; i++) {
        struct cor_view_iter it = cor_view_iter(value);
        bool is_named = false, is_dropped = false, blocks = o->refs[i].blocks;

        while (cor_view_next(&it)) {
            struct cor_str uid =
                cor_view_text_or(cor_view_member(it.value, COR_STR("uid")), NULL, 0, "");

            if (read_uid(uid) != o->refs[i].uid)
                continue;
            is_named = true;
            is_dropped = cor_view_exists(cor_view_member(it.value, COR_STR("$patch")));
            blocks =
                cor_view_bool_or(cor_view_member(it.value, COR_STR("blockOwnerDeletion")), false);
        }
        if (r->patch_type == COR_PATCH_MERGE ? !is_named : is_dropped)
            continue;
        refs[n] = o->refs[i];
        if (is_named)
            refs[n].blocks = blocks;
        n++;
    }
    o->nrefs = n;
    memcpy(o->refs, refs, n * sizeof(refs[0]));
    o->refs_since_ms = sim_now(m->time);
    model_changed(m, r->place);
}

static void apply_patch(struct model *m, struct model_request *r)
{
    struct cor_view metadata = cor_view_member(cor_view(cor_strz(r->body)), COR_STR("metadata"));
    struct cor_view uid = cor_view_member(metadata, COR_STR("uid"));
    struct cor_view rv = cor_view_member(metadata, COR_STR("resourceVersion"));
    struct cor_view finalizers = cor_view_member(metadata, COR_STR("finalizers"));
    struct cor_view refs = cor_view_member(metadata, COR_STR("ownerReferences"));
    const struct model_object *o = &m->objects[r->place];
    char now[24];

    snprintf(now, sizeof(now), "%" PRIu64, o->rv);
    if (r->patch_type == COR_PATCH_STRATEGIC && model_kind_of(r->place) == WIDGET) {
        request_fail(r, -COR_EMEDIATYPE, "unsupported media type");
    } else if (cor_view_exists(uid) && read_uid(cor_view_text_or(uid, NULL, 0, "")) != o->uid) {
        request_fail(r, -COR_EINVALID, "metadata.uid: field is immutable");
    } else if (cor_view_exists(rv) && !cor_str_eqz(cor_view_text_or(rv, NULL, 0, ""), now)) {
        request_fail(r, -COR_ECONFLICT, "conflict");
    } else {
        r->object = model_json(m, r->place);
        if (m->fault == MODEL_SKIPS_ORPHAN_PATCHES && cor_view_exists(refs))
            return;
        if (cor_view_exists(finalizers))
            patch_finalizers(m, r, finalizers);
        else
            patch_refs(m, r, refs);
    }
}

/* The answer to a look-up of another object than the collector believes. */
static struct cor_object *faulty_answer(struct model *m, int place)
{
    struct model_object *o = &m->objects[place], saved = *o;
    struct cor_object *object;

    if (m->fault == MODEL_IGNORES_WAITING)
        o->finalizers &= ~(unsigned)MODEL_FOREGROUND;
    object = model_json(m, place);
    *o = saved;
    return object;
}

static void apply_get(struct model *m, struct model_request *r)
{
    r->object = faulty_answer(m, r->place);
}

static void request_apply(struct model_request *r)
{
    struct model *m = r->model;

    if (sim_chance(m->time, m->error_percent)) {
        if (m->fault == MODEL_BELIEVES_ERRORS && r->verb == COR_API_VERB_GET)
            request_fail(r, -COR_ENOTFOUND, "not found");
        else
            request_fail(r, sim_chance(m->time, 50) ? -COR_EINTERNAL : -COR_EFORBIDDEN, "error");
        return;
    }
    r->is_unanswered = sim_chance(m->time, m->error_percent);
    if (r->place < 0 || !m->objects[r->place].exists)
        request_fail(r, -COR_ENOTFOUND, "not found");
    else if (r->verb == COR_API_VERB_GET)
        apply_get(m, r);
    else if (r->verb == COR_API_VERB_PATCH)
        apply_patch(m, r);
    else
        apply_remove(m, r);
}

static void request_release(struct model_request *r)
{
    sim_cancel(r->model->time, &r->event);
    r->object = cor_object_unref(r->object);
    cor_status_deinit(&r->error);
    r->error = (struct cor_status){0};
    r->req = NULL;
}

static void request_on_event(struct sim_event *event)
{
    struct model_request *r = COR_CONTAINER_OF(event, struct model_request, event);
    struct cor_api_answer answer = {.end = COR_API_ANSWERED};
    struct cor_api_request *req = r->req;
    struct model_request taken;

    if (!r->is_applied) {
        r->is_applied = true;
        request_apply(r);
        sim_in(r->model->time, &r->event, 0, r->model->delay_max_ms);
        return;
    }
    if (r->is_unanswered) {
        cor_status_deinit(&r->error);
        r->error = (struct cor_status){0};
        request_fail(r, -COR_EBROKEN, "the connection broke");
        answer.end = COR_API_UNANSWERED;
    }
    answer.object = r->has_error || r->verb == COR_API_VERB_DELETE ? NULL : r->object;
    answer.error = r->has_error ? &r->error : NULL;
    taken = *r;
    r->object = NULL;
    r->error = (struct cor_status){0};
    if (answer.error)
        answer.error = &taken.error;
    request_release(r);
    cor_api_finish(req, &answer);
    cor_object_unref(taken.object);
    cor_status_deinit(&taken.error);
}

static int place_of(const struct cor_resource_path *at)
{
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        if (!cor_str_eqz(at->gvr.resource, model_resources[kind]))
            continue;
        if (kind != CLUSTER_ROLE && at->ns.n != 3)
            return -1;
        return model_place(kind, kind == CLUSTER_ROLE ? 0 : at->ns.p[2] - '0', at->name.p[1] - '0');
    }
    return -1;
}

static struct model_request *request_new(struct cor_api_port *port, struct cor_api_request *req,
                                         const struct cor_api_operation *op)
{
    struct model *m = COR_CONTAINER_OF(port, struct model, port);

    for (size_t i = 0; i < MODEL_REQUESTS_MAX; i++) {
        struct model_request *r = &m->requests[i];

        if (r->req)
            continue;
        r->model = m;
        r->req = req;
        r->verb = op->verb;
        r->place = place_of(&op->at);
        r->policy[0] = r->uid[0] = r->rv[0] = '\0';
        r->is_applied = r->is_unanswered = r->has_error = false;
        req->sent = r;
        sim_event_init(&r->event, request_on_event);
        sim_in(m->time, &r->event, 0, m->delay_max_ms);
        return r;
    }
    fail_msg("more requests than the model has room for");
    return NULL;
}

static void on_send(struct cor_api_port *port, struct cor_api_request *req,
                    const struct cor_api_operation *op)
{
    const struct cor_removal_options *removal = &op->removal;
    struct model_request *r = request_new(port, req, op);

    switch (op->verb) {
    case COR_API_VERB_GET:
        assert_str(op->query.list.resource_version, "");
        assert_true(op->metadata_only);
        break;
    case COR_API_VERB_PATCH:
        r->patch_type = op->patch_type;
        assert_true(op->patch.n < sizeof(r->body));
        memcpy(r->body, op->patch.p, op->patch.n);
        r->body[op->patch.n] = '\0';
        break;
    case COR_API_VERB_DELETE:
        snprintf(r->policy, sizeof(r->policy), "%.*s", COR_STR_ARG(removal->propagation));
        snprintf(r->uid, sizeof(r->uid), "%.*s", COR_STR_ARG(removal->uid));
        snprintf(r->rv, sizeof(r->rv), "%.*s", COR_STR_ARG(removal->resource_version));
        assert_true(r->uid[0] != '\0');
        break;
    default:
        fail_msg("the collector does not use this verb");
    }
}

static void on_cancel(struct cor_api_port *port, struct cor_api_request *req)
{
    request_release(req->sent);
}

static void on_refusals(struct sim_event *event)
{
    cor_api_deliver_refusals(&COR_CONTAINER_OF(event, struct model, refusals)->port);
}

static void on_wake(struct cor_api_port *port)
{
    struct model *m = COR_CONTAINER_OF(port, struct model, port);

    sim_in(m->time, &m->refusals, 0, 0);
}

static const struct cor_api_port_ops model_ops = {
    .send = on_send,
    .cancel = on_cancel,
    .wake = on_wake,
};

void model_init(struct model *m, struct sim_time *time)
{
    memset(m, 0, sizeof(*m));
    m->time = time;
    m->delay_max_ms = 200;
    cor_api_port_init(&m->port, &model_ops, NULL);
    sim_event_init(&m->refusals, on_refusals);
    for (size_t i = 0; i < MODEL_REQUESTS_MAX; i++)
        sim_event_init(&m->requests[i].event, request_on_event);
}

void model_deinit(struct model *m)
{
    for (size_t i = 0; i < MODEL_REQUESTS_MAX; i++)
        assert_null(m->requests[i].req);
    cor_api_port_deinit(&m->port);
}
