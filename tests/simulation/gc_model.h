/* A model of an API server for histories of the garbage collector: objects with owner references
 * and finalizers, the rules of deletion, patches of references and finalizers, and an API port to
 * them with delays and failures. What the collector may not do is noted as a violation.
 *
 * There are 42 places for objects: 3 namespaced kinds in 2 namespaces and 1 kind without
 * namespaces, with 6 names each. An object that is created again has another uid.
 * Owner: the history.  Thread: one. */
#ifndef COR_SIM_GC_MODEL_H
#define COR_SIM_GC_MODEL_H

#include "kit/api_port.h"
#include "sim_time.h"

enum { MODEL_KINDS = 4, MODEL_NAMESPACES = 2, MODEL_NAMES = 6, MODEL_PLACES = 42 };
enum { MODEL_REFS_MAX = 3, MODEL_REQUESTS_MAX = 512, MODEL_UIDS_MAX = 4096 };

enum model_finalizer { MODEL_FOREGROUND = 1, MODEL_ORPHAN = 2, MODEL_FOREIGN = 4 };

/* Mistakes that a collector could make; the port makes them for it. */
enum model_fault {
    MODEL_NO_FAULT,
    MODEL_IGNORES_WAITING,      /* an owner that waits for dependents counts as solid */
    MODEL_DELETES_UNGUARDED,    /* deletes without preconditions */
    MODEL_SKIPS_ORPHAN_PATCHES, /* believes that dependents were patched */
    MODEL_BELIEVES_ERRORS,      /* takes a failed look-up for an absent owner */
    MODEL_LOSES_DELETIONS,      /* a feed does not show deletions */
    MODEL_LOSES_CHANGES,        /* a feed shows new objects and deletions, but no changes */
    MODEL_FAULTS,
};

struct model_ref {
    int place; /* of the owner, as the reference names it */
    unsigned uid;
    bool blocks;
};

struct model_object {
    bool exists;
    unsigned uid;
    uint64_t rv;
    bool is_terminating, had_foreground;
    unsigned finalizers;
    struct model_ref refs[MODEL_REFS_MAX];
    size_t nrefs;
    uint64_t refs_since_ms; /* when the references were written last */
    uint64_t refs_rv;       /* the version that wrote them */
    uint64_t shown_ms;      /* when a feed has shown these references; 0: not yet */
    uint64_t gone_shown_ms; /* when a feed has shown that the deletion began; 0: not yet */
    bool is_odd;            /* a reference has kept its uid and changed its other coordinates, which
                               the collector does not verify (contract 2.3.5) */
};

struct model;

struct model_request {
    struct sim_event event;
    struct model *model;
    struct cor_api_request *req; /* NULL: free */
    enum cor_api_verb verb;      /* get, patch or delete */
    int place;
    enum cor_patch_type patch_type;
    char body[4096]; /* the patch */
    char policy[16], uid[48], rv[24];
    bool is_applied;
    bool is_unanswered;
    struct cor_object *object; /* of the answer */
    struct cor_status error;
    bool has_error;
};

struct model {
    struct sim_time *time;
    struct cor_api_port port;
    struct model_object objects[MODEL_PLACES];
    struct model_request requests[MODEL_REQUESTS_MAX];
    struct sim_event refusals;
    uint64_t rv;
    unsigned next_uid;
    unsigned error_percent; /* of requests */
    uint64_t delay_max_ms;
    enum model_fault fault;
    size_t ncollected;   /* deletions by the collector */
    char violation[512]; /* "": none */
    /* An object was changed (or created), or deleted: its last state. */
    void (*on_change)(void *arg, int place, bool is_deleted, struct cor_object *take_object);
    void *arg;
};

void model_init(struct model *m, struct sim_time *time);
void model_deinit(struct model *m);

int model_place(int kind, int ns, int name);
int model_kind_of(int place);
int model_namespace_of(int place); /* -1: none */
extern const char *const model_api_versions[MODEL_KINDS];
extern const char *const model_kinds[MODEL_KINDS];
extern const char *const model_resources[MODEL_KINDS];

struct cor_object *model_json(const struct model *m, int place);

/* What users do. */
void model_create(struct model *m, int place, const struct model_ref *refs, size_t n);
void model_delete(struct model *m, int place, const char *policy);
void model_set_refs(struct model *m, int place, const struct model_ref *refs, size_t n);
void model_set_finalizers(struct model *m, int place, unsigned finalizers);

/* How a reference of the object at `place` is to be judged now. */
enum model_verdict { MODEL_SOLID, MODEL_WAITING, MODEL_DANGLING, MODEL_NEVER };
enum model_verdict model_judge(const struct model *m, int place, const struct model_ref *ref);

void model_violation(struct model *m, const char *fmt, ...) COR_PRINTF(2, 3);

#endif
