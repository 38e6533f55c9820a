/* The default ServiceCIDR, `kubernetes`: the ranges of the flags as an object. It is created when
 * there is none, also when somebody deletes it, and gets its second range when the flags name one
 * that it lacks; otherwise an object with other ranges stays as it is.
 * Owner: the allocator.  Thread: the API's first loop. */
#ifndef COR_SERVER_DEFAULT_RANGE_H
#define COR_SERVER_DEFAULT_RANGE_H

#include "loop/timer.h"
#include "server/alloc/addr.h"
#include "server/api/api_loop.h"

struct cor_default_range {
    struct cor_api_loop *home;
    struct cor_addr_range ranges[2]; /* of the flags */
    size_t nranges;
    struct cor_timer retry; /* of a creation that failed */
    struct cor_mail turn;   /* to itself: instead of the timer */
    bool is_creating, is_widening, is_stopping;
    bool has_turn;              /* `turn` is under way */
    void (*on_idle)(void *arg); /* while it stops: no operation is under way any more */
    void *arg;
};

/* `ranges` and `nranges` are set before. */
void cor_default_range_init(struct cor_default_range *range, struct cor_api_loop *home,
                            void (*on_idle)(void *arg), void *arg);

/* Creates the object, unless there is one. */
void cor_default_range_create(struct cor_default_range *range);

/* A watch has told of a ServiceCIDR. True: it is the default one. */
bool cor_default_range_note(struct cor_default_range *range, const struct cor_object *object,
                            bool is_gone);

/* Nothing is begun any more. */
void cor_default_range_stop(struct cor_default_range *range);

static inline bool cor_default_range_is_busy(const struct cor_default_range *range)
{
    return range->is_creating || range->is_widening || range->has_turn;
}

/* The ranges of a ServiceCIDR, and their number. */
size_t cor_service_cidr_ranges(const struct cor_object *object, struct cor_addr_range ranges[2]);

#endif
