/* Intrusive doubly linked list. A `struct cor_list` is both the head and the link; an initialised
 * link that is in no list points at itself. Nothing here allocates or frees. */
#ifndef COR_BASE_LIST_H
#define COR_BASE_LIST_H

#include <assert.h>
#include <stdbool.h>

#include "base/cleanup.h"

struct cor_list {
    struct cor_list *next, *prev;
};

static inline void cor_list_init(struct cor_list *l)
{
    l->next = l->prev = l;
}

/* Also: is this link in no list? */
static inline bool cor_list_empty(const struct cor_list *l)
{
    return l->next == l;
}

static inline void cor_list_push(struct cor_list *head, struct cor_list *link)
{
    assert(head->prev && head->next); /* initialised */
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void cor_list_push_front(struct cor_list *head, struct cor_list *link)
{
    cor_list_push(head->next, link);
}

/* Leaves `link` initialised; harmless on a link that is in no list. */
static inline void cor_list_remove(struct cor_list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    cor_list_init(link);
}

/* NULL when empty. */
static inline struct cor_list *cor_list_pop(struct cor_list *head)
{
    struct cor_list *link = head->next;

    if (link == head)
        return NULL;
    cor_list_remove(link);
    return link;
}

/* Appends all of `from` to `to`; `from` is empty afterwards. */
static inline void cor_list_splice(struct cor_list *to, struct cor_list *from)
{
    if (cor_list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    cor_list_init(from);
}

#define COR_LIST_FOREACH(it, head)                                                                 \
    for (struct cor_list *it = (head)->next; it != (head); it = it->next)

/* The current link may be removed in the body. */
#define COR_LIST_FOREACH_SAFE(it, head)                                                            \
    for (struct cor_list *it = (head)->next, *it##_next = it->next; it != (head);                  \
         it = it##_next, it##_next = it->next)

#endif
