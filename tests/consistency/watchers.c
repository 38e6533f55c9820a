#include "watchers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "http_conn.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "pod.h"
#include "writers.h"

#define TEXT_MAX   (8u << 20)
#define STAY_MS    600  /* at most, before a watcher goes away */
#define LONG_MS    6000 /* and before some do: long enough for bookmarks before a deadline */
#define AWAY_MS    60
#define PAUSE_MS   4000 /* long enough for a stream to fill up, now and then */
#define CHECK_MS   100
#define LIST_MS    180000
#define PAGE_LIMIT 7
#define RECENT     500 /* revisions */
/* Asking all the time, and refused each time: that is no slow machine. */
#define STARVED_MS 60000
#define STAY_S     60 /* of a stream, when nobody goes away any more */

/* A segment that waits for the history to reach it. */
struct pending {
    struct cor_dlist link;
    struct segment segment;
    size_t watcher;
};

struct watcher {
    struct watchers *all;
    size_t number;
    struct http_conn *conn;
    struct cor_timer turn;  /* to go away, or to come back */
    struct cor_timer pause; /* to read on */
    struct cor_rand rand;
    struct cor_buf text; /* an answer, or the part of a line */
    char token[1024];    /* of the next page */
    struct segment segment;
    uint64_t seen;    /* of the last event */
    uint64_t whole;   /* where a resume goes on: all events up to here were seen */
    uint64_t again;   /* some events of this revision may come a second time; 0: none */
    uint64_t highest; /* of the segment's events */
    uint64_t stay_ms;
    uint64_t fed_at_ms;     /* when the server gave it something last */
    uint64_t refused_at_ms; /* when the first of `refused` was */
    size_t refused;         /* how often it was told 429, and nothing else since then */
    int status;
    bool is_listing, is_slow, has_list;
    bool has_read;  /* this connection has brought an event, perhaps one that came before */
    bool goes_back; /* the next start is from long ago */
};

struct watchers {
    struct cor_loop *loop;
    struct http_client *client;
    const struct writers *writers;
    struct verdict *verdict;
    struct history history;
    struct cor_dlist pending;
    struct cor_timer check;
    uint64_t first_rev; /* where the history begins */
    uint64_t compacted; /* what the store has forgotten at most */
    bool may_410;       /* others forget too */
    uint64_t final_rev;
    struct watchers_totals totals;
    size_t n;
    struct watcher v[];
};

static bool is_reference(const struct watcher *wt)
{
    return wt->number == 0;
}

static void stand_at(struct watcher *wt, uint64_t rev)
{
    wt->highest = wt->seen = wt->whole = rev;
    wt->again = 0;
}

/* Any revision of the history, of which the older part is compacted now and then, or one of those
 * that a small window has just lost. */
static void begin_long_ago(struct watcher *wt)
{
    const struct watchers *w = wt->all;
    uint64_t back = w->history.whole - w->first_rev;

    if (back > RECENT && cor_rand_below(&wt->rand, 2) == 0)
        back = RECENT;
    wt->segment.has_begun = true;
    wt->segment.from = w->history.whole - cor_rand_below(&wt->rand, back + 1);
    stand_at(wt, wt->segment.from);
    wt->all->totals.olds++;
}

static void begin_segment(struct watcher *wt)
{
    static const enum start starts[] = {START_LIST, START_LIST, START_INITIAL, START_NOW,
                                        START_ANY,  START_OLD,  START_OLD,     START_OLD};
    struct scope scope = wt->segment.scope;
    uint64_t n = wt->all->history.whole > 0 ? COR_ARRAY_LEN(starts) : COR_ARRAY_LEN(starts) - 3;
    uint64_t pick = is_reference(wt) ? 0 : cor_rand_below(&wt->rand, n);

    wt->segment =
        (struct segment){.scope = scope, .start = wt->goes_back ? START_OLD : starts[pick]};
    wt->goes_back = false;
    stand_at(wt, 0);
    wt->token[0] = '\0';
    wt->all->totals.segments++;
    if (wt->segment.start == START_OLD)
        begin_long_ago(wt);
}

