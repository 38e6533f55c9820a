/* What happened to an object: see the public header. */
#ifndef COR_META_NAMES_WATCH_TYPE_H
#define COR_META_NAMES_WATCH_TYPE_H

#include "coracle/watch_type.h"

/* A bookmark with this annotation, and the value "true", ends the initial events of a watch. */
#define COR_INITIAL_EVENTS_END "k8s.io/initial-events-end"

#endif
