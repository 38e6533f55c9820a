/* Whose code runs where, and what it may call there, on both kinds of runtime. */
#include <stdatomic.h>

#include "configmap_words.h"
#include "ear.h"
#include "script.h"

enum place { TRANSFORM, INDEX, ERROR, ADD, UPDATE, PLACES };

struct who {
    struct world w;
    struct script script;
    struct cor_informers *informers;
    struct cor_informer *inf;
    pthread_t ran[PLACES]; /* the thread of each; written before `nran` */
    atomic_int nran[PLACES];
    atomic_int nwrong;
};

static void runs(struct who *who, enum place place)
{
    if (atomic_load(&who->nran[place]) == 0)
        who->ran[place] = pthread_self();
    atomic_fetch_add(&who->nran[place], 1);
}

static int transform(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    runs(arg, TRANSFORM);
    return 0;
}

static int index_by_name(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    runs(arg, INDEX);
    return cor_index_values_add(out, cor_object_name(object));
}

static int count(void *arg, struct cor_object *object)
{
    ++*(int *)arg;
    return 0;
}

/* Without a lock held: everything may be asked, and handlers come and go. */
static void call_all(struct who *who)
{
    const struct cor_handler_opts nothing = {COR_HANDLER_DEFAULTS};
    char version[COR_INFORMER_VERSION_MAX];
    struct cor_handler *handler;
    struct cor_object *one;
    int n = 0, by_name = 0;

    if (cor_informer_get_by_key(who->inf, COR_STR("default/one"), &one) == 0)
        cor_object_unref(one);
    else
        atomic_fetch_add(&who->nwrong, 1);
    cor_informer_last_version(who->inf, version);
    cor_informer_has_synced(who->inf);
    cor_informer_each(who->inf, COR_STR(""), NULL, count, &n);
    cor_informer_each_by_index(who->inf, COR_STR("name"), COR_STR("one"), count, &by_name);
    if (n != 1 || by_name != 1 || cor_informer_add_handler(who->inf, &nothing, &handler) < 0)
        atomic_fetch_add(&who->nwrong, 1);
    else
        cor_handler_remove(handler);
}

static void on_error(void *arg, struct cor_str plural, const struct cor_status *error)
{
    call_all(arg);
    runs(arg, ERROR);
}

static void on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    call_all(arg);
    runs(arg, ADD);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    call_all(arg);
    runs(arg, UPDATE);
}

static bool is_told(void *arg)
{
    struct who *who = arg;

    for (int i = 0; i < PLACES; i++)
        if (atomic_load(&who->nran[i]) == 0)
            return false;
    return true;
}

static void start(struct who *who)
{
    const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .on_watch_error = on_error,
                                            .arg = who};
    const struct cor_informer_opts of_configmaps = {COR_INFORMER_OPTS, .resource = configmaps,
                                                    .ns = "default", .transform = transform,
                                                    .transform_arg = who};
    const struct cor_index_def by_name = {COR_STR("name"), index_by_name, who};
    const struct cor_handler_opts handler = {
        COR_HANDLER_DEFAULTS, .on = {.on_add = on_add, .on_update = on_update, .arg = who}};

    assert_int_equal(cor_informers_new(who->w.client, &opts, &who->informers), 0);
    assert_int_equal(cor_informers_for_resource(who->informers, &of_configmaps, &who->inf, NULL),
                     0);
    assert_int_equal(cor_informer_add_indexes(who->inf, &by_name, 1), 0);
    assert_int_equal(cor_informer_add_handler(who->inf, &handler, NULL), 0);
    cor_informers_start(who->informers);
}

/* Contract client 1.27.3, 1.27.4: what makes the cache is one thread's, handlers have others;
 * without threads all of it is the pump's. */
TEST(threads, the_cache_is_made_on_one_and_handlers_run_without_a_lock_on_others)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .status = 403, .body = STATUS("403", "Forbidden"), .times = 1},
        {.to = "watch=true",
         .body = "{\"type\":\"MODIFIED\",\"object\":" MAP("one", "8") "}",
         .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
    };

    FOR_EACH_KIND(kind)
    {
        static struct who who;
        bool pumped = kind == COR_RUNTIME_PUMPED;

        who = (struct who){0};
        SCRIPT_BEGIN(&who.script, answers);
        world_begin_at(&who.w, kind, who.script.url);
        start(&who);
        world_run(&who.w, is_told, &who);
        assert_int_equal(atomic_load(&who.nwrong), 0);
        assert_int_equal(!!pthread_equal(who.ran[TRANSFORM], pthread_self()), pumped);
        assert_true(pthread_equal(who.ran[TRANSFORM], who.ran[INDEX]));
        assert_true(pthread_equal(who.ran[TRANSFORM], who.ran[ERROR]));
        assert_int_equal(!!pthread_equal(who.ran[TRANSFORM], who.ran[ADD]), pumped);
        assert_int_equal(!!pthread_equal(who.ran[TRANSFORM], who.ran[UPDATE]), pumped);
        cor_informers_free(who.informers);
        world_end(&who.w);
        script_end(&who.script);
    }
}
