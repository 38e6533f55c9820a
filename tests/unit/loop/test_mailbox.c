#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/dlist.h"
#include "base/err.h"
#include "loop/mailbox.h"
#include "test.h"

struct note {
    struct cor_mail mail;
    int number;
    struct cor_mailbox *forward_to;
};

static int delivered[16];
static size_t ndelivered;
static atomic_int wakes;

static void on_note(struct cor_mail *mail)
{
    struct note *note = COR_CONTAINER_OF(mail, struct note, mail);

    delivered[ndelivered++] = note->number;
}

static void count_wake(__attribute__((unused)) void *arg)
{
    atomic_fetch_add(&wakes, 1);
}

static void begin(struct cor_mailbox *mb, size_t max)
{
    ndelivered = 0;
    atomic_store(&wakes, 0);
    cor_mailbox_init(mb, max, count_wake, NULL);
}

TEST(mailbox, delivers_in_the_order_of_posting_and_wakes_once_per_batch)
{
    struct cor_mailbox mb;
    struct note notes[5];

    begin(&mb, 5);
    for (int round = 0; round < 2; round++) {
        ndelivered = 0;
        for (int i = 0; i < 5; i++) {
            notes[i] = (struct note){.mail.on_mail = on_note, .number = i};
            assert_int_equal(cor_mailbox_post(&mb, &notes[i].mail), 0);
        }
        assert_int_equal(atomic_load(&wakes), round + 1);
        assert_int_equal(cor_mailbox_deliver(&mb), 5);
        for (int i = 0; i < 5; i++)
            assert_int_equal(delivered[i], i);
    }
    assert_int_equal(cor_mailbox_deliver(&mb), 0);
    cor_mailbox_deinit(&mb);
}

TEST(mailbox, refuses_a_post_past_its_maximum_but_never_a_reply)
{
    struct cor_mailbox mb;
    struct note notes[4];

    begin(&mb, 2);
    for (int i = 0; i < 4; i++)
        notes[i] = (struct note){.mail.on_mail = on_note, .number = i};
    assert_int_equal(cor_mailbox_post(&mb, &notes[0].mail), 0);
    cor_mailbox_post_always(&mb, &notes[1].mail);
    assert_int_equal(cor_mailbox_post(&mb, &notes[2].mail), -COR_EBUSY);
    cor_mailbox_post_always(&mb, &notes[3].mail);
    assert_int_equal(cor_mailbox_deliver(&mb), 3);
    assert_int_equal(delivered[2], 3);
    assert_int_equal(cor_mailbox_post(&mb, &notes[2].mail), 0);
    assert_int_equal(cor_mailbox_deliver(&mb), 1);
    cor_mailbox_deinit(&mb);
}

/* Posts its successor to the same mailbox: needs the lock released, and a new wake. */
static void on_chain(struct cor_mail *mail)
{
    struct note *note = COR_CONTAINER_OF(mail, struct note, mail);

    on_note(mail);
    if (note->number < 3)
        assert_int_equal(cor_mailbox_post(note->forward_to, &note[1].mail), 0);
}

