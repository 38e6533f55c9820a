/* What the files of the remote follower share: services, their versions, and the two chains of
 * questions that each service has. */
#ifndef COR_SERVER_REMOTE_FOLLOWER_INT_H
#define COR_SERVER_REMOTE_FOLLOWER_INT_H

#include "base/buf.h"
#include "base/dlist.h"
#include "loop/offload.h"
#include "loop/timer.h"
#include "server/aggregation/fetch.h"
#include "server/aggregation/openapi_parse.h"
#include "server/aggregation/remote_follower.h"
#include "server/api/api.h"
#include "server/catalog/api_service.h"
#include "server/catalog/remote_docs.h"

#define COR_REMOTE_REFRESH_MS 60000
#define COR_REMOTE_BACKOFF_MS 3600000 /* the longest delay after failures */
#define COR_REMOTE_ETAG_MAX   256

enum cor_remote_topic { COR_REMOTE_DISCOVERY, COR_REMOTE_OPENAPI, COR_REMOTE_TOPICS };

struct cor_remote;

/* One APIService of a service. */
struct cor_followed_version {
    struct cor_api_service *service; /* a reference */
    bool is_seen;                    /* while a snapshot is compared */
    bool was_available;              /* at the last look */
    bool is_told, is_current;        /* discovery was asked; it answered last time */
    struct cor_remote_text *resources, *openapi_2, *openapi_3, *openapi_3_group;
    /* What the index said of the last two when they were taken. */
    char index_hash[COR_REMOTE_INDEX_HASH_MAX], group_hash[COR_REMOTE_INDEX_HASH_MAX];
};

/* A chain of questions: at most one fetch or one job at a time. */
struct cor_asker {
    struct cor_remote *remote;
    enum cor_remote_topic topic;
    bool is_busy;
    bool is_outdated; /* the versions have changed meanwhile: ask again when the job has ended */
    struct cor_fetch *fetch;
    uint64_t due_ms;
    unsigned failures; /* in a row */
    bool is_logged;    /* the last failure was */
    char etag[COR_REMOTE_ETAG_MAX];
    /* Where the chain is. */
    int step;
    size_t at; /* a version */
    /* What a job works on: only it touches these while `is_in_job`. */
    struct cor_job job;
    bool is_in_job;
    void (*work)(struct cor_asker *asker);
    void (*next)(struct cor_asker *asker);
    struct cor_buf body;          /* an answer */
    struct cor_buf index;         /* OpenAPI: the index of version 3 */
    struct cor_remote_text *made; /* of a document */
    int made_r;
    struct cor_job_version *job_versions;
    size_t njob_versions;
    bool is_legacy; /* OpenAPI: the server has no version 3 */
};

/* A version in a job: names of its own, and what was made for it. */
struct cor_job_version {
    struct cor_api_service *service; /* a reference */
    struct cor_remote_text *openapi_2, *openapi_3;
};

/* A service: one server, however many APIServices name it. */
struct cor_remote {
    struct cor_dlist link;
    struct cor_remote_follower *follower;
    struct cor_followed_version **versions; /* one at least, unless it is removed */
    size_t nversions;
    struct cor_asker askers[COR_REMOTE_TOPICS];
    size_t bytes;    /* of its texts */
    bool is_removed; /* its last APIService is gone; a job is still at work */
};

struct cor_remote_follower {
    struct cor_api *api;
    struct cor_loop *loop;
    struct cor_targets *targets;
    struct cor_served_follower served;
    struct cor_dlist remotes;
    size_t nversions;
    size_t bytes; /* of all texts */
    size_t nbusy[COR_REMOTE_TOPICS];
    struct cor_timer tick, publish, end;
    bool has_changed; /* what is known is not what was published */
    bool is_closing;
    void (*on_closed)(void *arg);
    void *arg;
};

/* Begin a chain; the asker is busy. */
void cor_discovery_ask(struct cor_asker *asker);
void cor_openapi_ask(struct cor_asker *asker);

/* Asks the server of the asker by the service of this version. `on_done` may be called only with
 * the asker as its argument. 0, -COR_ENOMEM. */
int cor_asker_fetch(struct cor_asker *asker, const struct cor_followed_version *version,
                    const struct cor_fetch_opts *opts, cor_fetch_cb on_done);

/* Runs `work` over asker->body, on a thread when it is long, and then `next` on the loop. `next` is
 * not called when the chain was outdated meanwhile. -COR_EBUSY: nothing follows. */
int cor_asker_work(struct cor_asker *asker, void (*work)(struct cor_asker *asker),
                   void (*next)(struct cor_asker *asker));

/* The chain has ended: 0, or why it failed, and the line that describes that. */
void cor_asker_end(struct cor_asker *asker, int r, const char *text);

/* Puts a text into the place of another one, within the maxima; NULL removes it. Takes the text in
 * either case. 0, -COR_ETOOBIG: the old one stays. */
int cor_remote_set_text(struct cor_remote *remote, struct cor_remote_text **place,
                        struct cor_remote_text *take_text);

/* What is known has changed. */
void cor_remote_changed(struct cor_remote *remote);

/* The first version of the asker's service whose APIService is available; NULL: there is none. */
struct cor_followed_version *cor_remote_available(const struct cor_remote *remote);

#endif
