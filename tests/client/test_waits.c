/* Waiting for an informer's cache: a wait never says that something is there that is not. */
#include <stdatomic.h>
#include <stdio.h>

#include "configmap_words.h"
#include "script.h"
#include "world.h"

struct waits {
    struct world w;
    struct script script;
    struct cor_informers *informers;
    struct cor_informer *inf;
    atomic_int nrefused; /* that the index or the transform may refuse still; negative: always */
    atomic_int nreports;
    atomic_int called, r;
};

static bool refuses(struct waits *s, struct cor_str name)
{
    return cor_str_eqz(name, "bad") &&
           (atomic_load(&s->nrefused) < 0 || atomic_fetch_sub(&s->nrefused, 1) > 0);
}

static int index_by_name(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    if (refuses(arg, cor_object_name(object)))
        return -COR_ENOTSUP;
    return cor_index_values_add(out, cor_object_name(object));
}

static int transform(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    return refuses(arg, cor_object_name(*object)) ? -COR_EFORBIDDEN : 0;
}

static void on_report(void *arg, struct cor_str plural, enum cor_reflector_report what,
                      const struct cor_status *status)
{
    if (what == COR_REFLECTOR_CHANGE_REFUSED || what == COR_REFLECTOR_STORE_FAILED ||
        what == COR_REFLECTOR_UNEXPECTED_TYPE)
        atomic_fetch_add(&((struct waits *)arg)->nreports, 1);
}

static void begin(struct waits *s, enum cor_runtime_kind kind, struct cor_informers_opts opts,
                  struct cor_informer_opts of_configmaps)
{
    world_begin_at(&s->w, kind, s->script.url);
    opts.on_report = on_report;
    opts.arg = s;
    of_configmaps.resource = configmaps;
    of_configmaps.ns = "default";
    assert_int_equal(cor_informers_new(s->w.client, &opts, &s->informers), 0);
    assert_int_equal(cor_informers_for_resource(s->informers, &of_configmaps, &s->inf, NULL), 0);
}

static void end(struct waits *s)
{
    cor_informers_free(s->informers);
    world_end(&s->w);
    script_end(&s->script);
}

static void index_it(struct waits *s)
{
    const struct cor_index_def by_name = {COR_STR("name"), index_by_name, s};

    assert_int_equal(cor_informer_add_indexes(s->inf, &by_name, 1), 0);
}

static int wait_for(struct waits *s, const char *version)
{
    return cor_informer_wait_for_version(s->inf, cor_strz(version), PATIENCE_MS);
}

static void on_version(void *arg, int r)
{
    struct waits *s = arg;

    atomic_store(&s->r, r);
    atomic_store(&s->called, 1);
}

static bool is_called(void *arg)
{
    return atomic_load(&((struct waits *)arg)->called);
}

static const struct script_answer one_bad_write[] = {
    {.to = "watch=true",
     .body = EVENT("ADDED", MAP("bad", "8")) EVENT("ADDED", MAP("good", "9")),
     .stays_open = true},
    {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
};

/* The first asks before the write is seen, the others after it. */
TEST(waits, a_write_that_an_index_refused_is_not_said_to_be_cached)
{
    FOR_EACH_KIND(kind)
    {
        static struct waits s;

        s = (struct waits){.nrefused = -1};
        SCRIPT_BEGIN(&s.script, one_bad_write);
        begin(&s, kind, (struct cor_informers_opts){COR_INFORMERS_OPTS},
              (struct cor_informer_opts){COR_INFORMER_OPTS});
        index_it(&s);
        assert_int_equal(cor_informer_on_version(s.inf, COR_STR("8"), on_version, &s), 0);
        cor_informers_start(s.informers);
        assert_int_equal(wait_for(&s, "9"), 0);
        world_run(&s.w, is_called, &s);
        assert_int_equal(atomic_load(&s.r), -COR_ENOTSUP);
        assert_int_equal(wait_for(&s, "8"), -COR_ENOTSUP);
        assert_int_equal(cor_informer_on_version(s.inf, COR_STR("8"), on_version, &s),
                         -COR_ENOTSUP);
        assert_int_equal(wait_for(&s, "5"), 0);
        assert_int_equal(cor_informer_len(s.inf), 2);
        end(&s);
    }
}

TEST(waits, a_write_that_a_transform_refused_is_not_said_to_be_cached)
{
    FOR_EACH_KIND(kind)
    {
        static struct waits s;

        s = (struct waits){.nrefused = -1};
        SCRIPT_BEGIN(&s.script, one_bad_write);
        begin(&s, kind, (struct cor_informers_opts){COR_INFORMERS_OPTS},
              (struct cor_informer_opts){COR_INFORMER_OPTS, .transform = transform,
                                         .transform_arg = &s});
        cor_informers_start(s.informers);
        assert_int_equal(wait_for(&s, "9"), 0);
        assert_int_equal(wait_for(&s, "8"), -COR_EFORBIDDEN);
        end(&s);
    }
}

/* A newer write of the object is taken: the older one does not matter any more. */
TEST(waits, a_refused_write_is_forgotten_with_the_next_that_is_taken)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true",
         .body = EVENT("ADDED", MAP("bad", "8")) EVENT("MODIFIED", MAP("bad", "9")),
         .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
    };

    FOR_EACH_KIND(kind)
    {
        static struct waits s;

        s = (struct waits){.nrefused = 1};
        SCRIPT_BEGIN(&s.script, answers);
        begin(&s, kind, (struct cor_informers_opts){COR_INFORMERS_OPTS},
              (struct cor_informer_opts){COR_INFORMER_OPTS});
        index_it(&s);
        cor_informers_start(s.informers);
        assert_int_equal(wait_for(&s, "9"), 0);
        assert_int_equal(wait_for(&s, "8"), 0);
        assert_int_equal(atomic_load(&s.nreports), 1);
        end(&s);
    }
}