/* What it saw is compared as soon as the history has it too. */
static void finish_segment(struct watcher *wt)
{
    struct pending *pending = cor_calloc(1, sizeof(*pending));

    if (!pending)
        abort();
    pending->segment = wt->segment;
    pending->watcher = wt->number;
    cor_dlist_push(&wt->all->pending, &pending->link);
    wt->segment.events = (struct events){0};
}

/* It came before the connection was lost. */
static bool is_repeated(const struct watcher *wt, const struct event *event)
{
    const struct events *all = &wt->segment.events;

    if (event->rev != wt->again || event->type == EVENT_BOOKMARK)
        return false;
    for (size_t i = all->n; i > wt->segment.ninitial && all->v[i - 1].rev == event->rev; i--)
        if (all->v[i - 1].key == event->key && all->v[i - 1].type == event->type)
            return true;
    return false;
}

static void add_event(struct watcher *wt, const struct event *event)
{
    struct watchers *w = wt->all;

    wt->has_read = true;
    if (is_repeated(wt, event))
        return;
    if (event->type == EVENT_BOOKMARK)
        w->totals.bookmarks++;
    else
        w->totals.events++;
    events_add(&wt->segment.events, event);
    wt->seen = event->rev;
    wt->whole = event->type == EVENT_BOOKMARK ? event->rev : event->rev - 1;
    if (event->rev > wt->highest)
        wt->highest = event->rev;
    if (is_reference(wt))
        history_add(&w->history, event, w->verdict);
}

static void send_list(struct watcher *wt)
{
    char path[2048];
    size_t n;

    wt->is_listing = true;
    scope_path(path, sizeof(path), &wt->segment.scope);
    n = strlen(path);
    if (wt->token[0]) {
        snprintf(path + n, sizeof(path) - n, "limit=%d&continue=%s", PAGE_LIMIT, wt->token);
    } else {
        events_deinit(&wt->segment.events);
        if (cor_rand_below(&wt->rand, 3) == 0)
            snprintf(path + n, sizeof(path) - n, "limit=%d", PAGE_LIMIT);
        else if (cor_rand_below(&wt->rand, 3) == 0)
            snprintf(path + n, sizeof(path) - n, "resourceVersion=0");
        wt->segment.known_rev =
            wt->all->writers && !strstr(path, "Version=0") ? writers_rev(wt->all->writers) : 0;
    }
    http_conn_send(wt->conn, "GET", path, NULL, cor_strz(""));
}

