#include "storage/etcd/watch_stream.h"

#include "base/err.h"
#include "base/mem.h"

#define METHOD_WATCH "/etcdserverpb.Watch/Watch"
#define ALL_WATCHES  (-1)
/* Etcd drops a question that it cannot answer yet. */
#define PROGRESS_RETRY_MS 100
/* Questions after which a watch that is not alone counts as held up: a second. */
#define HELD_UP_ASKS      10
#define REQUEST_BYTES_MAX 16384
#define PLACES_MAX        65536
#define COMPACTED         "required revision has been compacted"

struct etcd_watch_stream {
    struct etcd_watch_streams *all;
    bool is_lone;
    struct etcd_stream *call; /* NULL: it has ended */
    struct cor_map by_id;     /* the keys are the places' `id` */
    struct cor_dlist places;
    int64_t last_id, last_created; /* etcd announces them in their order */
    uint64_t asked, answered;      /* for progress; `answered` is the least that is certain */
    struct cor_timer timer;
    bool is_busy; /* places are being told: what ends it waits until that is over */
    bool is_ask_due;
    bool is_lost;
    enum etcd_wait_when when;
};

static struct etcd_place *of_link(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct etcd_place, link);
}

static struct cor_str id_key(const int64_t *id)
{
    return cor_str((const char *)id, sizeof(*id));
}

static struct etcd_place *find(const struct etcd_watch_stream *s, int64_t id)
{
    return cor_map_peek(&s->by_id, id_key(&id));
}

static void detach(struct etcd_place *place)
{
    cor_map_remove(&place->stream->by_id, id_key(&place->id));
    cor_dlist_remove(&place->link);
    place->stream = NULL;
    place->wants_progress = false;
}

/* Nobody joins it any more. */
static void end_call(struct etcd_watch_stream *s)
{
    if (s->all->shared == s)
        s->all->shared = NULL;
    cor_timer_cancel(&s->timer);
    if (s->call)
        cor_etcd_stream_close(COR_STEAL(s->call));
}

static void stream_free(struct etcd_watch_stream *s)
{
    end_call(s);
    s->all->nlone -= s->is_lone;
    cor_map_deinit(&s->by_id);
    cor_free(s);
}

static void ask(struct etcd_watch_stream *s);

/* What had to wait while places were told. */
static void settle(struct etcd_watch_stream *s)
{
    struct cor_dlist *link;

    if (s->is_ask_due && !s->is_lost)
        ask(s);
    while (s->is_lost && (link = s->places.next) != &s->places) {
        struct etcd_place *place = of_link(link);

        detach(place);
        place->cbs->on_lost(place, s->when);
    }
    s->is_busy = false;
    if (cor_dlist_empty(&s->places))
        stream_free(s);
}

static void lose(struct etcd_watch_stream *s, enum etcd_wait_when when)
{
    if (s->is_lost)
        return;
    end_call(s);
    s->is_lost = true;
    s->when = when;
    if (s->is_busy)
        return;
    s->is_busy = true;
    settle(s);
}

static int send_progress(struct etcd_watch_stream *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, REQUEST_BYTES_MAX);
    r = cor_etcd_encode_watch_progress(&out);
    if (r == 0)
        r = cor_etcd_stream_send(s->call, cor_buf_str(&out));
    return r;
}

/* One that cannot be sent now is asked by the timer, which is not put off by those that are. */
static void ask(struct etcd_watch_stream *s)
{
    s->is_ask_due = false;
    if (send_progress(s) == 0)
        s->asked++;
    if (!cor_timer_is_set(&s->timer) && cor_timer_set(&s->timer, PROGRESS_RETRY_MS) < 0)
        lose(s, ETCD_WAIT_RETRY);
}

static bool wants_progress(const struct etcd_watch_stream *s)
{
    COR_DLIST_FOREACH(link, &s->places)
    {
        if (of_link(link)->wants_progress)
            return true;
    }
    return false;
}

static int send_cancel(struct etcd_watch_stream *s, int64_t id)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, REQUEST_BYTES_MAX);
    r = cor_etcd_encode_watch_cancel(id, &out);
    if (r == 0)
        r = cor_etcd_stream_send(s->call, cor_buf_str(&out));
    return r == -COR_ECANCELED ? 0 : r;
}