TEST(waits, a_refused_write_is_tried_again_until_it_is_taken)
{
    for (int fifo = 0; fifo < 2; fifo++)
        FOR_EACH_KIND(kind)
        {
            static struct waits s;
            struct cor_object *object;

            s = (struct waits){.nrefused = 2};
            SCRIPT_BEGIN(&s.script, one_bad_write);
            begin(&s, kind,
                  (struct cor_informers_opts){COR_INFORMERS_OPTS, .retry_on_error = true,
                                              .fifo = (enum cor_informer_fifo)fifo},
                  (struct cor_informer_opts){COR_INFORMER_OPTS});
            index_it(&s);
            cor_informers_start(s.informers);
            assert_int_equal(wait_for(&s, "8"), 0);
            assert_int_equal(
                cor_informer_get(s.inf, COR_STR("default"), COR_STR("bad"), &object, NULL), 0);
            cor_object_unref(object);
            assert_int_equal(atomic_load(&s.nreports), 2);
            end(&s);
        }
}

#define SECRET(name, rv)                                                                           \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"" name                    \
    "\",\"namespace\":\"default\",\"resourceVersion\":\"" rv "\"}}"

/* Contract client 1.15.11: with the kind that it was given, or that the list had. */
TEST(waits, an_object_of_another_kind_is_skipped_reported_and_never_said_to_be_cached)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true",
         .body = EVENT("ADDED", SECRET("odd", "8")) EVENT("ADDED", MAP("two", "9")),
         .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
    };
    static const char *const kinds[] = {NULL, "ConfigMap"};

    for (int i = 0; i < 2; i++)
        FOR_EACH_KIND(kind)
        {
            static struct waits s;

            s = (struct waits){0};
            SCRIPT_BEGIN(&s.script, answers);
            begin(&s, kind, (struct cor_informers_opts){COR_INFORMERS_OPTS},
                  (struct cor_informer_opts){COR_INFORMER_OPTS, .kind = kinds[i]});
            cor_informers_start(s.informers);
            assert_int_equal(wait_for(&s, "9"), 0);
            assert_int_equal(wait_for(&s, "8"), -COR_EINVALID);
            assert_int_equal(cor_informer_len(s.inf), 2);
            assert_int_equal(atomic_load(&s.nreports), 1);
            end(&s);
        }
}

/* Contract client 1.14.13: lists are not checked; and where a list has several kinds, nothing is.
 */
TEST(waits, a_list_of_several_kinds_expects_none)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = EVENT("ADDED", SECRET("odd", "8")), .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5") "," SECRET("two", "6"))},
    };
    static struct waits s;

    SCRIPT_BEGIN(&s.script, answers);
    begin(&s, COR_RUNTIME_THREADS, (struct cor_informers_opts){COR_INFORMERS_OPTS},
          (struct cor_informer_opts){COR_INFORMER_OPTS});
    cor_informers_start(s.informers);
    assert_int_equal(wait_for(&s, "8"), 0);
    assert_int_equal(cor_informer_len(s.inf), 3);
    assert_int_equal(atomic_load(&s.nreports), 0);
    end(&s);
}

