#include "scripted_port.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "test.h"

#define NEVER UINT64_MAX

static struct scripted_port *scripted_of(struct cor_api_port *port)
{
    return COR_CONTAINER_OF(port, struct scripted_port, port);
}

static uint64_t now_ms(const struct scripted_port *sp)
{
    return cor_clock_mono_ms(&sp->clock.clock);
}

/* "VERB group/version resource/subresource ns/name body\n". */
static void scripted_log(struct scripted_port *sp, const char *verb,
                         const struct cor_resource_path *at, struct cor_str name,
                         struct cor_str body)
{
    size_t n = strlen(sp->log);
    int added =
        snprintf(sp->log + n, sizeof(sp->log) - n, "%s %.*s%s%.*s %.*s%s%.*s %.*s%s%.*s%s%.*s\n",
                 verb, COR_STR_ARG(at->gvr.group), at->gvr.group.n ? "/" : "",
                 COR_STR_ARG(at->gvr.version), COR_STR_ARG(at->gvr.resource),
                 at->subresource.n ? "/" : "", COR_STR_ARG(at->subresource), COR_STR_ARG(at->ns),
                 at->ns.n ? "/" : "", COR_STR_ARG(name), body.n ? " " : "", COR_STR_ARG(body));

    assert_true(added > 0 && (size_t)added < sizeof(sp->log) - n);
}

static uint64_t end_of(const struct scripted_port *sp, const struct cor_api_request *req)
{
    uint64_t ms = req->timeout_ms;

    if (req->deadline_ms > 0 && (ms == 0 || req->deadline_ms < ms))
        ms = req->deadline_ms;
    return ms > 0 ? now_ms(sp) + ms : NEVER;
}

static struct scripted_step step_from_responder(struct scripted_port *sp)
{
    static const struct {
        const char *text;
        int err, code;
    } errors[] = {{"404", -COR_ENOTFOUND, 404},
                  {"409", -COR_ECONFLICT, 409},
                  {"413", -COR_ETOOBIG, 413},
                  {"415", -COR_EMEDIATYPE, 415},
                  {"500", -COR_EINTERNAL, 500}};
    static const char *no_items[] = {NULL};
    size_t begin = strlen(sp->log) - 1; /* the end of the last line */
    const char *answer;

    while (begin > 0 && sp->log[begin - 1] != '\n')
        begin--;
    if (sp->respond_resources && strncmp(sp->log + begin, "RESOURCES", 9) == 0)
        return (struct scripted_step){.resources = sp->respond_resources};
    if (sp->respond_items && strncmp(sp->log + begin, "LIST", 4) == 0)
        return (struct scripted_step){.items = sp->respond_items};
    if (sp->respond_items && strncmp(sp->log + begin, "WATCH", 5) == 0)
        return (struct scripted_step){.items = no_items, .stays_open = true};
    answer = sp->respond(sp->respond_arg, sp->log + begin);
    for (size_t i = 0; answer && i < COR_ARRAY_LEN(errors); i++) {
        if (strcmp(answer, errors[i].text) == 0)
            return (struct scripted_step){.err = errors[i].err, .code = errors[i].code};
    }
    return (struct scripted_step){.json = answer};
}

static void scripted_take(struct cor_api_port *port, struct cor_api_request *req)
{
    struct scripted_port *sp = scripted_of(port);
    struct scripted_step step = {.delay_ms = NEVER};

    if (sp->next < sp->nsteps)
        step = sp->steps[sp->next++];
    else if (sp->respond)
        step = step_from_responder(sp);
    if (step.is_refused) {
        cor_status_untyped(&req->refusal, step.err, "%s", cor_err_text(step.err));
        cor_api_refuse(port, req);
        return;
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(sp->sent); i++) {
        if (sp->sent[i].req)
            continue;
        sp->sent[i].req = req;
        sp->sent[i].step = step;
        sp->sent[i].due_ms = step.delay_ms == NEVER ? NEVER : now_ms(sp) + step.delay_ms;
        sp->sent[i].timeout_ms = end_of(sp, req);
        req->sent = &sp->sent[i];
        return;
    }
    fail_msg("more requests at once than the scripted port holds");
}

