/* Shares, accounts and pools. A share that needs more than it has been granted asks its account,
 * and then each pool that the account's rank draws from; whoever says no is counted, and what was
 * taken on the way is released. A counter that would pass its maximum is put back at once, so that
 * for an instant it says more than is held: a request of the same rank may be refused too early,
 * one of a higher rank may not, because a pool is asked only after all pools below it have agreed.
 *
 * Failures: no memory for an account, which leaves everything as it was.
 * Threads: see the header. */
#include "http/budget.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

struct cor_budget_account {
    struct cor_str key; /* the rank as a byte, then the name */
    enum cor_http_rank rank;
    size_t nshares; /* the budget's lock */
    _Atomic size_t bytes, connections;
    char text[];
};

void cor_budget_init(struct cor_budget *budget, size_t bytes_max, size_t connections_max,
                     size_t body_max)
{
    *budget = (struct cor_budget){
        .bytes_max = bytes_max, .connections_max = connections_max, .body_max = body_max};
    cor_lock_init(&budget->lock, COR_LOCK_HTTP_BUDGET);
    /* Connections on their way to a loop, and accounts that a move has for a moment beside. */
    cor_map_init(&budget->accounts, connections_max + 65536);
}

void cor_budget_deinit(struct cor_budget *budget)
{
    assert(cor_map_len(&budget->accounts) == 0);
    cor_map_deinit(&budget->accounts);
    cor_lock_deinit(&budget->lock);
}

size_t cor_budget_pool_bytes(const struct cor_budget *budget, enum cor_http_rank rank)
{
    size_t all = budget->bytes_max;

    return rank == COR_HTTP_UNKNOWN ? all / 4 : rank == COR_HTTP_USER ? all - all / 8 : all;
}

size_t cor_budget_account_bytes(const struct cor_budget *budget, enum cor_http_rank rank)
{
    size_t all = budget->bytes_max;

    return rank == COR_HTTP_UNKNOWN ? all / 16 : rank == COR_HTTP_USER ? all / 4 : all;
}

size_t cor_budget_connection_bytes(const struct cor_budget *budget, enum cor_http_rank rank)
{
    size_t all = budget->bytes_max;
    size_t max = rank == COR_HTTP_UNKNOWN ? all / 64 : rank == COR_HTTP_USER ? all / 8 : all / 4;
    size_t least = budget->body_max + budget->body_max / 4;

    return max > least ? max : least;
}

/* Every connection begins as an unknown one, even a master's: these numbers are not steps of one
 * pool, and what they leave free is reached by ending unknown connections. */
size_t cor_budget_pool_connections(const struct cor_budget *budget, enum cor_http_rank rank)
{
    size_t all = budget->connections_max;

    return rank == COR_HTTP_MASTER ? all : all - all / 8;
}

size_t cor_budget_account_connections(const struct cor_budget *budget, enum cor_http_rank rank)
{
    size_t all = budget->connections_max;

    return rank == COR_HTTP_MASTER ? all : all - all / 4;
}

static int refuse(struct cor_budget *budget, unsigned limit)
{
    atomic_fetch_add_explicit(&budget->refused[limit], 1, memory_order_relaxed);
    return -COR_EBUSY;
}

static bool add(_Atomic size_t *counter, size_t n, size_t max)
{
    size_t old = atomic_fetch_add_explicit(counter, n, memory_order_relaxed);

    if (old <= max && n <= max - old)
        return true;
    atomic_fetch_sub_explicit(counter, n, memory_order_relaxed);
    return false;
}

static void subtract(_Atomic size_t *counter, size_t n)
{
    size_t old = atomic_fetch_sub_explicit(counter, n, memory_order_relaxed);

    assert(old >= n);
    (void)old;
}

static void give_bytes(struct cor_budget *budget, struct cor_budget_account *account, size_t n)
{
    for (int rank = COR_HTTP_MASTER; rank >= (int)account->rank; rank--)
        subtract(&budget->bytes[rank], n);
    subtract(&account->bytes, n);
}

