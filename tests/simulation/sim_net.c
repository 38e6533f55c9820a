#include "sim_net.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sim_check.h"
#include "test.h"

static struct sim_net *of(struct cor_reflector_driver *d)
{
    return COR_CONTAINER_OF(d, struct sim_net, driver);
}

static bool chance(struct sim_net *n, unsigned percent)
{
    return sim_chance(n->time, percent);
}

static cor_rev number(const char *text)
{
    uint64_t v = 0;

    sim_check(cor_str_to_u64(cor_strz(text), &v) == 0, "not a revision: %s", text);
    return v;
}

/* Around every input: sometimes memory runs out in it. */
static void begin_input(struct sim_net *n)
{
    if (n->faults && chance(n, n->alloc_fails))
        test_fail_alloc(sim_between(n->time, 1, 8), chance(n, 20));
}

static void end_input(void)
{
    test_fail_alloc(0, false);
}

static void fill(struct sim_net *n, struct cor_status *st, int err)
{
    if (err == -COR_EEXPIRED)
        cor_status_expired(st, "too old resource version");
    else if (err == -COR_EFUTURE)
        cor_status_too_large_rv(st, n->server->head + 1, n->server->head, 1);
    else
        cor_status_set(st, err, "%s", cor_err_text(err));
}

static void end_request(struct sim_net *n)
{
    n->state = SIM_IDLE;
    sim_cancel(n->time, &n->next);
}

static void fail_request(struct sim_net *n, int err)
{
    struct cor_status st = {0};
    bool list = n->state == SIM_LIST;

    fill(n, &st, err);
    end_request(n);
    begin_input(n);
    if (list)
        cor_reflector_list_failed(n->to, sim_now(n->time), &st);
    else
        cor_reflector_watch_ended(n->to, sim_now(n->time), &st);
    end_input();
    cor_status_deinit(&st);
}

static void end_stream(struct sim_net *n)
{
    end_request(n);
    begin_input(n);
    cor_reflector_watch_ended(n->to, sim_now(n->time), NULL);
    end_input();
}

static void send_event(struct sim_net *n, const struct cor_reflector_event *event)
{
    n->silent_ms = n->ends_ms + SIM_SLACK_MS;
    begin_input(n);
    cor_reflector_watch_event(n->to, sim_now(n->time), event);
    end_input();
}

static void send_object(struct sim_net *n, enum cor_watch_type type, struct cor_object *object)
{
    send_event(n, &(struct cor_reflector_event){.type = type, .object = object});
}

/* The last event of its stream: the reflector cancels the request. */
static void send_error(struct sim_net *n, int err)
{
    struct cor_status st = {0};

    fill(n, &st, err);
    send_event(n, &(struct cor_reflector_event){.type = COR_WATCH_ERROR, .status = &st});
    cor_status_deinit(&st);
    sim_check(n->state != SIM_STREAM, "an error did not end the stream");
}

static void send_bookmark(struct sim_net *n, bool ends_initial)
{
    struct cor_status status = {0};
    struct cor_object *bare = NULL, *o = NULL;
    const char *json = ends_initial ? "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                                      "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"
                                    : "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}";

    sim_check(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &bare, &status) == 0, "parse");
    sim_check(cor_object_at(bare, n->at, &o) == 0, "at");
    send_object(n, COR_WATCH_BOOKMARK, o);
    cor_object_unref(bare);
    cor_object_unref(o);
}

static int random_error(struct sim_net *n)
{
    static const int errors[] = {-COR_EINTERNAL, -COR_EEXPIRED,     -COR_EFUTURE,  -COR_EBUSY,
                                 -COR_EBUSY,     -COR_EUNREACHABLE, -COR_ETIMEOUT, -COR_EFORBIDDEN};

    return errors[sim_between(n->time, 0, COR_ARRAY_LEN(errors) - 1)];
}

/* Not older than what was asked for; "" is the newest. */
static cor_rev read_rev(struct sim_net *n)
{
    cor_rev low, head = n->server->head;

    if (n->rv[0] == '\0')
        return head;
    low = number(n->rv);
    sim_check(low <= head, "asked for the future: %s", n->rv);
    if (low < n->server->compacted)
        low = n->server->compacted;
    return n->faults ? sim_between(n->time, low, head) : head;
}

