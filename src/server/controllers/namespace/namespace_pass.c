/* clang-format off */
/* One pass over a namespace, as a state machine over the port. `step` names the request of the
 * namespace that is under way; the deletion of content has requests of its own.
 *
 *   READ: GET ── 404, or it is not being deleted: done
 *     │
 *   PHASE: PUT status, only when the phase is not Terminating ── 409: PHASE_AGAIN: GET ──► PHASE
 *     │      ── spec.finalizers is empty: done
 *   ENUMERATE: what the server serves: the preferred version of each namespaced resource that has
 *     │        the verb `delete`
 *   CONTENT: first the pods alone; when some remain, nothing else is deleted
 *     │      then all others, COR_NAMESPACE_PARALLEL at a time (namespace_content.c)
 *   CONDITIONS: PUT status, only when the conditions change; a failure is only logged
 *     │      ── something failed: the pass fails     ── an estimate: content remains
 *   FINALIZE: PUT finalize ── 409: FINALIZE_AGAIN: GET ──► FINALIZE
 *     └──► done
 *
 * Each step sends upstream's request. As upstream's, FINALIZE sends the resourceVersion that was
 * read before the conditions were written, so that its first try is usually a conflict.
 *
 * When a step fails: a failed enumeration and failed content are findings, and the pass goes on
 * with the rest; any other failure ends the pass. A conflict is tried again at once with the state
 * that was read again, unless that state is of another namespace of this name.
 * Thread: the port's loop. */
/* clang-format on */
#include "server/controllers/namespace/namespace_pass.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "coracle/builder.h"
#include "coracle/metadata.h"
#include "coracle/view.h"
#include "meta/metadata/metadata.h"
#include "server/controllers/namespace/namespace_content.h"
#include "server/controllers/namespace/namespace_findings.h"

#define FINALIZER "kubernetes"

COR_DEFINE_CLEANUP(struct cor_builder, cor_builder_free)

/* What the deletion of one resource's objects has resulted in. */
struct outcome {
    struct cor_status error;
    int64_t estimate_s;
    size_t nremaining;
    struct cor_finalizer_counts finalizers;
};

struct cor_namespace_pass {
    struct cor_namespace_pass_opts opts;
    struct cor_api_request request; /* of the namespace, and the enumeration */
    enum {
        PASS_READ,
        PASS_PHASE,
        PASS_PHASE_AGAIN,
        PASS_ENUMERATE,
        PASS_CONTENT,
        PASS_CONDITIONS,
        PASS_FINALIZE,
        PASS_FINALIZE_AGAIN,
    } step;
    struct cor_object *ns; /* as it was read last; NULL before that */
    unsigned nconflicts;
    struct cor_api_resources *resources;     /* NULL: not enumerated */
    const struct cor_port_resource **chosen; /* in `resources`; the pods are first, if there */
    struct outcome *outcomes;                /* of each that was chosen */
    size_t nchosen, nstarted, nended;
    bool has_pods;         /* the first of `chosen` are the pods */
    bool are_pods_deleted; /* no pod remains, so that the others have their turn */
    struct cor_namespace_content contents[COR_NAMESPACE_PARALLEL];
    struct cor_namespace_findings findings;
    int64_t estimate_s;
};

static void pass_get(struct cor_namespace_pass *pass, int step);
static void pass_put(struct cor_namespace_pass *pass, int step, struct cor_object *object);
static void pass_finalize(struct cor_namespace_pass *pass);

static struct cor_namespace_pass *pass_free(struct cor_namespace_pass *pass)
{
    for (size_t i = 0; i < COR_NAMESPACE_PARALLEL; i++)
        cor_namespace_content_end(&pass->contents[i]);
    for (size_t i = 0; pass->outcomes && i < pass->nchosen; i++) {
        cor_status_deinit(&pass->outcomes[i].error);
        cor_finalizer_counts_deinit(&pass->outcomes[i].finalizers);
    }
    cor_free(pass->outcomes);
    cor_free(pass->chosen);
    cor_api_resources_unref(pass->resources);
    cor_namespace_findings_deinit(&pass->findings);
    cor_object_unref(pass->ns);
    return cor_free(pass);
}

