/* A handler that writes down what it hears, in order: "!one " (in the first list), "+one ",
 * "~one ", "-one ".
 * Owner: the test.  Thread: any. */
#ifndef COR_TEST_CLIENT_EAR_H
#define COR_TEST_CLIENT_EAR_H

#include <pthread.h>
#include <stdatomic.h>

#include "world.h"

struct ear {
    pthread_mutex_t lock;
    char text[4096];
    atomic_int nremoved;
    struct cor_handler *self;
    bool removes_itself; /* when it hears of an add */
    pthread_t removed_on;
};

void ear_init(struct ear *e);
struct cor_handler_opts ear_opts(struct ear *e);

/* Their `arg` is the ear. */
void ear_on_add(void *arg, struct cor_object *object, bool in_initial_list);
void ear_on_update(void *arg, struct cor_object *old, struct cor_object *object);

/* Until this, or this as a part, is what was heard. */
void ear_await(struct ear *e, struct world *w, const char *text);
void ear_await_part(struct ear *e, struct world *w, const char *text);

#endif
