#include "test.h"

#include <pthread.h>

#include "base/err.h"
#include "http/budget.h"

#define ALL (16u << 20)

static void budget_init(struct cor_budget *b)
{
    cor_budget_init(b, ALL, 64, 1000);
}

static struct cor_budget_share share_of(struct cor_budget *b, const char *address)
{
    struct cor_budget_share share;

    assert_int_equal(cor_budget_share_init(b, cor_strz(address), &share), 0);
    return share;
}

/* Takes until it is refused, and says how much that was. */
static size_t take_all(struct cor_budget_share *share)
{
    size_t n = 0;

    while (cor_budget_take(share, COR_BUDGET_STEP) == 0)
        n += COR_BUDGET_STEP;
    return n;
}

TEST(budget, the_first_bytes_of_a_connection_are_free)
{
    struct cor_budget b;
    struct cor_budget_share s;

    budget_init(&b);
    s = share_of(&b, "a");
    assert_int_equal(cor_budget_take(&s, COR_BUDGET_FREE), 0);
    assert_int_equal(b.bytes[COR_HTTP_MASTER], 0);
    assert_int_equal(cor_budget_take(&s, 1), 0);
    assert_int_equal(b.bytes[COR_HTTP_MASTER], COR_BUDGET_STEP);
    assert_int_equal(b.bytes[COR_HTTP_UNKNOWN], COR_BUDGET_STEP);
    cor_budget_give(&s, 1);
    assert_int_equal(b.bytes[COR_HTTP_MASTER], 0);
    cor_budget_share_deinit(&s);
    cor_budget_share_deinit(&s);
    cor_budget_give(&s, 1000);
    assert_false(cor_budget_is_of(&s, COR_HTTP_UNKNOWN, COR_STR("a")));
    cor_budget_deinit(&b);
}

TEST(budget, a_connection_has_a_maximum_and_the_next_one_has_its_own)
{
    struct cor_budget b;
    struct cor_budget_share one, two;

    budget_init(&b);
    one = share_of(&b, "a");
    two = share_of(&b, "a");
    assert_int_equal(take_all(&one), ALL / 64);
    assert_int_equal(b.refused[COR_BUDGET_CONNECTION_BYTES], 1);
    assert_int_equal(take_all(&two), ALL / 64);
    cor_budget_share_deinit(&one);
    cor_budget_share_deinit(&two);
    cor_budget_deinit(&b);
}

/* Fills an account by as many connections as it takes; returns what it got beside the free bytes.
 */
static size_t fill(struct cor_budget *b, struct cor_budget_share *shares, size_t n,
                   const char *address, enum cor_http_rank rank, const char *name)
{
    size_t got = 0;

    for (size_t i = 0; i < n; i++) {
        shares[i] = share_of(b, address);
        if (rank > COR_HTTP_UNKNOWN)
            assert_int_equal(cor_budget_move(&shares[i], rank, cor_strz(name)), 0);
        (void)take_all(&shares[i]);
        got += shares[i].granted;
    }
    return got;
}

static void close_all(struct cor_budget_share *shares, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cor_budget_share_deinit(&shares[i]);
}

TEST(budget, an_address_a_user_and_those_below_leave_the_rest_to_others)
{
    struct cor_budget b;
    struct cor_budget_share as[6], bs[6], us[4], vs[4], ws[4], xs[4], ms[8];
    size_t users;

    budget_init(&b);
    assert_int_equal(fill(&b, as, 6, "a", COR_HTTP_UNKNOWN, ""), ALL / 16);
    assert_true(b.refused[COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_UNKNOWN] > 0);
    /* Another address has as much, a user of the first address more. */
    assert_int_equal(fill(&b, bs, 6, "b", COR_HTTP_UNKNOWN, ""), ALL / 16);
    assert_int_equal(fill(&b, us, 4, "a", COR_HTTP_USER, "u"), ALL / 4);
    assert_true(b.refused[COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_USER] > 0);
    users = ALL / 4;
    users += fill(&b, vs, 4, "a", COR_HTTP_USER, "v");
    users += fill(&b, ws, 4, "a", COR_HTTP_USER, "w");
    users += fill(&b, xs, 4, "a", COR_HTTP_USER, "x");
    assert_int_equal(users + 2 * (ALL / 16), ALL - ALL / 8);
    assert_true(b.refused[COR_BUDGET_POOL_BYTES + COR_HTTP_USER] > 0);
    /* The rest is for masters. */
    assert_int_equal(fill(&b, ms, 8, "a", COR_HTTP_MASTER, "m"), ALL / 8);
    assert_true(b.refused[COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_MASTER] +
                    b.refused[COR_BUDGET_POOL_BYTES + COR_HTTP_MASTER] >
                0);
    close_all(as, 6);
    close_all(bs, 6);
    close_all(us, 4);
    close_all(vs, 4);
    close_all(ws, 4);
    close_all(xs, 4);
    close_all(ms, 8);
    for (int i = 0; i < COR_HTTP_NRANKS; i++)
        assert_int_equal(b.bytes[i] + b.connections[i], 0);
    cor_budget_deinit(&b);
}

