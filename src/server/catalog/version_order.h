/* The order in which Kubernetes prefers versions by their names: v2 before v1 before v2beta1 before
 * v1beta2 before v1alpha1; names of another form come last, by the alphabet.
 * Thread: any (pure). */
#ifndef COR_SERVER_VERSION_ORDER_H
#define COR_SERVER_VERSION_ORDER_H

#include "base/str.h"

/* Negative: `a` is preferred to `b`; 0: they are the same; positive: `b` is preferred. */
int cor_version_order(struct cor_str a, struct cor_str b);

#endif
