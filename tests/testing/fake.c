/* TAP: libcoracle-testing as a test of somebody else's uses it: clients and informers run on the
 * fake unchanged, actions are recorded, reactors answer. The contract is section 5.3 of
 * controllers.md; where the store behind the fake is better than client-go's tracker, the test says
 * so. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

/* Contract controllers 5.3.2, 5.3.6: verb, resource, subresource, namespace, name and body of every
 * call, in order; and resourceVersions and conflicts, which client-go's tracker does not have. */
static void records_actions(void)
{
    struct cor_core_v1_config_map_object map = config_map("a", "red"), made;
    struct cor_testing_action action;

    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, &made, &fx.why) == 0);
    CHECK(cor_object_resource_version(made.object).n > 0 && cor_object_uid(made.object).n > 0);
    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, NULL, &fx.why) ==
          -COR_EEXIST);
    CHECK(cor_core_v1_configmaps_update(fx.client, "default", made, NULL, NULL, &fx.why) == 0);
    CHECK(cor_core_v1_configmaps_patch(fx.client, "default", "a", COR_PATCH_MERGE,
                                       COR_STR("{\"data\":{\"color\":\"blue\"}}"), NULL, NULL,
                                       &fx.why) == 0);
    CHECK(cor_core_v1_configmaps_update(fx.client, "default", made, NULL, NULL, &fx.why) ==
          -COR_ECONFLICT);
    CHECK(cor_core_v1_configmaps_delete(fx.client, "default", "none", NULL, &fx.why) ==
          -COR_ENOTFOUND);
    CHECK(cor_testing_actions(fx.fake) == 6);
    CHECK(cor_testing_action(fx.fake, 3, &action));
    CHECK(cor_str_eqz(action.verb, "patch") && cor_str_eqz(action.resource, "configmaps"));
    CHECK(cor_str_eqz(action.ns, "default") && cor_str_eqz(action.name, "a"));
    CHECK(cor_str_eqz(action.group, "") && cor_str_eqz(action.version, "v1"));
    CHECK(cor_str_eqz(action.content_type, "application/merge-patch+json"));
    CHECK(cor_str_eqz(action.body, "{\"data\":{\"color\":\"blue\"}}"));
    CHECK(!cor_testing_action(fx.fake, 6, &action));
    CHECK(cor_testing_count(fx.fake, "update", "configmaps") == 2);
    CHECK(cor_testing_count(fx.fake, "*", "*") == 6);
    cor_testing_clear_actions(fx.fake);
    CHECK(cor_testing_actions(fx.fake) == 0);
    cor_core_v1_config_map_object_unref(&map);
    cor_core_v1_config_map_object_unref(&made);
}

static int refuse_twice(void *arg, const struct cor_testing_action *action,
                        struct cor_testing_answer *answer)
{
    _Atomic int *left = arg;

    (void)action;
    answer->message = COR_STR("another writer was faster");
    return (*left)-- > 0 ? -COR_ECONFLICT : 0;
}

static int answer_green(void *arg, const struct cor_testing_action *action,
                        struct cor_testing_answer *answer)
{
    (void)arg;
    if (!cor_str_eqz(action->name, "green"))
        return 0;
    answer->json = COR_STR("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
                           "\"green\"},\"data\":{\"color\":\"green\"}}");
    return 1;
}

static int fail_always(void *arg, const struct cor_testing_action *action,
                       struct cor_testing_answer *answer)
{
    (void)arg;
    (void)action;
    (void)answer;
    return -COR_EFORBIDDEN;
}

/* Contract controllers 5.3.3: the last reactor is asked first; the first that answers decides; a
 * resource's name is that of its subresources, too. */
