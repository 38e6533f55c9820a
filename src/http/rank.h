/* What is known of the sender of a request, as far as it decides what the server holds for it
 * (http/budget.h). Thread: any (values). */
#ifndef COR_HTTP_RANK_H
#define COR_HTTP_RANK_H

enum cor_http_rank {
    COR_HTTP_UNKNOWN, /* nothing but where it comes from */
    COR_HTTP_USER,    /* it has authenticated */
    COR_HTTP_MASTER,  /* it has, and must be served when all others are refused */
    COR_HTTP_NRANKS,
};

#endif