/* Ends the pass; `error` may be NULL. The pass does not exist afterwards. */
static void pass_end(struct cor_namespace_pass *pass, const struct cor_status *error,
                     int64_t remains_s)
{
    const struct cor_namespace_pass_opts opts = pass->opts;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    const struct cor_namespace_pass_result result = {.error = error ? &why : NULL,
                                                     .remains_s = remains_s};

    assert(!cor_api_is_under_way(&pass->request));
    if (error)
        (void)cor_status_copy(&why, error);
    pass_free(pass);
    opts.on_done(opts.arg, &result);
}

static void pass_fail(struct cor_namespace_pass *pass, int err, const char *message)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    if (message)
        cor_status_untyped(&why, err, "%s", message);
    else
        cor_status_set_err(&why, err);
    pass_end(pass, &why, 0);
}

static void pass_keep(struct cor_namespace_pass *pass, struct cor_object *ns)
{
    cor_object_ref(ns);
    cor_object_unref(pass->ns);
    pass->ns = ns;
}

/* The list of spec.finalizers; a view of nothing when there is none. */
static struct cor_view finalizers_of(const struct cor_object *ns)
{
    return cor_view_member(cor_view_member(cor_object_view(ns), COR_STR("spec")),
                           COR_STR("finalizers"));
}

static bool is_terminating(const struct cor_object *ns)
{
    struct cor_view status = cor_view_member(cor_object_view(ns), COR_STR("status"));

    return cor_view_is_text(cor_view_member(status, COR_STR("phase")), COR_STR("Terminating"));
}

/* After the phase is right: the content, unless another party has finalized the namespace. */
static void pass_begin_content(struct cor_namespace_pass *pass)
{
    if (!cor_object_is_being_deleted(pass->ns) || cor_view_len(finalizers_of(pass->ns)) == 0) {
        pass_end(pass, NULL, 0);
        return;
    }
    pass->step = PASS_ENUMERATE;
    cor_api_resources(pass->opts.port, &pass->request);
}

static void pass_phase(struct cor_namespace_pass *pass)
{
    COR_CLEANUP(cor_builder_freep) struct cor_builder *b = NULL;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *next = NULL;
    int r;

    if (!cor_object_is_being_deleted(pass->ns) || is_terminating(pass->ns)) {
        pass_begin_content(pass);
        return;
    }
    r = cor_builder_new(pass->ns, &b);
    if (r == 0)
        r = cor_builder_set_text(b, "status.phase", COR_STR("Terminating"));
    if (r == 0)
        r = cor_builder_finish(b, &next, NULL);
    if (r < 0)
        pass_fail(pass, r, NULL);
    else
        pass_put(pass, PASS_PHASE, next);
}

/* Content. */

/* The server's preferred namespaced resources with the verb `delete`. One group and version that
 * cannot be parsed drops all of them, as upstream has it. 0, -COR_ENOMEM. */
static int pass_choose(struct cor_namespace_pass *pass)
{
    const struct cor_api_resources *resources = pass->resources;

    pass->chosen = cor_calloc(resources->n ? resources->n : 1, sizeof(pass->chosen[0]));
    pass->outcomes = cor_calloc(resources->n ? resources->n : 1, sizeof(pass->outcomes[0]));
    if (!pass->chosen || !pass->outcomes)
        return -COR_ENOMEM;
    for (size_t i = 0; i < resources->n; i++) {
        const struct cor_port_resource *resource = &resources->list[i];
        const struct cor_gv gv = cor_gvr_gv(&resource->gvr);

        if (!resource->is_preferred || !resource->is_namespaced ||
            !(resource->verbs & COR_API_VERB_BIT(DELETE)))
            continue;
        if (cor_str_find(gv.group, '/') >= 0 || cor_str_find(gv.version, '/') >= 0) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

            cor_buf_init(&text, COR_STATUS_MESSAGE_MAX);
            (void)cor_buf_addz(&text, "unexpected GroupVersion string: ");
            (void)cor_gv_print(&gv, &text);
            cor_namespace_findings_add_parsing(&pass->findings, cor_buf_str(&text));
            pass->nchosen = 0;
            pass->has_pods = false;
            return 0;
        }
        if (!cor_namespace_content_can_delete(resource))
            continue;
        if (cor_namespace_content_is_pods(resource)) {
            pass->has_pods = true;
            pass->chosen[pass->nchosen++] = pass->chosen[0];
            pass->chosen[0] = resource;
        } else {
            pass->chosen[pass->nchosen++] = resource;
        }
    }
    return 0;
}