static void send_watch(struct watcher *wt)
{
    struct segment *s = &wt->segment;
    bool is_fresh = s->start == START_NOW || s->start == START_ANY;
    unsigned seconds = wt->all->final_rev ? STAY_S : 1 + (unsigned)cor_rand_below(&wt->rand, 4);
    char path[512];
    size_t n;

    wt->is_listing = false;
    wt->again = wt->whole < wt->seen ? wt->seen : 0;
    scope_path(path, sizeof(path), &s->scope);
    n = strlen(path);
    if (!s->has_begun)
        s->known_rev = wt->all->writers ? writers_rev(wt->all->writers) : 0;
    if (s->start == START_INITIAL && !s->has_begun) {
        events_deinit(&s->events);
        snprintf(path + n, sizeof(path) - n,
                 "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                 "allowWatchBookmarks=true");
    } else if (is_fresh) {
        snprintf(path + n, sizeof(path) - n, "watch=1%s",
                 s->start == START_ANY ? "&resourceVersion=0" : "");
    } else {
        snprintf(path + n, sizeof(path) - n,
                 "watch=1&resourceVersion=%llu&timeoutSeconds=%u&allowWatchBookmarks=%s",
                 (unsigned long long)wt->whole, seconds,
                 cor_rand_below(&wt->rand, 2) ? "true" : "false");
    }
    http_conn_send(wt->conn, "GET", path, NULL, cor_strz(""));
}

static void come_back_later(struct watcher *wt)
{
    http_conn_close(COR_STEAL(wt->conn));
    cor_timer_cancel(&wt->pause);
    cor_timer_set(&wt->turn, 1 + cor_rand_below(&wt->rand, AWAY_MS));
}

static void on_lost(void *arg)
{
    come_back_later(arg);
}

/* The watcher was given something: an event, a list, or a stream that ended by itself. */
static void be_fed(struct watcher *wt)
{
    wt->fed_at_ms = cor_loop_now_ms(wt->all->loop);
    wt->refused = 0;
}

static void be_refused(struct watcher *wt)
{
    if (wt->refused++ == 0)
        wt->refused_at_ms = cor_loop_now_ms(wt->all->loop);
    wt->all->totals.refusals++;
    come_back_later(wt);
}

/* The server has forgotten where the watcher was. */
static void start_anew(struct watcher *wt)
{
    struct watchers *w = wt->all;
    uint64_t at = wt->is_listing ? wt->segment.from : wt->whole;

    w->totals.relists++;
    if (is_reference(wt) || (!w->may_410 && at >= w->compacted)) {
        verdict_set(w->verdict, "watcher %zu was told 410 at %llu, %llu is compacted", wt->number,
                    (unsigned long long)at, (unsigned long long)w->compacted);
        return;
    }
    finish_segment(wt);
    begin_segment(wt);
    come_back_later(wt);
}

static void take_line(struct watcher *wt, struct cor_str line)
{
    struct segment *s = &wt->segment;
    struct event event;
    bool ends_initial;

    if (!pod_read_event(line, &event, &ends_initial)) {
        struct cor_str code = json_member(json_member(line, "object"), "code");

        if (cor_str_eqz(code, "410"))
            start_anew(wt);
        else if (cor_str_eqz(code, "429"))
            be_refused(wt);
        else if (cor_str_eqz(code, "504")) /* Its time was over before the store told anything. */
            come_back_later(wt);
        else
            verdict_set(wt->all->verdict, "watcher %zu got %.*s", wt->number,
                        (int)(line.n < 200 ? line.n : 200), line.p);
        return;
    }
    be_fed(wt);
    if (ends_initial && !s->has_begun) {
        s->has_begun = true;
        s->ninitial = s->events.n;
        s->from = event.rev;
        stand_at(wt, event.rev);
    } else if (s->start != START_INITIAL || s->has_begun || event.type != EVENT_BOOKMARK) {
        add_event(wt, &event);
    }
}

/* A connection that is closed in between takes no more lines. */
static void take_lines(struct watcher *wt)
{
    struct http_conn *conn = wt->conn;
    struct cor_str rest = cor_buf_str(&wt->text);
    ptrdiff_t end;

    while (wt->conn == conn && (end = cor_str_find(rest, '\n')) >= 0) {
        take_line(wt, cor_str(rest.p, (size_t)end));
        rest = cor_str_from(rest, (size_t)end + 1);
    }
    memmove(wt->text.p, rest.p, rest.n);
    cor_buf_truncate(&wt->text, rest.n);
}

static void on_head(int status, void *arg)
{
    struct watcher *wt = arg;

    wt->status = status;
    cor_buf_reset(&wt->text);
}

static void on_body(struct cor_str piece, void *arg)
{
    struct watcher *wt = arg;

    if (cor_buf_adds(&wt->text, piece) < 0)
        abort();
    if (wt->status != 200 || wt->is_listing)
        return;
    take_lines(wt);
    if (wt->conn && wt->is_slow && !wt->all->final_rev && cor_rand_below(&wt->rand, 16) == 0) {
        http_conn_pause(wt->conn, true);
        cor_timer_set(&wt->pause, 1 + cor_rand_below(&wt->rand, PAUSE_MS));
    }
}

static void on_pause_over(struct cor_timer *timer)
{
    struct watcher *wt = COR_CONTAINER_OF(timer, struct watcher, pause);

    if (wt->conn)
        http_conn_pause(wt->conn, false);
}

/* A page of a list is there; the last one begins the watch. */
static void take_page(struct watcher *wt)
{
    struct segment *s = &wt->segment;
    struct cor_str json = cor_buf_str(&wt->text);
    struct cor_str token = json_text(json_member(json, "metadata"), "continue");
    bool is_first = wt->token[0] == '\0';
    uint64_t rev = 0;

    if (!pod_read_list(json, &s->events, &rev) || (!is_first && rev != s->from))
        verdict_set(wt->all->verdict, "watcher %zu: a list at %llu: %.150s", wt->number,
                    (unsigned long long)rev, cor_buf_z(&wt->text));
    s->from = rev;
    snprintf(wt->token, sizeof(wt->token), "%.*s", COR_STR_ARG(token));
    if (token.n > 0) {
        send_list(wt);
        return;
    }
    wt->all->totals.lists++;
    be_fed(wt);
    s->has_begun = true;
    s->ninitial = s->events.n;
    stand_at(wt, s->from);
    if (is_reference(wt))
        wt->all->first_rev = wt->all->history.rev = wt->all->history.whole = s->from;
    send_watch(wt);
}

static void on_done(void *arg)
{
    struct watcher *wt = arg;

    if (wt->status == 200 && wt->is_listing) {
        take_page(wt);
    } else if (wt->status == 410) {
        start_anew(wt);
    } else if (wt->status == 429) {
        be_refused(wt);
    } else {
        if (wt->status == 200)
            be_fed(wt);
        else if (wt->status != 503 && wt->status != 504)
            verdict_set(wt->all->verdict, "watcher %zu: %d %.200s", wt->number, wt->status,
                        cor_buf_z(&wt->text));
        /* No watch ends inside a revision. One that ended before its first event says nothing of
         * the revision inside which the connection before it was lost. */
        if (wt->status == 200 && wt->has_read)
            wt->whole = wt->seen;
        come_back_later(wt);
    }
}

static const struct http_conn_cbs conn_cbs = {on_head, on_body, on_done, on_lost};

/* Back after a time away: on with the segment, or a new one. Who was refused insists. */
static void come_back(struct watcher *wt)
{
    struct segment *s = &wt->segment;
    bool can_resume = s->has_begun;
    bool has_started = s->has_begun || s->events.n > 0;
    bool may_change = !is_reference(wt) && wt->refused == 0;

    if (has_started &&
        (!can_resume || wt->goes_back || (may_change && cor_rand_below(&wt->rand, 4) == 0))) {
        finish_segment(wt);
        begin_segment(wt);
    } else if (can_resume) {
        wt->all->totals.resumes++;
    }
    wt->has_read = false;
    wt->status = 0;
    wt->conn = http_conn_open(wt->all->client, &conn_cbs, wt, wt->is_slow);
    if (!wt->conn) {
        come_back_later(wt);
        return;
    }
    if (wt->segment.start == START_LIST && !wt->segment.has_begun) {
        wt->token[0] = '\0';
        send_list(wt);
    } else {
        send_watch(wt);
    }
    if (!wt->all->final_rev)
        cor_timer_set(&wt->turn, 1 + cor_rand_below(&wt->rand, wt->stay_ms));
}

/* Who was let in and goes away by itself was not refused. */
static void go_away(struct watcher *wt)
{
    if (wt->status == 200)
        wt->refused = 0;
    come_back_later(wt);
}

static void on_turn(struct cor_timer *timer)
{
    struct watcher *wt = COR_CONTAINER_OF(timer, struct watcher, turn);

    if (!wt->conn)
        come_back(wt);
    else if (!wt->all->final_rev)
        go_away(wt);
}

static uint64_t highest_of(const struct segment *s)
{
    uint64_t rev = s->from;

    for (size_t i = 0; i < s->events.n; i++)
        if (s->events.v[i].rev > rev)
            rev = s->events.v[i].rev;
    return rev;
}

static const char *const start_names[] = {"list", "initial events", "now", "any", "long ago"};

static void check_pending(struct watchers *w, bool is_last)
{
    COR_DLIST_FOREACH_SAFE(it, &w->pending) {
        struct pending *pending = COR_CONTAINER_OF(it, struct pending, link);
        struct verdict why = {0};

        if (highest_of(&pending->segment) > w->history.whole && !is_last)
            continue;
        history_check(&w->history, &pending->segment, &why);
        if (why.is_wrong)
            verdict_set(w->verdict, "watcher %zu, from %s: %s", pending->watcher,
                        start_names[pending->segment.start], why.text);
        events_deinit(&pending->segment.events);
        cor_dlist_remove(&pending->link);
        cor_free(pending);
    }
}

/* Who is told to come again, and comes again, is served in the end. */
static void check_fed(struct watchers *w)
{
    uint64_t now_ms = cor_loop_now_ms(w->loop);

    for (size_t i = 0; i < w->n; i++) {
        const struct watcher *wt = &w->v[i];

        if (now_ms - wt->fed_at_ms > w->totals.longest_ms)
            w->totals.longest_ms = now_ms - wt->fed_at_ms;
        if (wt->refused > 0 && now_ms - wt->refused_at_ms > STARVED_MS)
            verdict_set(w->verdict, "watcher %zu was refused %zu times in a row, for %llu s", i,
                        wt->refused, (unsigned long long)(now_ms - wt->refused_at_ms) / 1000);
    }
}

static void on_check(struct cor_timer *timer)
{
    struct watchers *w = COR_CONTAINER_OF(timer, struct watchers, check);

    check_pending(w, false);
    if (!w->final_rev) /* After it there may be nothing more to give. */
        check_fed(w);
    cor_timer_set(&w->check, CHECK_MS);
}

static struct scope pick_scope(struct watcher *wt)
{
    struct scope scope = SCOPE_ALL;

    if (is_reference(wt))
        return scope;
    if (cor_rand_below(&wt->rand, 2))
        scope.space = (int)cor_rand_below(&wt->rand, SPACES);
    switch (wt->number % 5) {
    case 1:
        scope.color = (int)cor_rand_below(&wt->rand, COLORS);
        break;
    case 2:
        scope.node = (int)cor_rand_below(&wt->rand, NODES);
        scope.not_color = (int)cor_rand_below(&wt->rand, COLORS);
        break;
    case 3:
        scope.name = (int)cor_rand_below(&wt->rand, NAMES);
        break;
    case 4:
        scope.node = (int)cor_rand_below(&wt->rand, NODES);
        break;
    default:
        break;
    }
    return scope;
}

struct watchers *watchers_start(struct cor_loop *loop, struct http_client *client, size_t n,
                                uint64_t seed, struct verdict *verdict)
{
    struct watchers *w = cor_calloc(1, sizeof(*w) + n * sizeof(w->v[0]));

    if (!w)
        abort();
    w->loop = loop;
    w->client = client;
    w->verdict = verdict;
    w->n = n;
    cor_dlist_init(&w->pending);
    cor_timer_init(&w->check, loop, on_check);
    cor_timer_set(&w->check, CHECK_MS);
    for (size_t i = 0; i < n; i++) {
        struct watcher *wt = &w->v[i];

        wt->all = w;
        wt->number = i;
        wt->is_slow = i % 4 == 3;
        wt->stay_ms = wt->is_slow || i % 3 == 0 ? LONG_MS : STAY_MS;
        cor_rand_init_seeded(&wt->rand, seed + i);
        cor_buf_init(&wt->text, TEXT_MAX);
        cor_timer_init(&wt->turn, loop, on_turn);
        cor_timer_init(&wt->pause, loop, on_pause_over);
        wt->segment.scope = pick_scope(wt);
        be_fed(wt);
        begin_segment(wt);
        come_back(wt);
    }
    return w;
}

bool watchers_have_begun(void *watchers)
{
    return ((struct watchers *)watchers)->history.rev > 0;
}

void watchers_heed(struct watchers *w, const struct writers *writers)
{
    w->writers = writers;
}

void watchers_compacting(struct watchers *w, uint64_t rev)
{
    w->compacted = rev;
}

void watchers_allow_410(struct watchers *w)
{
    w->may_410 = true;
}

void watchers_restarted(struct watchers *w)
{
    for (size_t i = 1; i < w->n; i++)
        w->v[i].goes_back = cor_rand_below(&w->v[i].rand, 2) == 0;
}

const struct history *watchers_history(const struct watchers *w)
{
    return &w->history;
}

void watchers_settle(struct watchers *w, uint64_t final_rev)
{
    w->final_rev = final_rev;
}

bool watchers_are_done(void *watchers)
{
    struct watchers *w = watchers;

    if (w->verdict->is_wrong)
        return true;
    if (w->history.rev < w->final_rev)
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].highest < history_last(&w->history, &w->v[i].segment.scope))
            return false;
    return true;
}

