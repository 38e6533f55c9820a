/* How threads meet: a queue of mails with its own lock. The receiver is woken once per batch, takes
 * the whole batch and runs it with the lock released, in the order of posting.
 * Thread: post and post_always from any; init, deliver and deinit on the receiver. */
#ifndef COR_LOOP_MAILBOX_H
#define COR_LOOP_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/dlist.h"
#include "base/lock.h"

/* Embedded by the sender in what it sends; in at most one mailbox at a time. */
struct cor_mail {
    struct cor_dlist link;
    void (*on_mail)(struct cor_mail *mail); /* runs on the receiver, which then owns the mail */
};

struct cor_mailbox {
    struct cor_lock lock; /* guards the queue and its length */
    struct cor_dlist queue;
    size_t len;
    size_t max;
    void (*wake)(void *arg); /* any thread, lock released; when the queue was empty */
    void *arg;
    atomic_uint nwaking; /* senders that are about to call `wake` or inside it */
};

void cor_mailbox_init(struct cor_mailbox *mb, size_t max, void (*wake)(void *arg), void *arg);

/* The queue must be empty. A sender whose mail was delivered already may still be about to call
 * `wake`; this waits for such senders, so that the caller may free what `wake` uses. */
void cor_mailbox_deinit(struct cor_mailbox *mb);

/* 0, or -COR_EBUSY (the mailbox holds its maximum; the mail is still the sender's). */
int cor_mailbox_post(struct cor_mailbox *mb, struct cor_mail *mail);

/* For answers: never refused, because the requests they answer are bounded where they were taken.
 */
void cor_mailbox_post_always(struct cor_mailbox *mb, struct cor_mail *mail);

/* `n` answers at once, linked by their `link`; the receiver is woken at most once for them all.
 * `mails` is empty afterwards. */
void cor_mailbox_post_always_all(struct cor_mailbox *mb, struct cor_dlist *mails, size_t n);

/* Runs all mails that are queued now and returns their number. Mails that are posted meanwhile stay
 * queued, and `wake` is called for them. */
size_t cor_mailbox_deliver(struct cor_mailbox *mb);

/* The same for as long as `has_time` says so, which is asked before each mail. The others stay
 * queued in their order, before those that are posted meanwhile, and `wake` is called for them. */
size_t cor_mailbox_deliver_while(struct cor_mailbox *mb, bool (*has_time)(void *arg), void *arg);

#endif
