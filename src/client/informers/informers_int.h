/* Internals of a client's informers. */
#ifndef COR_CLIENT_INFORMERS_INT_H
#define COR_CLIENT_INFORMERS_INT_H

#include <stdatomic.h>

#include "base/dlist.h"
#include "base/lock.h"
#include "cache/informers/informer_factory.h"
#include "client/client_int.h"
#include "coracle/informers.h"
#include "loop/timer.h"

struct cor_informers {
    struct cor_client *client; /* NULL: the list-watches are the program's */
    struct cor_runtime *runtime;
    struct cor_informers_opts opts;
    struct cor_informer_factory *factory;  /* the loop's, except for its waits */
    struct cor_dlist informers;            /* the loop's */
    const struct cor_informer_opts *asked; /* of the informer that is being made; the loop's */
    struct cor_mail work;                  /* there is something to step */
    struct cor_timer look;                 /* for changed objects; where that is wanted */
    struct cor_timer retry;                /* of changes that were refused; where that is wanted */
    atomic_bool work_is_posted;
    atomic_bool is_stopped;
    struct cor_client_hook hook; /* the loop's */
    bool is_closing;             /* the loop's */
    struct cor_waiter closed;

    struct cor_lock lock; /* a leaf; of the handlers of all informers: */
    struct cor_dlist handlers;
    struct cor_dlist slow; /* those that a report is to name */
    size_t nhandlers;      /* whose memory is not gone yet */
    bool is_removing;      /* all of them: no_handlers is set when they are gone */
    struct cor_waiter no_handlers;
};

struct cor_informer {
    struct cor_informers *set;
    struct cor_dlist link;
    struct cor_shared_informer *shared;
    char *group, *version, *plural, *ns;
    char *kind;         /* "": the options have none */
    atomic_uint nadded; /* handlers, to name those without a name */
};

/* There is something for the loop to do. Any thread; locks may be held. */
void cor_informers_wake(struct cor_informers *set);

/* Reports the handlers that were slow. On the loop. */
void cor_informers_tell_slow(struct cor_informers *set);

/* As cor_informer_add_handler(), but it is not called before it is released: what it is to hear
 * waits. Released once, and before it is removed or its set is freed; on another thread it may be
 * called, and remove itself, before that returns. */
int cor_informer_add_held_handler(struct cor_informer *inf, const struct cor_handler_opts *opts,
                                  struct cor_handler **ret_handler);
void cor_handler_release(struct cor_handler *handler);

/* Every handler is on its way out; waits until all are gone. Not on a pool's thread. */
void cor_informers_remove_handlers(struct cor_informers *set);

#endif
