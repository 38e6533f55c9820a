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
    assert_int_equal(cor_informers_get(s->informers, &of_configmaps, &s->inf, NULL), 0);
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
        begin(&s, kind, (struct cor_informers_opts){0}, (struct cor_informer_opts){0});
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
        begin(&s, kind, (struct cor_informers_opts){0},
              (struct cor_informer_opts){.transform = transform, .transform_arg = &s});
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
        begin(&s, kind, (struct cor_informers_opts){0}, (struct cor_informer_opts){0});
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
                  (struct cor_informers_opts){.retry_on_error = true,
                                              .fifo = (enum cor_informer_fifo)fifo},
                  (struct cor_informer_opts){0});
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
