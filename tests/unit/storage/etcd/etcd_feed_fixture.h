/* Feeds over a session that the test plays: it sees what is asked of etcd, and says what etcd
 * answers, one message at a time.
 * Thread: the test's. */
#ifndef COR_TEST_ETCD_FEED_FIXTURE_H
#define COR_TEST_ETCD_FEED_FIXTURE_H

#include "base/buf.h"
#include "etcd_fake_session.h"
#include "storage/etcd/etcd_feed.h"
#include "test.h"

#define REFUSED "etcdserver: permission denied"

extern struct etcd_session session;
extern struct etcd_engine engine;

void open_engine(bool has_progress);
void close_engine(void);

/* As fake_session_turn(), fake_session_stream(). */
void turn(void);
struct etcd_stream *stream_at(size_t n);

/* What feeds deliver, as text: "+key@rev(prev)" "-key@rev(prev)" "|upto". */
struct sink {
    struct cor_feed *feed;
    struct cor_buf text;
    int err;
    bool closed;
};

void sink_open(struct sink *sink, const char *key, const char *end, cor_rev from, size_t credit,
               bool with_prev);
/* The feed hears of its opening in the next turn(). */
void sink_prepare(struct sink *sink, const struct cor_feed_opts *opts);
void sink_open_with(struct sink *sink, const struct cor_feed_opts *opts);
void sink_close(struct sink *sink);
/* The first feed is in step at revision 10. */
struct etcd_stream *start_at_10(struct sink *sink, const char *key, const char *end, size_t credit);

#define assert_sink(sink, expected)                                                                \
    do {                                                                                           \
        turn();                                                                                    \
        assert_string_equal(cor_buf_z(&(sink)->text), expected);                                   \
        cor_buf_reset(&(sink)->text);                                                              \
    } while (0)

void say_bytes(struct etcd_stream *stream, const void *p, size_t n);
/* Answers the question for the store's revision. */
void say_revision(struct etcd_stream *stream, int64_t rev);

struct said {
    const char *key; /* NULL: the end; a leading '-' deletes */
    int64_t rev, prev;
};

void say(struct etcd_stream *stream, int64_t id, int64_t rev, bool is_fragment,
         const struct said *said);

/* To the first watch of the stream, or to another one. */
#define SAY(stream, rev, ...)        SAY_TO(stream, 1, rev, __VA_ARGS__)
#define SAY_TO(stream, id, rev, ...) say(stream, id, rev, false, (struct said[]){__VA_ARGS__, {0}})
#define SAY_PART(stream, rev, ...)   SAY_PART_TO(stream, 1, rev, __VA_ARGS__)
#define SAY_PART_TO(stream, id, rev, ...)                                                          \
    say(stream, id, rev, true, (struct said[]){__VA_ARGS__, {0}})
#define SAY_PROGRESS(stream, rev) say(stream, -1, rev, false, NULL)

/* A watch is announced, or given up: id -1 is what a refused one gets. */
void say_control(struct etcd_stream *stream, int64_t id, bool created, int64_t rev,
                 const char *canceled);
void say_created(struct etcd_stream *stream, int64_t id, int64_t rev);
void cut(struct etcd_stream *stream);

void assert_nth_watches(struct etcd_stream *stream, size_t n, const char *key, int64_t start,
                        bool prev);
void assert_watches(struct etcd_stream *stream, const char *key, int64_t start, bool prev);

#endif
