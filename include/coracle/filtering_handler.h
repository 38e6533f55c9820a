/* A handler that hears only of objects that a filter passes: client-go's
 * FilteringResourceEventHandler. An object that an update brings into the filter is added, one that
 * it takes out is deleted, as its last state that passed.
 *
 *   struct cor_filtering_handler of_mine = {.passes = is_mine, .to = {.on_add = on_add}};
 *   const struct cor_handler_opts opts = {COR_HANDLER_DEFAULTS,
 *                                         .on = cor_filtering_handler(&of_mine)};
 *
 * Thread: the handler's.  Owner: the program; it must stay valid until on_removed, whose argument
 * it is. */
#ifndef CORACLE_FILTERING_HANDLER_H
#define CORACLE_FILTERING_HANDLER_H

#include <stdbool.h>

#include "coracle/api.h"
#include "coracle/handler_fns.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

struct cor_filtering_handler {
    /* `object` is NULL for a deletion of what is not known any more. */
    bool (*passes)(void *arg, const struct cor_object *object);
    void *arg;
    struct cor_handler_fns to; /* hears what passes; it has an arg of its own */
};

/* What to register; points to `filter`. */
COR_API struct cor_handler_fns cor_filtering_handler(struct cor_filtering_handler *filter);

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