static int take_bytes(struct cor_budget *budget, struct cor_budget_account *account, size_t n)
{
    unsigned first = account->rank, rank;

    if (!add(&account->bytes, n, cor_budget_account_bytes(budget, account->rank)))
        return refuse(budget, COR_BUDGET_ACCOUNT_BYTES + first);
    for (rank = first; rank < COR_HTTP_NRANKS; rank++) {
        if (!add(&budget->bytes[rank], n, cor_budget_pool_bytes(budget, (enum cor_http_rank)rank)))
            break;
    }
    if (rank == COR_HTTP_NRANKS)
        return 0;
    refuse(budget, COR_BUDGET_POOL_BYTES + rank);
    while (rank-- > first)
        subtract(&budget->bytes[rank], n);
    subtract(&account->bytes, n);
    return -COR_EBUSY;
}

static int take_connection(struct cor_budget *budget, struct cor_budget_account *account)
{
    enum cor_http_rank rank = account->rank;

    if (!add(&account->connections, 1, cor_budget_account_connections(budget, rank)))
        return refuse(budget, COR_BUDGET_ACCOUNT_CONNECTIONS + rank);
    if (add(&budget->connections[rank], 1, cor_budget_pool_connections(budget, rank)))
        return 0;
    subtract(&account->connections, 1);
    return refuse(budget, COR_BUDGET_POOL_CONNECTIONS + rank);
}

static void give_connection(struct cor_budget *budget, struct cor_budget_account *account)
{
    subtract(&account->connections, 1);
    subtract(&budget->connections[account->rank], 1);
}

static struct cor_budget_account *account_new(enum cor_http_rank rank, struct cor_str name)
{
    struct cor_budget_account *account = cor_alloc(sizeof(*account) + 1 + name.n);

    if (!account)
        return NULL;
    account->rank = rank;
    account->nshares = 0;
    atomic_init(&account->bytes, 0);
    atomic_init(&account->connections, 0);
    account->text[0] = (char)('0' + (int)rank);
    if (name.n > 0)
        memcpy(account->text + 1, name.p, name.n);
    account->key = cor_str(account->text, 1 + name.n);
    return account;
}

/* The account of that name, with one more share. */
static int get_account(struct cor_budget *budget, enum cor_http_rank rank, struct cor_str name,
                       struct cor_budget_account **ret_account)
{
    struct cor_budget_account *made = account_new(rank, name), *account;
    int r = 0;

    if (!made)
        return -COR_ENOMEM;
    cor_lock_acquire(&budget->lock);
    account = cor_map_peek(&budget->accounts, made->key);
    if (!account) {
        r = cor_map_put(&budget->accounts, made->key, made, NULL);
        if (r == 0)
            account = COR_STEAL(made);
    }
    if (account)
        account->nshares++;
    cor_lock_release(&budget->lock);
    cor_free(made);
    *ret_account = account;
    return r == 0 ? 0 : -COR_ENOMEM;
}

static void put_account(struct cor_budget *budget, struct cor_budget_account *account)
{
    bool is_last;

    cor_lock_acquire(&budget->lock);
    is_last = --account->nshares == 0;
    if (is_last)
        cor_map_remove(&budget->accounts, account->key);
    cor_lock_release(&budget->lock);
    if (!is_last)
        return;
    assert(atomic_load(&account->bytes) == 0 && atomic_load(&account->connections) == 0);
    cor_free(account);
}

/* An account with a connection more, and `bytes` more. */
static int enter(struct cor_budget *budget, enum cor_http_rank rank, struct cor_str name,
                 size_t bytes, struct cor_budget_account **ret_account)
{
    struct cor_budget_account *account;
    int r = get_account(budget, rank, name, &account);

    if (r < 0)
        return r;
    r = take_connection(budget, account);
    if (r == 0 && bytes > 0) {
        r = take_bytes(budget, account, bytes);
        if (r < 0)
            give_connection(budget, account);
    }
    if (r < 0)
        put_account(budget, account);
    else
        *ret_account = account;
    return r;
}

static void leave(struct cor_budget *budget, struct cor_budget_account *account, size_t bytes)
{
    if (bytes > 0)
        give_bytes(budget, account, bytes);
    give_connection(budget, account);
    put_account(budget, account);
}

