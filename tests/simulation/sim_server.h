/* A model API server: a few objects, every version of them, a window of history
 * that is compacted, lists at any revision that may be asked for. It knows no
 * time and no network. Thread: one.  Owner: the history. */
#ifndef COR_SIM_SERVER_H
#define COR_SIM_SERVER_H

#include "base/rand.h"
#include "meta/names/watch_type.h"
#include "meta/object/object.h"

#define SIM_KEYS     8
#define SIM_VERSIONS 400

struct sim_version {
    struct cor_object *object; /* a deletion's: the last state at the deletion's revision */
    int key;                   /* -1: a write to another resource */
    enum cor_watch_type type;
};

struct sim_server {
    struct sim_version log[SIM_VERSIONS]; /* of revision i + 1 */
    cor_rev head, compacted;              /* events up to `compacted` are gone */
    struct cor_rand *rand;
    bool streams; /* knows sendInitialEvents */
    bool caches;  /* limits are ignored for "0" */
};

void sim_server_init(struct sim_server *s, struct cor_rand *rand);
void sim_server_deinit(struct sim_server *s);

/* Creates, updates or deletes some object, or writes to another resource. The
 * key, or -1. */
int sim_server_write(struct sim_server *s);
bool sim_server_is_full(const struct sim_server *s);
void sim_server_compact(struct sim_server *s);

/* The object that `key` has at `rev`, or NULL; borrowed. */
struct cor_object *sim_server_state(const struct sim_server *s, int key, cor_rev rev);

/* "n0/k0" */
struct cor_str sim_key_name(int key);
int sim_key_of(struct cor_str name); /* -1: none of ours */

#endif
