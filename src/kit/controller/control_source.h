/* One kind of objects that a control loop follows, and how a change of such an object becomes keys
 * to reconcile: the object's own key (For), the keys of its owners (Owns), or what a function
 * returns (Watches). The objects themselves come from whoever feeds the loop, usually an informer.
 * Thread: the control loop's.  Owner: the control loop. */
#ifndef COR_KIT_CONTROL_SOURCE_H
#define COR_KIT_CONTROL_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/controller/control_event.h"
#include "meta/status/gvk.h"

enum cor_control_source_kind {
    COR_CONTROL_FOR,     /* the kind that is reconciled; at most once in a loop */
    COR_CONTROL_OWNS,    /* objects whose controlling owner is of the kind of FOR */
    COR_CONTROL_WATCHES, /* objects that `map` turns into keys */
    COR_CONTROL_RAW,     /* keys that the owner adds itself; has no events, only the first sync */
};

/* Where a mapping puts the keys that it finds, by cor_control_keys_add(), which keeps a failure. */
struct cor_control_keys {
    int (*add)(void *arg, struct cor_str ns, struct cor_str name);
    void *arg;
    int r; /* the first failure of `add` */
};

/* Strings, predicates and `arg` must stay valid as long as the loop. */
struct cor_control_source_opts {
    enum cor_control_source_kind kind;
    struct cor_gk gk;       /* of the objects; OWNS compares owners with that of FOR */
    bool is_cluster_scoped; /* FOR: its objects have no namespace, so their keys have none */
    bool every_owner;       /* OWNS: also owners that do not control the object */
    /* The keys are queued so long after the event; of a key that waits already the earlier time is
     * used. */
    uint64_t delay_ms;
    /* WATCHES: adds the keys that concern `object`. Called for the old and the new object of an
     * update. It may read caches; it must not block nor call the loop. */
    void (*map)(void *arg, const struct cor_object *object, struct cor_control_keys *keys);
    void *arg;
    struct cor_control_predicates predicates; /* asked after those of the loop */
};

struct cor_control_source {
    struct cor_control_source_opts opts;
    bool is_synced;   /* all objects of the first list were fed */
    bool holds_start; /* was added before the start, which waits for its sync */
};

/* Adds the keys that the event means. `main` is the source FOR, or NULL when there is none. Returns
 * 0 or the first failure of `keys`; the other keys were added all the same. */
int cor_control_source_map(const struct cor_control_source *source,
                           const struct cor_control_source *main,
                           const struct cor_control_event *event, struct cor_control_keys *keys);

#endif