static void reacts(void)
{
    _Atomic int left = 2;
    struct cor_core_v1_config_map_object map = config_map("a", "red"), got;

    CHECK(cor_testing_prepend_reactor(fx.fake, "create", "configmaps", refuse_twice, &left) == 0);
    CHECK(cor_testing_prepend_reactor(fx.fake, "get", "configmaps", answer_green, NULL) == 0);
    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, NULL, &fx.why) ==
          -COR_ECONFLICT);
    CHECK(strcmp(cor_status_message(&fx.why), "another writer was faster") == 0);
    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, NULL, &fx.why) ==
          -COR_ECONFLICT);
    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, NULL, &fx.why) == 0);
    CHECK(cor_core_v1_configmaps_get(fx.client, "default", "green", NULL, &got, &fx.why) == 0);
    CHECK(is_color(got, "green"));
    cor_core_v1_config_map_object_unref(&got);
    CHECK(cor_core_v1_configmaps_get(fx.client, "default", "a", NULL, &got, &fx.why) == 0);
    CHECK(is_color(got, "red"));
    cor_core_v1_config_map_object_unref(&got);
    CHECK(cor_testing_prepend_reactor(fx.fake, "*", "deployments/status", fail_always, NULL) == 0);
    CHECK(cor_apps_v1_deployments_get_status(fx.client, "default", "d", NULL, NULL, &fx.why) ==
          -COR_EFORBIDDEN);
    CHECK(cor_apps_v1_deployments_get(fx.client, "default", "d", NULL, NULL, &fx.why) ==
          -COR_ENOTFOUND);
    CHECK(cor_testing_prepend_reactor(fx.fake, "get", "deployments", fail_always, NULL) == 0);
    CHECK(cor_apps_v1_deployments_get_scale(fx.client, "default", "d", NULL, NULL, &fx.why) ==
          -COR_EFORBIDDEN);
    CHECK(cor_testing_count(fx.fake, "get", "deployments") == 3);
    CHECK(cor_testing_count(fx.fake, "get", "deployments/status") == 1);
    cor_core_v1_config_map_object_unref(&map);
}

