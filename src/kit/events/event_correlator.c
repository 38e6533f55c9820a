/* clang-format off */
/* Three memories of 4096 entries each (the least recently used entry is dropped first), asked one
 * after the other:
 *
 *   event ──► aggregate_similar(): by source, object, type and reason
 *     │          ten messages that differ, no more than ten minutes apart: a combined message
 *     ▼
 *   count_equal(): by the same and the message, or by the group when the message is combined
 *     │          the first event gives its name; each further one raises the count
 *     ▼
 *   is_spam(): by source and object: a token bucket of 25, one more every five minutes
 *     ├──► no token: COR_EVENT_SKIP
 *     └──► sent; with a count above 1 as a patch
 *
 * The key of the entry that is looked for is built in `key`, so one buffer serves all three.
 * When memory runs out, the event is reported as -COR_ENOMEM and what was remembered stays: a later
 * equal event may then have a count that is higher by one.
 * Thread: one at a time. */
/* clang-format on */
#include "kit/events/event_correlator.h"

#include <string.h>

#include "base/err.h"
#include "base/lru.h"
#include "base/mem.h"
#include "base/token_bucket.h"

#define KEY_MAX  (16u * 1024)
#define NAME_MAX 320

/* The messages of one reason about one object. */
struct group {
    struct cor_lru_link link;
    uint64_t messages[COR_EVENT_SIMILAR_MAX]; /* hashes of those that differ */
    size_t n;
    uint64_t last_ms;
    char key[];
};

/* What the server has of an event. */
struct observation {
    struct cor_lru_link link;
    uint32_t count;
    int64_t first_ms;
    size_t name_len;
    char name[NAME_MAX];
    char key[];
};

struct bucket {
    struct cor_lru_link link;
    struct cor_token_bucket bucket;
    char key[];
};

struct cor_event_correlator {
    struct cor_lru groups, observations, buckets;
    struct cor_buf key;
    struct cor_buf message; /* of a combined event */
};

static void drop_group(struct cor_lru_link *take)
{
    cor_free(COR_CONTAINER_OF(take, struct group, link));
}

static void drop_observation(struct cor_lru_link *take)
{
    cor_free(COR_CONTAINER_OF(take, struct observation, link));
}

static void drop_bucket(struct cor_lru_link *take)
{
    cor_free(COR_CONTAINER_OF(take, struct bucket, link));
}

int cor_event_correlator_new(struct cor_event_correlator **ret_correlator)
{
    struct cor_event_correlator *c = cor_calloc(1, sizeof(*c));

    if (!c)
        return -COR_ENOMEM;
    cor_lru_init(&c->groups, COR_EVENT_CACHE_MAX, drop_group);
    cor_lru_init(&c->observations, COR_EVENT_CACHE_MAX, drop_observation);
    cor_lru_init(&c->buckets, COR_EVENT_CACHE_MAX, drop_bucket);
    cor_buf_init(&c->key, KEY_MAX);
    cor_buf_init(&c->message, COR_EVENT_MESSAGE_MAX);
    *ret_correlator = c;
    return 0;
}

struct cor_event_correlator *cor_event_correlator_free(struct cor_event_correlator *c)
{
    if (!c)
        return NULL;
    cor_lru_deinit(&c->groups);
    cor_lru_deinit(&c->observations);
    cor_lru_deinit(&c->buckets);
    cor_buf_deinit(&c->key);
    cor_buf_deinit(&c->message);
    return cor_free(c);
}

static int key_add(struct cor_event_correlator *c, struct cor_str part)
{
    return cor_event_add_key(&c->key, &part, 1);
}

/* All three keys begin with the reporter, the object and the type of the event. */
static int key_begin(struct cor_event_correlator *c, const struct cor_event *e)
{
    const struct cor_event_ref *about = &e->about;
    const struct cor_str parts[] = {e->component, e->host,    about->kind,        about->ns,
                                    about->name,  about->uid, about->api_version, e->type};

    cor_buf_reset(&c->key);
    return cor_event_add_key(&c->key, parts, COR_ARRAY_LEN(parts));
}

static struct cor_str keep_key(struct cor_event_correlator *c, char *to)
{
    memcpy(to, c->key.p, c->key.n);
    return cor_str(to, c->key.n);
}

/* Adds an entry of `size` bytes with the key behind it, and returns its link at `link_at`. NULL
 * when out of memory. */
static struct cor_lru_link *memory_add(struct cor_event_correlator *c, struct cor_lru *lru,
                                       size_t size, size_t link_at)
{
    char *entry = cor_calloc(1, size + c->key.n);
    struct cor_lru_link *link;

    if (!entry)
        return NULL;
    link = (struct cor_lru_link *)(void *)(entry + link_at);
    link->key = keep_key(c, entry + size);
    if (cor_lru_add(lru, link) == 0)
        return link;
    cor_free(entry);
    return NULL;
}

