/* Creates, reads, changes, selects, applies and deletes a few ConfigMaps in a namespace: crud
 * NAMESPACE. The change shows what a writer does about conflicts: read again, change again, write
 * again. Server-side apply shows who owns a field. */
#include <stdio.h>

#include <coracle.h>

#include "usage.h"

#define TRIES_MAX 5

static const struct cor_resource configmaps = {"", "v1", "configmaps"};

struct program {
    struct cor_client *client;
    const char *ns;
    struct cor_status why;
};

static int create(struct program *p, const char *name, const char *color)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = configmaps,
                              .ns = p->ns};
    struct cor_builder *b;
    int r = cor_builder_new(NULL, &b);

    if (r < 0)
        return r;
    cor_builder_set_text(b, "apiVersion", COR_STR("v1"));
    cor_builder_set_text(b, "kind", COR_STR("ConfigMap"));
    cor_builder_set_text(b, "metadata.name", cor_strz(name));
    cor_builder_set_label(b, "example.com/color", cor_strz(color));
    cor_builder_set_text(b, "data.count", COR_STR("0"));
    r = cor_builder_finish(b, &req.object, &p->why);
    cor_builder_free(b);
    if (r == 0)
        r = cor_client_do(p->client, &req, NULL, &p->why);
    cor_object_unref(req.object);
    return r;
}

static int get(struct program *p, const char *name, struct cor_object **ret_object)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = p->ns, .name = name};

    return cor_client_do(p->client, &req, ret_object, &p->why);
}

/* Another writer, at a bad moment. */
static int interfere(struct program *p, const char *name)
{
    const struct cor_request req = {COR_REQUEST,
                                    .verb = COR_VERB_PATCH,
                                    .resource = configmaps,
                                    .ns = p->ns,
                                    .name = name,
                                    .patch_type = COR_PATCH_MERGE,
                                    .patch = COR_STR("{\"data\":{\"other\":\"was here\"}}")};

    return cor_client_do(p->client, &req, NULL, &p->why);
}

/* The object that was read keeps its resourceVersion: the server refuses the update when another
 * writer was faster. */
static int write_count(struct program *p, const struct cor_object *current)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_UPDATE, .resource = configmaps,
                              .ns = p->ns};
    struct cor_builder *b;
    int r = cor_builder_new(current, &b);

    if (r < 0)
        return r;
    cor_builder_set_text(b, "data.count", COR_STR("1"));
    r = cor_builder_finish(b, &req.object, &p->why);
    cor_builder_free(b);
    if (r == 0)
        r = cor_client_do(p->client, &req, NULL, &p->why);
    cor_object_unref(req.object);
    return r;
}

static int update(struct program *p, const char *name)
{
    struct cor_object *current;
    int r = -COR_ECONFLICT;

    for (int i = 0; r == -COR_ECONFLICT && i < TRIES_MAX; i++) {
        r = get(p, name, &current);
        if (r == 0 && i == 0)
            r = interfere(p, name);
        if (r < 0)
            return r;
        r = write_count(p, current);
        cor_object_unref(current);
        printf("try %d: %s\n", i + 1, r == 0 ? "written" : cor_status_message(&p->why));
    }
    return r;
}

static int select_red(struct program *p)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                    .ns = p->ns, .label_selector = "example.com/color in (red)"};
    struct cor_object_list list;
    int r = cor_client_list(p->client, &req, &list, &p->why);

    if (r < 0)
        return r;
    for (size_t i = 0; i < list.n; i++) {
        struct cor_view data = cor_view_member(cor_object_view(list.items[i]), COR_STR("data"));
        struct cor_str count =
            cor_view_text_or(cor_view_member(data, COR_STR("count")), NULL, 0, "?");

        printf("red: %.*s %.*s\n", COR_STR_ARG(cor_object_name(list.items[i])), COR_STR_ARG(count));
    }
    cor_object_list_deinit(&list);
    return 0;
}

/* What an applier wants: `arg` is the text of data.size. */
static int set_size(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    return cor_builder_set_text(b, "data.size", cor_strz(arg));
}

/* Server-side apply: two programs want the same field, and the second takes it only by force. */
static int apply_size(struct program *p, const char *manager, const char *size)
{
    struct cor_apply apply = {
        COR_APPLY,          .how = COR_APPLY_FIELDS, .resource = configmaps,   .kind = "ConfigMap",
        .ns = p->ns,        .name = "one",           .field_manager = manager, .mutate = set_size,
        .arg = (char *)size};
    enum cor_apply_result result;
    struct cor_field_conflict conflict;
    int r = cor_client_apply(p->client, &apply, &result, NULL, &p->why);

    if (r < 0 && cor_status_is_field_conflict(&p->why)) {
        for (size_t i = 0; cor_status_field_conflict(&p->why, i, &conflict); i++)
            printf("%s: %s belongs to %s\n", manager, conflict.field, conflict.manager);
        apply.force = true;
        r = cor_client_apply(p->client, &apply, &result, NULL, &p->why);
    }
    if (r == 0)
        printf("%s: %s\n", manager, cor_apply_result_name(result));
    return r;
}

static int remove_all(struct program *p)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_DELETE_COLLECTION,
                                    .resource = configmaps, .ns = p->ns,
                                    .label_selector = "example.com/color"};
    struct cor_object *object;
    int r = cor_client_do(p->client, &req, NULL, &p->why);

    if (r == 0 && get(p, "one", &object) == -COR_ENOTFOUND)
        printf("gone: %s\n", cor_status_message(&p->why));
    return r;
}

static int run(struct program *p)
{
    int r = create(p, "one", "red");

    if (r == 0)
        r = create(p, "two", "blue");
    if (r == 0 && create(p, "one", "red") == -COR_EEXIST)
        printf("again: %s\n", cor_status_message(&p->why));
    if (r == 0)
        r = update(p, "one");
    if (r == 0)
        r = select_red(p);
    if (r == 0)
        r = apply_size(p, "tailor", "small");
    if (r == 0)
        r = apply_size(p, "giant", "large");
    if (r == 0)
        r = remove_all(p);
    return r;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config, .timeout_ms = 30000};
    struct cor_runtime *runtime = NULL;
    struct program p = {.ns = argc > 1 ? argv[1] : "default"};
    int r;

    usage(
        argc, argv, 0, 1,
        "crud [NAMESPACE]\nCreates, reads, changes, selects, applies and deletes a few ConfigMaps.");
    cor_status_init(&p.why);
    r = cor_client_config_load(NULL, NULL, &config, &p.why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &p.client, &p.why);
    if (r == 0)
        r = run(&p);
    if (r < 0)
        fprintf(stderr, "crud: %s\n", p.why.err ? cor_status_message(&p.why) : cor_err_text(r));

    cor_client_free(p.client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&p.why);
    return r < 0;
}
