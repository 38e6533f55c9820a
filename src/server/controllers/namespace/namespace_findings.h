/* What one pass of namespace deletion has found: failures, content that remains, and finalizers
 * that content waits for; and the five conditions of the namespace that follow from these findings,
 * in upstream's words.
 *
 * The functions that add findings return nothing: the first lack of memory stays in `r`, and the
 * pass ends with it.
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_SERVER_CONTROLLERS_NAMESPACE_NAMESPACE_FINDINGS_H
#define COR_SERVER_CONTROLLERS_NAMESPACE_NAMESPACE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "kit/api_resources.h"
#include "meta/object/object.h"
#include "meta/status/status.h"

/* Different finalizers that are counted; more of them end the pass with -COR_ETOOBIG. */
#define COR_FINALIZERS_MAX (1u << 16)

/* How many objects have each finalizer. */
struct cor_finalizer_counts {
    struct cor_map map; /* name -> struct finalizer_count */
};

void cor_finalizer_counts_init(struct cor_finalizer_counts *counts);
/* Safe on a zeroed struct; what it leaves may be initialised again. */
void cor_finalizer_counts_deinit(struct cor_finalizer_counts *counts);
/* Counts each entry of the object's metadata.finalizers. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_finalizer_counts_add(struct cor_finalizer_counts *counts, const struct cor_object *object);

/* Texts in the order in which they were added. */
struct cor_namespace_texts {
    char **v;
    size_t n, cap;
};

struct cor_namespace_findings {
    struct cor_buf discovery, parsing;    /* messages; empty: there was no such failure */
    struct cor_namespace_texts errors;    /* of the pass, all of them */
    struct cor_namespace_texts failures;  /* of content that could not be deleted */
    struct cor_namespace_texts remaining; /* "deployments.apps has 1 resource instances" */
    struct cor_finalizer_counts finalizers;
    int r; /* 0, or the first failure to add a finding */
};

void cor_namespace_findings_init(struct cor_namespace_findings *f); /* cannot fail */
void cor_namespace_findings_deinit(struct cor_namespace_findings *f);

/* The resources could not be enumerated: some versions of them, or (`resources` is NULL) none. */
void cor_namespace_findings_add_discovery(struct cor_namespace_findings *f,
                                          const struct cor_api_resources *resources,
                                          const struct cor_status *error);

/* An invalid group and version; only the first counts. */
void cor_namespace_findings_add_parsing(struct cor_namespace_findings *f, struct cor_str message);

/* Objects of a resource could not be deleted. `pods_of` is the namespace when the resource is that
 * of pods, whose failure the error of the pass names; else it is empty. */
void cor_namespace_findings_add_failure(struct cor_namespace_findings *f, const char *message,
                                        struct cor_str pods_of);

/* `n` objects of the resource remain, more than 0, with these finalizers. */
void cor_namespace_findings_add_remaining(struct cor_namespace_findings *f,
                                          const struct cor_gvr *gvr, size_t n,
                                          const struct cor_finalizer_counts *finalizers);

/* The errors of the pass as one: 0 when there are none; else an error whose message has all texts
 * without repetitions, "[a, b]" when there are several (Kubernetes' aggregate). */
int cor_namespace_findings_error(const struct cor_namespace_findings *f, struct cor_status *reterr);

/* Writes the five conditions into a copy of the namespace. `ret_object` is NULL when all
 * conditions are so already. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL (a namespace whose status
 * cannot be read). */
int cor_namespace_findings_apply(struct cor_namespace_findings *f, const struct cor_object *ns,
                                 int64_t now_s, struct cor_object **ret_object,
                                 struct cor_status *reterr);

#endif
