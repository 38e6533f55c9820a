/* clang-format off */
/* A stream of etcd's Watch call, and the places of watches in it. etcd_watch_stream.h has the contract.
 *
 * One message of etcd is one of four answers:
 *   created   the next watch in the order of joining is there, or is refused
 *   events    of one watch
 *   canceled  etcd ends one watch: it was compacted, refused, or is lost for another reason
 *   progress  for all watches of the stream
 *
 * Callbacks may leave the stream, join it and ask for progress. So while places are called
 * (`is_busy`) nothing is freed and nothing is sent that concerns the whole stream: a question for
 * progress and the end of the stream are noted, and stream_settle() does them afterwards.
 *
 * Progress. etcd answers a question only when no watch of the stream lags, and drops the question
 * else: the timer asks again every PROGRESS_RETRY_MS while a place wants an answer. A place that was
 * asked for HELD_UP_ASKS times in vain, among others, is told to go to a stream of its own
 * (on_held_up). An answer counts for a place only if it was made after the place was created; the
 * header says how that is known.
 *
 * Failures. A message that cannot be read or sent, and a stream that etcd ends, lose the stream:
 * every place gets on_lost and joins another stream. A refusal of etcd's user ends every place for
 * good (on_end), because a retry would fail the same way. The stream is freed when its last place
 * has left.
 *
 * Thread: the engine's loop. */
/* clang-format on */
#include "storage/etcd/etcd_watch_stream.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

#define METHOD_WATCH "/etcdserverpb.Watch/Watch"
#define ALL_WATCHES  (-1)
/* etcd drops a question that it cannot answer yet, so it is asked again after this time. */
#define PROGRESS_RETRY_MS 100
/* A watch that is not alone counts as held up after so many questions: one second. */
#define HELD_UP_ASKS      10
#define REQUEST_BYTES_MAX 16384
#define PLACES_MAX        65536
#define COMPACTED         "required revision has been compacted"

struct etcd_watch_stream {
    struct etcd_watch_streams *all;
    bool is_lone;             /* made for one watch that wants to be alone */
    struct etcd_stream *call; /* NULL: it has ended */
    struct cor_map by_id;     /* the keys are the places' `id` */
    struct cor_dlist places;
    int64_t last_id, last_created; /* etcd announces watches in the order of their ids */
    uint64_t asked, answered;      /* questions for progress; at least `answered` have an answer */
    struct cor_timer timer;
    bool is_busy;             /* places are being called: see the head */
    bool is_ask_due;          /* stream_settle() asks for progress */
    bool is_lost;             /* stream_settle() calls on_lost of every place, */
    enum etcd_wait_when when; /* with this */
};

static struct etcd_place *of_link(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct etcd_place, link);
}

static struct cor_str id_key(const int64_t *id)
{
    return cor_str((const char *)id, sizeof(*id));
}

static struct etcd_place *stream_find(const struct etcd_watch_stream *s, int64_t id)
{
    return cor_map_peek(&s->by_id, id_key(&id));
}

static void place_detach(struct etcd_place *place)
{
    cor_map_remove(&place->stream->by_id, id_key(&place->id));
    cor_dlist_remove(&place->link);
    place->stream = NULL;
    place->wants_progress = false;
}

/* Ends the call. The stream takes no more places, and lives until the last one has left. */
static void stream_end_call(struct etcd_watch_stream *s)
{
    if (s->all->shared == s)
        s->all->shared = NULL;
    cor_timer_cancel(&s->timer);
    if (s->call)
        cor_etcd_stream_cancel(COR_STEAL(s->call));
}

static void stream_free(struct etcd_watch_stream *s)
{
    stream_end_call(s);
    s->all->nlone -= s->is_lone;
    cor_map_deinit(&s->by_id);
    cor_free(s);
}

static void stream_ask(struct etcd_watch_stream *s);

/* Does what had to wait while places were called, and frees a stream that has no place left. */
static void stream_settle(struct etcd_watch_stream *s)
{
    struct cor_dlist *link;

    assert(s->is_busy);
    if (s->is_ask_due && !s->is_lost)
        stream_ask(s);
    while (s->is_lost && (link = s->places.next) != &s->places) {
        struct etcd_place *place = of_link(link);

        place_detach(place);
        place->cbs->on_lost(place, s->when);
    }
    s->is_busy = false;
    if (cor_dlist_empty(&s->places))
        stream_free(s);
}