/* What a handler has seen; the lock guards it. */
struct seen {
    int added, updated, deleted;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void count(int *number)
{
    pthread_mutex_lock(&lock);
    ++*number;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void on_add(void *arg, struct cor_core_v1_config_map map, bool in_initial_list)
{
    (void)map;
    (void)in_initial_list;
    count(&((struct seen *)arg)->added);
}

static void on_update(void *arg, struct cor_core_v1_config_map old,
                      struct cor_core_v1_config_map map)
{
    (void)old;
    (void)map;
    count(&((struct seen *)arg)->updated);
}

static void on_delete(void *arg, struct cor_str key, struct cor_core_v1_config_map map,
                      bool final_state_unknown)
{
    (void)key;
    (void)map;
    (void)final_state_unknown;
    count(&((struct seen *)arg)->deleted);
}

static void wait_for_version(struct cor_core_v1_config_map_informer informer,
                             struct cor_core_v1_config_map_object *take_object)
{
    CHECK(cor_informer_wait_for_version(
              informer.informer, cor_object_resource_version(take_object->object), WAIT_MS) == 0);
    cor_core_v1_config_map_object_unref(take_object);
}

/* Contract controllers 5.3.9, without its race: an object that is written between list and watch
 * is not missed. Informers try a list again that a reactor refused. */
static void runs_informers(void)
{
    _Atomic int left = 1;
    struct seen seen = {0};
    struct cor_core_v1_config_map_handler handler = {
        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .arg = &seen};
    struct cor_core_v1_config_map_object map = config_map("a", "red"), made;
    struct cor_core_v1_config_map_informer informer;
    struct cor_informers *set = NULL;

    CHECK(cor_testing_add(fx.fake, cor_object_json(map.object), &fx.wrong) == 0);
    CHECK(cor_testing_prepend_reactor(fx.fake, "list", "configmaps", refuse_twice, &left) == 0);
    CHECK(cor_informers_new(fx.client, NULL, &set) == 0);
    CHECK(cor_core_v1_configmaps_informer(set, "default", NULL, &informer, &fx.why) == 0);
    CHECK(cor_core_v1_config_map_informer_add_handler(informer, &handler, NULL, NULL) == 0);
    cor_informers_start(set);
    CHECK(cor_informers_wait_for_sync(set, WAIT_MS, &fx.why) == 0);
    CHECK(cor_testing_wait_for_actions(fx.fake, "watch", "configmaps", 1, WAIT_MS) == 0);
    CHECK(cor_testing_count(fx.fake, "list", "configmaps") == 2);
    cor_core_v1_config_map_object_unref(&map);
    map = config_map("b", "blue");
    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, &made, &fx.why) == 0);
    wait_for_version(informer, &made);
    CHECK(cor_core_v1_configmaps_patch(fx.client, "default", "b", COR_PATCH_MERGE,
                                       COR_STR("{\"data\":{\"color\":\"green\"}}"), NULL, &made,
                                       &fx.why) == 0);
    wait_for_version(informer, &made);
    CHECK(cor_core_v1_config_map_informer_get(informer, COR_STR("default"), COR_STR("b"), &made,
                                              &fx.why) == 0);
    CHECK(is_color(made, "green"));
    cor_core_v1_config_map_object_unref(&made);
    CHECK(cor_core_v1_configmaps_delete(fx.client, "default", "b", NULL, &fx.why) == 0);
    CHECK(cor_testing_wait_for_actions(fx.fake, "delete", "pods", 1, 0) == -COR_ETIMEOUT);
    pthread_mutex_lock(&lock);
    while (seen.deleted == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    CHECK(seen.added == 2 && seen.updated == 1 && seen.deleted == 1);
    cor_informers_free(set);
    cor_core_v1_config_map_object_unref(&map);
}

/* A fake that goes away ends what clients wait for. */
static void ends_with_a_watch_open(void)
{
    struct cor_core_v1_config_map_informer informer;
    struct cor_informers *set = NULL;

    CHECK(cor_informers_new(fx.client, NULL, &set) == 0);
    CHECK(cor_core_v1_configmaps_informer(set, NULL, NULL, &informer, &fx.why) == 0);
    cor_informers_start(set);
    CHECK(cor_informers_wait_for_sync(set, WAIT_MS, &fx.why) == 0);
    fx.fake = cor_testing_free(fx.fake);
    cor_informers_free(set);
}

static int answer_watch(void *arg, const struct cor_testing_action *action,
                        struct cor_testing_answer *answer)
{
    (void)action;
    answer->json = *(const struct cor_str *)arg;
    return 1;
}

/* Events of a watch, and how it ended. */
struct watched {
    size_t nevents;
    int r;
    atomic_bool is_done;
};

static int on_event(void *arg, struct cor_core_v1_config_map map,
                    const struct cor_watch_event *event)
{
    ((struct watched *)arg)->nevents++;
    (void)map;
    (void)event;
    return 0;
}

static void on_watch_done(void *arg, const struct cor_response *response)
{
    struct watched *watched = arg;

    watched->r = response->error ? response->error->err : 0;
    atomic_store(&watched->is_done, true);
}

static void watch_once(const struct cor_str *answer, struct watched *ret)
{
    struct cor_core_v1_config_map_watch watch = {on_event, on_watch_done, ret};
    struct cor_client_call *call;

    ret->nevents = 0;
    atomic_init(&ret->is_done, false);
    CHECK(cor_testing_prepend_reactor(fx.fake, "watch", "configmaps", answer_watch,
                                      (void *)(uintptr_t)answer) == 0);
    CHECK(cor_core_v1_configmaps_watch(fx.client, "default", NULL, &watch, &call) == 0);
    for (int i = 0; i < WAIT_MS && !atomic_load(&ret->is_done); i++)
        (void)poll(NULL, 0, 1);
    CHECK(atomic_load(&ret->is_done));
    cor_client_call_unref(call);
}

/* Contract controllers 5.3.3: a reactor answers a watch with events; what is none is told. */
static void answers_watches_with_events(void)
{
    static const struct cor_str plain =
        COR_STR_INIT("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}");
    static const struct cor_str events = COR_STR_INIT(
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
        "\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}}\n{\"type\":\"DELETED\","
        "\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
        "\"resourceVersion\":\"8\"}}}\n");
    struct watched watched;

    watch_once(&plain, &watched);
    CHECK(watched.nevents == 0 && watched.r < 0);
    watch_once(&events, &watched);
    CHECK(watched.nevents == 2 && watched.r == 0);
}

/* As large as an object of a server may be. */
static void answers_watches_with_large_events(void)
{
    static const char head[] = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\","
                               "\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
                               "\"resourceVersion\":\"7\"},\"data\":{\"a\":\"",
                      tail[] = "\"}}}\n";
    const size_t n = 3u << 20;
    char *text = malloc(sizeof(head) + n + sizeof(tail));
    struct watched watched;
    struct cor_str event;

    CHECK(text);
    memcpy(text, head, sizeof(head));
    memset(text + strlen(head), 'x', n);
    memcpy(text + strlen(head) + n, tail, sizeof(tail));
    event = cor_strz(text);
    watch_once(&event, &watched);
    CHECK(watched.nevents == 1 && watched.r == 0);
    free(text);
}

/* The request of a typed function, from the first `n` bytes of the options; nothing lies behind
 * them. */
static struct cor_request typed_request(const void *opts, size_t n)
{
    struct cor_request made, none = {COR_REQUEST};
    char *alone = malloc(n);

