/* clang-format off */
/* Runs the rows of a point.
 *
 *   cor_admission_run ──► admission_go_on: pure rows as one piece of work (heavy.h) ──►
 *     a row that may finish later: `start` ──► cor_admission_resume ──► admission_go_on … ──► done
 *     the object of a foreign row is settled before the next row, as a part of the pure work;
 *     behind the last row: once more from the first one, if there was such an object
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
#include "schema/kinds/custom_row.h"
#include "server/api/heavy.h"
#include "server/api/scale_of_custom.h"

static bool applies(const struct cor_admission_row *row, const struct cor_call *call,
                    enum cor_admission_point point, enum cor_admission_op op)
{
    return row->point == point && (row->ops & op) && (!row->applies || row->applies(call));
}

static const struct cor_admission_list *list_of(const struct cor_call *call)
{
    const struct cor_admission_list *list = call->loop->settings->admission;

    return list ? list : &cor_admission_plugins;
}

bool cor_admission_has_work(const struct cor_call *call, enum cor_admission_point point,
                            enum cor_admission_op op)
{
    const struct cor_admission_list *list = list_of(call);

    for (size_t i = 0; i < list->n; i++)
        if (applies(&list->rows[i], call, point, op))
            return true;
    return false;
}

/* Goes to the next row that applies, and returns it; NULL: there is none. */
static const struct cor_admission_row *admission_next(struct cor_admission *ad)
{
    const struct cor_admission_list *list = list_of(ad->call);

    for (; ad->at < list->n; ad->at++)
        if (applies(&list->rows[ad->at], ad->call, ad->point, ad->op))
            return &list->rows[ad->at];
    return NULL;
}

static void admission_end(struct cor_admission *ad, int r)
{
    cor_admission_done done = ad->done;

    ad->done = NULL;
    ad->attributes = (struct cor_attributes){0};
    done(ad, r == 0 && ad->call->is_over ? -COR_ECANCELED : r);
}

/* Shows the object, and its name where the URL has none: of a new one. */
static void admission_note_object(struct cor_admission *ad)
{
    const struct cor_call *call = ad->call;

    ad->attributes.object = ad->object;
    if (call->name.n == 0 && ad->object)
        ad->attributes.name = cor_object_name(ad->object);
    if (call->res->role == COR_ROLE_NAMESPACES)
        ad->attributes.ns = ad->attributes.name;
}

static void admission_set_attributes(struct cor_admission *ad)
{
    const struct cor_call *call = ad->call;
    bool is_collection = call->req->info.verb == COR_API_VERB_DELETECOLLECTION;

    ad->attributes = (struct cor_attributes){
        .user = cor_user_or_server(call->req->user),
        .is_resource = true,
        .is_dry_run = ad->is_dry_run,
        .verb = cor_strz(cor_api_verb_name(call->req->info.verb)),
        .group = call->res->group,
        .version = call->res->version,
        .resource = call->res->plural,
        .subresource = call->sub ? cor_strz(call->sub->name) : COR_STR(""),
        .ns = call->ns,
        .name = is_collection ? COR_STR("") : call->name, /* of one of its objects at a time */
        .old = ad->old,
        .options = &call->opts,
        .deletion = ad->deletion,
    };
    admission_note_object(ad);
}

/* Makes of an object of the store what the request shows of it. 0, or a failure in the status. */
static int admission_show(struct cor_call *call, struct cor_object **object)
{
    struct cor_object *shown;
    int r;

    if (!*object)
        return 0;
    if (cor_call_has_custom_scale(call)) {
        r = cor_call_make_custom_scale(call, *object, &shown);
    } else {
        r = cor_row_convert(call->type, call->conversion, *object, &shown);
        if (r < 0)
            cor_status_set_err(&call->status, r);
    }
    if (r < 0)
        return r;
    cor_object_unref(*object);
    *object = shown;
    return 0;
}

