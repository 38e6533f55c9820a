#include "program.h"

#include <stdio.h>

static void on_log(void *arg, const char *line)
{
    struct program *p = arg;
    size_t n = strlen(p->log);

    snprintf(p->log + n, sizeof(p->log) - n, "%s\n", line);
    if (strstr(line, "has not ended after"))
        atomic_store(&p->is_slow_seen, true);
}

static void on_stopped(void *arg, const struct cor_status *why)
{
    struct program *p = arg;

    p->stopped_with = why ? why->err : 0;
    atomic_fetch_add(&p->nstopped, 1);
}

/* A Secret of the ConfigMap's name, which the ConfigMap controls. */
static struct cor_object *secret_of(struct cor_object *configmap)
{
    struct cor_object *object = NULL;
    struct cor_builder *b;

    assert_int_equal(cor_builder_new(NULL, &b), 0);
    cor_builder_set_text(b, "apiVersion", COR_STR("v1"));
    cor_builder_set_text(b, "kind", COR_STR("Secret"));
    cor_builder_set_text(b, "metadata.name", cor_object_name(configmap));
    cor_builder_append_json(b, "metadata.ownerReferences", COR_STR("{\"controller\":true}"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].apiVersion", COR_STR("v1"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].kind", COR_STR("ConfigMap"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].name", cor_object_name(configmap));
    cor_builder_set_text(b, "metadata.ownerReferences[0].uid", cor_object_uid(configmap));
    assert_int_equal(cor_builder_finish(b, &object, NULL), 0);
    cor_builder_free(b);
    return object;
}

/* Keeps a Secret for each ConfigMap; on a worker thread. */
int keep_secret(void *arg, struct cor_run *run)
{
    struct program *p = arg;
    struct cor_object *configmap = cor_run_object(run), *secret;
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = secrets,
                              .ns = cor_run_ns(run)};
    int r;

    assert_string_equal(cor_run_ns(run), "default");
    assert_ptr_equal(cor_run_manager(run), p->manager);
    atomic_fetch_add(&p->nruns, 1);
    if (!configmap) {
        atomic_fetch_add(&p->nmissing, 1);
        return 0;
    }
    r = cor_run_get(run, p->secrets, cor_run_ns(run), cor_run_name(run), &secret);
    if (r != -COR_ENOTFOUND)
        return r;
    req.object = secret_of(configmap);
    if (cor_run_keep(run, req.object) < 0)
        return -COR_ENOMEM;
    r = cor_client_do(cor_manager_client(p->manager), &req, NULL, cor_run_why(run));
    if (r == 0)
        cor_events_record(cor_manager_events(p->manager), configmap, COR_EVENT_NORMAL, "Made",
                          "made Secret %s", cor_run_name(run));
    return r == -COR_EEXIST ? 0 : r;
}

/* The form without threads: the run sends a request and ends in its callback. */
static void on_made(void *arg, const struct cor_response *response)
{
    int r = response->error ? response->error->err : 0;

    cor_run_done(arg, r == -COR_EEXIST ? 0 : r);
}

void begin_secret(void *arg, struct cor_run *run)
{
    static const struct cor_request_cbs cbs = {.on_done = on_made};
    struct program *p = arg;
    struct cor_object *configmap = cor_run_object(run), *secret;
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = secrets,
                              .ns = cor_run_ns(run)};
    int r;

    atomic_fetch_add(&p->nruns, 1);
    if (!configmap) {
        atomic_fetch_add(&p->nmissing, 1);
        cor_run_done(run, 0);
        return;
    }
    r = cor_run_get(run, p->secrets, cor_run_ns(run), cor_run_name(run), &secret);
    if (r == -COR_ENOTFOUND) {
        req.object = secret_of(configmap);
        r = cor_client_send(cor_manager_client(p->manager), &req, &cbs, run, NULL);
        cor_object_unref(req.object);
        if (r == 0)
            return;
    }
    cor_run_done(run, r);
}

