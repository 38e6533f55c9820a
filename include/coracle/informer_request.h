/* A list or a watch of an informer before it is sent, which a program may change:
 * WithTweakListOptions of client-go's factories.
 * Thread: the runtime's I/O thread, or the one that pumps.  Owner: the informer. */
#ifndef CORACLE_INFORMER_REQUEST_H
#define CORACLE_INFORMER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "coracle/request.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each as in struct cor_request; what is empty, 0 or false is not sent. */
struct cor_informer_request {
    enum cor_verb verb; /* COR_VERB_LIST or COR_VERB_WATCH */
    bool send_initial_events;
    struct cor_str label_selector, field_selector; /* those of the informer's options */
    struct cor_str resource_version, resource_version_match;
    struct cor_str continue_token; /* of each page but the first, which servers answer only without
                                      a resource_version */
    int64_t limit;
    uint32_t server_timeout; /* seconds; of a watch 5 to 10 minutes, of a list 0: two minutes */
    bool allow_bookmarks;
};

/* Called before every list (each page of it is one) and every watch, those after a failure too,
 * when the informer has filled in all of it: what it sets is what is sent, except for `verb` and
 * `send_initial_events`, which only tell. The strings it finds are borrowed for the call; those it
 * sets must stay valid until it is called again for this informer or the set is freed.
 *
 * On the runtime's I/O thread, inside the pump, or inside cor_informers_start() of a program that
 * pumps; it must not block, nor call informers or whatever waits. */
typedef void (*cor_tweak_fn)(void *arg, struct cor_informer_request *req);

#ifdef __cplusplus
}
#endif

#endif