/* Adds what the deletions from place `from` on resulted in to the findings, in the order of the
 * resources. */
static void pass_gather(struct cor_namespace_pass *pass, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct outcome *outcome = &pass->outcomes[i];
        bool is_pods = pass->has_pods && i == 0;

        if (outcome->error.err < 0)
            cor_namespace_findings_add_failure(&pass->findings, cor_status_message(&outcome->error),
                                               is_pods ? pass->opts.name : COR_STR(""));
        if (outcome->estimate_s > pass->estimate_s)
            pass->estimate_s = outcome->estimate_s;
        if (outcome->nremaining > 0)
            cor_namespace_findings_add_remaining(&pass->findings, &pass->chosen[i]->gvr,
                                                 outcome->nremaining, &outcome->finalizers);
    }
}

/* After the conditions: the pass fails, waits, or finalizes. */
static void pass_judge(struct cor_namespace_pass *pass)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    if (cor_namespace_findings_error(&pass->findings, &why) < 0)
        pass_end(pass, &why, 0);
    else if (pass->estimate_s > 0)
        pass_end(pass, NULL, pass->estimate_s);
    else
        pass_finalize(pass);
}

/* Writes the conditions. */
static void pass_conditions(struct cor_namespace_pass *pass)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *next = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r = cor_namespace_findings_apply(&pass->findings, pass->ns,
                                         cor_clock_wall_ms(pass->opts.clock) / 1000, &next, &why);

    if (r < 0) {
        pass_end(pass, &why, 0);
        return;
    }
    if (next)
        pass_put(pass, PASS_CONDITIONS, next);
    else
        pass_judge(pass);
}

static void pass_on_content(struct cor_namespace_content *c);

/* Begins as many deletions as there is room for: at first that of the pods alone. */
static void pass_content(struct cor_namespace_pass *pass)
{
    size_t limit = pass->are_pods_deleted ? pass->nchosen : 1;
    int64_t deleted_at_s = 0;

    assert(pass->step == PASS_CONTENT);
    (void)cor_object_deletion_time(pass->ns, &deleted_at_s);
    for (size_t i = 0; i < COR_NAMESPACE_PARALLEL && pass->nstarted < limit; i++) {
        struct cor_namespace_content *c = &pass->contents[i];

        if (c->resource)
            continue;
        *c = (struct cor_namespace_content){.port = pass->opts.port,
                                            .clock = pass->opts.clock,
                                            .resource = pass->chosen[pass->nstarted],
                                            .ns = pass->opts.name,
                                            .deleted_at_s = deleted_at_s,
                                            .place = pass->nstarted,
                                            .on_done = pass_on_content,
                                            .arg = pass};
        pass->nstarted++;
        cor_namespace_content_start(c);
    }
}

/* Says once what the deletion waits for: while the condition that says it too is not there. */
static void pass_log_pods(const struct cor_namespace_pass *pass, const struct outcome *pods)
{
    if (cor_object_condition_is(pass->ns, "NamespaceContentRemaining", "True"))
        return;
    COR_LOG_INFO("a namespace that is being deleted waits for its pods to end",
                 COR_F_STR("namespace", pass->opts.name), COR_F_U64("pods", pods->nremaining),
                 COR_F_I64("seconds", pods->estimate_s));
}

