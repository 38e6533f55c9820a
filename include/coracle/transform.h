/* A function that changes what a cache keeps of an object, before the object is stored: client-go's
 * TransformFunc. coracle/projection.h makes one that keeps some fields.
 * Thread: the one that fills the cache: the runtime's I/O thread, or the one that pumps. */
#ifndef CORACLE_TRANSFORM_H
#define CORACLE_TRANSFORM_H

#include "coracle/object.h"
#include "coracle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `*object` is a reference that belongs to the callee: it keeps the object as it is, or unrefs it
 * and puts another one in its place. A lock is held: it must not call the informer or the queue. A
 * negative return refuses the object: an event is skipped (on_report is called), a list fails and
 * is tried again. */
typedef int (*cor_transform_fn)(void *arg, struct cor_object **object, struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
