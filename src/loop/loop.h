/* An event loop. It either gets a thread of its own (cor_loop_start), or is run by the thread that
 * made it (cor_loop_run_until, or loop/pump.h within another loop). SIGPIPE is blocked while it
 * runs. Owner: its maker.  Thread: the loop's, unless a function says otherwise. */
#ifndef COR_LOOP_LOOP_H
#define COR_LOOP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/mailbox.h"

struct cor_clock;
struct cor_loop;
struct uv_loop_s;

/* `mail_max` bounds what other threads may have posted. 0, or -COR_ENOMEM, -COR_EIO (no epoll or
 * eventfd could be created). */
int cor_loop_new(size_t mail_max, struct cor_loop **ret_loop);

/* After cor_loop_stop(), or for a loop that was never started. Delivers what is in the mailbox,
 * closes its own handles; everybody else's handles and timers must be closed before. No other
 * thread may still be inside cor_loop_post() or cor_loop_post_always(): join a thread that sends
 * last words. */
struct cor_loop *cor_loop_free(struct cor_loop *loop);

/* Runs the loop on a new thread called `name` (at most 15 bytes show). 0, or -COR_EIO. */
int cor_loop_start(struct cor_loop *loop, const char *name);

/* Asks a started loop to end after its current turn, and joins its thread. From any thread but the
 * loop's own. */
void cor_loop_stop(struct cor_loop *loop);

/* Runs turns on the calling thread until `done` says so; it is asked before each sleep. False when
 * `timeout_ms` passed first; with no time there is still one turn, which takes what is ready. Not
 * from inside the loop's own callbacks. */
bool cor_loop_run_until(struct cor_loop *loop, bool (*done)(void *arg), void *arg,
                        uint64_t timeout_ms);

/* For loop/pump.h: runs what is ready, in at most `turns_max` turns, without sleeping; no turn
 * begins after a few milliseconds. With a clock of the program's (cor_loop_use_clock) neither bound
 * holds: it runs until nothing is ready. Not from inside the loop's own callbacks. Returns
 * cor_loop_next_ms(). */
uint64_t cor_loop_run_ready(struct cor_loop *loop, unsigned turns_max);

/* Milliseconds until a timer falls due; 0: a turn has something to do already; UINT64_MAX: only the
 * descriptor tells. Outside turns. */
uint64_t cor_loop_next_ms(struct cor_loop *loop);

/* Readable when a turn has something to do other than timers. */
int cor_loop_fd(const struct cor_loop *loop);

/* From any thread: is this the loop's thread, inside one of its callbacks? */
bool cor_loop_is_running(const struct cor_loop *loop);

/* From any thread: is this the thread that runs the loop? Until the start that is the maker's,
 * after the stop the stopper's. */
bool cor_loop_is_current(const struct cor_loop *loop);

/* Lets the timers follow a clock that the program moves (base/clock.h) instead of the machine's. A
 * timer then fires in the first turn after the clock has reached it; the loop does not sleep for
 * it, and cor_loop_next_ms() does not count it. Only for a loop that is run by cor_loop_run_ready()
 * or cor_loop_run_until(), before its first timer is set. `clock` must stay valid. */
void cor_loop_use_clock(struct cor_loop *loop, const struct cor_clock *clock);

/* Monotonic milliseconds, read once per turn; outside turns, read at once. Of the clock that
 * cor_loop_use_clock() was given, always as it is. */
uint64_t cor_loop_now_ms(const struct cor_loop *loop);

/* From any thread; see mailbox.h. */
int cor_loop_post(struct cor_loop *loop, struct cor_mail *mail);
void cor_loop_post_always(struct cor_loop *loop, struct cor_mail *mail);
void cor_loop_post_always_all(struct cor_loop *loop, struct cor_dlist *mails, size_t n);

/* For net's handles only. */
struct uv_loop_s *cor_loop_uv(struct cor_loop *loop);

#endif
