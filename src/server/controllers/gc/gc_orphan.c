/* clang-format off */
/* The attempt to orphan the dependents of an object (contract 2.8):
 *
 *   for each dependent, 4 at a time: PATCH its reference to the object away
 *        │  415: GET the dependent, then a JSON merge patch
 *        │  404: the dependent is gone
 *        └  another error: counted
 *   all are done, without an error ──► remove the finalizer orphan (gc_finalizer.c)
 *   an error ──► the finalizer stays, and the whole attempt is repeated after the queue's delay
 *
 * The uids of the dependents are copied when the attempt begins. A dependent that has left the
 * graph before its turn is skipped. */
/* clang-format on */
#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "server/controllers/gc/gc_int.h"

#define ORPHAN_PATCHES_MAX 4 /* 20 attempts use a third of the port's requests */
#define ORPHAN_UIDS_MAX    (1u << 30)
#define ORPHAN_ERRORS_MAX  4096

struct orphan_patch {
    struct cor_api_request req;
    struct cor_gc_orphaning *of;
    struct cor_gc_identity id; /* of the dependent */
    char *id_strings;          /* NULL: the slot is free */
    bool is_merge;             /* the strategic patch was refused with 415 */
};

struct cor_gc_orphaning {
    struct cor_gc_attempt *attempt;
    struct cor_buf uids; /* of the dependents, each with a NUL after it */
    size_t next;         /* the offset of the first that was not begun */
    size_t nactive;
    struct cor_buf errors; /* their texts, up to a maximum */
    size_t nerrors;
    struct orphan_patch patches[ORPHAN_PATCHES_MAX];
};

static void orphaning_continue(struct cor_gc_orphaning *o);

static struct cor_gc_orphaning *orphaning_free(struct cor_gc_orphaning *o)
{
    assert(o->nactive == 0);
    cor_buf_deinit(&o->uids);
    cor_buf_deinit(&o->errors);
    cor_free(o);
    return NULL;
}

static void orphaning_note_error(struct cor_gc_orphaning *o,
                                 const struct cor_gc_identity *dependent, const char *message)
{
    /* The list of errors is cut at its maximum, or without memory; the number is not. */
    if (o->nerrors > 0)
        (void)cor_buf_addz(&o->errors, ", ");
    o->nerrors++;
    (void)cor_buf_addz(&o->errors, "orphaning ");
    (void)cor_gc_identity_print(dependent, &o->errors);
    (void)cor_buf_addf(&o->errors, " failed, %s", message);
}

/* Frees the slot. */
static void patch_end(struct orphan_patch *p)
{
    p->id_strings = cor_free(p->id_strings);
    p->of->nactive--;
}

static bool patch_fail(struct orphan_patch *p, const char *message)
{
    orphaning_note_error(p->of, &p->id, message);
    patch_end(p);
    return false;
}

static void patch_on_done(struct cor_api_request *req, const struct cor_api_answer *answer);
static void patch_on_read(struct cor_api_request *req, const struct cor_api_answer *answer);

static const struct cor_api_request_cbs patch_cbs = {.on_done = patch_on_done};
static const struct cor_api_request_cbs read_cbs = {.on_done = patch_on_read};

/* Sends the strategic patch, or with is_merge the GET of the dependent, and then with the dependent
 * the merge patch. False: it has failed, and the slot is free. */
static bool patch_send(struct orphan_patch *p, const struct cor_object *dependent)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf patch;
    struct cor_gc_attempt *a = p->of->attempt;
    struct cor_api_port *port = a->gc->opts.port;
    struct cor_status why = {0};
    int r;

    cor_buf_init(&patch, COR_GC_PATCH_MAX);
    p->req.metadata_only = true;
    if (!cor_gc_path(a->gc, &p->id, &p->req.at, &why)) {
        patch_fail(p, cor_status_message(&why));
        cor_status_deinit(&why);
        return false;
    }
    if (p->is_merge && !dependent) {
        p->req.cbs = &read_cbs;
        cor_api_get(port, &p->req, COR_STR(""));
        return true;
    }
    r = p->is_merge ? cor_gc_patch_drop_merge(&patch, dependent, &a->id.uid, 1)
                    : cor_gc_patch_drop(&patch, p->id.uid, &a->id.uid, 1);
    if (r < 0)
        return patch_fail(p, cor_err_text(r));
    p->req.cbs = &patch_cbs;
    cor_api_patch(port, &p->req, p->is_merge ? COR_PATCH_MERGE : COR_PATCH_STRATEGIC,
                  cor_buf_str(&patch), NULL);
    return true;
}