static void pass_on_content(struct cor_namespace_content *c)
{
    struct cor_namespace_pass *pass = c->arg;
    struct outcome *outcome = &pass->outcomes[c->place];

    cor_status_move(&outcome->error, &c->error);
    outcome->estimate_s = c->estimate_s;
    outcome->nremaining = c->nremaining;
    outcome->finalizers = c->finalizers;
    cor_finalizer_counts_init(&c->finalizers);
    cor_namespace_content_end(c);
    pass->nended++;
    if (!pass->are_pods_deleted) {
        pass_gather(pass, 0, 1);
        if (outcome->nremaining > 0) {
            pass_log_pods(pass, outcome);
            pass_conditions(pass);
            return;
        }
        pass->are_pods_deleted = true;
    }
    if (pass->nended < pass->nchosen) {
        pass_content(pass);
        return;
    }
    pass_gather(pass, pass->has_pods ? 1 : 0, pass->nchosen);
    pass_conditions(pass);
}

static void pass_on_resources(struct cor_namespace_pass *pass, const struct cor_api_answer *answer)
{
    int r = 0;

    if (answer->error || answer->resources->nfailures > 0)
        cor_namespace_findings_add_discovery(&pass->findings, answer->resources, answer->error);
    if (answer->resources) {
        pass->resources = cor_api_resources_ref(answer->resources);
        r = pass_choose(pass);
    }
    if (r < 0) {
        pass_fail(pass, r, NULL);
        return;
    }
    pass->step = PASS_CONTENT;
    pass->are_pods_deleted = !pass->has_pods;
    if (pass->nchosen > 0)
        pass_content(pass);
    else
        pass_conditions(pass);
}

/* The end. */

static int by_name(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* Sets spec.finalizers to all but `kubernetes`, sorted and each once; no list when there is none.
 * Finalizers are qualified names, without escapes. 0, or the builder's failure. */
static int write_finalizers(const struct cor_object *ns, struct cor_builder *b)
{
    COR_CLEANUP(cor_freep) struct cor_str *names = NULL;
    struct cor_view list = finalizers_of(ns);
    struct cor_view_iter it = cor_view_iter(list);
    size_t n = 0;
    int r = cor_builder_remove(b, "spec.finalizers");

    names = cor_calloc(cor_view_len(list) + 1, sizeof(names[0]));
    if (!names)
        return -COR_ENOMEM;
    while (cor_view_next(&it)) {
        if (cor_view_raw(it.value, &names[n]) == 0 && !cor_str_eqz(names[n], FINALIZER))
            n++;
    }
    qsort(names, n, sizeof(names[0]), by_name);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (i == 0 || !cor_str_eq(names[i], names[i - 1]))
            r = cor_builder_append_text(b, "spec.finalizers", names[i]);
    }
    return r;
}

static void pass_finalize(struct cor_namespace_pass *pass)
{
    COR_CLEANUP(cor_builder_freep) struct cor_builder *b = NULL;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *next = NULL;
    int r = cor_builder_new(pass->ns, &b);

    if (r == 0)
        r = cor_builder_remove(b, "status");
    if (r == 0)
        r = write_finalizers(pass->ns, b);
    if (r == 0)
        r = cor_builder_finish(b, &next, NULL);
    if (r < 0)
        pass_fail(pass, r, NULL);
    else
        pass_put(pass, PASS_FINALIZE, next);
}

/* Requests of the namespace. */

/* After a write that met a newer state: reads that state, and tries again. */
static void pass_conflict(struct cor_namespace_pass *pass, const struct cor_status *error, int step)
{
    if (pass->nconflicts++ == COR_NAMESPACE_CONFLICTS_MAX)
        pass_end(pass, error, 0);
    else
        pass_get(pass, step);
}