/* A run that fails a few times, waits where the test wants it, and says how it ended. */
int run_as_told(void *arg, struct cor_run *run)
{
    struct program *p = arg;

    atomic_fetch_add(&p->nruns, 1);
    if (atomic_load(&p->holds)) {
        sem_post(&p->entered);
        sem_wait(&p->may_leave);
    }
    if (cor_run_is_cancelled(run))
        atomic_fetch_add(&p->ncancelled, 1);
    if (atomic_load(&p->is_terminal))
        return cor_run_terminal(run, -COR_EINVALID);
    if (p->again_after_ms > 0 && atomic_load(&p->nruns) < 3)
        cor_run_again_after(run, p->again_after_ms);
    return atomic_fetch_sub(&p->fails, 1) > 0 ? -COR_EBUSY : 0;
}

struct cor_manager_opts manager_opts(struct program *p)
{
    return (struct cor_manager_opts){
        COR_MANAGER_OPTS,      .name = "keeper", .runtime = p->w->rt,      .config = &p->w->config,
        .end_ms = PATIENCE_MS, .on_log = on_log, .on_stopped = on_stopped, .arg = p};
}

void program_init(struct program *p, struct world *w)
{
    memset(p, 0, sizeof(*p));
    p->w = w;
    sem_init(&p->entered, 0, 0);
    sem_init(&p->may_leave, 0, 0);
}

void program_make(struct program *p, const struct cor_manager_opts *mo,
                  const struct cor_controller_opts *co)
{
    assert_int_equal(cor_manager_new(mo, &p->manager, NULL), 0);
    p->configmaps = cor_manager_informer(p->manager, &of_configmaps);
    p->secrets = cor_manager_informer(p->manager, &of_secrets);
    assert_non_null(p->configmaps);
    p->controller = cor_manager_add(p->manager, co);
    cor_controller_for(p->controller, p->configmaps, NULL);
    cor_controller_owns(p->controller, p->secrets, NULL);
}

void program_begin(struct program *p, struct world *w, struct cor_controller_opts co)
{
    struct cor_manager_opts mo;

    program_init(p, w);
    mo = manager_opts(p);
    co.size = sizeof(co);
    co.reconcile = run_as_told;
    co.arg = p;
    program_make(p, &mo, &co);
}

static void *program_main(void *arg)
{
    struct program *p = arg;
    struct cor_status why = {0};

    p->last_r = cor_manager_run(p->manager, &why);
    if (p->last_r < 0)
        on_log(p, cor_status_message(&why));
    cor_status_deinit(&why);
    return NULL;
}

/* On a thread of its own, so that the test can look at it. */
void program_run(struct program *p)
{
    assert_int_equal(pthread_create(&p->thread, NULL, program_main, p), 0);
}

void program_end(struct program *p, int r)
{
    cor_manager_stop(p->manager);
    pthread_join(p->thread, NULL);
    if (p->last_r != r)
        print_message("%s", p->log);
    assert_int_equal(p->last_r, r);
    assert_int_equal(p->nstopped, 1);
    assert_null(cor_manager_free(p->manager));
}

static int get(struct world *w, struct cor_resource resource, const char *name,
               struct cor_object **ret)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = resource,
                                    .ns = "default", .name = name};

    return cor_client_do(w->client, &req, ret, NULL);
}

struct sought {
    struct world *w;
    struct cor_resource resource;
    const char *name, *text; /* the object exists, with this text in it; NULL: it does not exist */
};

static bool is_found(void *arg)
{
    const struct sought *s = arg;
    struct cor_object *object = NULL;
    int r = get(s->w, s->resource, s->name, &object);
    bool found =
        s->text ? r == 0 && strstr(cor_object_json(object).p, s->text) : r == -COR_ENOTFOUND;

    cor_object_unref(object);
    return found;
}

void wait_for_secret(struct world *w, const char *name, const char *text)
{
    struct sought sought = {w, secrets, name, text};

    world_run(w, is_found, &sought);
}

void remove_object(struct world *w, struct cor_resource resource, const char *name)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_DELETE, .resource = resource,
                                    .ns = "default", .name = name};

    assert_int_equal(cor_client_do(w->client, &req, NULL, NULL), 0);
}

bool is_positive(void *arg)
{
    return atomic_load((atomic_int *)arg) > 0;
}

bool is_true(void *arg)
{
    return atomic_load((atomic_bool *)arg);
}

bool has_run_three_times(void *arg)
{
    return atomic_load((atomic_int *)arg) >= 3;
}

bool is_stopped(void *arg)
{
    return atomic_load(&((struct program *)arg)->nstopped) > 0;
}