void watchers_blame(const struct watchers *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct watcher *wt = &w->v[i];
        uint64_t last = history_last(&w->history, &wt->segment.scope);
        char path[512];

        scope_path(path, sizeof(path), &wt->segment.scope);
        if (wt->highest < last || (i == 0 && w->history.rev < w->final_rev))
            verdict_set(w->verdict,
                        "watcher %zu of %s, from %s (%s, %s, status %d), waits at %llu for %llu", i,
                        path, start_names[wt->segment.start],
                        wt->segment.has_begun ? "begun" : "not begun",
                        wt->conn ? "connected" : "away", wt->status,
                        (unsigned long long)wt->highest, (unsigned long long)last);
    }
}

/* The list at the history's end. */
static void on_last_list(void *arg)
{
    struct watcher *wt = arg;
    struct watchers *w = wt->all;
    struct segment s = {.scope = wt->segment.scope, .start = START_LIST, .has_begun = true};
    struct verdict why = {0};

    wt->has_list = true;
    if (wt->status == 410) {
        w->totals.relists++;
        return;
    }
    if (wt->status != 200 || !pod_read_list(cor_buf_str(&wt->text), &s.events, &s.from) ||
        s.from != w->history.rev)
        verdict_set(&why, "%d %.150s", wt->status, cor_buf_z(&wt->text));
    s.ninitial = s.events.n;
    history_check(&w->history, &s, &why);
    if (why.is_wrong)
        verdict_set(w->verdict, "the list at watcher %zu's last revision: %s", wt->number,
                    why.text);
    events_deinit(&s.events);
}