TEST(budget, addresses_share_a_pool)
{
    struct cor_budget b;
    struct cor_budget_share shares[6][5];
    size_t got = 0;
    char name[2] = "a";

    budget_init(&b);
    for (int i = 0; i < 6; i++, name[0]++)
        got += fill(&b, shares[i], 5, name, COR_HTTP_UNKNOWN, "");
    assert_int_equal(got, ALL / 4);
    assert_true(b.refused[COR_BUDGET_POOL_BYTES + COR_HTTP_UNKNOWN] > 0);
    for (int i = 0; i < 6; i++)
        close_all(shares[i], 5);
    cor_budget_deinit(&b);
}

TEST(budget, a_share_that_moves_takes_what_it_holds_along)
{
    struct cor_budget b;
    struct cor_budget_share s, full[4], other;

    budget_init(&b);
    s = share_of(&b, "a");
    assert_int_equal(cor_budget_take(&s, COR_BUDGET_FREE + 100000), 0);
    assert_int_equal(cor_budget_move(&s, COR_HTTP_USER, COR_STR("u")), 0);
    assert_int_equal(cor_budget_move(&s, COR_HTTP_USER, COR_STR("u")), 0);
    assert_int_equal(b.bytes[COR_HTTP_UNKNOWN], 0);
    assert_int_equal(b.connections[COR_HTTP_UNKNOWN], 0);
    assert_int_equal(b.bytes[COR_HTTP_USER], s.granted);
    assert_int_equal(b.connections[COR_HTTP_USER], 1);
    /* A user is no master of the same name. */
    other = share_of(&b, "a");
    assert_int_equal(cor_budget_move(&other, COR_HTTP_MASTER, COR_STR("u")), 0);
    assert_true(cor_budget_is_of(&s, COR_HTTP_USER, COR_STR("u")));
    assert_false(cor_budget_is_of(&other, COR_HTTP_USER, COR_STR("u")));
    /* To an account that is full it does not move, and stays charged as it was. */
    (void)fill(&b, full, 4, "a", COR_HTTP_USER, "v");
    assert_int_equal(cor_budget_move(&s, COR_HTTP_USER, COR_STR("v")), -COR_EBUSY);
    assert_true(cor_budget_rank(&s) == COR_HTTP_USER);
    cor_budget_give(&s, COR_BUDGET_FREE + 100000);
    assert_int_equal(s.granted, 0);
    assert_int_equal(cor_budget_move(&s, COR_HTTP_USER, COR_STR("v")), 0);
    cor_budget_share_deinit(&s);
    cor_budget_share_deinit(&other);
    close_all(full, 4);
    cor_budget_deinit(&b);
}

TEST(budget, what_exists_already_is_charged_beyond_the_maximum)
{
    struct cor_budget b;
    struct cor_budget_share s, next;

    budget_init(&b);
    s = share_of(&b, "a");
    next = share_of(&b, "a");
    cor_budget_add(&s, 100);
    assert_int_equal(b.bytes[COR_HTTP_UNKNOWN], 0);
    cor_budget_add(&s, ALL);
    assert_true(b.bytes[COR_HTTP_UNKNOWN] > ALL - COR_BUDGET_FREE);
    assert_int_equal(b.bytes[COR_HTTP_MASTER], b.bytes[COR_HTTP_UNKNOWN]);
    assert_int_equal(cor_budget_take(&next, COR_BUDGET_FREE), 0);
    assert_int_equal(cor_budget_take(&next, 1), -COR_EBUSY);
    cor_budget_give(&s, ALL);
    assert_int_equal(cor_budget_take(&next, 1), 0);
    cor_budget_share_deinit(&s);
    cor_budget_share_deinit(&next);
    assert_int_equal(b.bytes[COR_HTTP_UNKNOWN], 0);
    cor_budget_deinit(&b);
}

TEST(budget, an_account_is_over_only_beyond_its_maximum_and_other_accounts_may_go_on)
{
    struct cor_budget b;
    struct cor_budget_share s, same, other;
    size_t max;

    budget_init(&b);
    s = share_of(&b, "a");
    same = share_of(&b, "a");
    other = share_of(&b, "b");
    max = cor_budget_account_bytes(&b, COR_HTTP_UNKNOWN);
    cor_budget_add(&s, COR_BUDGET_FREE + max);
    assert_int_equal(cor_budget_check(&s), 0);
    assert_false(cor_budget_is_over(&s));
    cor_budget_add(&s, 1);
    assert_int_equal(cor_budget_check(&s), -COR_EBUSY);
    assert_int_equal(cor_budget_check(&same), -COR_EBUSY);
    assert_int_equal(b.refused[COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_UNKNOWN], 2);
    assert_true(cor_budget_is_over(&s) && cor_budget_is_over(&same));
    assert_int_equal(cor_budget_check(&other), 0);
    assert_false(cor_budget_is_over(&other));
    cor_budget_give(&s, COR_BUDGET_SLACK);
    assert_int_equal(cor_budget_check(&same), 0);
    assert_false(cor_budget_is_over(&same));
    cor_budget_share_deinit(&s);
    cor_budget_share_deinit(&same);
    cor_budget_share_deinit(&other);
    cor_budget_deinit(&b);
}

