/* Intrusive doubly linked list. A `struct cor_dlist` is both the head and the link; an initialised
 * link that is in no list points at itself. Nothing here allocates or frees. */
#ifndef COR_BASE_DLIST_H
#define COR_BASE_DLIST_H

#include <assert.h>
#include <stdbool.h>

#include "base/cleanup.h"

struct cor_dlist {
    struct cor_dlist *next, *prev;
};

static inline void cor_dlist_init(struct cor_dlist *l)
{
    l->next = l->prev = l;
}

/* Also: is this link in no list? */
static inline bool cor_dlist_empty(const struct cor_dlist *l)
{
    return l->next == l;
}

static inline void cor_dlist_push(struct cor_dlist *head, struct cor_dlist *link)
{
    assert(head->prev && head->next); /* initialised */
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void cor_dlist_push_front(struct cor_dlist *head, struct cor_dlist *link)
{
    cor_dlist_push(head->next, link);
}

/* Leaves `link` initialised; harmless on a link that is in no list. */
static inline void cor_dlist_remove(struct cor_dlist *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    cor_dlist_init(link);
}

/* NULL when empty. */
static inline struct cor_dlist *cor_dlist_pop(struct cor_dlist *head)
{
    struct cor_dlist *link = head->next;

    if (link == head)
        return NULL;
    cor_dlist_remove(link);
    return link;
}

/* Appends all of `from` to `to`; `from` is empty afterwards. */
static inline void cor_dlist_splice(struct cor_dlist *to, struct cor_dlist *from)
{
    if (cor_dlist_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    cor_dlist_init(from);
}

#define COR_DLIST_FOREACH(it, head)                                                                \
    for (struct cor_dlist *it = (head)->next; it != (head); it = it->next)

/* The current link may be removed in the body. */
#define COR_DLIST_FOREACH_SAFE(it, head)                                                           \
    for (struct cor_dlist *it = (head)->next, *it##_next = it->next; it != (head);                 \
         it = it##_next, it##_next = it->next)

#endif