static void pass_on_read_again(struct cor_namespace_pass *pass, struct cor_object *ns)
{
    bool is_phase = pass->step == PASS_PHASE_AGAIN;

    if (!cor_str_eq(cor_object_uid(ns), cor_object_uid(pass->ns))) {
        pass_fail(pass, -COR_ECONFLICT, "namespace uid has changed across retries");
        return;
    }
    pass_keep(pass, ns);
    if (is_phase)
        pass_phase(pass);
    else
        pass_finalize(pass);
}

static void pass_on_request(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_namespace_pass *pass = COR_CONTAINER_OF(req, struct cor_namespace_pass, request);
    const struct cor_status *error = answer->error;
    bool is_answer = answer->end == COR_API_ANSWERED;

    if (pass->step == PASS_ENUMERATE) {
        pass_on_resources(pass, answer);
        return;
    }
    if (pass->step == PASS_CONDITIONS) {
        if (error)
            COR_LOG_ERROR("couldn't update status condition for namespace",
                          COR_F_STR("namespace", pass->opts.name),
                          COR_F_STR("error", cor_strz(cor_status_message(error))));
        pass_judge(pass);
        return;
    }
    if (error && is_answer && error->err == -COR_ENOTFOUND) {
        pass_end(pass, NULL, 0);
        return;
    }
    if (error && is_answer && error->err == -COR_ECONFLICT &&
        (pass->step == PASS_PHASE || pass->step == PASS_FINALIZE)) {
        pass_conflict(pass, error,
                      pass->step == PASS_PHASE ? PASS_PHASE_AGAIN : PASS_FINALIZE_AGAIN);
        return;
    }
    if (error) {
        pass_end(pass, error, 0);
        return;
    }
    switch (pass->step) {
    case PASS_READ:
        pass_keep(pass, answer->object);
        if (cor_object_is_being_deleted(pass->ns))
            pass_phase(pass);
        else
            pass_end(pass, NULL, 0);
        return;
    case PASS_PHASE:
        pass_keep(pass, answer->object);
        pass_begin_content(pass);
        return;
    case PASS_PHASE_AGAIN:
    case PASS_FINALIZE_AGAIN:
        pass_on_read_again(pass, answer->object);
        return;
    case PASS_FINALIZE:
        pass_end(pass, NULL, 0);
        return;
    case PASS_ENUMERATE:
    case PASS_CONTENT:
    case PASS_CONDITIONS:
        break;
    }
    assert(0);
}

static void pass_name(struct cor_namespace_pass *pass, int step, struct cor_str subresource)
{
    static const struct cor_api_request_cbs cbs = {.on_done = pass_on_request};

    assert(!cor_api_is_under_way(&pass->request));
    pass->step = step;
    pass->request = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("namespaces")},
               .name = pass->opts.name,
               .subresource = subresource},
        .cbs = &cbs,
    };
}

static void pass_get(struct cor_namespace_pass *pass, int step)
{
    pass_name(pass, step, COR_STR(""));
    cor_api_get(pass->opts.port, &pass->request, COR_STR(""));
}

static void pass_put(struct cor_namespace_pass *pass, int step, struct cor_object *object)
{
    pass_name(pass, step, step == PASS_FINALIZE ? COR_STR("finalize") : COR_STR("status"));
    cor_api_update(pass->opts.port, &pass->request, object, NULL);
}

int cor_namespace_pass_start(const struct cor_namespace_pass_opts *opts,
                             struct cor_namespace_pass **ret_pass)
{
    struct cor_namespace_pass *pass = cor_calloc(1, sizeof(*pass));

    assert(opts->port && opts->clock && opts->name.n > 0 && opts->on_done);
    if (!pass)
        return -COR_ENOMEM;
    pass->opts = *opts;
    cor_namespace_findings_init(&pass->findings);
    pass_get(pass, PASS_READ);
    *ret_pass = pass;
    return 0;
}

void cor_namespace_pass_cancel(struct cor_namespace_pass *pass)
{
    cor_api_cancel(pass->opts.port, &pass->request);
    pass_free(pass);
}