/* The keys that are alive at n->at, from `first` on, in order or not. */
static void gather(struct sim_net *n, int first, bool shuffled)
{
    n->ntodo = 0;
    for (int key = SIM_KEYS - 1; key >= first; key--)
        if (sim_server_state(n->server, key, n->at))
            n->todo[n->ntodo++] = key;
    for (size_t i = n->ntodo; shuffled && i > 1; i--) {
        size_t k = sim_between(n->time, 0, i - 1);
        int key = n->todo[k];

        n->todo[k] = n->todo[i - 1];
        n->todo[i - 1] = key;
    }
}

static void begin_answer(struct sim_net *n)
{
    int first = 0;

    if (n->token[0] == '\0') {
        n->at = read_rev(n);
    } else {
        first = n->token[0] - 'a';
        n->at = number(n->token + 1);
        if (n->at < n->server->compacted) {
            fail_request(n, -COR_EEXPIRED);
            return;
        }
    }
    gather(n, first, false);
    sim_in(n->time, &n->next, 0, 500);
}

/* Some objects of the list, the last part with its end. */
static void answer_part(struct sim_net *n)
{
    struct cor_object *objects[SIM_KEYS];
    struct cor_list_page page = {.objects = objects};
    bool paged = n->limit > 0 && !(n->server->caches && strcmp(n->rv, "0") == 0);
    size_t most = paged ? 3 : SIM_KEYS;
    char rv[24] = "", token[32] = "";

    if (chance(n, 40))
        most = 1;
    while (n->ntodo > 0 && page.n < most)
        objects[page.n++] = sim_server_state(n->server, n->todo[--n->ntodo], n->at);
    page.more_parts = n->ntodo > 0 && !paged;
    if (!page.more_parts) {
        snprintf(rv, sizeof(rv), "%llu", (unsigned long long)n->at);
        if (n->ntodo > 0)
            snprintf(token, sizeof(token), "%c%s", 'a' + n->todo[n->ntodo - 1], rv);
        else
            n->lists++;
        end_request(n);
    } else {
        sim_in(n->time, &n->next, 0, 300);
    }
    page.resource_version = cor_strz(rv);
    page.continue_token = cor_strz(token);
    begin_input(n);
    cor_reflector_list_page(n->to, sim_now(n->time), &page);
    end_input();
}

static void open_stream(struct sim_net *n)
{
    n->ntodo = 0;
    n->end_due = n->stalled = false;
    if (n->initial && !n->server->streams) {
        fail_request(n, -COR_EINVALID);
        return;
    }
    n->at = n->initial ? read_rev(n) : number(n->rv);
    if (!n->initial && n->at < n->server->compacted && chance(n, 50)) {
        fail_request(n, -COR_EEXPIRED);
        return;
    }
    if (n->initial) {
        gather(n, 0, true);
        n->until = sim_between(n->time, n->at, n->server->head);
        n->end_due = true;
    }
    n->state = SIM_STREAM;
    n->silent_ms = n->ends_ms + SIM_SLACK_MS;
    sim_in(n->time, &n->next, 0, 200);
    begin_input(n);
    cor_reflector_watch_opened(n->to, sim_now(n->time));
    end_input();
}

static void send_version(struct sim_net *n)
{
    const struct sim_version *v = &n->server->log[n->at++];

    if (v->key >= 0)
        send_object(n, v->type, v->object);
}

static void send_some(struct sim_net *n)
{
    if (n->ntodo > 0) {
        send_object(n, COR_WATCH_ADDED, sim_server_state(n->server, n->todo[--n->ntodo], n->at));
    } else if (n->end_due && n->at == n->until) {
        n->end_due = false;
        n->lists++;
        send_bookmark(n, true);
    } else if (n->at < n->server->head && n->at < n->server->compacted) {
        send_error(n, -COR_EEXPIRED);
    } else if (n->at < n->server->head) {
        send_version(n);
    } else if (!n->end_due && chance(n, 20)) {
        send_bookmark(n, false);
    }
}

/* True: the stream is over, or will be by its own. */
static bool stream_fault(struct sim_net *n)
{
    if (!n->faults || !chance(n, 6))
        return false;
    switch (sim_between(n->time, 0, 3)) {
    case 0:
        send_error(n, random_error(n));
        break;
    case 1:
        n->stalled = true;
        sim_at(n->time, &n->next, n->silent_ms);
        break;
    default:
        end_stream(n);
    }
    return true;
}

