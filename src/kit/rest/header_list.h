/* Copies of header fields, in the order in which they were added. They may be secret, so they are
 * wiped before they are freed.
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_KIT_HEADER_LIST_H
#define COR_KIT_HEADER_LIST_H

#include "kit/config/client_config.h"
#include "net/session/header.h"

struct cor_header_list {
    struct cor_http_header *at;
    size_t n, cap;
};

#define COR_HEADER_LIST_MAX 50

/* Safe on a zeroed struct. */
void cor_header_list_deinit(struct cor_header_list *l);

/* 0, -COR_ETOOBIG (the list is full), -COR_ENOMEM; unchanged on failure. */
int cor_header_list_add(struct cor_header_list *l, struct cor_str name, struct cor_str value);

/* Adds Impersonate-User, -Uid, -Group and -Extra-… of the configuration; nothing without a user.
 * Same errors. */
int cor_header_list_impersonate(struct cor_header_list *l, const struct cor_client_config *config);

#endif
