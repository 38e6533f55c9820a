/* How an informer is made, begins and ends: contract client 1.17.1 to 1.17.9, and what tells of
 * errors. */
#include "base/err.h"
#include "cache/informers/shared_informer_int.h"
#include "fake_informer.h"
#include "test.h"

static int by_name(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    return cor_index_values_add(out, cor_object_name(o));
}

static const struct cor_index_def name_index = {COR_STR("name"), by_name, NULL};

static size_t count_named(struct fake *f, const char *name)
{
    struct cor_object_iter it;
    struct cor_object *o;
    size_t n = 0;

    assert_int_equal(cor_indexer_by_index(cor_shared_informer_indexer(f->inf), COR_STR("name"),
                                          cor_strz(name), &it),
                     0);
    while (cor_object_iter_next(&it, &o, NULL))
        n++;
    cor_object_iter_deinit(&it);
    return n;
}

static void note_mutation(void *arg, const struct cor_object *o)
{
}

/* Contract client 1.17.1. */
TEST(shared_informer_life, it_is_made_with_its_indexes_and_period_and_nothing_runs_before_start)
{
    struct fake f;

    fake_begin_with(&f, (struct cor_cache_controller_opts){.indexes = &name_index,
                                                           .nindexes = 1,
                                                           .reflector = {.resync_ms = 5000},
                                                           .on_mutation = note_mutation});
    assert_false(cor_shared_informer_step(f.inf, 1));
    fake_server_pass(&f.server, 3600000);
    assert_string_equal(f.requests, "");
    assert_true(f.server.wake_ms == COR_REFLECTOR_NEVER);
    assert_int_equal(f.inf->resync_check_ms, 5000);
    assert_int_equal(fake_hear(&f, 0)->resync_ms, 5000);
    assert_non_null(f.inf->detector);
    assert_int_equal(count_named(&f, "a"), 0);
    fake_sync_with(&f, "a1 b2", "10");
    assert_int_equal(count_named(&f, "a"), 1);
    fake_end(&f);

    fake_begin(&f);
    assert_null(f.inf->detector);
    fake_end(&f);
}

/* Contract client 1.17.2. */
TEST(shared_informer_life, it_runs_once)
{
    struct fake f;

    fake_begin(&f);
    cor_shared_informer_start(f.inf);
    cor_shared_informer_start(f.inf);
    assert_string_equal(f.requests, "L(0,500)");
    cor_shared_informer_stop(f.inf);
    cor_shared_informer_start(f.inf);
    assert_string_equal(f.requests, "L(0,500) cancel");
    assert_true(f.server.wake_ms == COR_REFLECTOR_NEVER);
    fake_end(&f);
}

/* Contract client 1.17.3, 1.17.4: handlers end after the machine that feeds them, and hear no more.
 */
TEST(shared_informer_life, it_has_stopped_when_stop_returns_and_stays_started)
{
    struct fake f;

    fake_begin(&f);
    fake_hear(&f, 0);
    assert_false(f.inf->started);
    assert_false(cor_shared_informer_is_stopped(f.inf));
    fake_sync_with(&f, "a1", "10");
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    assert_true(f.inf->started);
    assert_false(cor_shared_informer_is_stopped(f.inf));
    cor_shared_informer_stop(f.inf);
    assert_true(f.inf->started);
    assert_true(cor_shared_informer_is_stopped(f.inf));
    assert_false(cor_shared_informer_step(f.inf, 10));
    assert_string_equal(f.heard[0], "");
    assert_string_equal(f.requests, "cancel");
    fake_end(&f);
}

/* Contract client 1.17.5. */
TEST(shared_informer_life, it_is_synced_when_the_store_has_the_first_list)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    opts.handler = listener_handler(&f.listeners[0]);
    opts.is_held = true;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    assert_false(cor_shared_informer_has_synced(f.inf));
    cor_shared_informer_start(f.inf);
    assert_false(cor_shared_informer_has_synced(f.inf));
    fake_server_list(&f.server, "a1 b2", "10");
    cor_shared_informer_step(f.inf, 1);
    assert_false(cor_shared_informer_has_synced(f.inf));
    fake_step(&f);
    assert_true(cor_shared_informer_has_synced(f.inf));
    assert_false(cor_registration_has_synced(reg));
    assert_string_equal(f.heard[0], "");
    cor_registration_release(reg);
    fake_step(&f);
    assert_true(cor_registration_has_synced(reg));
    fake_end(&f);
}

/* Contract client 1.17.7, 1.17.12. */
TEST(shared_informer_life, a_stopped_one_takes_neither_handlers_nor_indexes)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "a1", "10");
    cor_shared_informer_stop(f.inf);
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), -COR_ECANCELED);
    assert_int_equal(cor_shared_informer_add_indexes(f.inf, &name_index, 1), -COR_ECANCELED);
    fake_end(&f);
}

static void assert_last_rv(struct fake *f, const char *expected)
{
    char rv[COR_CACHE_WAITER_RV_MAX + 1];

    cor_shared_informer_last_rv(f->inf, rv);
    assert_string_equal(rv, expected);
}