TEST(mailbox, answers_sent_together_wake_once_and_keep_their_order)
{
    struct cor_mailbox mb;
    struct note notes[5];
    struct cor_dlist answers;

    begin(&mb, 1);
    cor_dlist_init(&answers);
    cor_mailbox_post_always_all(&mb, &answers, 0);
    assert_int_equal(atomic_load(&wakes), 0);
    for (int i = 0; i < 5; i++) {
        notes[i] = (struct note){.mail.on_mail = on_note, .number = i};
        cor_dlist_push(&answers, &notes[i].mail.link);
    }
    cor_mailbox_post_always_all(&mb, &answers, 5);
    assert_true(cor_dlist_empty(&answers));
    assert_int_equal(atomic_load(&wakes), 1);
    assert_int_equal(cor_mailbox_deliver(&mb), 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(delivered[i], i);
    cor_mailbox_deinit(&mb);
}

TEST(mailbox, a_mail_posted_by_a_mail_wakes_again_and_comes_in_the_next_batch)
{
    struct cor_mailbox mb;
    struct note notes[4];

    begin(&mb, 1);
    for (int i = 0; i < 4; i++)
        notes[i] = (struct note){.mail.on_mail = on_chain, .number = i, .forward_to = &mb};
    assert_int_equal(cor_mailbox_post(&mb, &notes[0].mail), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(atomic_load(&wakes), i + 1);
        assert_int_equal(cor_mailbox_deliver(&mb), 1);
        assert_int_equal(delivered[i], i);
    }
    assert_int_equal(cor_mailbox_deliver(&mb), 0);
    cor_mailbox_deinit(&mb);
}

static bool ran_unlocked;

static void on_try_lock(struct cor_mail *mail)
{
    struct note *note = COR_CONTAINER_OF(mail, struct note, mail);

    ran_unlocked = pthread_mutex_trylock(&note->forward_to->lock.mutex) == 0;
    if (ran_unlocked)
        pthread_mutex_unlock(&note->forward_to->lock.mutex);
}

static void wake_try_lock(void *arg)
{
    struct cor_mailbox *mb = arg;

    assert_int_equal(pthread_mutex_trylock(&mb->lock.mutex), 0);
    pthread_mutex_unlock(&mb->lock.mutex);
}

TEST(mailbox, calls_back_and_wakes_with_the_lock_released)
{
    struct cor_mailbox mb;
    struct note note = {.mail.on_mail = on_try_lock, .forward_to = &mb};

    ran_unlocked = false;
    cor_mailbox_init(&mb, 1, wake_try_lock, &mb);
    assert_int_equal(cor_mailbox_post(&mb, &note.mail), 0);
    cor_mailbox_deliver(&mb);
    assert_true(ran_unlocked);
    cor_mailbox_deinit(&mb);
}

/* A receiver that sleeps on a condition until it is woken, as a thread without a loop would. */
struct sleeper {
    struct cor_mailbox mb;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool woken;
};

#define SENDERS    4
#define PER_SENDER 500

struct numbered {
    struct cor_mail mail;
    int sender, number;
};

static struct numbered numbered[SENDERS][PER_SENDER];
static int next_of[SENDERS];
static struct sleeper sleeper;

static void wake_sleeper(__attribute__((unused)) void *arg)
{
    pthread_mutex_lock(&sleeper.lock);
    sleeper.woken = true;
    pthread_cond_signal(&sleeper.cond);
    pthread_mutex_unlock(&sleeper.lock);
}

static void wait_for_wake(void)
{
    pthread_mutex_lock(&sleeper.lock);
    while (!sleeper.woken)
        pthread_cond_wait(&sleeper.cond, &sleeper.lock);
    sleeper.woken = false;
    pthread_mutex_unlock(&sleeper.lock);
}

static void on_numbered(struct cor_mail *mail)
{
    struct numbered *m = COR_CONTAINER_OF(mail, struct numbered, mail);

    assert_int_equal(m->number, next_of[m->sender]);
    next_of[m->sender]++;
}

static void *send_all(void *arg)
{
    struct numbered *mails = arg;

    for (int i = 0; i < PER_SENDER; i++)
        cor_mailbox_post_always(&sleeper.mb, &mails[i].mail);
    return NULL;
}

TEST(mailbox, loses_nothing_and_keeps_each_senders_order_among_threads)
{
    pthread_t threads[SENDERS];
    size_t n = 0;

    pthread_mutex_init(&sleeper.lock, NULL);
    pthread_cond_init(&sleeper.cond, NULL);
    cor_mailbox_init(&sleeper.mb, 0, wake_sleeper, NULL);
    for (int s = 0; s < SENDERS; s++) {
        for (int i = 0; i < PER_SENDER; i++)
            numbered[s][i] = (struct numbered){{.on_mail = on_numbered}, s, i};
        assert_int_equal(pthread_create(&threads[s], NULL, send_all, numbered[s]), 0);
    }
    while (n < SENDERS * PER_SENDER) {
        wait_for_wake();
        n += cor_mailbox_deliver(&sleeper.mb);
    }
    for (int s = 0; s < SENDERS; s++) {
        pthread_join(threads[s], NULL);
        assert_int_equal(next_of[s], PER_SENDER);
    }
    cor_mailbox_deinit(&sleeper.mb);
    pthread_cond_destroy(&sleeper.cond);
    pthread_mutex_destroy(&sleeper.lock);
}

struct meeting {
    struct cor_mailbox mb;
    struct note note;
    pthread_barrier_t entered, leave;
    atomic_bool is_gone;
};

static void wake_slowly(void *arg)
{
    struct meeting *m = arg;

    pthread_barrier_wait(&m->entered);
    pthread_barrier_wait(&m->leave);
    assert_false(atomic_load(&m->is_gone));
}

static void *send_one(void *arg)
{
    struct meeting *m = arg;

    cor_mailbox_post_always(&m->mb, &m->note.mail);
    return NULL;
}

static void *end_it(void *arg)
{
    struct meeting *m = arg;

    cor_mailbox_deinit(&m->mb);
    atomic_store(&m->is_gone, true);
    return NULL;
}

/* The receiver was awake and has the mail before it is woken for it. */
TEST(mailbox, does_not_end_while_a_sender_wakes_it)
{
    struct meeting m = {.note.mail.on_mail = on_note};
    pthread_t sender, receiver;

    ndelivered = 0;
    cor_mailbox_init(&m.mb, 1, wake_slowly, &m);
    pthread_barrier_init(&m.entered, NULL, 2);
    pthread_barrier_init(&m.leave, NULL, 2);
    assert_int_equal(pthread_create(&sender, NULL, send_one, &m), 0);
    pthread_barrier_wait(&m.entered);
    assert_int_equal(cor_mailbox_deliver(&m.mb), 1);
    assert_int_equal(pthread_create(&receiver, NULL, end_it, &m), 0);
    for (int i = 0; i < 100; i++) {
        assert_false(atomic_load(&m.is_gone));
        sched_yield();
    }
    pthread_barrier_wait(&m.leave);
    pthread_join(sender, NULL);
    pthread_join(receiver, NULL);
    assert_true(atomic_load(&m.is_gone));
    pthread_barrier_destroy(&m.entered);
    pthread_barrier_destroy(&m.leave);
}
