/* Many threads around one informer: readers of the cache and its indexes, handlers that come and go
 * on threads of their own, waits for writes, while the informer's thread takes changes in. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/err.h"
#include "cache/informers/shared_informer.h"
#include "cache/store/lister.h"
#include "drain.h"
#include "fake_server.h"
#include "test.h"

#define READERS  4
#define HANDLERS 4
#define WAITERS  2
#define CHANGES  2000
#define OBJECTS  26

static struct cor_shared_informer *inf;
static atomic_bool done;
static atomic_int torn, heard, waited;

static int by_half(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    return cor_index_values_add(out, cor_object_name(o).p[0] < 'n' ? COR_STR("first")
                                                                   : COR_STR("second"));
}

static int count(void *arg, struct cor_object *o)
{
    if (cor_object_name(o).n != 1)
        atomic_fetch_add(&torn, 1);
    (*(size_t *)arg)++;
    return 0;
}

/* No object is ever deleted, so that every list after the first sync has all. */
static void *read_cache(void *arg)
{
    struct cor_indexer *ix = cor_shared_informer_indexer(inf);
    const struct cor_lister lister = {.indexer = ix};
    char rv[COR_CACHE_WAITER_RV_MAX + 1];

    while (!atomic_load(&done)) {
        bool synced = cor_shared_informer_has_synced(inf);
        struct cor_object_iter it;
        struct cor_object *o;
        size_t n = 0;

        if (cor_indexer_each(lister.indexer, COR_STR(""), NULL, count, &n) < 0 ||
            (synced && n != OBJECTS))
            atomic_fetch_add(&torn, 1);
        n = 0;
        if (cor_indexer_by_index(ix, COR_STR("half"), COR_STR("first"), &it) == 0) {
            while (cor_object_iter_next(&it, &o, NULL))
                count(&n, o);
            cor_object_iter_deinit(&it);
        }
        if (synced && n != OBJECTS / 2)
            atomic_fetch_add(&torn, 1);
        cor_shared_informer_last_rv(inf, rv);
    }
    return NULL;
}

/* One that is drained on its own thread, or by the informer's. */
struct hearer {
    sem_t ready;
    bool drains;
    int has[OBJECTS]; /* touched by one thread at a time: where it is drained */
};

static int rv_of(const struct cor_object *o)
{
    return (int)strtol(cor_object_resource_version(o).p, NULL, 10);
}

static void on_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct hearer *h = arg;
    int i = cor_object_name(o).p[0] - 'a';

    if (h->drains && h->has[i] != 0)
        atomic_fetch_add(&torn, 1);
    if (h->drains)
        h->has[i] = rv_of(o);
    atomic_fetch_add(&heard, 1);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    struct hearer *h = arg;
    int i = cor_object_name(o).p[0] - 'a';

    if (h->drains && h->has[i] != rv_of(old))
        atomic_fetch_add(&torn, 1);
    if (h->drains)
        h->has[i] = rv_of(o);
    atomic_fetch_add(&heard, 1);
}

static void on_ready(void *arg)
{
    sem_post(&((struct hearer *)arg)->ready);
}

static void come_and_go(struct hearer *h)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;

    memset(h->has, 0, sizeof(h->has));
    opts.handler = (struct cor_handler_fns){.on_add = on_add, .on_update = on_update, .arg = h};
    if (h->drains) {
        opts.on_ready = on_ready;
        opts.arg = h;
    }
    if (cor_shared_informer_add_handler(inf, &opts, &reg) < 0)
        return;
    for (int i = 0; h->drains && i < 20; i++)
        drain_registration(reg, 10);
    cor_registration_has_synced(reg);
    cor_shared_informer_remove_handler(inf, reg);
    while (sem_trywait(&h->ready) == 0)
        ;
}

static void *handle(void *arg)
{
    while (!atomic_load(&done))
        come_and_go(arg);
    return NULL;
}

static void *wait_for_writes(void *arg)
{
    for (int rv = 1000; !atomic_load(&done); rv += 50) {
        char text[16];

        snprintf(text, sizeof(text), "%d", rv);
        if (cor_shared_informer_wait_rv(inf, cor_strz(text), 1) == 0)
            atomic_fetch_add(&waited, 1);
    }
    return NULL;
}

static void first_list(struct fake_server *s)
{
    struct cor_object *list[OBJECTS];
    struct cor_list_page page = {.objects = list, .n = OBJECTS, .resource_version = COR_STR("99")};

    for (int i = 0; i < OBJECTS; i++) {
        char name[2] = {(char)('a' + i), '\0'};

        list[i] = fake_object(name, i + 1);
    }
    cor_reflector_list_page(s->to, fake_server_now(s), &page);
    fake_server_opened(s);
    for (int i = 0; i < OBJECTS; i++)
        cor_object_unref(list[i]);
}

