/* A server that answers as a test tells it, over plain HTTP/1.1, on a thread of its own.
 * Owner: the test.  Thread: any. */
#ifndef COR_TEST_CLIENT_SCRIPT_H
#define COR_TEST_CLIENT_SCRIPT_H

#include <pthread.h>
#include <stdbool.h>

#include "base/buf.h"

struct cor_http_server;
struct cor_loop;

/* The first answer whose `to` is a part of "METHOD target", and that is left, is given. */
struct script_answer {
    const char *to;
    const char *body;
    int status;        /* 0: 200 */
    bool stays_open;   /* the body is a beginning, and nothing follows */
    bool is_silent;    /* not even a head comes */
    int times;         /* 0: always */
    const char *after; /* only when a request with this part has come before; NULL: always */
};

struct script {
    char url[64];
    struct cor_loop *loop;
    struct cor_http_server *server;
    const struct script_answer *answers;
    size_t n;
    pthread_mutex_t lock;
    struct cor_buf asked; /* "METHOD target\n" of each request; under `lock` */
    int given[16];        /* of each answer; the server's thread only */
};

/* `answers`, at most 16, must stay valid until script_end(). */
void script_begin(struct script *s, const struct script_answer *answers, size_t n);
void script_end(struct script *s);

/* How many requests had this part in "METHOD target". */
int script_count(struct script *s, const char *part);

#define SCRIPT_BEGIN(s, answers) script_begin((s), (answers), sizeof(answers) / sizeof(answers[0]))

#endif
