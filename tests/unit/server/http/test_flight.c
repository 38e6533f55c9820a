#include "server/http/flight.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "test.h"

static const struct cor_user ann = {.name = COR_STR("ann")}, bob = {.name = COR_STR("bob")};
static const struct cor_str masters[] = {COR_STR("system:masters")};
static const struct cor_user root = {
    .name = COR_STR("root"), .groups = masters, .ngroups = COR_ARRAY_LEN(masters)};

TEST(flight, one_user_gets_half_of_the_places_and_others_get_the_rest)
{
    struct cor_flight flight;
    struct cor_flight_place places[5] = {0}, other = {0};

    cor_flight_init(&flight, 9);
    for (size_t i = 0; i < COR_ARRAY_LEN(places); i++) {
        assert_true(cor_flight_has_place(&flight, &ann));
        assert_true(cor_flight_enter(&flight, &ann, &places[i]));
    }
    assert_false(cor_flight_has_place(&flight, &ann));
    assert_false(cor_flight_enter(&flight, &ann, &other));
    assert_int_equal(flight.nplaces, 5);
    assert_true(cor_flight_has_place(&flight, &bob));
    assert_true(cor_flight_enter(&flight, &bob, &other));
    assert_int_equal(flight.nplaces, 6);
    cor_flight_leave(&places[0]);
    assert_true(cor_flight_enter(&flight, &ann, &places[0]));
    for (size_t i = 0; i < COR_ARRAY_LEN(places); i++)
        cor_flight_leave(&places[i]);
    cor_flight_leave(&other);
    cor_flight_leave(&other);
    assert_int_equal(flight.nplaces, 0);
    for (size_t i = 0; i < COR_FLIGHT_BUCKETS; i++)
        assert_int_equal(flight.users[i], 0);
}

TEST(flight, when_all_places_are_taken_only_masters_get_in_and_do_not_count)
{
    struct cor_flight flight;
    struct cor_flight_place places[2] = {0}, other = {0};

    cor_flight_init(&flight, 2);
    /* A master is not held to the half. */
    assert_true(cor_flight_enter(&flight, &root, &places[0]));
    assert_true(cor_flight_enter(&flight, &root, &places[1]));
    assert_false(cor_flight_has_place(&flight, &ann));
    assert_false(cor_flight_enter(&flight, &ann, &other));
    assert_null(other.flight);
    assert_true(cor_flight_has_place(&flight, &root));
    assert_true(cor_flight_enter(&flight, &root, &other));
    assert_null(other.flight);
    assert_int_equal(flight.nplaces, 2);
    cor_flight_leave(&places[0]);
    cor_flight_leave(&places[1]);
}

TEST(flight, a_single_place_is_anybodys_and_no_limit_counts_nothing)
{
    struct cor_flight one, none;
    struct cor_flight_place place = {0};

    cor_flight_init(&one, 1);
    assert_true(cor_flight_enter(&one, &ann, &place));
    assert_false(cor_flight_has_place(&one, &ann));
    cor_flight_leave(&place);
    assert_true(cor_flight_has_place(&one, &ann));
    cor_flight_init(&none, 0);
    assert_true(cor_flight_enter(&none, &ann, &place));
    assert_null(place.flight);
    assert_int_equal(none.nplaces, 0);
}

#define ROUNDS 20000

static void *come_and_go(void *arg)
{
    struct cor_flight *flight = arg;

    for (size_t i = 0; i < ROUNDS; i++) {
        struct cor_flight_place place = {0};

        if (cor_flight_enter(flight, i % 2 ? &ann : &bob, &place))
            cor_flight_leave(&place);
    }
    return NULL;
}

TEST(flight, loops_that_come_and_go_leave_every_place_free)
{
    struct cor_flight flight;
    pthread_t threads[4];

    cor_flight_init(&flight, 2);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &flight), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(flight.nplaces, 0);
    assert_true(cor_flight_has_place(&flight, &ann));
    assert_true(cor_flight_has_place(&flight, &bob));
}