static void on_send(struct cor_api_port *port, struct cor_api_request *req,
                    const struct cor_api_operation *op)
{
    static const char *const names[COR_API_VERB_COUNT] = {
        [COR_API_VERB_GET] = "GET",       [COR_API_VERB_LIST] = "LIST",
        [COR_API_VERB_WATCH] = "WATCH",   [COR_API_VERB_CREATE] = "CREATE",
        [COR_API_VERB_UPDATE] = "UPDATE", [COR_API_VERB_PATCH] = "PATCH",
        [COR_API_VERB_DELETE] = "DELETE", [COR_API_VERB_DELETECOLLECTION] = "DELETECOLLECTION"};
    const struct cor_removal_options *removal = &op->removal;
    const char *verb = names[op->verb];
    struct cor_str name = op->at.name, body = op->query.list.resource_version;
    char text[256];

    switch (op->verb) {
    case COR_API_VERB_LIST:
        body = op->query.label_selector;
        break;
    case COR_API_VERB_CREATE:
    case COR_API_VERB_UPDATE:
        name = cor_object_name(op->object);
        body = cor_object_json(op->object);
        break;
    case COR_API_VERB_PATCH:
        if (op->patch_type == COR_PATCH_MERGE)
            verb = "MERGE-PATCH";
        body = op->patch;
        break;
    case COR_API_VERB_DELETE:
        snprintf(text, sizeof(text), "%.*s%s%.*s%s%.*s", COR_STR_ARG(removal->propagation),
                 removal->uid.n ? " uid=" : "", COR_STR_ARG(removal->uid),
                 removal->resource_version.n ? " resourceVersion=" : "",
                 COR_STR_ARG(removal->resource_version));
        body = cor_strz(text);
        break;
    case COR_API_VERB_DELETECOLLECTION:
        name = COR_STR("");
        body = removal->propagation;
        break;
    case COR_API_VERB_GET:
        if (op->is_discovery) {
            verb = "SERVES";
            name = COR_STR("");
        }
        break;
    case COR_API_VERB_WATCH:
    case COR_API_VERB_COUNT:
        break;
    }
    scripted_log(scripted_of(port), verb, &op->at, name, body);
    scripted_take(port, req);
}

static void on_resources(struct cor_api_port *port, struct cor_api_request *req)
{
    struct scripted_port *sp = scripted_of(port);
    size_t n = strlen(sp->log);
    int added = snprintf(sp->log + n, sizeof(sp->log) - n, "RESOURCES\n");

    assert_true((size_t)added < sizeof(sp->log) - n);
    scripted_take(port, req);
}

static void on_cancel(struct cor_api_port *port, struct cor_api_request *req)
{
    scripted_log(scripted_of(port), "CANCEL", &req->at, req->at.name, COR_STR(""));
    for (size_t i = 0; i < COR_ARRAY_LEN(scripted_of(port)->sent); i++)
        if (scripted_of(port)->sent[i].req == req)
            scripted_of(port)->sent[i].req = NULL;
}

static void on_port_wake(struct cor_api_port *port)
{
    scripted_of(port)->is_woken = true;
}

static const struct cor_api_port_ops scripted_ops = {
    .send = on_send,
    .resources = on_resources,
    .cancel = on_cancel,
    .wake = on_port_wake,
};

void scripted_port_init(struct scripted_port *sp)
{
    *sp = (struct scripted_port){.wake_ms = NEVER};
    cor_clock_manual_init(&sp->clock, 1000, INT64_C(1700000000000));
    cor_api_port_init(&sp->port, &scripted_ops, NULL);
}

void scripted_port_deinit(struct scripted_port *sp)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(sp->sent); i++)
        assert_null(sp->sent[i].req);
    assert_int_equal(sp->next, sp->nsteps);
    cor_api_port_deinit(&sp->port);
}

static struct scripted_step *scripted_add(struct scripted_port *sp, uint64_t delay_ms)
{
    assert_true(sp->nsteps < SCRIPTED_MAX);
    sp->steps[sp->nsteps] = (struct scripted_step){.delay_ms = delay_ms};
    return &sp->steps[sp->nsteps++];
}

void scripted_answer(struct scripted_port *sp, uint64_t delay_ms, const char *json)
{
    scripted_add(sp, delay_ms)->json = json;
}

void scripted_items(struct scripted_port *sp, uint64_t delay_ms, const char **items,
                    bool stays_open)
{
    struct scripted_step *step = scripted_add(sp, delay_ms);

    step->items = items;
    step->stays_open = stays_open;
}

void scripted_resources(struct scripted_port *sp, uint64_t delay_ms,
                        struct cor_api_resources *resources)
{
    scripted_add(sp, delay_ms)->resources = resources;
}

void scripted_fail(struct scripted_port *sp, uint64_t delay_ms, int err)
{
    struct scripted_step *step = scripted_add(sp, delay_ms);

    step->err = err;
    step->code = 500;
}

void scripted_break(struct scripted_port *sp, uint64_t delay_ms, int err)
{
    scripted_add(sp, delay_ms)->err = err;
}

void scripted_refuse(struct scripted_port *sp, int err)
{
    struct scripted_step *step = scripted_add(sp, 0);

    step->err = err;
    step->is_refused = true;
}

void scripted_wake_at(struct scripted_port *sp, uint64_t at_ms)
{
    sp->wake_ms = at_ms;
}

/* 0, or -COR_ENOMEM. */
static int parse(const char *json, struct cor_object **ret_object)
{
    int r = cor_object_from_json(cor_strz(json), ret_object, NULL);

    assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
    return r;
}

