/* The next turn of something that works on a loop in bounded parts: a watch over the store, a watch
 * over a watch cache, the dispatch of events. A turn is posted at most once at a time.
 * Thread: the loop's.  Owner: whoever embeds it; it must stay until a posted turn has run. */
#ifndef COR_STORAGE_STORE_TURN_H
#define COR_STORAGE_STORE_TURN_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "loop/loop.h"

/* A turn gives way to other work of the loop after so many items, or so many bytes of them. */
#define STORE_TURN_ITEMS_MAX 256
#define STORE_TURN_BYTES_MAX (1u << 20)
/* To bring a value into the form of the schema takes so many times as long as to decode it. */
#define STORE_RENEW_COST 8

struct store_turn {
    struct cor_mail mail;
    struct cor_loop *loop;
    bool is_posted;
    void (*on_turn)(struct store_turn *turn);
};

static inline void store_turn_on_mail(struct cor_mail *mail)
{
    struct store_turn *turn = COR_CONTAINER_OF(mail, struct store_turn, mail);

    turn->is_posted = false;
    turn->on_turn(turn);
}

static inline void store_turn_init(struct store_turn *turn, struct cor_loop *loop,
                                   void (*on_turn)(struct store_turn *turn))
{
    turn->mail.on_mail = store_turn_on_mail;
    turn->loop = loop;
    turn->is_posted = false;
    turn->on_turn = on_turn;
}

static inline void store_turn_post(struct store_turn *turn)
{
    if (turn->is_posted)
        return;
    turn->is_posted = true;
    cor_loop_post_always(turn->loop, &turn->mail);
}

#endif
