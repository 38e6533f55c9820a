/* How a stage goes on that may finish later (`start_…` in its row). No other stage includes this
 * (tools/check_layers.py): with the call, a stage could write a phase that it may only read.
 * Thread: the call's loop, unless said otherwise. */
#ifndef COR_SERVER_WRITE_STAGE_LATER_H
#define COR_SERVER_WRITE_STAGE_LATER_H

#include "server/write/write_phases.h"

/* What a stage with `start_store` sees when it goes on: of the write that the call is the first
 * member of (write_run.c). Any thread that has the call. */
struct cor_storing cor_storing_of(struct cor_call *call);

/* The stage has ended with `r` (write_run.c). */
void cor_write_resume(struct cor_call *call, int r);

#endif