    CHECK(alone);
    memcpy(alone, opts, n);
    memcpy(alone, &n, sizeof(n));
    made =
        cor_typed_request((const void *)alone, COR_VERB_GET, none.resource, "default", "a", NULL);
    free(alone);
    return made;
}

/* Options of a program that was compiled with an older header end before the new ones; those of a
 * newer one have more at their end, which must be empty. */
static void takes_options_by_their_size(void)
{
    struct {
        struct cor_request req;
        char more[16];
    } opts = {.req = {COR_REQUEST, .field_manager = "me"}};
    struct cor_request made;

    made = typed_request(&opts, offsetof(struct cor_request, field_manager));
    CHECK(made.field_manager == NULL && made.size == sizeof(made));
    made = typed_request(&opts, sizeof(opts.req));
    CHECK(strcmp(made.field_manager, "me") == 0 && made.size == sizeof(made));
    made = typed_request(&opts, sizeof(opts));
    CHECK(strcmp(made.field_manager, "me") == 0 && made.size == sizeof(made));
    opts.more[15] = 1;
    made = typed_request(&opts, sizeof(opts));
    CHECK(cor_client_do(fx.client, &made, NULL, &fx.why) == -COR_EINVAL);
}

static void on_handler_removed(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
}

/* The functions of a typed handler are set whatever the options of the program have room for. */
static void takes_options_of_handlers_by_their_size(void)
{
    const size_t size = offsetof(struct cor_handler_opts, resync_ms);
    const struct cor_handler_opts opts = {.size = size, .name = "named"};
    struct cor_core_v1_config_map_handler handler = {.on_removed = on_handler_removed};
    void *older = malloc(size); /* the options of an older program; nothing lies behind them */
    struct cor_core_v1_config_map_informer informer;
    struct cor_informers *set = NULL;
    struct cor_handler *added;
    atomic_bool is_removed;

    CHECK(older);
    memcpy(older, &opts, size);
    atomic_init(&is_removed, false);
    handler.arg = &is_removed;
    CHECK(cor_informers_new(fx.client, NULL, &set) == 0);
    CHECK(cor_core_v1_configmaps_informer(set, "default", NULL, &informer, &fx.why) == 0);
    CHECK(cor_core_v1_config_map_informer_add_handler(informer, &handler, older, &added) == 0);
    cor_informers_start(set);
    cor_handler_remove(added);
    for (int i = 0; i < WAIT_MS && !atomic_load(&is_removed); i++)
        (void)poll(NULL, 0, 1);
    CHECK(atomic_load(&is_removed));
    cor_informers_free(set);
    free(older);
}

/* Options that do not begin with their size are refused: a dry run must not become a deletion. */
static void refuses_options_without_a_size(void)
{
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 1u << 20, SIZE_MAX};
    struct cor_core_v1_config_map_object map = config_map("a", "red"), kept;
    struct cor_core_v1_config_map_informer informer;
    struct cor_request opts = {.dry_run = true};
    struct cor_informer_opts more = {.size = 0};
    struct cor_informers *set;

    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, NULL, &fx.why) == 0);
    CHECK(cor_informers_new(fx.client, NULL, &set) == 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        opts.size = more.size = sizes[i];
        CHECK(cor_core_v1_configmaps_delete(fx.client, "default", "a", &opts, &fx.why) ==
              -COR_EINVAL);
        CHECK(cor_core_v1_configmaps_informer(set, "default", &more, &informer, &fx.why) ==
              -COR_EINVAL);
        CHECK(strstr(cor_status_message(&fx.why), "size"));
    }
    cor_informers_free(set);
    CHECK(cor_core_v1_configmaps_get(fx.client, "default", "a", NULL, &kept, &fx.why) == 0);
    cor_core_v1_config_map_object_unref(&kept);
    cor_core_v1_config_map_object_unref(&map);
}

int main(void)
{
    static const struct test_case cases[] = {
        {"records actions", records_actions},
        {"reacts", reacts},
        {"runs informers", runs_informers},
        {"ends with a watch open", ends_with_a_watch_open},
        {"answers watches with events", answers_watches_with_events},
        {"answers watches with large events", answers_watches_with_large_events},
        {"takes options by their size", takes_options_by_their_size},
        {"takes options of handlers by their size", takes_options_of_handlers_by_their_size},
        {"refuses options without a size", refuses_options_without_a_size},
    };

    return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
