#include "ear.h"

#include <stdio.h>

void ear_init(struct ear *e)
{
    memset(e, 0, sizeof(*e));
    pthread_mutex_init(&e->lock, NULL);
}

static void note(struct ear *e, char what, struct cor_str name)
{
    size_t len;

    pthread_mutex_lock(&e->lock);
    len = strlen(e->text);
    snprintf(e->text + len, sizeof(e->text) - len, "%c%.*s ", what, COR_STR_ARG(name));
    pthread_mutex_unlock(&e->lock);
}

void ear_on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct ear *e = arg;

    note(e, in_initial_list ? '!' : '+', cor_object_name(object));
    if (e->removes_itself)
        cor_handler_remove(e->self);
    e->removes_itself = false;
}

void ear_on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    note(arg, '~', cor_object_name(object));
}

static void on_delete(void *arg, struct cor_str key, struct cor_object *object, bool unknown)
{
    note(arg, '-', cor_object_name(object));
}

static void on_removed(void *arg)
{
    struct ear *e = arg;

    e->removed_on = pthread_self();
    atomic_fetch_add(&e->nremoved, 1);
}

struct cor_handler_opts ear_opts(struct ear *e)
{
    return (struct cor_handler_opts){COR_HANDLER_DEFAULTS,
                                     .on = {ear_on_add, ear_on_update, on_delete, NULL, e},
                                     .on_removed = on_removed};
}

struct wanted {
    struct ear *ear;
    const char *text;
    bool is_part; /* of what was heard */
};

static bool has_heard(void *arg)
{
    struct wanted *wanted = arg;
    bool same;

    pthread_mutex_lock(&wanted->ear->lock);
    same = strcmp(wanted->ear->text, wanted->text) == 0 ||
           (wanted->is_part && strstr(wanted->ear->text, wanted->text));
    pthread_mutex_unlock(&wanted->ear->lock);
    return same;
}

void ear_await(struct ear *e, struct world *w, const char *text)
{
    struct wanted wanted = {e, text, false};

    world_run(w, has_heard, &wanted);
}

void ear_await_part(struct ear *e, struct world *w, const char *text)
{
    struct wanted wanted = {e, text, true};

    world_run(w, has_heard, &wanted);
}
