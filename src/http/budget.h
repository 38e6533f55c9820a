/* clang-format off */
/* What the server holds for its peers, and to whom it is charged. Each connection has a share. What
 * the connection holds (heads that are being read, bodies, streams, output that waits) is taken
 * from the share for as long as it is held, and through the share from an account: that of the
 * connection's source address until it has authenticated, of its user afterwards. Accounts of a
 * rank draw from a pool:
 *
 *   share of a connection ──► account of an address ──► addresses ─┐
 *                        or ──► account of a user ─────► + users ──┤
 *                        or ──► account of a master ───► + masters ┴─► bytes_max
 *
 * A pool holds what its rank and the ranks below it have taken. The pools are of different size, so
 * that what is left of bytes_max above the pool of addresses can be used only by those who have
 * authenticated, and what is left above the pool of users only by system:masters.
 *
 * A share's first COR_BUDGET_FREE bytes are free: an ordinary request touches nothing that threads
 * share. Connections are counted on the same accounts.
 *
 * Thread: a share belongs to its connection's loop. Accounts and pools are atomics that every loop
 * changes; the table of accounts has a lock, which is a leaf and is taken when a connection opens,
 * closes, or changes its account.  Owner: the server; a share's is its connection. */
/* clang-format on */
#ifndef COR_HTTP_BUDGET_H
#define COR_HTTP_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/str.h"
#include "http/rank.h"

/* Of each connection, beside what it takes; the maximum of connections bounds their sum. */
#define COR_BUDGET_FREE 8192u
/* A share takes from its account in steps of this. */
#define COR_BUDGET_STEP 4096u
/* It keeps this much more than it needs, so that a body that grows and goes does not move each
 * time. */
#define COR_BUDGET_SLACK 16384u

/* What said no. */
enum cor_budget_limit {
    COR_BUDGET_CONNECTION_BYTES,
    COR_BUDGET_ACCOUNT_BYTES, /* of an address, a user; indexed by rank */
    COR_BUDGET_POOL_BYTES = COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_NRANKS,
    COR_BUDGET_ACCOUNT_CONNECTIONS = COR_BUDGET_POOL_BYTES + COR_HTTP_NRANKS,
    COR_BUDGET_POOL_CONNECTIONS = COR_BUDGET_ACCOUNT_CONNECTIONS + COR_HTTP_NRANKS,
    COR_BUDGET_NLIMITS = COR_BUDGET_POOL_CONNECTIONS + COR_HTTP_NRANKS,
};

struct cor_budget_account;

struct cor_budget {
    size_t bytes_max, connections_max, body_max;
    struct cor_lock lock;    /* of `accounts` and of the accounts' reference counts; a leaf */
    struct cor_map accounts; /* those that a connection has, by rank and name */
    _Atomic size_t bytes[COR_HTTP_NRANKS]; /* of a rank and those below it */
    _Atomic size_t connections[COR_HTTP_NRANKS];
    _Atomic uint64_t refused[COR_BUDGET_NLIMITS];
};

/* What one connection is charged with. A zeroed share is empty: it is charged to no account. */
struct cor_budget_share {
    struct cor_budget *budget;
    struct cor_budget_account *account; /* NULL: the share is empty */
    size_t held;                        /* bytes that the connection holds */
    size_t granted; /* of them, and a little more, what the account was charged */
};

/* `body_max`: of one request; a connection of any rank may hold one. */
void cor_budget_init(struct cor_budget *budget, size_t bytes_max, size_t connections_max,
                     size_t body_max);
/* Every share must be empty. */
void cor_budget_deinit(struct cor_budget *budget);

/* A connection from `address` begins, which has not authenticated. 0, -COR_EBUSY (too many
 * connections of it, or of all that have not authenticated), -COR_ENOMEM. */
int cor_budget_share_init(struct cor_budget *budget, struct cor_str address,
                          struct cor_budget_share *ret_share);

/* Gives everything back to the account and empties the share. An empty share stays as it is. */
void cor_budget_share_deinit(struct cor_budget_share *share);

/* The connection and all that it holds is charged to `name` from now on. 0, or it is charged as
 * before: -COR_EBUSY (it has too much, or too many connections), -COR_ENOMEM. */
int cor_budget_move(struct cor_budget_share *share, enum cor_http_rank rank, struct cor_str name);

/* The two below, when an account is concerned. */
int cor_budget_take_more(struct cor_budget_share *share, size_t n);
void cor_budget_give_back(struct cor_budget_share *share, size_t n);

/* The connection holds `n` bytes more. 0; -COR_EBUSY: it may not, and nothing has changed. */
static inline int cor_budget_take(struct cor_budget_share *share, size_t n)
{
    if (n > COR_BUDGET_FREE || share->held + n > COR_BUDGET_FREE)
        return cor_budget_take_more(share, n);
    share->held += n;
    return 0;
}

/* The same for what exists already, such as an answer that waits for its reader: it is charged even
 * beyond the maximum, so that what is asked for next is refused. */
void cor_budget_add(struct cor_budget_share *share, size_t n);

/* It holds `n` bytes less. Does nothing on a closed share: a connection that is ended for another's
 * sake gives its place back before its memory has gone. */
static inline void cor_budget_give(struct cor_budget_share *share, size_t n)
{
    if (share->granted > 0 || share->held < n)
        cor_budget_give_back(share, n);
    else
        share->held -= n;
}

/* Does its account hold more than it may, or all of its rank, by cor_budget_add()? */
bool cor_budget_is_over(const struct cor_budget_share *share);

/* May the connection begin a request, for which it takes nothing yet? 0; -COR_EBUSY: it is over. */
int cor_budget_check(struct cor_budget_share *share);

enum cor_http_rank cor_budget_rank(const struct cor_budget_share *share);

/* Is it charged to this account? */
bool cor_budget_is_of(const struct cor_budget_share *share, enum cor_http_rank rank,
                      struct cor_str name);

/* How much of it the shares of a rank may have in all, one account of it, and one connection. */
size_t cor_budget_pool_bytes(const struct cor_budget *budget, enum cor_http_rank rank);
size_t cor_budget_account_bytes(const struct cor_budget *budget, enum cor_http_rank rank);
size_t cor_budget_connection_bytes(const struct cor_budget *budget, enum cor_http_rank rank);
size_t cor_budget_pool_connections(const struct cor_budget *budget, enum cor_http_rank rank);
size_t cor_budget_account_connections(const struct cor_budget *budget, enum cor_http_rank rank);

#endif