struct told {
    char text[512];
    int n;
};

static void note_sync(void *arg, const struct cor_informer_sync *sync)
{
    struct told *told = arg;
    size_t len = strlen(told->text);

    assert_true(!sync->why == (sync->r == 0));
    snprintf(told->text + len, sizeof(told->text) - len, "%.*s: %s\n", COR_STR_ARG(sync->plural),
             sync->why ? cor_status_message(sync->why) : "there");
    told->n++;
}

static bool has_failed(void *arg)
{
    return cor_informer_sync_error(arg, NULL) == -COR_ENOTFOUND;
}

/* A resource's name is misspelt. */
TEST(waits, who_waits_for_first_lists_is_told_why_one_is_not_there)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_informer_opts misspelt = {COR_INFORMER_OPTS,
                                                   .resource = {"", "v1", "configmapz"}};
        const struct cor_informer_opts known = {COR_INFORMER_OPTS, .resource = configmaps};
        const struct cor_informer_opts late = {COR_INFORMER_OPTS, .resource = {"", "v1", "pods"}};
        struct cor_informer *wrong, *right, *unstarted;
        struct cor_informers *set;
        struct cor_status why;
        struct told told = {.n = 0};
        struct world w;

        cor_status_init(&why);
        world_begin(&w, kind);
        assert_int_equal(cor_informers_new(w.client, NULL, &set), 0);
        assert_int_equal(cor_informers_for_resource(set, &misspelt, &wrong, NULL), 0);
        assert_int_equal(cor_informer_sync_error(wrong, &why), -COR_EINVAL);
        assert_string_equal(cor_status_message(&why), "the informer is not started");
        assert_int_equal(cor_informers_for_resource(set, &known, &right, NULL), 0);
        cor_informers_start(set);
        assert_int_equal(cor_informers_for_resource(set, &late, &unstarted, NULL), 0);
        world_run(&w, has_failed, wrong);
        assert_int_equal(cor_informer_wait_for_sync(right, PATIENCE_MS), 0);
        assert_int_equal(cor_informers_wait_for_each(set, 1, note_sync, &told), -COR_ETIMEOUT);
        assert_int_equal(told.n, 2);
        assert_int_equal(cor_informers_wait_for_sync(set, 1, &why), -COR_ETIMEOUT);
        assert_string_equal(cor_status_message(&why),
                            "not all informers are synced; configmapz: failed to list configmapz: "
                            "the server could not find the requested resource");
        assert_non_null(strstr(told.text, "configmaps: there\n"));
        assert_non_null(strstr(told.text, "configmapz: failed to list configmapz: the server could "
                                          "not find the requested resource\n"));
        cor_status_deinit(&why);
        assert_int_equal(cor_informer_sync_error(wrong, &why), -COR_ENOTFOUND);
        assert_int_equal(why.code, 404);
        assert_int_equal(cor_informer_sync_error(right, &why), 0);
        cor_informers_stop(set);
        cor_status_deinit(&why);
        assert_int_equal(cor_informer_sync_error(wrong, &why), -COR_ECANCELED);
        assert_int_equal(cor_informer_sync_error(right, NULL), 0);
        cor_status_deinit(&why);
        cor_informers_free(set);
        world_end(&w);
    }
}

/* A failure of a streamed list is no error of a round, and is told all the same. */
TEST(waits, who_waits_for_a_streamed_list_is_told_why_it_is_not_there)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .status = 429, .body = STATUS("429", "TooManyRequests")},
    };

    FOR_EACH_KIND(kind)
    {
        static struct waits s;
        struct told told = {.n = 0};

        s = (struct waits){0};
        SCRIPT_BEGIN(&s.script, answers);
        begin(&s, kind, (struct cor_informers_opts){COR_INFORMERS_OPTS, .stream_initial = true},
              (struct cor_informer_opts){COR_INFORMER_OPTS});
        cor_informers_start(s.informers);
        while (!strstr(told.text, "as the test wants it")) {
            told = (struct told){.n = 0};
            assert_int_equal(cor_informers_wait_for_each(s.informers, 20, note_sync, &told),
                             -COR_ETIMEOUT);
            assert_int_equal(told.n, 1);
        }
        assert_int_equal(cor_informer_sync_error(s.inf, NULL), -COR_EBUSY);
        end(&s);
    }
}
