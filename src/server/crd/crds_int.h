/* Inside server/crd/: the definitions that are known, and their work.
 * Thread: the first loop of the API. */
#ifndef COR_SERVER_CRDS_INT_H
#define COR_SERVER_CRDS_INT_H

#include "loop/timer.h"
#include "schema/kinds/crd_versions.h"
#include "server/api/publisher.h"
#include "server/crd/crds.h"
#include "server/crd/definition.h"
#include "server/port/inner_follower.h"

/* One CustomResourceDefinition. */
struct crd_entry {
    struct cor_object *object; /* the newest known state; a reference */
    struct cor_crd crd;        /* its texts */
    struct cor_crd_versions versions;
    /* What a change of another definition asks for, in the bytes of `object`, which are many. */
    struct cor_str name, group;
    struct cor_view accepted;       /* names */
    bool is_named;                  /* they are those that it asks for */
    struct cor_definition *served;  /* a reference; NULL: it is not served */
    struct cor_definition *next;    /* takes its place when its cache is filled; or NULL */
    struct cor_creation_gate *gate; /* of its instances; a reference */
    uint64_t closed_ms;             /* when the gate was closed, on cor_loop_now_ms()'s clock */
    struct cor_buf claimed;         /* names that are being written to its status; empty: none */
    uint32_t list;                  /* the last one that has it; see feed_handler.h */
    bool may_fit; /* all objects were read with this schema, or none since it replaced another one:
                     what is known of objects read before no longer holds */
    bool awaits_publication; /* its key is enqueued after the next snapshot */
};

struct cor_crds {
    struct cor_api *api;
    const struct cor_clock *clock;
    struct cor_inner_follower follower; /* its keys are names of definitions */
    struct crd_entry **entries;         /* by name */
    size_t nentries, entries_cap;
    struct cor_places places;
    struct cor_publisher *publisher; /* the API's */
    struct cor_row_maker maker;      /* its rows, for the publisher */
    struct cor_mail publish_mail;
    struct cor_timer retry; /* looks again at caches that are being filled, and publishes again what
                               could not be published for want of memory */
    bool is_publishing;     /* the mail is under way, or the retry is set */
    uint64_t generation;    /* of the snapshot that was published last */
    size_t nfilling;        /* caches that were being filled when the retry was set */
    bool has_changed;       /* what is served is not what was published last */
    bool has_listed;        /* the first list is complete */
    atomic_bool is_synced;
    void (*on_stopped)(void *arg);
    void *arg;
};

/* In crd_entries.c: the first entry whose name is not before this one; nentries: there is none. */
size_t cor_crd_entries_at(const struct cor_crds *crds, struct cor_str name);
/* The entry of this name, or NULL. */
struct crd_entry *cor_crds_find(const struct cor_crds *crds, struct cor_str name);
/* Adds an entry for a definition that has none. 0, -COR_ENOMEM, -COR_ETOOBIG (COR_CRDS_MAX). */
int cor_crd_entries_insert(struct cor_crds *crds, struct cor_object *crd,
                           struct crd_entry **ret_entry);
/* Gives the entry a newer state, or another object of its name. 0; -COR_ENOMEM: it is as before. */
int cor_crd_entry_replace(struct crd_entry *entry, struct cor_object *crd);
/* The caller frees the entry. */
void cor_crd_entries_take_out(struct cor_crds *crds, size_t at);
struct crd_entry *cor_crd_entry_free(struct crd_entry *entry); /* returns NULL */

/* A newer state of a definition, from the watch or from the answer to a write; an older one is left
 * alone. 0, -COR_ENOMEM. */
int cor_crds_take(struct cor_crds *crds, struct cor_object *crd);

/* Returns whether the loops serve the latest state of the entry, as far as it can be served. If
 * not, its key is enqueued when they do. */
bool cor_crds_shows(struct cor_crds *crds, struct crd_entry *entry);

/* Serves the entry as its object is now, if that is something else than what is served. 0, also
 * when it cannot be served, which is logged; -COR_ENOMEM. */
int cor_crds_serve(struct cor_crds *crds, struct crd_entry *entry);

/* Has the names of all other definitions of the group judged again that do not have those they ask
 * for. */
void cor_crds_requeue_group(struct cor_crds *crds, struct cor_str group, struct cor_str but);

/* In crd_status.c: what is done for a key. */
extern const struct cor_reconciler_opts cor_crd_status_opts;

#endif
