/* Inside server/aggregation/: the APIServices that are known, and their work.
 * Thread: the first loop of the API. */
#ifndef COR_SERVER_API_SERVICES_INT_H
#define COR_SERVER_API_SERVICES_INT_H

#include <stdatomic.h>

#include "loop/timer.h"
#include "schema/kinds/group_priority.h"
#include "server/aggregation/api_services.h"
#include "server/aggregation/available_metrics.h"
#include "server/api/api.h"
#include "server/api/publisher.h"
#include "server/catalog/served.h"
#include "server/port/inner_follower.h"

#define COR_API_SERVICE_NAME_MAX 384 /* of "<version>.<group>", and its NUL */

/* One APIService. */
struct api_entry {
    struct cor_object *object;       /* the newest known state */
    struct cor_api_service *service; /* a reference; NULL: it cannot be read */
    uint32_t list;                   /* the last one that has it; see feed_handler.h */
    bool is_taken;                   /* this state of it was looked at */
    bool was_at_start;               /* the first list had it */
    bool has_synced;                 /* registration has looked at it */
};

/* A group version for which this server wants an APIService. */
struct cor_registration {
    char name[COR_API_SERVICE_NAME_MAX];
    size_t version_n; /* of the name: the version; the group is behind the dot */
    struct cor_group_priority priority;
    bool has_synced; /* of a built-in one: it was created or updated, which is done once */
    bool was_seen;   /* of a built-in one: it was available */
};

/* Sorted by name. */
struct cor_registrations {
    struct cor_registration *v;
    size_t n;
};

struct cor_availability;

struct cor_api_services {
    struct cor_api *api;
    const struct cor_clock *clock;
    struct cor_inner_follower follower; /* registers; its keys are names of APIServices */
    struct api_entry **entries;         /* by name */
    size_t nentries, entries_cap;
    struct cor_registrations builtins, customs;
    bool knows_customs;                /* `customs` has what is served */
    struct cor_served_follower served; /* custom resources come and go with snapshots */
    struct cor_availability *availability;
    struct cor_available_metrics metrics;
    struct cor_publisher *publisher; /* the API's */
    struct cor_mail publish_mail;
    struct cor_timer retry; /* publishes again what could not be published for want of memory */
    bool is_publishing;     /* the mail is under way, or the retry is set */
    bool has_changed;       /* what is known is not what was published last */
    bool has_listed;        /* the first list is complete */
    bool is_settled;        /* registration has been tried: what is known may be published */
    atomic_bool are_published, are_registered;
    bool is_availability_stopped;
    void (*on_stopped)(void *arg);
    void *arg;
};

/* The entry of this name, or NULL. */
struct api_entry *cor_api_services_find(const struct cor_api_services *as, struct cor_str name);

/* The answer to a write of an APIService. Its state is taken if it is newer than the entry's.
 * Without an entry it is left alone: the watch has shown its deletion already. 0, -COR_ENOMEM. */
int cor_api_services_take_answer(struct cor_api_services *as, struct cor_object *object);

/* What is known is published from now on. */
void cor_api_services_settle(struct cor_api_services *as);

struct cor_resource_path cor_api_service_path(struct cor_str name, const char *subresource);

/* ---- auto_register.c ---- */

/* 0, -COR_ENOMEM. */
int cor_auto_register_init(struct cor_api_services *as);
void cor_auto_register_deinit(struct cor_api_services *as);
/* The first list is complete: registers what is built in, and the custom resources. */
void cor_auto_register_begin(struct cor_api_services *as);
/* Custom resources may have come or gone. */
void cor_auto_register_follow(struct cor_api_services *as);
/* An entry changed: is each built-in group version available? */
void cor_auto_register_look(struct cor_api_services *as, const struct api_entry *entry);
/* What is done for a key. */
extern const struct cor_reconciler_opts cor_auto_register_opts;

/* ---- availability.c ---- */

/* 0, -COR_ENOMEM. */
int cor_availability_new(struct cor_api_services *as, const struct cor_target_config *config,
                         struct cor_availability **ret_availability, struct cor_status *reterr);
struct cor_availability *cor_availability_free(struct cor_availability *av); /* NULL is fine */
/* 0, -COR_ENOMEM. */
int cor_availability_start(struct cor_availability *av, struct cor_status *reterr);
/* The first list is complete. */
void cor_availability_begin(struct cor_availability *av);
/* The entry has come or changed: it is judged again. 0, -COR_ENOMEM. */
int cor_availability_look(struct cor_availability *av, const struct api_entry *entry);
/* Remote services have come, gone or changed: Services are followed while there are any. */
void cor_availability_follow(struct cor_availability *av);
/* `on_stopped` follows in a later turn. */
void cor_availability_stop(struct cor_availability *av, uint64_t max_ms,
                           void (*on_stopped)(struct cor_api_services *as));

#endif