TEST(budget, a_pool_that_is_over_is_told_to_all_its_accounts_but_refuses_nothing)
{
    struct cor_budget b;
    struct cor_budget_share s[5], user;
    char address[] = "a";

    budget_init(&b);
    for (int i = 0; i < 5; i++, address[0]++) {
        s[i] = share_of(&b, address);
        assert_false(cor_budget_is_over(&s[i]));
        cor_budget_add(&s[i], cor_budget_account_bytes(&b, COR_HTTP_UNKNOWN));
    }
    user = share_of(&b, "z");
    assert_int_equal(cor_budget_move(&user, COR_HTTP_USER, COR_STR("u")), 0);
    for (int i = 0; i < 5; i++) {
        assert_true(cor_budget_is_over(&s[i]));
        assert_int_equal(cor_budget_check(&s[i]), 0);
    }
    assert_false(cor_budget_is_over(&user));
    cor_budget_share_deinit(&user);
    close_all(s, 5);
    cor_budget_deinit(&b);
}

TEST(budget, connections_are_counted_on_the_same_accounts)
{
    struct cor_budget b;
    struct cor_budget_share shares[64], other;

    cor_budget_init(&b, ALL, 16, 1000);
    for (int i = 0; i < 12; i++)
        shares[i] = share_of(&b, "a");
    assert_int_equal(cor_budget_share_init(&b, COR_STR("a"), &other), -COR_EBUSY);
    assert_int_equal(b.refused[COR_BUDGET_ACCOUNT_CONNECTIONS + COR_HTTP_UNKNOWN], 1);
    shares[12] = share_of(&b, "b");
    shares[13] = share_of(&b, "b");
    assert_int_equal(cor_budget_share_init(&b, COR_STR("b"), &other), -COR_EBUSY);
    assert_int_equal(b.refused[COR_BUDGET_POOL_CONNECTIONS + COR_HTTP_UNKNOWN], 1);
    /* Who has authenticated makes room for others. */
    assert_int_equal(cor_budget_move(&shares[0], COR_HTTP_USER, COR_STR("u")), 0);
    shares[14] = share_of(&b, "b");
    for (int i = 1; i < 12; i++)
        assert_int_equal(cor_budget_move(&shares[i], COR_HTTP_USER, COR_STR("u")), 0);
    assert_int_equal(cor_budget_move(&shares[12], COR_HTTP_USER, COR_STR("u")), -COR_EBUSY);
    assert_int_equal(b.refused[COR_BUDGET_ACCOUNT_CONNECTIONS + COR_HTTP_USER], 1);
    assert_int_equal(cor_budget_move(&shares[12], COR_HTTP_MASTER, COR_STR("m")), 0);
    close_all(shares, 15);
    cor_budget_deinit(&b);
}

TEST(budget, every_allocation_may_fail)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_budget b;
        struct cor_budget_share s;
        int r;

        budget_init(&b);
        r = cor_budget_share_init(&b, COR_STR("a"), &s);
        if (r == 0) {
            assert_int_equal(cor_budget_take(&s, 50000), 0);
            r = cor_budget_move(&s, COR_HTTP_USER, COR_STR("u"));
            assert_int_equal(b.bytes[COR_HTTP_USER], s.granted);
            assert_int_equal(b.bytes[COR_HTTP_UNKNOWN], r == 0 ? 0 : s.granted);
            assert_int_equal(cor_map_len(&b.accounts), 1);
        }
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_budget_share_deinit(&s);
        assert_int_equal(b.bytes[COR_HTTP_MASTER], 0);
        cor_budget_deinit(&b);
    }
}

static void *take_and_give(void *arg)
{
    static const char *const names[] = {"u", "v", "w"};
    struct cor_budget *b = arg;

    for (unsigned i = 0; i < 2000; i++) {
        struct cor_budget_share s;
        size_t got = 0;

        if (cor_budget_share_init(b, COR_STR("a"), &s) < 0)
            continue;
        for (unsigned k = 1; k < 20; k++)
            got += cor_budget_take(&s, k * 1000) == 0 ? k * 1000 : 0;
        (void)cor_budget_move(&s, i % 5 ? COR_HTTP_USER : COR_HTTP_MASTER, cor_strz(names[i % 3]));
        cor_budget_give(&s, got);
        cor_budget_share_deinit(&s);
    }
    return NULL;
}

TEST(budget, threads_may_use_one_budget)
{
    struct cor_budget b;
    pthread_t threads[4];

    cor_budget_init(&b, 1u << 20, 4, 1000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &b), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < COR_HTTP_NRANKS; i++)
        assert_int_equal(b.bytes[i] + b.connections[i], 0);
    assert_int_equal(cor_map_len(&b.accounts), 0);
    cor_budget_deinit(&b);
}
