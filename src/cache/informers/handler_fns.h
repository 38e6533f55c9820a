/* How a handler (coracle/handler_fns.h) is told of one change.
 * Thread: where it is drained. */
#ifndef COR_CACHE_HANDLER_FNS_H
#define COR_CACHE_HANDLER_FNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "coracle/handler_fns.h"
#include "meta/object/object.h"

enum cor_change_kind { COR_CHANGE_ADD, COR_CHANGE_UPDATE, COR_CHANGE_DELETE };

/* One change of a cache, as handlers are told of it. All is borrowed. */
struct cor_change {
    enum cor_change_kind kind;
    bool flag; /* add: in the initial list; delete: final state unknown */
    struct cor_str key;
    struct cor_object *old;    /* of an update */
    struct cor_object *object; /* NULL: a deletion of what is not known any more */
};

void cor_handler_fns_call(const struct cor_handler_fns *handler, const struct cor_change *change);

#endif
