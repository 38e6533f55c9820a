/* A work queue on a clock of the caller's, for tests that move the time; the rest is public.
 * Thread and owner: as coracle/workqueue.h says. */
#ifndef COR_CACHE_WORKQUEUE_H
#define COR_CACHE_WORKQUEUE_H

#include "base/clock.h"
#include "coracle/workqueue.h"

/* As cor_workqueue_new(); `clock` must stay valid. Only the machine's may be waited on in
 * cor_workqueue_get(). */
int cor_workqueue_new_at(const struct cor_clock *clock, const struct cor_workqueue_opts *opts,
                         struct cor_workqueue **ret_q);

#endif
