/* A replay: the engine's history of one resource, read for those watches of one loop that begin
 * before the window, until it reaches the window and hands them over to it. Nothing of it enters
 * the window or the byte budget, so it costs no other watch its place.
 *
 * A watch that has lost its place in the window inside a revision is given the rest of that
 * revision in the same way, and then ends.
 *
 * A watch joins the nearest replay that has not passed the place where the watch begins. When there
 * is none, or that one is far away while few are open, another replay is begun. All watches of a
 * replay are given an event before the next one.
 * Thread: the reader's loop.  Owner: itself; it ends when its last watch has left. */
#ifndef COR_STORAGE_CACHER_REPLAY_H
#define COR_STORAGE_CACHER_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "meta/status/revision.h"

struct cacher_reader;
struct cacher_watch;

/* A place in history: event `nth`, counted from 0, of the revision `rev`. */
struct replay_place {
    cor_rev rev;
    size_t nth;
};

/* The watch joins a replay at its place (sync->place), and is REPLAYING from then on. 0,
 * -COR_EBUSY (as many replays as there may be, or as its client may have), -COR_ENOMEM. */
int cor_cacher_replay_join(struct cacher_watch *w);
/* Would the watch be refused with -COR_EBUSY if it began after `rev`? */
bool cor_cacher_replay_is_full(const struct cacher_watch *w, cor_rev rev);
/* The watch leaves its replay, if it has one. With its last watch the replay closes, and the watch
 * may not be freed before that is done (w->nreplays). */
void cor_cacher_replay_leave(struct cacher_watch *w);
/* REPLAYING, and not paused any more: goes on. */
void cor_cacher_replay_resume(struct cacher_watch *w);
/* REPLAYING, in a replay or not: it ends with its `finish_rev`, which is set. */
void cor_cacher_replay_finish(struct cacher_watch *w);
/* REPLAYING: has it been given a part of a revision? */
bool cor_cacher_replay_is_inside(const struct cacher_watch *w);
/* Its part of the bytes that its replay holds. */
size_t cor_cacher_replay_held(const struct cacher_watch *w);

#endif
