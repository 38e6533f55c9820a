/* The approval of a CustomResourceDefinition in a group of the Kubernetes community, which an
 * annotation has (contract crd 1.4.6, 2.4.1).
 * Thread: any (pure). */
#ifndef COR_SCHEMA_KINDS_CRD_APPROVAL_H
#define COR_SCHEMA_KINDS_CRD_APPROVAL_H

#include "base/buf.h"
#include "schema/kinds/crd_object.h"

#define COR_CRD_APPROVAL       "api-approved.kubernetes.io"
#define COR_CRD_APPROVAL_BYTES 8192
#define COR_CRD_APPROVAL_MISSING                                                                   \
    "protected groups must have approval annotation \"" COR_CRD_APPROVAL                           \
    "\", see https://github.com/kubernetes/enhancements/pull/1111"
#define COR_CRD_APPROVAL_INVALID                                                                   \
    "protected groups must have approval annotation \"" COR_CRD_APPROVAL                           \
    "\" with either a URL or a reason starting with \"unapproved\", see "                          \
    "https://github.com/kubernetes/enhancements/pull/1111"

enum cor_crd_approval {
    COR_APPROVAL_MISSING,
    COR_APPROVAL_BYPASSED,
    COR_APPROVAL_GIVEN,
    COR_APPROVAL_INVALID,
};

bool cor_crd_is_protected(struct cor_str group);
/* What the value of the annotation says. */
enum cor_crd_approval cor_crd_approval_of(struct cor_str text);

/* The condition for it; `message` gets its message, and must outlive it. 1: `crd` has another one,
 * or none. 0: it has this one, or its group needs none. -COR_ENOMEM, -COR_ETOOBIG. */
int cor_crd_judge_approval(const struct cor_crd *crd, struct cor_buf *message,
                           struct cor_crd_condition *ret_condition);

#endif