/* Gives the stream up. Inside a callback the places hear of it when stream_settle() runs. */
static void stream_lose(struct etcd_watch_stream *s, enum etcd_wait_when when)
{
    if (s->is_lost)
        return;
    stream_end_call(s);
    s->is_lost = true;
    s->when = when;
    if (s->is_busy)
        return;
    s->is_busy = true;
    stream_settle(s);
}

static int stream_send_progress(struct etcd_watch_stream *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, REQUEST_BYTES_MAX);
    r = cor_etcd_encode_watch_progress(&out);
    if (r == 0)
        r = cor_etcd_stream_send(s->call, cor_buf_str(&out));
    return r;
}

/* Asks for progress. A question that cannot be sent now is asked again by the timer. The timer that
 * is set already stays, so that frequent questions do not put it off. */
static void stream_ask(struct etcd_watch_stream *s)
{
    s->is_ask_due = false;
    if (stream_send_progress(s) == 0)
        s->asked++;
    if (!cor_timer_is_set(&s->timer) && cor_timer_set(&s->timer, PROGRESS_RETRY_MS) < 0)
        stream_lose(s, ETCD_WAIT_RETRY);
}

static bool stream_wants_progress(const struct etcd_watch_stream *s)
{
    COR_DLIST_FOREACH(link, &s->places) {
        if (of_link(link)->wants_progress)
            return true;
    }
    return false;
}

static int stream_send_cancel(struct etcd_watch_stream *s, int64_t id)
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
    place_detach(place);
    if (cor_dlist_empty(&s->places) && !s->is_busy)
        stream_free(s);
    else if (!s->is_lost && stream_send_cancel(s, id) < 0)
        stream_lose(s, ETCD_WAIT_RETRY);
}

/* While watches are still being created the question waits, so that one question serves them all;
 * stream_take_created() asks after the last one, and the timer in any case. */
void cor_etcd_place_ask_progress(struct etcd_place *place)
{
    struct etcd_watch_stream *s = place->stream;

    assert(s);
    if (place->wants_progress)
        return;
    place->wants_progress = true;
    place->asked = 0;
    if (s->is_busy)
        s->is_ask_due = true;
    else if (s->last_created == s->last_id)
        stream_ask(s);
    else if (!cor_timer_is_set(&s->timer) && cor_timer_set(&s->timer, PROGRESS_RETRY_MS) < 0)
        stream_lose(s, ETCD_WAIT_RETRY);
}

static bool place_is_held_up(const struct etcd_watch_stream *s, struct etcd_place *place)
{
    bool has_others = s->places.next != s->places.prev;

    return place->wants_progress && ++place->asked >= HELD_UP_ASKS && has_others && !s->is_lone &&
           s->all->nlone < ETCD_LONE_STREAMS_MAX;
}

static void on_timer(struct cor_timer *timer)
{
    struct etcd_watch_stream *s = COR_CONTAINER_OF(timer, struct etcd_watch_stream, timer);

    s->is_busy = true;
    COR_DLIST_FOREACH_SAFE(link, &s->places) {
        struct etcd_place *place = of_link(link);

        if (!place_is_held_up(s, place))
            continue;
        cor_etcd_place_leave(place);
        place->cbs->on_held_up(place);
    }
    s->is_ask_due |= stream_wants_progress(s);
    stream_settle(s);
}

/* Answers. */

/* Returns whether the last answer certainly belongs to a question that was asked after the place
 * joined. */
static bool stream_covers(const struct etcd_watch_stream *s, const struct etcd_place *place)
{
    return place->created_rev > 0 && s->answered > place->asked_before;
}

/* An answer with a revision above that of a place's announcement was made after it. So the answer
 * is to a question from after the place joined, and `answered` can be raised: etcd drops questions,
 * and counting answers alone would stay behind forever. */
static void stream_take_progress(struct etcd_watch_stream *s, cor_rev rev)
{
    struct cor_dlist told, *link;

    s->answered++;
    COR_DLIST_FOREACH(it, &s->places) {
        const struct etcd_place *place = of_link(it);

        if (place->created_rev > 0 && rev > place->created_rev &&
            s->answered <= place->asked_before)
            s->answered = place->asked_before + 1;
    }
    /* Places that join from a callback are not in `told`: the answer is not for them. */
    cor_dlist_init(&told);
    cor_dlist_splice(&told, &s->places);
    while ((link = cor_dlist_pop(&told))) {
        struct etcd_place *place = of_link(link);

        cor_dlist_push(&s->places, link);
        if (!place->wants_progress)
            continue;
        if (!stream_covers(s, place)) {
            s->is_ask_due |= place->created_rev > 0;
            continue;
        }
        place->wants_progress = false;
        place->cbs->on_progress(place, rev);
    }
}

