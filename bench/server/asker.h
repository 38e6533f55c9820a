/* A client of a server that sends one request at a time over one connection, and keeps the status
 * and the body of the last answer; and how a server comes to rest. Failures end the program
 * (process.h). Thread: one.  Owner: whoever opened it. */
#ifndef COR_BENCH_ASKER_H
#define COR_BENCH_ASKER_H

#include <stdbool.h>

#include "base/buf.h"
#include "target.h"

struct client;
struct conn;

struct asker {
    struct client *client;
    struct conn *conn;
    struct cor_buf text, body; /* of the request, and of the last answer */
    int status;
    bool is_answered;
};

void asker_open(struct asker *a, const struct target *t);
void asker_close(struct asker *a);

/* Returns the status of the answer. `body` may be empty. */
int asker_ask(struct asker *a, const char *method, const char *path, const char *body);

/* An answer other than 2xx ends the program. */
void asker_must(struct asker *a, const char *method, const char *path, const char *body);

/* The first uid in the last answer; one without ends the program. */
void asker_uid(const struct asker *a, char *ret_uid, size_t n);

/* Waits between two requests that ask whether something has happened. A watch would show it without
 * a pause, but the server's work for the watch would be counted. */
void asker_pause(long ns);

/* What the server has when its work after a start is over, in MB. */
double asker_memory_at_rest(const struct target *t);

#endif
