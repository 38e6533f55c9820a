#include "history.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void verdict_set(struct verdict *verdict, const char *fmt, ...)
{
    va_list ap;

    if (verdict->is_wrong)
        return;
    verdict->is_wrong = true;
    va_start(ap, fmt);
    vsnprintf(verdict->text, sizeof(verdict->text), fmt, ap);
    va_end(ap);
}

bool scope_has(const struct scope *s, unsigned key, struct content content)
{
    return content.token != 0 && (s->space == ANY || s->space == (int)(key / NAMES)) &&
           (s->name == ANY || s->name == (int)(key % NAMES)) &&
           (s->color == ANY || s->color == content.color) &&
           (s->not_color == ANY || s->not_color != content.color) &&
           (s->node == ANY || s->node == content.node);
}

void events_add(struct events *events, const struct event *event)
{
    if (events->n == events->cap) {
        events->cap = events->cap ? events->cap * 2 : 64;
        events->v = cor_realloc(events->v, events->cap * sizeof(*events->v));
        if (!events->v)
            abort();
    }
    events->v[events->n++] = *event;
}

void events_deinit(struct events *events)
{
    cor_free(events->v);
    *events = (struct events){0};
}

void history_deinit(struct history *h)
{
    events_deinit(&h->events);
}

static void state_apply(struct state *state, const struct event *event)
{
    if (event->type == EVENT_DELETED) {
        state->revs[event->key] = 0;
        state->contents[event->key] = (struct content){0};
    } else {
        state->revs[event->key] = event->rev;
        state->contents[event->key] = event->content;
    }
}

static void describe(char *out, size_t n, const struct event *e)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};

    snprintf(out, n, "%s of key %u at %llu, token %u", types[e->type], e->key,
             (unsigned long long)e->rev, e->content.token);
}

/* A revision changes a key once. */
static bool is_known(const struct history *h, const struct event *e)
{
    for (size_t i = h->events.n; i > 0 && h->events.v[i - 1].rev == e->rev; i--)
        if (h->events.v[i - 1].key == e->key && e->type != EVENT_BOOKMARK)
            return true;
    return false;
}

void history_add(struct history *h, const struct event *event, struct verdict *verdict)
{
    struct event e = *event;
    char text[100];

    describe(text, sizeof(text), &e);
    if (e.rev < h->rev || (e.rev <= h->whole && e.type != EVENT_BOOKMARK) || is_known(h, &e))
        verdict_set(verdict, "history: %s, after revision %llu", text, (unsigned long long)h->rev);
    h->rev = e.rev;
    h->whole = e.type == EVENT_BOOKMARK ? e.rev : e.rev - 1;
    if (e.type == EVENT_BOOKMARK)
        return;
    e.previous = h->state.contents[e.key];
    if ((e.previous.token == 0) != (e.type == EVENT_ADDED))
        verdict_set(verdict, "history: %s, where token %u was", text, e.previous.token);
    if (e.type == EVENT_DELETED && e.content.token != e.previous.token)
        verdict_set(verdict, "history: %s, but the last state is token %u", text, e.previous.token);
    events_add(&h->events, &e);
    state_apply(&h->state, &e);
}

void history_state(const struct history *h, const struct scope *scope, uint64_t rev,
                   struct state *ret_state)
{
    memset(ret_state, 0, sizeof(*ret_state));
    for (size_t i = 0; i < h->events.n && h->events.v[i].rev <= rev; i++)
        state_apply(ret_state, &h->events.v[i]);
    for (unsigned i = 0; i < KEYS; i++)
        if (!scope_has(scope, i, ret_state->contents[i]))
            ret_state->revs[i] = 0;
}

/* The event as a watcher of `scope` sees it; false when it does not. */
static bool project(const struct scope *scope, const struct event *e, struct event *ret)
{
    bool is_gone = e->type == EVENT_DELETED;
    bool was = scope_has(scope, e->key, e->previous);
    bool is = !is_gone && scope_has(scope, e->key, e->content);

    *ret = *e;
    if (was && !is) {
        ret->type = EVENT_DELETED;
        ret->content = e->previous;
    } else if (is) {
        ret->type = was ? EVENT_MODIFIED : EVENT_ADDED;
    }
    return was || is;
}

uint64_t history_last(const struct history *h, const struct scope *scope)
{
    struct event seen;

    for (size_t i = h->events.n; i > 0; i--)
        if (project(scope, &h->events.v[i - 1], &seen))
            return seen.rev;
    return 0;
}

static bool is_same(const struct event *a, const struct event *b)
{
    return a->type == b->type && a->key == b->key && a->rev == b->rev &&
           a->content.token == b->content.token && a->content.color == b->content.color &&
           a->content.node == b->content.node;
}

/* Moves *at to the next event after it that `scope` shows. */
static bool next_of(const struct history *h, const struct scope *scope, size_t *at,
                    struct event *ret)
{
    while (*at < h->events.n)
        if (project(scope, &h->events.v[(*at)++], ret))
            return true;
    return false;
}

static size_t first_after(const struct history *h, uint64_t rev)
{
    size_t i = 0;

    while (i < h->events.n && h->events.v[i].rev <= rev)
        i++;
    return i;
}

