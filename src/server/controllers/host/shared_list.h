/* clang-format off */
/* Lists that several works share. A work that needs all objects of a resource, as they are now, joins
 * the list of that resource and namespace:
 *
 *   nobody lists ──► a list begins ──► each item once for all members ──► on_done of every member
 *   a list is under way ──► the work waits for the next one, which serves all who wait then
 *
 * What a member gets was listed after it joined. So a hundred claims of one namespace, that are looked at
 * together, need a handful of lists of its pods.
 * Thread: the host's loop.  Owner: the reconciler has the lists, each work its member. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_HOST_SHARED_LIST_H
#define COR_SERVER_CONTROLLERS_HOST_SHARED_LIST_H

#include "base/dlist.h"
#include "kit/api_port.h"

struct cor_shared_list;

struct cor_shared_lists {
    struct cor_dlist all;
};

/* Embedded in a work, zeroed. */
struct cor_list_member {
    /* An item for all members that are served, which have the same on_item: an object with
     * thousands of parts is walked once, however many ask for it. None of them may leave. */
    void (*on_item)(struct cor_dlist *members, struct cor_object *item);
    void (*on_done)(struct cor_list_member *member, const struct cor_api_answer *answer);
    struct cor_shared_list *list; /* NULL: it has joined none */
    struct cor_dlist link;
};

static inline struct cor_list_member *cor_list_member_at(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_list_member, link);
}

void cor_shared_lists_init(struct cor_shared_lists *lists);

/* Joins the list; the callbacks follow, never before this returns. `gvr` must stay valid. 0,
 * -COR_ENOMEM. */
int cor_shared_lists_join(struct cor_shared_lists *lists, struct cor_api_port *port,
                          const struct cor_gvr *gvr, struct cor_str ns,
                          struct cor_list_member *member);

/* No callback of the member after this; a list that nobody needs any more is cancelled. Allowed for
 * a member that has joined none. */
void cor_list_member_leave(struct cor_list_member *member);

#endif
