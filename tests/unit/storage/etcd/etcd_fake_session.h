/* A session with etcd that the test plays: it sees what is asked, and says what etcd answers.
 * Thread: the test's. */
#ifndef COR_TEST_ETCD_FAKE_SESSION_H
#define COR_TEST_ETCD_FAKE_SESSION_H

#include "base/dlist.h"
#include "etcd.pb-c.h"
#include "storage/etcd/etcd_session.h"

#define FAKE_WATCHES_MAX 16

struct etcd_stream {
    struct etcd_session *session;
    struct cor_dlist link;
    const struct etcd_stream_cbs *cbs;
    void *arg;
    const char *method;
    etcd_reply_cb on_reply; /* of a unary call */
    char request[1024];     /* of a unary call; else the last keep-alive */
    size_t request_len;
    unsigned nkept;                                /* keep-alives */
    Etcd__WatchRequest *creates[FAKE_WATCHES_MAX]; /* in the order of their ids, from 1 */
    size_t ncreates;
    int64_t canceled; /* the id of the last that was given up */
    unsigned progress;
};

struct etcd_session {
    struct cor_loop *loop;
    struct cor_dlist waiting, streams;
    bool has_progress, keeps_deletions;
    bool has_user;
    int send_err;             /* what a stream answers to a message */
    enum etcd_wait_when when; /* of who waited last */
    unsigned blamed;
};

/* Questions for progress are asked again after a tenth of a second, in the session that is opened
 * next. Without, who does not wait for that does not meet it, however slow the machine is. */
void fake_session_repeat_questions(void);

/* With a loop of its own, that the test runs. */
void fake_session_open(struct etcd_session *s);
void fake_session_close(struct etcd_session *s);

/* What was mailed before has arrived, and everybody who waited was told to go. */
void fake_session_turn(struct etcd_session *s);

/* The n-th open call or stream, or NULL. */
struct etcd_stream *fake_session_stream(struct etcd_session *s, size_t n);

/* Ends a unary call. */
void fake_stream_reply(struct etcd_stream *stream, struct cor_str message);
void fake_stream_fail(struct etcd_stream *stream, enum cor_grpc_code code, const char *message,
                      bool is_untouched);

#endif
