/* The events and predicates of controllers are public: coracle/control_event.h. */
#ifndef COR_KIT_CONTROL_EVENT_H
#define COR_KIT_CONTROL_EVENT_H

#include "coracle/control_event.h"
#include "meta/object/object.h"

#endif