static void on_last_list_lost(void *arg)
{
    struct watcher *wt = arg;

    wt->has_list = true;
    verdict_set(wt->all->verdict, "no list at watcher %zu's last revision", wt->number);
}

static const struct http_conn_cbs list_cbs = {on_head, on_body, on_last_list, on_last_list_lost};

static void ask_last_list(struct watcher *wt)
{
    char path[512];
    size_t n;

    finish_segment(wt);
    http_conn_close(COR_STEAL(wt->conn));
    cor_timer_cancel(&wt->turn);
    cor_timer_cancel(&wt->pause);
    wt->is_listing = true;
    wt->conn = http_conn_open(wt->all->client, &list_cbs, wt, false);
    scope_path(path, sizeof(path), &wt->segment.scope);
    n = strlen(path);
    snprintf(path + n, sizeof(path) - n, "resourceVersion=%llu&resourceVersionMatch=Exact",
             (unsigned long long)wt->all->history.rev);
    if (wt->conn)
        http_conn_send(wt->conn, "GET", path, NULL, cor_strz(""));
}

static bool lists_are_done(void *arg)
{
    struct watchers *w = arg;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        n += w->v[i].has_list;
    return n == w->n;
}

void watchers_check(struct watchers *w)
{
    for (size_t i = 0; i < w->n; i++)
        ask_last_list(&w->v[i]);
    check_pending(w, true);
    if (!cor_loop_run_until(w->loop, lists_are_done, w, LIST_MS))
        verdict_set(w->verdict, "the last lists do not come");
}

struct watchers_totals watchers_totals(const struct watchers *w)
{
    return w->totals;
}

void watchers_free(struct watchers *w)
{
    for (size_t i = 0; i < w->n; i++) {
        http_conn_close(w->v[i].conn);
        cor_timer_cancel(&w->v[i].turn);
        cor_timer_cancel(&w->v[i].pause);
        cor_buf_deinit(&w->v[i].text);
        events_deinit(&w->v[i].segment.events);
    }
    cor_timer_cancel(&w->check);
    check_pending(w, true);
    history_deinit(&w->history);
    cor_free(w);
}