/* Remembers the message. True when the group has so many different messages that this one is to be
 * combined; the message is then not remembered, so that the next different one is combined, too. */
static bool is_one_of_many(struct group *g, struct cor_str message, uint64_t now_ms)
{
    uint64_t hash = cor_str_hash(message);
    size_t i = 0;

    if (g->n > 0 && now_ms - g->last_ms > COR_EVENT_SIMILAR_MS)
        g->n = 0;
    g->last_ms = now_ms;
    while (i < g->n && g->messages[i] != hash)
        i++;
    if (i == g->n)
        g->messages[g->n++] = hash;
    if (g->n < COR_EVENT_SIMILAR_MAX)
        return false;
    g->n--;
    return true;
}

/* 0: the event keeps its message. 1: its message is combined, and the key is that of the group. */
static int aggregate_similar(struct cor_event_correlator *c, struct cor_event *e, uint64_t now_ms)
{
    struct cor_lru_link *link;
    struct cor_str message = e->message;
    int r = key_begin(c, e);

    if (r == 0)
        r = key_add(c, e->reason);
    if (r < 0)
        return r;
    link = cor_lru_use(&c->groups, cor_buf_str(&c->key));
    if (!link)
        link = memory_add(c, &c->groups, offsetof(struct group, key), offsetof(struct group, link));
    if (!link)
        return -COR_ENOMEM;
    if (!is_one_of_many(COR_CONTAINER_OF(link, struct group, link), message, now_ms))
        return 0;
    cor_buf_reset(&c->message);
    r = cor_buf_addz(&c->message, "(combined from similar events): ");
    if (message.n > COR_EVENT_MESSAGE_MAX - c->message.n)
        message.n = COR_EVENT_MESSAGE_MAX - c->message.n;
    if (r == 0)
        r = cor_buf_adds(&c->message, message);
    e->message = cor_buf_str(&c->message);
    return r < 0 ? r : 1;
}

/* Counts the events under the key that is set. The first gives its name and its time to the Event;
 * the ones that follow get that name and the count. */
static int count_equal(struct cor_event_correlator *c, struct cor_event *e)
{
    struct cor_lru_link *link = cor_lru_use(&c->observations, cor_buf_str(&c->key));
    struct observation *o;

    if (!link)
        link = memory_add(c, &c->observations, offsetof(struct observation, key),
                          offsetof(struct observation, link));
    if (!link)
        return -COR_ENOMEM;
    o = COR_CONTAINER_OF(link, struct observation, link);
    if (o->count == 0) {
        o->first_ms = e->first_ms;
        o->name_len = e->event_name.n < NAME_MAX ? e->event_name.n : NAME_MAX;
        memcpy(o->name, e->event_name.p, o->name_len);
    }
    if (o->count < UINT32_MAX)
        o->count++;
    e->count = o->count;
    e->first_ms = o->first_ms;
    e->event_name = cor_str(o->name, o->name_len);
    return 0;
}

static int is_spam(struct cor_event_correlator *c, const struct cor_event *e, uint64_t now_ms)
{
    struct cor_lru_link *link;
    struct bucket *b;
    int r = key_begin(c, e);

    if (r < 0)
        return r;
    link = cor_lru_use(&c->buckets, cor_buf_str(&c->key));
    if (!link) {
        link =
            memory_add(c, &c->buckets, offsetof(struct bucket, key), offsetof(struct bucket, link));
        if (!link)
            return -COR_ENOMEM;
        b = COR_CONTAINER_OF(link, struct bucket, link);
        cor_token_bucket_init(&b->bucket, 1.0 / COR_EVENT_SPAM_PERIOD_S, COR_EVENT_SPAM_BURST,
                              now_ms);
    }
    b = COR_CONTAINER_OF(link, struct bucket, link);
    return cor_token_bucket_try(&b->bucket, now_ms) ? 0 : COR_EVENT_SKIP;
}

int cor_event_correlate(struct cor_event_correlator *c, const struct cor_event *event,
                        uint64_t now_ms, struct cor_event *ret_event)
{
    struct cor_event e = *event;
    int r = aggregate_similar(c, &e, now_ms);

    if (r == 0)
        r = key_add(c, e.about.field_path);
    if (r == 0)
        r = key_add(c, e.message);
    if (r >= 0)
        r = count_equal(c, &e);
    if (r == 0)
        r = is_spam(c, event, now_ms);
    if (r == 0)
        *ret_event = e;
    return r;
}