void cor_etcd_place_leave(struct etcd_place *place)
{
    struct etcd_watch_stream *s = place->stream;
    int64_t id = place->id;

    if (!s)
        return;
    detach(place);
    if (cor_dlist_empty(&s->places) && !s->is_busy)
        stream_free(s);
    else if (!s->is_lost && send_cancel(s, id) < 0)
        lose(s, ETCD_WAIT_RETRY);
}

/* One question for all that were announced meanwhile; the timer asks in any case. */
void cor_etcd_place_ask_progress(struct etcd_place *place)
{
    struct etcd_watch_stream *s = place->stream;

    if (place->wants_progress)
        return;
    place->wants_progress = true;
    place->asked = 0;
    if (s->is_busy)
        s->is_ask_due = true;
    else if (s->last_created == s->last_id)
        ask(s);
    else if (!cor_timer_is_set(&s->timer) && cor_timer_set(&s->timer, PROGRESS_RETRY_MS) < 0)
        lose(s, ETCD_WAIT_RETRY);
}

static bool is_held_up(const struct etcd_watch_stream *s, struct etcd_place *place)
{
    bool has_others = s->places.next != s->places.prev;

    return place->wants_progress && ++place->asked >= HELD_UP_ASKS && has_others && !s->is_lone &&
           s->all->nlone < ETCD_LONE_STREAMS_MAX;
}

static void on_timer(struct cor_timer *timer)
{
    struct etcd_watch_stream *s = COR_CONTAINER_OF(timer, struct etcd_watch_stream, timer);

    s->is_busy = true;
    COR_DLIST_FOREACH_SAFE(link, &s->places)
    {
        struct etcd_place *place = of_link(link);

        if (!is_held_up(s, place))
            continue;
        cor_etcd_place_leave(place);
        place->cbs->on_held_up(place);
    }
    s->is_ask_due |= wants_progress(s);
    settle(s);
}

/* Answers. */

/* The answer to a question from before the place says nothing of it. */
static bool covers(const struct etcd_watch_stream *s, const struct etcd_place *place)
{
    return place->created_rev > 0 && s->answered > place->asked_before;
}

static void take_progress(struct etcd_watch_stream *s, cor_rev rev)
{
    struct cor_dlist told, *link;

    s->answered++;
    COR_DLIST_FOREACH(it, &s->places)
    {
        const struct etcd_place *place = of_link(it);

        if (place->created_rev > 0 && rev > place->created_rev &&
            s->answered <= place->asked_before)
            s->answered = place->asked_before + 1;
    }
    cor_dlist_init(&told);
    cor_dlist_splice(&told, &s->places);
    while ((link = cor_dlist_pop(&told))) {
        struct etcd_place *place = of_link(link);

        cor_dlist_push(&s->places, link);
        if (!place->wants_progress)
            continue;
        if (!covers(s, place)) {
            s->is_ask_due |= place->created_rev > 0;
            continue;
        }
        place->wants_progress = false;
        place->cbs->on_progress(place, rev);
    }
}

static void take_canceled(struct etcd_watch_stream *s, struct etcd_place *place,
                          const struct etcd_watch_answer *a)
{
    if (cor_etcd_session_wants_login(s->all->session, a->reason)) {
        lose(s, ETCD_WAIT_LOGIN);
        return;
    }
    detach(place);
    if (a->compact_rev > 0)
        place->cbs->on_end(place, -COR_EEXPIRED, COMPACTED);
    else if (cor_etcd_is_refusal(a->reason))
        place->cbs->on_end(place, -COR_EFORBIDDEN, a->reason);
    else
        place->cbs->on_lost(place, ETCD_WAIT_RETRY);
}

/* One that is refused has no name: it is the next to be announced. */
static void take_created(struct etcd_watch_stream *s, const struct etcd_watch_answer *a)
{
    struct etcd_place *place = find(s, ++s->last_created);

    if (a->id != s->last_created && (a->id != ALL_WATCHES || !a->canceled)) {
        lose(s, ETCD_WAIT_RETRY);
        return;
    }
    if (place && a->canceled)
        take_canceled(s, place, a);
    else if (place)
        place->created_rev = a->rev;
    if (s->last_created == s->last_id)
        s->is_ask_due |= wants_progress(s);
}

