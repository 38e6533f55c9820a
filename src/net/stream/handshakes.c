/* A stream that must wait is not read at all: libuv is given no memory for the read, and the stream
 * stops reading until cor_handshakes_call() starts it again. Its socket is still readable then, so
 * that the loop does not sleep while streams wait. Steps are counted when they are promised, so
 * that streams which were called and streams which come newly share one maximum.
 *
 * Failures: none; when reading cannot be started again the stream ends with -COR_EIO. */
#include "net/stream/handshakes.h"

#include <assert.h>

#include "base/err.h"
#include "base/rand.h"
#include "base/siphash.h"
#include "net/host/host.h"
#include "net/stream/net_int.h"

void cor_handshakes_init(struct cor_handshakes *h)
{
    struct cor_rand rand;

    cor_rand_init(&rand);
    *h = (struct cor_handshakes){.key = cor_rand_u64(&rand)};
    for (size_t i = 0; i < COR_HANDSHAKE_QUEUES; i++)
        cor_dlist_init(&h->queues[i]);
}

bool cor_handshakes_may_read(struct cor_stream *s)
{
    struct cor_handshakes *h = &s->net->handshakes;

    assert(s->state == COR_STREAM_HANDSHAKE);
    if (s->shake_is_called) {
        s->shake_is_called = false;
        return true;
    }
    if (h->nwaiting > 0 || h->nsteps >= COR_HANDSHAKE_STEPS)
        return false;
    h->nsteps++;
    return true;
}

void cor_handshakes_wait(struct cor_stream *s)
{
    struct cor_handshakes *h = &s->net->handshakes;
    char text[COR_HOST_SOURCE_MAX];
    struct cor_str source = cor_host_source(s->peer.address, text);

    assert(cor_dlist_empty(&s->shake_link));
    uv_read_stop(&s->uv.stream);
    cor_dlist_push(&h->queues[cor_siphash(source, h->key, 0) % COR_HANDSHAKE_QUEUES],
                   &s->shake_link);
    h->nwaiting++;
}

void cor_handshakes_leave(struct cor_stream *s)
{
    if (cor_dlist_empty(&s->shake_link))
        return;
    cor_dlist_remove(&s->shake_link);
    s->net->handshakes.nwaiting--;
}

void cor_handshakes_call(struct cor_net *net)
{
    struct cor_handshakes *h = &net->handshakes;

    h->nsteps = 0;
    while (h->nwaiting > 0 && h->nsteps < COR_HANDSHAKE_STEPS) {
        struct cor_dlist *link = cor_dlist_pop(&h->queues[h->next]);
        struct cor_stream *s;

        h->next = (h->next + 1) % COR_HANDSHAKE_QUEUES;
        if (!link)
            continue;
        h->nwaiting--;
        s = COR_CONTAINER_OF(link, struct cor_stream, shake_link);
        assert(s->state == COR_STREAM_HANDSHAKE);
        s->shake_is_called = true;
        h->nsteps++;
        cor_stream_read_again(s);
    }
}
