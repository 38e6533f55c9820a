/* The life of a list that works share: it begins with its first member, begins again for those who
 * have come meanwhile, and is freed with its last one. Members that are served are taken off before
 * their on_done is called, so that a callback may join again, or end other works; the next list
 * begins when all callbacks have returned.
 * Failures: an error of the list is an error of each member. Without memory for a list its first
 * member does not join.
 * Thread: the host's loop. */
#include "server/controllers/host/shared_list.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct cor_shared_list {
    struct cor_dlist link; /* in the lists of the reconciler */
    struct cor_api_port *port;
    const struct cor_gvr *gvr;
    struct cor_api_request req;
    struct cor_dlist serving; /* members of the list that is under way */
    struct cor_dlist waiting; /* of the next one */
    bool is_delivering;       /* on_done of members is being called, with an answer of `req` */
    size_t ns_n;
    char ns[];
};

static void list_begin(struct cor_shared_list *list);

/* A list has ended for all its members: lists for those who wait, or ends. */
static void list_go_on(struct cor_shared_list *list)
{
    assert(cor_dlist_empty(&list->serving) && !cor_api_is_under_way(&list->req));
    if (!cor_dlist_empty(&list->waiting)) {
        list_begin(list);
        return;
    }
    cor_dlist_remove(&list->link);
    cor_free(list);
}

static int list_on_item(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_shared_list *list = COR_CONTAINER_OF(req, struct cor_shared_list, req);

    if (!cor_dlist_empty(&list->serving))
        cor_list_member_at(list->serving.next)->on_item(&list->serving, item);
    return 0;
}

static void list_on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_shared_list *list = COR_CONTAINER_OF(req, struct cor_shared_list, req);
    struct cor_dlist served, *link;

    cor_dlist_init(&served);
    cor_dlist_splice(&served, &list->serving);
    COR_DLIST_FOREACH(it, &served)
        cor_list_member_at(it)->list = NULL;
    list->is_delivering = true;
    while ((link = cor_dlist_pop(&served)))
        cor_list_member_at(link)->on_done(cor_list_member_at(link), answer);
    list->is_delivering = false;
    list_go_on(list);
}

static void list_begin(struct cor_shared_list *list)
{
    static const struct cor_api_request_cbs cbs = {.on_item = list_on_item,
                                                   .on_done = list_on_done};
    static const struct cor_list_query live = {.timeout_s = 0};

    cor_dlist_splice(&list->serving, &list->waiting);
    list->req = (struct cor_api_request){
        .at = {.gvr = *list->gvr, .ns = cor_str(list->ns, list->ns_n)}, .cbs = &cbs};
    cor_api_list(list->port, &list->req, &live);
}

static struct cor_shared_list *lists_find(const struct cor_shared_lists *lists,
                                          const struct cor_gvr *gvr, struct cor_str ns)
{
    COR_DLIST_FOREACH(link, &lists->all) {
        struct cor_shared_list *list = COR_CONTAINER_OF(link, struct cor_shared_list, link);

        if (cor_str_eq(list->gvr->resource, gvr->resource) &&
            cor_str_eq(list->gvr->group, gvr->group) &&
            cor_str_eq(cor_str(list->ns, list->ns_n), ns))
            return list;
    }
    return NULL;
}

void cor_shared_lists_init(struct cor_shared_lists *lists)
{
    cor_dlist_init(&lists->all);
}

int cor_shared_lists_join(struct cor_shared_lists *lists, struct cor_api_port *port,
                          const struct cor_gvr *gvr, struct cor_str ns,
                          struct cor_list_member *member)
{
    struct cor_shared_list *list = lists_find(lists, gvr, ns);

    assert(!member->list && member->on_item && member->on_done);
    if (!list) {
        list = cor_calloc(1, sizeof(*list) + ns.n);
        if (!list)
            return -COR_ENOMEM;
        list->port = port;
        list->gvr = gvr;
        list->ns_n = ns.n;
        if (ns.n > 0)
            memcpy(list->ns, ns.p, ns.n);
        cor_dlist_init(&list->serving);
        cor_dlist_init(&list->waiting);
        cor_dlist_push(&lists->all, &list->link);
    }
    member->list = list;
    cor_dlist_push(&list->waiting, &member->link);
    if (!cor_api_is_under_way(&list->req) && !list->is_delivering)
        list_begin(list);
    return 0;
}

void cor_list_member_leave(struct cor_list_member *member)
{
    struct cor_shared_list *list = COR_STEAL(member->list);

    if (member->link.next)
        cor_dlist_remove(&member->link);
    if (!list || list->is_delivering || !cor_dlist_empty(&list->serving))
        return;
    cor_api_cancel(list->port, &list->req);
    list_go_on(list);
}
