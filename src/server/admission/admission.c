/* clang-format off */
/* Runs the rows of a point.
 *
 *   cor_admission_run ──► admission_go_on: pure rows as one piece of work (heavy.h) ──►
 *     a row that may finish later: `start` ──► cor_admission_resume ──► admission_go_on … ──► done
 *
 * The first refusal ends the run. `done` is called once in any case, also when the reader has gone
 * meanwhile; no row begins after that. While a row may finish later the call counts one operation
 * under way, so that it is not freed before cor_admission_resume().
 * Failures: those of the rows, and of a thread that cannot be had (429, 500).
 * Thread: the call's loop, except admission_run_pure(). */
/* clang-format on */
#include "server/admission/admission.h"

#include <assert.h>

#include "base/err.h"
#include "server/api/heavy.h"

static bool applies(const struct cor_admission_row *row, const struct cor_call *call,
                    enum cor_admission_point point, enum cor_admission_op op)
{
    return row->point == point && (row->ops & op) && (!row->applies || row->applies(call));
}

bool cor_admission_has_work(const struct cor_admission_list *list, const struct cor_call *call,
                            enum cor_admission_point point, enum cor_admission_op op)
{
    for (size_t i = 0; i < list->n; i++)
        if (applies(&list->rows[i], call, point, op))
            return true;
    return false;
}

/* Goes to the next row that applies. False: there is none. */
static bool admission_next(struct cor_admission *ad)
{
    while (ad->at < ad->list->n && !applies(&ad->list->rows[ad->at], ad->call, ad->point, ad->op))
        ad->at++;
    return ad->at < ad->list->n;
}

static void admission_end(struct cor_admission *ad, int r)
{
    cor_admission_done done = ad->done;

    ad->done = NULL;
    ad->attributes = (struct cor_attributes){0};
    done(ad, r == 0 && ad->call->is_over ? -COR_ECANCELED : r);
}

/* Up to the next row that may finish later. */
static int admission_run_pure(struct cor_call *call)
{
    struct cor_admission *ad = call->stage_arg;
    int r = 0;

    for (; r == 0 && admission_next(ad) && ad->list->rows[ad->at].run; ad->at++)
        r = ad->list->rows[ad->at].run(ad);
    return r;
}

static void admission_go_on(struct cor_admission *ad);

static void admission_on_pure_done(struct cor_call *call, int r)
{
    struct cor_admission *ad = call->stage_arg;

    call->stage_arg = NULL;
    if (r < 0 || call->is_over)
        admission_end(ad, r);
    else
        admission_go_on(ad);
}

static size_t bytes_of(const struct cor_object *object)
{
    return object ? cor_object_json(object).n : 0;
}

static void admission_go_on(struct cor_admission *ad)
{
    struct cor_call *call = ad->call;

    if (!admission_next(ad)) {
        admission_end(ad, 0);
    } else if (ad->list->rows[ad->at].start) {
        cor_call_begin_op(call);
        ad->list->rows[ad->at].start(ad);
    } else {
        assert(!call->stage_arg);
        call->stage_arg = ad;
        cor_heavy_run(call, bytes_of(ad->object) + bytes_of(ad->old), admission_run_pure,
                      admission_on_pure_done);
    }
}

void cor_admission_run(struct cor_admission *ad, enum cor_admission_point point,
                       cor_admission_done done)
{
    const struct cor_call *call = ad->call;

    assert(done && !ad->done && ad->list && !call->is_over);
    assert(cor_loop_is_current(call->loop->loop));
    ad->attributes = (struct cor_attributes){
        .user = cor_user_or_server(call->req->user),
        .is_resource = true,
        .is_dry_run = call->opts.has_dry_run && call->opts.dry_run.n > 0,
        .verb = cor_strz(cor_api_verb_name(call->req->info.verb)),
        .group = call->res->group,
        .version = call->res->version,
        .resource = call->res->plural,
        .subresource = call->sub ? cor_strz(call->sub->name) : COR_STR(""),
        .ns = call->ns,
        .name = call->name,
        .object = ad->object,
        .old = ad->old,
        .options = &call->opts,
    };
    ad->point = point;
    ad->at = 0;
    ad->done = done;
    admission_go_on(ad);
}

void cor_admission_resume(struct cor_admission *ad, int r)
{
    struct cor_call *call = ad->call;

    assert(ad->done && call->pending > 0 && cor_loop_is_current(call->loop->loop));
    ad->at++;
    if (r < 0 || call->is_over)
        admission_end(ad, r);
    else
        admission_go_on(ad);
    (void)cor_call_end_op(call);
}

void cor_admission_replace(struct cor_admission *ad, struct cor_object *take_object)
{
    assert(ad->done && ad->point == COR_ADMISSION_MUTATES && take_object);
    cor_object_unref(ad->object);
    ad->object = ad->attributes.object = take_object;
}

void cor_admission_deinit(struct cor_admission *ad)
{
    assert(!ad->done);
    ad->object = cor_object_unref(ad->object);
    ad->ns_object = cor_object_unref(ad->ns_object);
    if (ad->creation)
        cor_creations_end(ad->creation);
    ad->creation = NULL;
}