/* One turn of an open stream; the next one is later, sooner while there is
 * something to send. */
static void stream_turn(struct sim_net *n)
{
    uint64_t now = sim_now(n->time);
    bool busy = n->ntodo > 0 || n->end_due || n->at < n->server->head;

    if (now >= n->ends_ms || n->stalled || n->down) {
        end_stream(n);
        return;
    }
    if (busy)
        sim_in(n->time, &n->next, 0, 300);
    else
        sim_in(n->time, &n->next, 200, 20000);
    if (n->next.due.at > n->ends_ms)
        sim_at(n->time, &n->next, n->ends_ms);
    if (!stream_fault(n))
        send_some(n);
}

static void on_next(struct sim_event *e)
{
    struct sim_net *n = COR_CONTAINER_OF(e, struct sim_net, next);

    if (n->down && n->state != SIM_STREAM) {
        fail_request(n, -COR_EUNREACHABLE);
    } else if (n->faults && n->state != SIM_STREAM && chance(n, 12)) {
        fail_request(n, random_error(n));
    } else if (n->state == SIM_LIST && n->at == 0) {
        begin_answer(n);
    } else if (n->state == SIM_LIST) {
        answer_part(n);
    } else if (n->state == SIM_OPENING) {
        open_stream(n);
    } else {
        stream_turn(n);
    }
}

static void on_tick(struct sim_event *e)
{
    struct sim_net *n = COR_CONTAINER_OF(e, struct sim_net, tick);

    begin_input(n);
    cor_reflector_tick(n->to, sim_now(n->time));
    end_input();
}

static void keep(char *to, size_t max, struct cor_str from)
{
    sim_check(from.n < max, "%.*s", COR_STR_ARG(from));
    if (from.n > 0)
        memcpy(to, from.p, from.n);
    to[from.n] = '\0';
}

static void ask(struct sim_net *n, const struct cor_list_options *opts)
{
    sim_check(n->state == SIM_IDLE, "two requests at a time");
    keep(n->rv, sizeof(n->rv), opts->resource_version);
    keep(n->token, sizeof(n->token), opts->continue_token);
    n->limit = opts->limit;
    n->at = 0;
    n->requests++;
    sim_in(n->time, &n->next, 0, n->faults && chance(n, 10) ? 5000 : 50);
}

/* Called from within an input that may have an allocation fail; the
 * simulation's own must not. */
static void on_list(struct cor_reflector_driver *d, const struct cor_list_options *opts)
{
    test_fail_alloc(0, false);
    ask(of(d), opts);
    of(d)->state = SIM_LIST;
}

static void on_watch(struct cor_reflector_driver *d, const struct cor_list_options *opts,
                     uint32_t timeout_s)
{
    struct sim_net *n = of(d);

    test_fail_alloc(0, false);
    ask(n, opts);
    n->state = SIM_OPENING;
    n->initial = opts->send_initial_events == COR_TRUE;
    n->ends_ms = sim_now(n->time) + (uint64_t)timeout_s * 1000;
}

static void on_cancel(struct cor_reflector_driver *d)
{
    test_fail_alloc(0, false);
    sim_check(of(d)->state != SIM_IDLE, "nothing to cancel");
    end_request(of(d));
}

static void on_wake_at(struct cor_reflector_driver *d, uint64_t at_ms)
{
    test_fail_alloc(0, false);
    if (at_ms == COR_REFLECTOR_NEVER)
        sim_cancel(of(d)->time, &of(d)->tick);
    else
        sim_at(of(d)->time, &of(d)->tick, at_ms);
}

static const struct cor_reflector_driver_ops driver_ops = {on_list, on_watch, on_cancel,
                                                           on_wake_at};

void sim_net_init(struct sim_net *n, struct sim_time *time, struct sim_server *server)
{
    *n = (struct sim_net){.driver = {&driver_ops}, .time = time, .server = server};
    sim_event_init(&n->next, on_next);
    sim_event_init(&n->tick, on_tick);
}

void sim_net_deinit(struct sim_net *n)
{
    sim_cancel(n->time, &n->next);
    sim_cancel(n->time, &n->tick);
}

bool sim_net_is_quiet(const struct sim_net *n)
{
    return n->state == SIM_STREAM && !n->stalled && n->ntodo == 0 && !n->end_due &&
           n->at == n->server->head;
}