static int admission_show_objects(struct cor_admission *ad)
{
    struct cor_call *call = ad->call;
    bool is_shown =
        call->conversion && (call->type->custom || (call->sub && call->sub->conversion != NULL));
    int r = is_shown ? admission_show(call, &ad->old) : 0;

    if (r == 0 && is_shown && ad->point == COR_ADMISSION_VALIDATES)
        r = admission_show(call, &ad->object);
    if (r == 0)
        admission_set_attributes(ad);
    return r;
}

static int admission_settle(struct cor_admission *ad)
{
    int r;

    if (!ad->is_unsettled)
        return 0;
    r = ad->settle(ad);
    if (r < 0)
        return r;
    ad->is_unsettled = false;
    admission_note_object(ad);
    return 0;
}

/* Up to the next row that may finish later, and what the one before has left. */
static int admission_run_pure(struct cor_call *call)
{
    struct cor_admission *ad = call->stage_arg;
    const struct cor_admission_row *row;
    int r = admission_settle(ad);

    while (r == 0 && (row = admission_next(ad)) && row->run) {
        r = row->run(ad);
        ad->at++;
        if (r == 0)
            r = admission_settle(ad);
    }
    return r;
}

static size_t bytes_of(const struct cor_object *object)
{
    return object ? cor_object_json(object).n : 0;
}

static void admission_go_on(struct cor_admission *ad);

static void admission_on_pure_done(struct cor_call *call, int r)
{
    struct cor_admission *ad = call->stage_arg;

    if (r == COR_WORK_YIELD && !call->is_over) {
        r = cor_heavy_start(call, bytes_of(ad->object) + bytes_of(ad->old), admission_run_pure,
                            admission_on_pure_done);
        if (r == 0)
            return;
    }
    call->stage_arg = NULL;
    if (r < 0 || call->is_over)
        admission_end(ad, r);
    else
        admission_go_on(ad);
}

static void admission_go_on(struct cor_admission *ad)
{
    const struct cor_admission_row *row = admission_next(ad);
    struct cor_call *call = ad->call;

    if (!row && !ad->is_unsettled && ad->goes_again) {
        ad->goes_again = false;
        ad->is_again = true;
        ad->at = 0;
        row = admission_next(ad);
    }
    if (!row && !ad->is_unsettled) {
        admission_end(ad, 0);
    } else if (row && row->start && !ad->is_unsettled) {
        cor_call_begin_op(call);
        row->start(ad);
    } else {
        assert(!call->stage_arg);
        call->stage_arg = ad;
        if (ad->stays_on_loop)
            admission_on_pure_done(call, admission_run_pure(call));
        else if (ad->is_owed)
            cor_heavy_owe(call, bytes_of(ad->object) + bytes_of(ad->old), admission_run_pure,
                          admission_on_pure_done);
        else
            cor_heavy_run(call, bytes_of(ad->object) + bytes_of(ad->old), admission_run_pure,
                          admission_on_pure_done);
    }
}

void cor_admission_run(struct cor_admission *ad, enum cor_admission_point point,
                       cor_admission_done done)
{
    const struct cor_call *call = ad->call;
    int r;

    assert(done && !ad->done && !call->is_over);
    assert(cor_loop_is_current(call->loop->loop));
    ad->point = point;
    ad->at = 0;
    ad->is_again = ad->is_unsettled = ad->goes_again = false;
    ad->done = done;
    r = admission_next(ad) ? admission_show_objects(ad) : 0;
    if (r < 0) {
        admission_end(ad, r);
        return;
    }
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
    assert(ad->done && ad->point == COR_ADMISSION_MUTATES && ad->object && take_object);
    if (list_of(ad->call)->rows[ad->at].is_foreign &&
        !cor_object_same_stored(ad->object, take_object)) {
        ad->is_unsettled = true;
        ad->goes_again = !ad->is_again;
    }
    cor_object_unref(ad->object);
    ad->object = take_object;
    admission_note_object(ad);
}

void cor_admission_deinit(struct cor_admission *ad)
{
    assert(!ad->done);
    ad->object = cor_object_unref(ad->object);
    ad->old = cor_object_unref(ad->old);
    ad->ns_object = cor_object_unref(ad->ns_object);
    if (ad->creation)
        cor_creations_end(ad->creation);
    ad->creation = NULL;
}
