#include "base/circuit.h"

#include "base/cleanup.h"
#include "test.h"

static const struct cor_circuit_opts opts = {.failures = 3, .open_ms = 10, .open_max_ms = 30};

static void fail_times(struct cor_circuit *c, unsigned n, uint64_t now_ms)
{
    for (unsigned i = 0; i < n; i++) {
        struct cor_circuit_pass pass = {0};

        assert_true(cor_circuit_enter(c, &pass, now_ms));
        assert_int_equal(cor_circuit_failed(c, &pass, now_ms), i + 1 == opts.failures);
    }
}

static bool enters(struct cor_circuit *c, uint64_t now_ms)
{
    struct cor_circuit_pass pass = {0};
    bool is_in = cor_circuit_enter(c, &pass, now_ms);

    cor_circuit_left(c, &pass);
    return is_in;
}

TEST(circuit, opens_after_failures_in_a_row)
{
    struct cor_circuit_pass pass = {0};
    struct cor_circuit c;

    cor_circuit_init(&c, &opts);
    fail_times(&c, 2, 100);
    assert_false(cor_circuit_answered(&c, &pass));
    fail_times(&c, 3, 100);
    assert_false(enters(&c, 100));
    assert_false(enters(&c, 109));
    assert_true(enters(&c, 110));
}

TEST(circuit, one_trial_decides_and_the_pauses_grow)
{
    static const uint64_t pauses[] = {20, 30, 30};
    struct cor_circuit_pass trial = {0};
    struct cor_circuit c;
    uint64_t now_ms = 110;

    cor_circuit_init(&c, &opts);
    fail_times(&c, 3, 100);
    for (size_t i = 0; i < COR_ARRAY_LEN(pauses); i++) {
        assert_true(cor_circuit_enter(&c, &trial, now_ms));
        assert_true(trial.is_trial);
        assert_false(enters(&c, now_ms));
        assert_false(cor_circuit_failed(&c, &trial, now_ms));
        assert_false(enters(&c, now_ms + pauses[i] - 1));
        now_ms += pauses[i];
    }
    assert_true(cor_circuit_enter(&c, &trial, now_ms));
    assert_true(cor_circuit_answered(&c, &trial));
    assert_true(enters(&c, now_ms));
    /* The next time it begins with a short pause again. */
    fail_times(&c, 3, now_ms);
    assert_true(enters(&c, now_ms + 10));
}

TEST(circuit, a_trial_without_an_end_is_followed_by_another)
{
    struct cor_circuit_pass first = {0}, second = {0};
    struct cor_circuit c;

    cor_circuit_init(&c, &opts);
    fail_times(&c, 3, 100);
    assert_true(cor_circuit_enter(&c, &first, 110));
    assert_false(enters(&c, 139));
    assert_true(cor_circuit_enter(&c, &second, 140));
    assert_true(cor_circuit_answered(&c, &second));
    /* The first one knows nothing, and changes nothing. */
    cor_circuit_left(&c, &first);
    assert_true(enters(&c, 140));
}

TEST(circuit, a_trial_that_learns_nothing_leaves_it_to_the_next)
{
    struct cor_circuit_pass pass = {0};
    struct cor_circuit c;

    cor_circuit_init(&c, &opts);
    fail_times(&c, 3, 100);
    assert_true(cor_circuit_enter(&c, &pass, 110));
    cor_circuit_left(&c, &pass);
    assert_true(cor_circuit_enter(&c, &pass, 110));
    assert_true(pass.is_trial);
}

/* Questions from before the circuit opened do not prolong its pause. */
TEST(circuit, late_failures_of_others_change_nothing)
{
    struct cor_circuit_pass late = {0};
    struct cor_circuit c;

    cor_circuit_init(&c, &opts);
    assert_true(cor_circuit_enter(&c, &late, 100));
    fail_times(&c, 3, 100);
    assert_false(cor_circuit_failed(&c, &late, 109));
    assert_true(enters(&c, 110));
}
