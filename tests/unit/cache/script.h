/* clang-format off */
/* A driver and a store for reflector tests: both write what they are asked for into one text, so
 * that a test reads as inputs and the outputs they lead to. Nothing is answered by itself.
 *
 *   L(10,500)  L(,500,token)  W(10)  S(10)          list, watch, streamed list
 *   cancel  begin  stage(a@1)  commit(10)  abort    ...
 *   add(a@1)  update(a@2)  del(a@3)  bookmark(50)  resync
 *   end()  end(message)  say(WATCH_EXPIRED)
 */
/* clang-format on */
#ifndef COR_TEST_CACHE_SCRIPT_H
#define COR_TEST_CACHE_SCRIPT_H

#include "test.h"

#include "base/rand.h"
#include "cache/reflector/reflector.h"

#define SCRIPT_OBJECTS_MAX 64

enum script_request { SCRIPT_NONE, SCRIPT_LIST, SCRIPT_WATCH, SCRIPT_STREAM };

struct script_node {
    struct cor_object *object;
};

struct script_content {
    struct script_node *nodes[SCRIPT_OBJECTS_MAX];
    size_t n;
};

struct script {
    struct cor_reflector_driver driver;
    struct cor_reflector_store store;
    struct cor_rand rand;
    struct cor_reflector_opts opts;
    struct cor_reflector *r;
    uint64_t now;

    enum script_request request; /* under way */
    char rv[160], token[160];    /* of it */
    int64_t limit;
    uint32_t timeout_s;
    uint64_t wake_ms;

    struct script_content content, staged;
    char store_rv[160];
    cor_rev store_rev; /* the same as a number */
    bool staging;
    unsigned commits;

    const char *fail_op; /* "commit", "add", …: fails with fail_err */
    int fail_err;
    const char *stop_op; /* calls cor_reflector_stop() from inside it */
    bool refuse_resync;

    char log[1 << 15];
    size_t log_n;
};

void script_init(struct script *s); /* fill s->opts afterwards, then start */
int script_new(struct script *s);   /* makes the reflector; 0 or -COR_ENOMEM */
void script_start(struct script *s);
void script_deinit(struct script *s); /* stops; checks that nothing is left under way */

/* Compares all outputs since the last call, and forgets them. */
void script_expect(struct script *s, const char *want);
void script_forget(struct script *s);

/* "a" or "ns/a" as a ConfigMap at a revision; the caller unrefs it. */
struct cor_object *script_object(const char *key, cor_rev rev);
/* Any JSON, at a revision. */
struct cor_object *script_json(const char *json, cor_rev rev);

/* Inputs. `items` is "a@1 b@2". */
void script_page(struct script *s, const char *items, const char *rv, const char *token);
void script_part(struct script *s, const char *items);
void script_list_fails(struct script *s, int err);
void script_list_fails_with(struct script *s, const struct cor_status *st);
void script_opened(struct script *s);
void script_event(struct script *s, enum cor_watch_type type, const char *key, cor_rev rev);
void script_event_json(struct script *s, enum cor_watch_type type, const char *json, cor_rev rev);
void script_end_bookmark(struct script *s, cor_rev rev);
void script_error_event(struct script *s, int err);
void script_ended(struct script *s, int err); /* 0: plain end */

/* Moves to the time the reflector asked for and ticks; returns how far that was. */
uint64_t script_tick(struct script *s);

/* Listed a@1 at rv 10 and watching; outputs forgotten. */
void script_to_watching(struct script *s);

#endif