/* The events from the n-th on are those of the history after `from`. */
static void check_live(const struct history *h, const struct segment *s, size_t n, uint64_t from,
                       struct verdict *verdict)
{
    size_t at = first_after(h, from);
    struct event expected;
    bool has = next_of(h, &s->scope, &at, &expected);
    char got[100], wanted[100] = "nothing";

    for (size_t i = n; i < s->events.n && !verdict->is_wrong; i++) {
        const struct event *e = &s->events.v[i];

        describe(got, sizeof(got), e);
        if (has)
            describe(wanted, sizeof(wanted), &expected);
        if (e->type == EVENT_BOOKMARK) {
            if (has && expected.rev <= e->rev)
                verdict_set(verdict, "%s stands before %s", got, wanted);
            continue;
        }
        if (!has || !is_same(e, &expected))
            verdict_set(verdict, "event %zu of %zu is %s instead of %s", i, s->events.n, got,
                        has ? wanted : "nothing");
        has = next_of(h, &s->scope, &at, &expected);
    }
}

/* The first n events are the state at `rev`, in any order. */
static void check_initial(const struct history *h, const struct segment *s, size_t n, uint64_t rev,
                          struct verdict *verdict)
{
    struct state state;
    size_t left = 0;

    history_state(h, &s->scope, rev, &state);
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &s->events.v[i];

        if (e->type != EVENT_ADDED || state.revs[e->key] != e->rev ||
            state.contents[e->key].token != e->content.token)
            verdict_set(verdict, "state at %llu: key %u is at %llu instead of %llu",
                        (unsigned long long)rev, e->key, (unsigned long long)e->rev,
                        (unsigned long long)state.revs[e->key]);
        state.revs[e->key] = 0;
    }
    for (unsigned i = 0; i < KEYS; i++)
        left += state.revs[i] != 0;
    if (left > 0)
        verdict_set(verdict, "state at %llu: %zu objects of %zu are missing",
                    (unsigned long long)rev, left, left + n);
}

/* Each event is an object as it once was. */
static void check_each(const struct history *h, const struct segment *s, struct verdict *verdict)
{
    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *e = &s->events.v[i];
        size_t at = first_after(h, e->rev - 1);

        while (at < h->events.n && h->events.v[at].rev == e->rev && h->events.v[at].key != e->key)
            at++;
        if (at == h->events.n || h->events.v[at].rev != e->rev || h->events.v[at].key != e->key ||
            h->events.v[at].content.token != e->content.token)
            verdict_set(verdict, "key %u never was at %llu", e->key, (unsigned long long)e->rev);
    }
}

/* Could the first n events be the initial state, and the others what followed? */
static bool splits_at(const struct history *h, const struct segment *s, size_t n,
                      struct verdict *ret_verdict)
{
    uint64_t rev = n < s->events.n ? s->events.v[n].rev - 1 : h->rev;

    *ret_verdict = (struct verdict){0};
    if (n == s->events.n) {
        /* Nothing followed: the state is that of some revision from the newest object on. */
        check_each(h, s, ret_verdict);
        return !ret_verdict->is_wrong;
    }
    if (s->start == START_NOW && rev < s->known_rev && h->events.n > 0) {
        verdict_set(ret_verdict, "the watch began before %llu", (unsigned long long)s->known_rev);
        return false;
    }
    check_initial(h, s, n, rev, ret_verdict);
    check_live(h, s, n, rev, ret_verdict);
    return !ret_verdict->is_wrong;
}

/* Where the initial state of a watch without a bookmark ends is not told: its events have distinct
 * keys, and those after it growing revisions. */
static void check_untold(const struct history *h, const struct segment *s, struct verdict *verdict)
{
    struct verdict why = {0};
    bool seen[KEYS] = {false};
    size_t most = 0, least = s->events.n;

    while (most < s->events.n && s->events.v[most].type == EVENT_ADDED &&
           !seen[s->events.v[most].key])
        seen[s->events.v[most++].key] = true;
    while (least > 0 &&
           (least == s->events.n || s->events.v[least - 1].rev <= s->events.v[least].rev))
        least--;
    for (size_t n = most + 1; n > least; n--)
        if (splits_at(h, s, n - 1, &why))
            return;
    verdict_set(verdict, "%s (initial state of %zu to %zu events)",
                why.is_wrong ? why.text : "events do not follow each other", least, most);
}

void history_check(const struct history *h, const struct segment *s, struct verdict *verdict)
{
    if (s->start == START_NOW || s->start == START_ANY) {
        check_untold(h, s, verdict);
    } else if (s->start == START_OLD) {
        check_live(h, s, 0, s->from, verdict);
    } else if (!s->has_begun) {
        check_each(h, s, verdict);
    } else {
        if (s->from < s->known_rev)
            verdict_set(verdict, "the state at %llu is older than %llu",
                        (unsigned long long)s->from, (unsigned long long)s->known_rev);
        check_initial(h, s, s->ninitial, s->from, verdict);
        check_live(h, s, s->ninitial, s->from, verdict);
    }
}
