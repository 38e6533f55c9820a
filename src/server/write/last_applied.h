/* The annotation kubectl.kubernetes.io/last-applied-configuration, in which `kubectl apply` keeps
 * what it has applied: a client that switches to server-side apply must not conflict with itself,
 * and one that switches back must find what was applied last.
 * Thread: any (pure). */
#ifndef COR_SERVER_WRITE_LAST_APPLIED_H
#define COR_SERVER_WRITE_LAST_APPLIED_H

#include "base/buf.h"
#include "base/str.h"

/* The manager whose applies look at the annotation. */
#define COR_LAST_APPLIED_MANAGER "kubectl"

/* Appends the object in the annotation of `object`, canonical, if it is one of this version.
 * Nothing is appended when there is none. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_last_applied_read(struct cor_str object, struct cor_str api_version, struct cor_buf *out);

/* Puts the configuration into the annotation of `object`, if it has one; one that would be too
 * large is removed. Both are canonical. 0, -COR_ENOMEM, -COR_ETOOBIG; the object is as before then.
 */
int cor_last_applied_renew(struct cor_str config, struct cor_buf *object);

#endif