static void patch_on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct orphan_patch *p = COR_CONTAINER_OF(req, struct orphan_patch, req);
    struct cor_gc_orphaning *o = p->of;

    if (!answer->error || cor_gc_answer_is(answer, -COR_ENOTFOUND)) {
        patch_end(p);
    } else if (cor_gc_answer_is(answer, -COR_EMEDIATYPE) && !p->is_merge) {
        p->is_merge = true;
        patch_send(p, NULL);
    } else {
        patch_fail(p, cor_status_message(answer->error));
    }
    orphaning_continue(o);
}

/* The dependent for a merge patch. */
static void patch_on_read(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct orphan_patch *p = COR_CONTAINER_OF(req, struct orphan_patch, req);
    struct cor_gc_orphaning *o = p->of;

    if (cor_gc_answer_is(answer, -COR_ENOTFOUND) ||
        (!answer->error && !cor_str_eq(cor_object_uid(answer->object), p->id.uid)))
        patch_end(p);
    else if (answer->error)
        patch_fail(p, cor_status_message(answer->error));
    else
        patch_send(p, answer->object);
    orphaning_continue(o);
}

/* All dependents had their turn. */
static void orphaning_finish(struct cor_gc_orphaning *o)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf owner;
    struct cor_gc_attempt *a = o->attempt;
    struct cor_status why = {0};

    cor_buf_init(&owner, ORPHAN_ERRORS_MAX);
    if (o->nerrors == 0) {
        a->orphaning = orphaning_free(o);
        cor_gc_remove_finalizer(a, COR_GC_ORPHAN);
        return;
    }
    (void)cor_gc_identity_print(&a->id, &owner);
    cor_status_set(&why, -COR_EINTERNAL,
                   "failed to orphan dependents of owner %s, got errors: %s%s%s", cor_buf_z(&owner),
                   o->nerrors > 1 ? "[" : "", cor_buf_z(&o->errors), o->nerrors > 1 ? "]" : "");
    a->orphaning = orphaning_free(o);
    cor_gc_attempt_fail(a, -COR_EINTERNAL, &why);
    cor_status_deinit(&why);
}

static struct orphan_patch *orphaning_free_slot(struct cor_gc_orphaning *o)
{
    for (size_t i = 0; i < ORPHAN_PATCHES_MAX; i++) {
        if (!o->patches[i].id_strings)
            return &o->patches[i];
    }
    return NULL;
}

/* Begins patches while slots are free. After the last one the orphaning is finished and freed. */
static void orphaning_continue(struct cor_gc_orphaning *o)
{
    const struct cor_gc *gc = o->attempt->gc;

    while (o->next < o->uids.n && o->nactive < ORPHAN_PATCHES_MAX) {
        struct cor_str uid = cor_strz(o->uids.p + o->next);
        const struct cor_gc_node *node = cor_gc_graph_find(&gc->graph, uid);
        struct orphan_patch *p = orphaning_free_slot(o);

        o->next += uid.n + 1;
        if (!node)
            continue;
        *p = (struct orphan_patch){.of = o};
        if (cor_gc_identity_copy(&node->id, &p->id, &p->id_strings) < 0) {
            p->id_strings = NULL;
            orphaning_note_error(o, &node->id, cor_err_text(-COR_ENOMEM));
            continue;
        }
        o->nactive++;
        patch_send(p, NULL);
    }
    if (o->nactive == 0)
        orphaning_finish(o);
}

void cor_gc_orphaning_cancel(struct cor_gc_attempt *a)
{
    struct cor_gc_orphaning *o = a->orphaning;

    for (size_t i = 0; i < ORPHAN_PATCHES_MAX; i++) {
        cor_api_cancel(a->gc->opts.port, &o->patches[i].req);
        cor_free(o->patches[i].id_strings);
    }
    o->nactive = 0;
    a->orphaning = orphaning_free(o);
}

void cor_gc_orphan(void *arg, struct cor_reconcile *rec)
{
    struct cor_gc_queue *q = arg;
    struct cor_gc_attempt *a = cor_gc_attempt_new(q->gc, rec);
    struct cor_gc_orphaning *o;
    const struct cor_gc_node *node;
    int r = 0;

    if (!a)
        return;
    o = cor_calloc(1, sizeof(*o));
    if (!o) {
        cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
        return;
    }
    o->attempt = a;
    cor_buf_init(&o->uids, ORPHAN_UIDS_MAX);
    cor_buf_init(&o->errors, ORPHAN_ERRORS_MAX);
    node = cor_gc_graph_find(&q->gc->graph, a->id.uid);
    COR_DLIST_FOREACH(link, &node->dependents) {
        const struct cor_gc_edge *edge = COR_CONTAINER_OF(link, struct cor_gc_edge, link);

        if (r == 0)
            r = cor_buf_add(&o->uids, edge->dependent->id.uid.p, edge->dependent->id.uid.n);
        if (r == 0)
            r = cor_buf_addc(&o->uids, '\0');
    }
    if (r < 0) {
        orphaning_free(o);
        cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
        return;
    }
    a->orphaning = o;
    orphaning_continue(o);
}