/* "MODIFIED {…}" is an event of that type, "{…}" one of type ADDED. Returns the object's text. */
static const char *event_type_of(const char *text, enum cor_watch_type *ret_type)
{
    static const struct {
        const char *word;
        enum cor_watch_type type;
    } types[] = {{"MODIFIED ", COR_WATCH_MODIFIED},
                 {"DELETED ", COR_WATCH_DELETED},
                 {"BOOKMARK ", COR_WATCH_BOOKMARK},
                 {"ERROR ", COR_WATCH_ERROR}};

    *ret_type = COR_WATCH_ADDED;
    for (size_t i = 0; i < COR_ARRAY_LEN(types); i++) {
        if (strncmp(text, types[i].word, strlen(types[i].word)) == 0) {
            *ret_type = types[i].type;
            return text + strlen(types[i].word);
        }
    }
    return text;
}

static int scripted_give_event(struct cor_api_request *req, const char *text)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_watch_event event = {0};

    text = event_type_of(text, &event.type);
    if (event.type == COR_WATCH_ERROR) {
        (void)cor_status_read(&status, 410, cor_strz(text));
        event.status = &status;
    } else {
        int r = parse(text, &object);

        if (r < 0)
            return r;
        event.object = object;
    }
    return req->cbs->on_event(req, &event);
}

/* Gives the items, or the events, of an answer. False: the request was cancelled meanwhile, or a
 * callback ended it with *ret_r. */
static bool scripted_give_items(struct scripted_port *sp, size_t i, const char **items, int *ret_r)
{
    struct cor_api_request *req = sp->sent[i].req;
    int r = 0;

    if (items && req->cbs->on_open)
        r = req->cbs->on_open(req);
    for (; r == 0 && items && *items && sp->sent[i].req == req; items++) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *item = NULL;

        if (req->cbs->on_event) {
            r = scripted_give_event(req, *items);
        } else {
            r = parse(*items, &item);
            if (r == 0)
                r = req->cbs->on_item(req, item);
        }
    }
    *ret_r = r;
    return sp->sent[i].req == req;
}

static void scripted_deliver(struct scripted_port *sp, size_t i, bool is_late)
{
    struct cor_api_request *req = sp->sent[i].req;
    struct scripted_step step = sp->sent[i].step;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_api_answer answer = {.remaining = -1};
    int r = is_late ? -COR_ETIMEOUT : step.err;

    if (!is_late && !scripted_give_items(sp, i, step.items, &r))
        return;
    if (r == 0 && step.err < 0)
        r = step.err;
    if (r == 0 && step.json)
        r = parse(step.json, &object);
    if (r == 0 && step.stays_open) {
        sp->sent[i].due_ms = NEVER;
        return;
    }
    sp->sent[i].req = NULL;
    if (r < 0) {
        cor_status_set(&why, r, "%s", cor_err_text(r));
        why.code = is_late ? 0 : step.code;
        answer.error = &why;
        answer.end = why.code ? COR_API_ANSWERED : COR_API_UNANSWERED;
    } else if (step.json) {
        answer.object = object;
    } else if (step.items) {
        answer.resource_version = COR_STR(SCRIPTED_LIST_VERSION);
    } else {
        answer.resources = step.resources;
    }
    cor_api_finish(req, &answer);
}

/* The time of the next thing to do, at most `end_ms`. */
static uint64_t scripted_next_ms(const struct scripted_port *sp, uint64_t end_ms)
{
    uint64_t at_ms = sp->is_woken ? now_ms(sp) : sp->wake_ms < end_ms ? sp->wake_ms : end_ms;

    for (size_t i = 0; i < COR_ARRAY_LEN(sp->sent); i++) {
        if (sp->sent[i].req && sp->sent[i].due_ms < at_ms)
            at_ms = sp->sent[i].due_ms;
        if (sp->sent[i].req && sp->sent[i].timeout_ms < at_ms)
            at_ms = sp->sent[i].timeout_ms;
    }
    return at_ms;
}

/* Does the first thing that is due now; false: nothing is. */
static bool scripted_turn(struct scripted_port *sp)
{
    uint64_t now = now_ms(sp);

    if (sp->is_woken) {
        sp->is_woken = false;
        cor_api_deliver_refusals(&sp->port);
        return true;
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(sp->sent); i++) {
        bool is_due = sp->sent[i].req && sp->sent[i].due_ms <= now;

        if (is_due || (sp->sent[i].req && sp->sent[i].timeout_ms <= now)) {
            scripted_deliver(sp, i, !is_due);
            return true;
        }
    }
    if (sp->wake_ms <= now) {
        sp->wake_ms = NEVER;
        sp->on_wake(sp->arg);
        return true;
    }
    return false;
}

void scripted_run(struct scripted_port *sp, uint64_t ms)
{
    uint64_t end_ms = now_ms(sp) + ms;

    for (;;) {
        uint64_t at_ms = scripted_next_ms(sp, end_ms);

        if (at_ms > now_ms(sp))
            cor_clock_manual_advance(&sp->clock, at_ms - now_ms(sp));
        if (!scripted_turn(sp) && now_ms(sp) >= end_ms)
            return;
    }
}

void scripted_assert_log(struct scripted_port *sp, const char *expected)
{
    assert_string_equal(sp->log, expected);
    sp->log[0] = '\0';
}