static void stream_take_canceled(struct etcd_watch_stream *s, struct etcd_place *place,
                                 const struct etcd_watch_answer *a)
{
    if (cor_etcd_session_wants_login(s->all->session, a->reason)) {
        stream_lose(s, ETCD_WAIT_LOGIN);
        return;
    }
    place_detach(place);
    if (a->compact_rev > 0)
        place->cbs->on_end(place, -COR_EEXPIRED, COMPACTED);
    else if (cor_etcd_is_refusal(a->reason))
        place->cbs->on_end(place, -COR_EFORBIDDEN, a->reason);
    else
        place->cbs->on_lost(place, ETCD_WAIT_RETRY);
}

/* etcd announces watches in the order in which they were asked for. A watch that it refuses has no
 * id in the answer, and is known by its turn. Any other id means that the two sides disagree. */
static void stream_take_created(struct etcd_watch_stream *s, const struct etcd_watch_answer *a)
{
    struct etcd_place *place = stream_find(s, ++s->last_created);

    if (a->id != s->last_created && (a->id != ALL_WATCHES || !a->canceled)) {
        stream_lose(s, ETCD_WAIT_RETRY);
        return;
    }
    if (place && a->canceled)
        stream_take_canceled(s, place, a);
    else if (place)
        place->created_rev = a->rev;
    if (s->last_created == s->last_id)
        s->is_ask_due |= stream_wants_progress(s);
}

static void stream_take_answer(struct etcd_watch_stream *s, struct etcd_watch_answer *a)
{
    struct etcd_place *place = stream_find(s, a->id);

    if (a->created)
        stream_take_created(s, a);
    else if (a->id == ALL_WATCHES && !a->canceled)
        stream_take_progress(s, a->rev);
    else if (place && a->canceled)
        stream_take_canceled(s, place, a);
    else if (place && a->nevents > 0)
        place->cbs->on_events(place, a);
}

static void on_message(void *arg, struct cor_str message)
{
    struct etcd_watch_stream *s = arg;
    struct etcd_watch_answer answer;

    if (cor_etcd_decode_watch(message, &answer) < 0) {
        stream_lose(s, ETCD_WAIT_RETRY);
        return;
    }
    s->is_busy = true;
    stream_take_answer(s, &answer);
    cor_etcd_watch_answer_deinit(&answer);
    stream_settle(s);
}

static void on_closed(void *arg, const struct etcd_failure *why)
{
    struct etcd_watch_stream *s = arg;
    struct cor_dlist *link;

    s->call = NULL;
    cor_etcd_session_blame_member(s->all->session, why);
    if (!cor_etcd_is_refusal(why->message)) {
        stream_lose(s, cor_etcd_session_wants_login(s->all->session, why->message)
                           ? ETCD_WAIT_LOGIN
                           : ETCD_WAIT_RETRY);
        return;
    }
    stream_end_call(s);
    s->is_busy = s->is_lost = true;
    while ((link = s->places.next) != &s->places) {
        struct etcd_place *place = of_link(link);

        place_detach(place);
        place->cbs->on_end(place, -COR_EFORBIDDEN, why->message);
    }
    stream_settle(s);
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

static int stream_send_create(struct etcd_watch_stream *s, const struct etcd_watch_create *what)
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

static int stream_take_place(struct etcd_watch_stream *s, const struct etcd_watch_create *create,
                             struct etcd_place *place)
{
    int r;

    place->id = s->last_id + 1;
    r = cor_map_put(&s->by_id, id_key(&place->id), place, NULL);
    if (r < 0)
        return r;
    r = stream_send_create(s, create);
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
    assert(!s->is_lost);
    *place = (struct etcd_place){.cbs = cbs};
    r = stream_take_place(s, create, place);
    if (r < 0 && cor_dlist_empty(&s->places) && !s->is_busy)
        stream_free(s);
    return r;
}

void cor_etcd_watch_streams_init(struct etcd_watch_streams *streams, struct etcd_session *session)
{
    *streams = (struct etcd_watch_streams){.session = session};
}