static void take_answer(struct etcd_watch_stream *s, struct etcd_watch_answer *a)
{
    struct etcd_place *place = find(s, a->id);

    if (a->created)
        take_created(s, a);
    else if (a->id == ALL_WATCHES && !a->canceled)
        take_progress(s, a->rev);
    else if (place && a->canceled)
        take_canceled(s, place, a);
    else if (place && a->nevents > 0)
        place->cbs->on_events(place, a);
}

static void on_message(void *arg, struct cor_str message)
{
    struct etcd_watch_stream *s = arg;
    struct etcd_watch_answer answer;

    if (cor_etcd_decode_watch(message, &answer) < 0) {
        lose(s, ETCD_WAIT_RETRY);
        return;
    }
    s->is_busy = true;
    take_answer(s, &answer);
    cor_etcd_watch_answer_deinit(&answer);
    settle(s);
}

static void on_closed(void *arg, const struct etcd_failure *why)
{
    struct etcd_watch_stream *s = arg;
    struct cor_dlist *link;

    s->call = NULL;
    cor_etcd_session_blame_member(s->all->session, why);
    if (!cor_etcd_is_refusal(why->message)) {
        lose(s, cor_etcd_session_wants_login(s->all->session, why->message) ? ETCD_WAIT_LOGIN
                                                                            : ETCD_WAIT_RETRY);
        return;
    }
    end_call(s);
    s->is_busy = s->is_lost = true;
    while ((link = s->places.next) != &s->places) {
        struct etcd_place *place = of_link(link);

        detach(place);
        place->cbs->on_end(place, -COR_EFORBIDDEN, why->message);
    }
    settle(s);
}

/* Joining. */

static int stream_new(struct etcd_watch_streams *all, bool is_lone,
                      struct etcd_watch_stream **ret_stream)
{
    static const struct etcd_stream_cbs cbs = {.on_message = on_message, .on_closed = on_closed};
    struct etcd_watch_stream *s = cor_calloc(1, sizeof(*s));
    int r;

    if (!s)
        return -COR_ENOMEM;
    r = cor_etcd_session_open_stream(all->session, METHOD_WATCH, &cbs, s, &s->call);
    if (r < 0) {
        cor_free(s);
        return r;
    }
    s->all = all;
    s->is_lone = is_lone;
    all->nlone += is_lone;
    cor_map_init(&s->by_id, PLACES_MAX);
    cor_dlist_init(&s->places);
    cor_timer_init(&s->timer, cor_etcd_session_loop(all->session), on_timer);
    if (!is_lone)
        all->shared = s;
    *ret_stream = s;
    return 0;
}

static int send_create(struct etcd_watch_stream *s, const struct etcd_watch_create *what)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    struct etcd_watch_create create = *what;
    int r;

    create.id = s->last_id + 1;
    cor_buf_init(&out, REQUEST_BYTES_MAX);
    r = cor_etcd_encode_watch_create(&create, &out);
    if (r == 0)
        r = cor_etcd_stream_send(s->call, cor_buf_str(&out));
    return r;
}

static int take_place(struct etcd_watch_stream *s, const struct etcd_watch_create *create,
                      struct etcd_place *place)
{
    int r;

    place->id = s->last_id + 1;
    r = cor_map_put(&s->by_id, id_key(&place->id), place, NULL);
    if (r < 0)
        return r;
    r = send_create(s, create);
    if (r < 0) {
        cor_map_remove(&s->by_id, id_key(&place->id));
        return r;
    }
    s->last_id++;
    place->stream = s;
    place->asked_before = s->asked;
    cor_dlist_push(&s->places, &place->link);
    return 0;
}

int cor_etcd_watch_streams_join(struct etcd_watch_streams *streams, bool alone,
                                const struct etcd_watch_create *create,
                                const struct etcd_place_cbs *cbs, struct etcd_place *place)
{
    struct etcd_watch_stream *s = alone ? NULL : streams->shared;
    int r = s ? 0 : stream_new(streams, alone, &s);

    if (r < 0)
        return r;
    *place = (struct etcd_place){.cbs = cbs};
    r = take_place(s, create, place);
    if (r < 0 && cor_dlist_empty(&s->places) && !s->is_busy)
        stream_free(s);
    return r;
}

void cor_etcd_watch_streams_init(struct etcd_watch_streams *streams, struct etcd_session *session)
{
    *streams = (struct etcd_watch_streams){.session = session};
}