/* Contract client 1.13.11, 1.17.9: it is what came last, and the store may be behind it. */
TEST(shared_informer_life, the_last_revision_runs_ahead_of_the_store)
{
    struct cor_object *o;
    struct fake f;

    fake_begin(&f);
    assert_last_rv(&f, "");
    fake_sync_with(&f, "a1", "10");
    assert_last_rv(&f, "10");
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    assert_last_rv(&f, "11");
    assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(f.inf), COR_STR("a"), &o), 0);
    assert_str(cor_object_resource_version(o), "1");
    cor_object_unref(o);
    cor_shared_informer_stop(f.inf);
    assert_last_rv(&f, "11");
    fake_end(&f);
}

static void note_error(void *arg, const struct cor_status *error)
{
    trace_note(arg, "error(%s)", cor_err_name(error->err));
}

/* Contract client 1.13.6: it is heard before the call that brought the error returns, and the next
 * try is asked for after it. */
TEST(shared_informer_life, the_watch_error_handler_is_called_between_two_tries)
{
    struct fake f;

    fake_begin_with(&f, (struct cor_cache_controller_opts){
                            .reflector = {.on_watch_error = note_error, .arg = f.requests}});
    cor_shared_informer_start(f.inf);
    fake_server_list_fails(&f.server, -COR_EINTERNAL);
    assert_string_equal(f.requests, "L(0,500) error(EINTERNAL)");
    fake_server_wake(&f.server);
    assert_string_equal(f.requests, "L(0,500) error(EINTERNAL) L(0,500)");
    fake_end(&f);
}

/* Every kind of failure that client-go's own handler tells apart. */
static void fail_much(struct fake *f)
{
    static const int errors[] = {-COR_EEXPIRED, -COR_EINTERNAL, -COR_EFORBIDDEN, -COR_EUNREACHABLE};

    cor_shared_informer_start(f->inf);
    for (size_t i = 0; i < COR_ARRAY_LEN(errors); i++) {
        fake_server_list_fails(&f->server, errors[i]);
        if (cor_reflector_state(f->server.to) == COR_REFLECTOR_ROUND_PAUSE)
            fake_server_wake(&f->server);
        fake_server_list(&f->server, "a1", "10");
        fake_server_ended(&f->server, errors[i]);
        fake_server_wake(&f->server);
        if (cor_reflector_state(f->server.to) == COR_REFLECTOR_WATCH_OPENING) {
            fake_server_opened(&f->server);
            fake_server_ended(&f->server, 0);
            fake_server_wake(&f->server);
        }
    }
}

/* Contract client 1.13.5: nothing is written to a log, whoever is told. */
TEST(shared_informer_life, a_watch_error_handler_changes_nothing_of_what_is_asked)
{
    struct fake with, without;
    char errors[TRACE_MAX] = "";

    fake_begin_with(&with, (struct cor_cache_controller_opts){
                               .reflector = {.on_watch_error = note_error, .arg = errors}});
    fake_begin(&without);
    fail_much(&with);
    fail_much(&without);
    assert_string_equal(with.requests, without.requests);
    assert_string_equal(errors, "error(EEXPIRED) error(EINTERNAL) error(EINTERNAL) "
                                "error(EFORBIDDEN) error(EFORBIDDEN) error(EUNREACHABLE)");
    fake_end(&with);
    fake_end(&without);
}

/* Contract client 1.17.31. */
TEST(shared_informer_life, without_a_transform_the_object_itself_is_cached)
{
    struct cor_object *o = fake_object("a", 11), *got;
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "", "10");
    fake_server_object(&f.server, COR_WATCH_ADDED, o);
    fake_step(&f);
    assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(f.inf), COR_STR("a"), &got), 0);
    assert_ptr_equal(got, o);
    cor_object_unref(got);
    cor_object_unref(o);
    fake_end(&f);
}

static int note_transform(void *arg, struct cor_object **o, struct cor_status *reterr)
{
    trace_note(arg, "%.*s%.*s", COR_STR_ARG(cor_object_name(*o)),
               COR_STR_ARG(cor_object_resource_version(*o)));
    return 0;
}

/* Contract client 1.16.13. */
TEST(shared_informer_life, an_object_of_a_streamed_list_is_transformed_once_when_it_is_whole)
{
    char transformed[TRACE_MAX] = "";
    struct fake f;

    fake_begin_with(&f, (struct cor_cache_controller_opts){.reflector = {.stream_initial = true},
                                                           .transform = note_transform,
                                                           .arg = transformed});
    cor_shared_informer_start(f.inf);
    fake_server_opened(&f.server);
    fake_server_event(&f.server, COR_WATCH_ADDED, "a", 1);
    fake_server_event(&f.server, COR_WATCH_ADDED, "b", 2);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 3);
    fake_server_event(&f.server, COR_WATCH_DELETED, "b", 4);
    assert_string_equal(transformed, "");
    fake_server_bookmark(&f.server, 7, true);
    fake_step(&f);
    assert_string_equal(transformed, "a3");
    fake_end(&f);
}
