#include "delta_log.h"

#include <stdio.h>

#include "base/err.h"
#include "test.h"

static struct cor_object *object(const char *name, int rv)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *bare = NULL, *o = NULL;
    char json[128];

    snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\"}}", name);
    if (cor_object_parse(cor_strz(json), NULL, NULL, NULL, &bare, &status) == 0)
        cor_object_at(bare, (cor_rev)rv, &o);
    cor_object_unref(bare);
    assert_true(o || test_alloc_failed());
    return o;
}

static void put_known(struct delta_log *log, const char *names)
{
    struct cor_str rest = cor_strz(names);

    while (rest.p && rest.n > 0) {
        struct cor_str name = cor_str_cut(&rest, ' ');
        char text[16];
        struct cor_object *o;

        snprintf(text, sizeof(text), "%.*s", COR_STR_ARG(name));
        o = object(text, 1);
        assert_int_equal(cor_indexer_put(log->known, o, NULL), 0);
        cor_object_unref(o);
    }
}

void delta_log_begin(struct delta_log *log, bool by_key, const char *known)
{
    delta_log_begin_with(log, (struct cor_delta_fifo_opts){COR_DELTA_FIFO_OPTS, .by_key = by_key},
                         known);
}

void delta_log_begin_with(struct delta_log *log, struct cor_delta_fifo_opts opts, const char *known)
{
    *log = (struct delta_log){0};
    if (known) {
        assert_int_equal(cor_indexer_new(NULL, 0, &log->known), 0);
        put_known(log, known);
    }
    opts.known = log->known;
    assert_int_equal(cor_delta_fifo_new(&opts, &log->fifo), 0);
}

void delta_log_end(struct delta_log *log)
{
    cor_delta_fifo_free(log->fifo);
    cor_indexer_free(log->known);
}

typedef int (*change_fn)(struct cor_reflector_store *store, struct cor_str key,
                         struct cor_object *o, struct cor_reflector_at at,
                         struct cor_status *reterr);

static int change(struct delta_log *log, change_fn fn, const char *name, int rv)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *o = object(name, rv);
    int r = o ? fn(cor_delta_fifo_store(log->fifo), COR_STR(""), o, cor_reflector_at(COR_STR("1")),
                   &status)
              : -COR_ENOMEM;

    cor_object_unref(o);
    return r;
}

int delta_log_add(struct delta_log *log, const char *name, int rv)
{
    return change(log, cor_delta_fifo_store(log->fifo)->ops->add, name, rv);
}

int delta_log_update(struct delta_log *log, const char *name, int rv)
{
    return change(log, cor_delta_fifo_store(log->fifo)->ops->update, name, rv);
}

int delta_log_delete(struct delta_log *log, const char *name, int rv)
{
    return change(log, cor_delta_fifo_store(log->fifo)->ops->del, name, rv);
}

int delta_log_replace(struct delta_log *log, const char *objects)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_reflector_store *store = cor_delta_fifo_store(log->fifo);
    struct cor_str rest = cor_strz(objects);
    int r = store->ops->replace_begin(store, &status);

    if (r < 0)
        return r;
    while (r == 0 && rest.p && rest.n > 0) {
        struct cor_str word = cor_str_cut(&rest, ' ');
        char name[2] = {word.p[0], '\0'};
        uint64_t rv = 0;
        struct cor_object *o;

        assert_int_equal(cor_str_to_u64(cor_str_from(word, 1), &rv), 0);
        o = object(name, (int)rv);
        r = o ? store->ops->replace_add(store, COR_STR(""), o, &status) : -COR_ENOMEM;
        cor_object_unref(o);
    }
    if (r < 0)
        store->ops->replace_abort(store);
    else
        r = store->ops->replace_commit(store, cor_reflector_at(COR_STR("1")), &status);
    return r;
}

int delta_log_resync(struct delta_log *log)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_reflector_store *store = cor_delta_fifo_store(log->fifo);

    return store->ops->resync(store, &status);
}

static int note(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                bool in_initial_list)
{
    static const char *const types[] = {"Added", "Updated", "Deleted", "Replaced", "Sync"};
    struct delta_log *log = arg;
    size_t max = sizeof(log->text);

    log->n += (size_t)snprintf(log->text + log->n, max - log->n, "%s%.*s:", log->n ? " " : "",
                               COR_STR_ARG(key));
    for (size_t i = 0; i < n; i++) {
        struct cor_str rv =
            deltas[i].object ? cor_object_resource_version(deltas[i].object) : COR_STR("?");

        log->n += (size_t)snprintf(log->text + log->n, max - log->n, "%s%s%.*s", i ? "," : "",
                                   deltas[i].is_tombstone ? "Lost" : types[deltas[i].type],
                                   COR_STR_ARG(rv));
    }
    if (in_initial_list)
        log->n += (size_t)snprintf(log->text + log->n, max - log->n, "!");
    assert_true(log->n < max);
    return 0;
}

const char *delta_log_pop(struct delta_log *log)
{
    log->n = 0;
    log->text[0] = '\0';
    cor_delta_fifo_try_pop(log->fifo, note, log);
    return log->text;
}

const char *delta_log_pop_all(struct delta_log *log)
{
    log->n = 0;
    log->text[0] = '\0';
    while (cor_delta_fifo_try_pop(log->fifo, note, log) == 0)
        ;
    return log->text;
}
