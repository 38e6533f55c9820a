/* The election on a Lease over the scripted port: what is sent, and what a failure of each request
 * does. The state machine itself: test_leader_election.c. */
#include "kit/election/lease_election.h"

#include <stdio.h>

#include "base/err.h"
#include "scripted_port.h"
#include "test.h"

struct candidate {
    struct scripted_port sp;
    struct cor_rand rand;
    struct cor_lease_election *e;
    char said[256];
    int errors[8];
    size_t nerrors;
};

static void say(struct candidate *c, const char *what)
{
    size_t n = strlen(c->said);

    snprintf(c->said + n, sizeof(c->said) - n, "%s ", what);
}

static void on_wake_at(void *arg, uint64_t at_ms)
{
    scripted_wake_at(&((struct candidate *)arg)->sp, at_ms);
}

static void on_wake(void *arg)
{
    cor_lease_election_tick(((struct candidate *)arg)->e);
}

static void on_started(void *arg)
{
    assert_true(cor_lease_election_is_leader(((struct candidate *)arg)->e));
    say(arg, "started");
}

static void on_stopped(void *arg)
{
    say(arg, "stopped");
}

static void on_new_leader(void *arg, const char *identity)
{
    say(arg, identity);
}

static void on_error(void *arg, const struct cor_status *error)
{
    struct candidate *c = arg;

    c->errors[c->nerrors++ % COR_ARRAY_LEN(c->errors)] = error->err;
}

static struct cor_lease_election_opts opts_of(struct candidate *c)
{
    return (struct cor_lease_election_opts){.port = &c->sp.port,
                                            .clock = &c->sp.clock.clock,
                                            .rand = &c->rand,
                                            .ns = COR_STR("kube-system"),
                                            .name = COR_STR("sample"),
                                            .identity = "me",
                                            .release_on_cancel = true,
                                            .wake_at = on_wake_at,
                                            .on_started = on_started,
                                            .on_stopped = on_stopped,
                                            .on_new_leader = on_new_leader,
                                            .on_error = on_error,
                                            .arg = c};
}

static void begin(struct candidate *c)
{
    struct cor_lease_election_opts opts;

    *c = (struct candidate){0};
    scripted_port_init(&c->sp);
    c->sp.on_wake = on_wake;
    c->sp.arg = c;
    cor_rand_init_seeded(&c->rand, 7);
    opts = opts_of(c);
    assert_int_equal(cor_lease_election_new(&opts, &c->e, NULL), 0);
}

static void end(struct candidate *c)
{
    assert_true(cor_lease_election_is_over(c->e));
    cor_lease_election_free(c->e);
    scripted_port_deinit(&c->sp);
}

#define LEASE(rv, holder)                                                                          \
    "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":"        \
    "\"sample\",\"namespace\":\"kube-system\",\"resourceVersion\":\"" rv "\"},\"spec\":{"          \
    "\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3}}"

#define GET    "GET coordination.k8s.io/v1 leases kube-system/sample\n"
#define CANCEL "CANCEL coordination.k8s.io/v1 leases kube-system/sample\n"

/* Forgets what was logged, which began with `verb`. */
static void assert_begins(struct candidate *c, const char *verb)
{
    assert_memory_equal(c->sp.log, verb, strlen(verb));
    c->sp.log[0] = '\0';
}

static void lead(struct candidate *c)
{
    begin(c);
    scripted_fail(&c->sp, 3, -COR_ENOTFOUND);
    scripted_answer(&c->sp, 3, LEASE("5", "me"));
    cor_lease_election_start(c->e);
    assert_string_equal(c->said, "");
    scripted_run(&c->sp, 6);
    assert_string_equal(c->said, "me started ");
    c->said[0] = '\0';
    assert_int_equal(c->nerrors, 0);
    assert_begins(c, GET
                  "CREATE coordination.k8s.io/v1 leases kube-system/sample {\"kind\":\"Lease\"");
}

TEST(lease_election, creates_the_lease_renews_it_and_gives_it_back)
{
    struct candidate c;

    lead(&c);
    assert_string_equal(cor_lease_election_holder(c.e), "me");
    assert_int_equal(cor_lease_election_lapses_at_ms(c.e), 1006 + 15000);
    scripted_answer(&c.sp, 0, LEASE("6", "me"));
    scripted_run(&c.sp, 2000);
    assert_begins(&c, "UPDATE coordination.k8s.io/v1 leases kube-system/sample ");
    assert_string_equal(c.said, "");

    scripted_answer(&c.sp, 1, LEASE("6", "me"));
    scripted_answer(&c.sp, 1, LEASE("7", ""));
    cor_lease_election_cancel(c.e, 0);
    assert_string_equal(c.said, "");
    scripted_run(&c.sp, 2);
    assert_string_equal(c.said, " stopped "); /* nobody leads */
    assert_non_null(strstr(c.sp.log, "\"holderIdentity\":\"\""));
    end(&c);
}