int cor_budget_share_init(struct cor_budget *budget, struct cor_str address,
                          struct cor_budget_share *ret_share)
{
    *ret_share = (struct cor_budget_share){.budget = budget};
    return enter(budget, COR_HTTP_UNKNOWN, address, 0, &ret_share->account);
}

void cor_budget_share_deinit(struct cor_budget_share *share)
{
    if (!share->account)
        return;
    leave(share->budget, share->account, share->granted);
    *share = (struct cor_budget_share){0};
}

static bool is_named(const struct cor_budget_account *account, enum cor_http_rank rank,
                     struct cor_str name)
{
    return account->rank == rank && cor_str_eq(cor_str_from(account->key, 1), name);
}

int cor_budget_move(struct cor_budget_share *share, enum cor_http_rank rank, struct cor_str name)
{
    struct cor_budget_account *account;
    int r;

    assert(share->account);
    if (is_named(share->account, rank, name))
        return 0;
    r = enter(share->budget, rank, name, share->granted, &account);
    if (r < 0)
        return r;
    leave(share->budget, share->account, share->granted);
    share->account = account;
    return 0;
}

/* What the account is charged for so many bytes. */
static size_t charge_of(size_t held)
{
    size_t n = held > COR_BUDGET_FREE ? held - COR_BUDGET_FREE : 0;

    return (n + COR_BUDGET_STEP - 1) / COR_BUDGET_STEP * COR_BUDGET_STEP;
}

int cor_budget_take_more(struct cor_budget_share *share, size_t n)
{
    size_t held = share->held + n, charge;
    int r;

    assert(share->account && held >= n);
    charge = charge_of(held);
    if (charge > share->granted) {
        if (held > cor_budget_connection_bytes(share->budget, share->account->rank))
            return refuse(share->budget, COR_BUDGET_CONNECTION_BYTES);
        r = take_bytes(share->budget, share->account, charge - share->granted);
        if (r < 0)
            return r;
        share->granted = charge;
    }
    share->held = held;
    return 0;
}

void cor_budget_add(struct cor_budget_share *share, size_t n)
{
    size_t charge = charge_of(share->held + n), more;

    assert(share->account);
    share->held += n;
    if (charge <= share->granted)
        return;
    more = charge - share->granted;
    atomic_fetch_add_explicit(&share->account->bytes, more, memory_order_relaxed);
    for (unsigned rank = share->account->rank; rank < COR_HTTP_NRANKS; rank++)
        atomic_fetch_add_explicit(&share->budget->bytes[rank], more, memory_order_relaxed);
    share->granted = charge;
}

void cor_budget_give_back(struct cor_budget_share *share, size_t n)
{
    size_t charge, excess;

    if (!share->account)
        return;
    assert(share->held >= n);
    share->held -= n;
    charge = charge_of(share->held);
    excess = share->granted - charge;
    if (excess == 0 || (excess < COR_BUDGET_SLACK && charge > 0))
        return;
    give_bytes(share->budget, share->account, excess);
    share->granted = charge;
}

static bool is_over(const struct cor_budget_account *account, struct cor_budget *budget)
{
    return atomic_load_explicit(&account->bytes, memory_order_relaxed) >
           cor_budget_account_bytes(budget, account->rank);
}

bool cor_budget_is_over(const struct cor_budget_share *share)
{
    enum cor_http_rank rank = share->account->rank;

    return is_over(share->account, share->budget) ||
           atomic_load_explicit(&share->budget->bytes[rank], memory_order_relaxed) >
               cor_budget_pool_bytes(share->budget, rank);
}

/* The pool is not asked: others of the rank may still do what needs nothing of it. */
int cor_budget_check(struct cor_budget_share *share)
{
    if (!is_over(share->account, share->budget))
        return 0;
    return refuse(share->budget, COR_BUDGET_ACCOUNT_BYTES + share->account->rank);
}

enum cor_http_rank cor_budget_rank(const struct cor_budget_share *share)
{
    return share->account->rank;
}

bool cor_budget_is_of(const struct cor_budget_share *share, enum cor_http_rank rank,
                      struct cor_str name)
{
    return share->account && is_named(share->account, rank, name);
}