static void change_much(struct fake_server *s)
{
    for (int i = 0; i < CHANGES; i++) {
        char name[2] = {(char)('a' + i % OBJECTS), '\0'};

        fake_server_event(s, COR_WATCH_MODIFIED, name, 1000 + i);
        if (i % 3 == 0)
            while (cor_shared_informer_step(inf, 8))
                ;
    }
    while (cor_shared_informer_step(inf, 8))
        ;
}

static void *read_once(void *arg)
{
    const struct cor_lister lister = {.indexer = cor_shared_informer_indexer(inf)};
    char rv[COR_CACHE_WAITER_RV_MAX + 1];
    size_t n = 0;

    cor_shared_informer_last_rv(inf, rv);
    if (cor_indexer_each(lister.indexer, COR_STR(""), NULL, count, &n) < 0 || n != OBJECTS ||
        !cor_shared_informer_has_synced(inf) || rv[0] == '\0')
        atomic_fetch_add(&torn, 1);
    return NULL;
}

static void read_after_stop(void)
{
    pthread_t reader;

    assert_int_equal(pthread_create(&reader, NULL, read_once, NULL), 0);
    pthread_join(reader, NULL);
    assert_int_equal(atomic_load(&torn), 0);
}

/* Contract client 1.13.11, 1.17.16, 1.17.36, 1.27.5: TSan sees each lock and its order. */
TEST(shared_informer_threads, readers_handlers_and_waits_beside_the_informer)
{
    static struct hearer hearers[HANDLERS];
    const struct cor_index_def index = {COR_STR("half"), by_half, NULL};
    struct cor_cache_controller_opts opts = {.indexes = &index, .nindexes = 1};
    pthread_t readers[READERS], handlers[HANDLERS], waiters[WAITERS];
    char trace[TRACE_MAX];
    struct fake_server server;

    fake_server_init(&server, trace);
    opts.driver = &server.driver;
    opts.clock = &server.clk.clock;
    assert_int_equal(cor_shared_informer_new(&opts, &inf), 0);
    server.to = cor_shared_informer_reflector(inf);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_cache, NULL), 0);
    for (int i = 0; i < HANDLERS; i++) {
        sem_init(&hearers[i].ready, 0, 0);
        hearers[i].drains = i % 2 == 0;
        assert_int_equal(pthread_create(&handlers[i], NULL, handle, &hearers[i]), 0);
    }
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(pthread_create(&waiters[i], NULL, wait_for_writes, NULL), 0);
    cor_shared_informer_start(inf);
    first_list(&server);
    change_much(&server);
    atomic_store(&done, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    for (int i = 0; i < HANDLERS; i++)
        pthread_join(handlers[i], NULL);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(waiters[i], NULL);
    for (int i = 0; i < HANDLERS; i++)
        sem_destroy(&hearers[i].ready);
    assert_int_equal(atomic_load(&torn), 0);
    cor_shared_informer_stop(inf);
    read_after_stop();
    inf = cor_shared_informer_free(inf);
}

static void *wait_synced(void *arg)
{
    return cor_shared_informer_wait_synced(inf, 60000) == 0 ? arg : NULL;
}

static void *wait_in_vain(void *arg)
{
    return cor_shared_informer_wait_rv(inf, COR_STR("5000"), 60000) == -COR_ECANCELED ? arg : NULL;
}

TEST(shared_informer_threads, a_thread_waits_for_the_first_list_and_for_a_write)
{
    char trace[TRACE_MAX];
    struct fake_server server;
    struct cor_cache_controller_opts opts = {.driver = &server.driver};
    pthread_t synced, vain;
    void *ok;

    fake_server_init(&server, trace);
    opts.clock = &server.clk.clock;
    assert_int_equal(cor_shared_informer_new(&opts, &inf), 0);
    server.to = cor_shared_informer_reflector(inf);
    assert_int_equal(cor_shared_informer_wait_synced(inf, 0), -COR_ETIMEOUT);
    assert_int_equal(cor_shared_informer_wait_rv(inf, COR_STR(""), 0), -COR_EINVAL);
    assert_int_equal(pthread_create(&synced, NULL, wait_synced, &server), 0);
    assert_int_equal(pthread_create(&vain, NULL, wait_in_vain, &server), 0);
    cor_shared_informer_start(inf);
    first_list(&server);
    while (cor_shared_informer_step(inf, 8))
        ;
    pthread_join(synced, &ok);
    assert_ptr_equal(ok, &server);
    assert_int_equal(cor_shared_informer_wait_rv(inf, COR_STR("99"), 0), 0);
    cor_shared_informer_stop(inf);
    pthread_join(vain, &ok);
    assert_ptr_equal(ok, &server);
    inf = cor_shared_informer_free(inf);
}