TEST(lease_election, a_refused_write_is_an_error_and_is_tried_again)
{
    struct candidate c;

    lead(&c);
    scripted_refuse(&c.sp, -COR_ENOMEM);
    scripted_answer(&c.sp, 0, LEASE("5", "me"));
    scripted_answer(&c.sp, 0, LEASE("6", "me"));
    scripted_run(&c.sp, 2000);
    assert_int_equal(c.nerrors, 1);
    assert_int_equal(c.errors[0], -COR_ENOMEM);
    assert_true(cor_lease_election_is_leader(c.e));
    scripted_answer(&c.sp, 0, LEASE("6", "me"));
    scripted_answer(&c.sp, 0, LEASE("7", ""));
    cor_lease_election_cancel(c.e, 0);
    scripted_run(&c.sp, 0);
    end(&c);
}

TEST(lease_election, a_server_that_hangs_ends_the_leader_at_the_renew_deadline)
{
    struct candidate c;

    lead(&c);
    scripted_run(&c.sp, 2000 + 9999); /* requests of 5 s each end without an answer */
    assert_string_equal(c.said, "");
    assert_int_equal(c.errors[0], -COR_ETIMEOUT);
    scripted_run(&c.sp, 1 + 10000); /* the release hangs, too */
    assert_string_equal(c.said, "stopped ");
    end(&c);
}

TEST(lease_election, the_release_takes_no_longer_than_it_may)
{
    struct candidate c;

    lead(&c);
    cor_lease_election_cancel(c.e, 300);
    scripted_run(&c.sp, 299);
    assert_string_equal(c.said, "");
    scripted_run(&c.sp, 1);
    assert_string_equal(c.said, "stopped ");
    scripted_assert_log(&c.sp, GET CANCEL);
    end(&c);
}

TEST(lease_election, a_lease_that_cannot_be_read_is_an_error)
{
    struct candidate c;

    begin(&c);
    scripted_answer(&c.sp, 0,
                    "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
                    "\"name\":\"sample\"},\"spec\":{\"leaseDurationSeconds\":\"x\"}}");
    cor_lease_election_start(c.e);
    scripted_run(&c.sp, 0);
    assert_int_equal(c.nerrors, 1);
    assert_int_equal(c.errors[0], -COR_EINVAL);
    cor_lease_election_cancel(c.e, 0);
    assert_string_equal(c.said, "stopped ");
    end(&c);
}

TEST(lease_election, waits_while_another_holds_the_lease)
{
    struct candidate c;

    begin(&c);
    scripted_answer(&c.sp, 0, LEASE("4", "other"));
    cor_lease_election_start(c.e);
    scripted_run(&c.sp, 0);
    assert_string_equal(c.said, "other ");
    assert_false(cor_lease_election_is_leader(c.e));
    scripted_assert_log(&c.sp, GET);
    cor_lease_election_cancel(c.e, 0);
    end(&c);
}

TEST(lease_election, survives_every_failed_allocation)
{
    struct candidate c;

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_lease_election_opts opts;
        int r;

        c = (struct candidate){0};
        scripted_port_init(&c.sp);
        c.sp.on_wake = on_wake;
        c.sp.arg = &c;
        cor_rand_init_seeded(&c.rand, 7);
        opts = opts_of(&c);
        r = cor_lease_election_new(&opts, &c.e, NULL);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0) {
            cor_lease_election_free(c.e);
            scripted_port_deinit(&c.sp);
        }
    }
}

/* Without memory for the Lease nothing is sent, the program hears of it, and the next round is as
 * any other. */
TEST(lease_election, without_memory_for_the_lease_the_round_is_lost)
{
    struct candidate c;

    lead(&c);
    test_fail_alloc(1, false);
    scripted_run(&c.sp, 1999);
    assert_false(test_alloc_failed());
    scripted_answer(&c.sp, 0, LEASE("5", "me"));
    scripted_answer(&c.sp, 0, LEASE("6", "me"));
    scripted_run(&c.sp, 1);
    assert_true(test_alloc_failed());
    test_fail_alloc(0, false);
    assert_int_equal(c.nerrors, 1);
    assert_int_equal(c.errors[0], -COR_ENOMEM);
    assert_true(cor_lease_election_is_leader(c.e));
    cor_lease_election_cancel(c.e, 1);
    scripted_run(&c.sp, 1);
    end(&c);
}
