/* The library's own part among the clients of appliers.py: applier apply KUBECONFIG NAMESPACE N.
 * Applies a label more, then what it extracts of the answer, without that label and with replicas,
 * by force where another manager owns them. What it extracts at the end is what it has applied. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coracle.h>

#define MANAGER "libcoracle"
#define SPEC                                                                                       \
    "\"selector\":{\"matchLabels\":{\"app\":\"shared\"}},"                                         \
    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"shared\"}},"                                \
    "\"spec\":{\"containers\":[{\"image\":\"registry.example/c:1\",\"name\":\"" MANAGER "\"}]}}"

struct applier {
    struct cor_client *client;
    const char *ns;
    int64_t replicas;
    struct cor_status why;
};

static int set_all(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    cor_builder_set_label(b, MANAGER, COR_STR("1"));
    cor_builder_set_label(b, "extra", COR_STR(MANAGER));
    return cor_builder_set_json(b, "spec", COR_STR("{" SPEC "}"));
}

/* Changes what was extracted. */
static int set_replicas(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    const struct applier *a = arg;

    cor_builder_remove_label(b, "extra");
    return cor_builder_set_int(b, "spec.replicas", a->replicas);
}

static int apply(struct applier *a, cor_mutate_fn mutate, struct cor_object *begin, bool force,
                 struct cor_object **ret_object)
{
    const struct cor_apply apply = {COR_APPLY,
                                    .how = COR_APPLY_FIELDS,
                                    .resource = {"apps", "v1", "deployments"},
                                    .kind = "Deployment",
                                    .ns = a->ns,
                                    .name = "shared",
                                    .field_manager = MANAGER,
                                    .force = force,
                                    .mutate = mutate,
                                    .arg = a,
                                    .object = begin};

    return cor_client_apply(a->client, &apply, NULL, ret_object, &a->why);
}

/* Applies with replicas; prints each conflict. */
static int apply_replicas(struct applier *a, struct cor_object *begin,
                          struct cor_object **ret_object)
{
    struct cor_field_conflict conflict;
    int r = apply(a, set_replicas, begin, false, ret_object);

    if (r == 0 || !cor_status_is_field_conflict(&a->why))
        return r;
    for (size_t i = 0; cor_status_field_conflict(&a->why, i, &conflict); i++)
        printf("conflict %s\n", conflict.field);
    return apply(a, set_replicas, begin, true, ret_object);
}

/* Extracts what this manager has applied to `object`, which is taken. */
static int extract(struct applier *a, struct cor_object *take_object, struct cor_object **ret_mine)
{
    int r = cor_object_extract(take_object, MANAGER, NULL, ret_mine, &a->why);

    cor_object_unref(take_object);
    return r;
}

static int check(const struct applier *a, const struct cor_object *mine)
{
    char wanted[1024];

    snprintf(
        wanted, sizeof(wanted),
        "{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"labels\":{\"" MANAGER
        "\":\"1\"},\"name\":\"shared\",\"namespace\":\"%s\"},\"spec\":{\"replicas\":%" PRId64
        "," SPEC "}}",
        a->ns, a->replicas);
    if (strcmp(cor_object_json(mine).p, wanted) == 0)
        return 0;
    fprintf(stderr, "extracted: %s\n", cor_object_json(mine).p);
    return -COR_EINVAL;
}

static int run(struct applier *a)
{
    struct cor_object *object = NULL, *mine = NULL;
    int r = apply(a, set_all, NULL, false, &object);

    if (r == 0)
        r = extract(a, object, &mine);
    if (r == 0)
        r = apply_replicas(a, mine, &object);
    cor_object_unref(mine);
    if (r < 0)
        return r;
    mine = NULL;
    r = extract(a, object, &mine);
    if (r == 0)
        r = check(a, mine);
    cor_object_unref(mine);
    if (r == 0)
        printf("applied %" PRId64 "\n", a->replicas);
    return r;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config, .timeout_ms = 60000};
    struct cor_runtime *runtime = NULL;
    struct applier a = {0};
    int r;

    if (argc != 5 || strcmp(argv[1], "apply") != 0)
        return fprintf(stderr, "usage: applier apply KUBECONFIG NAMESPACE N\n"), 2;
    a.ns = argv[3];
    a.replicas = strtol(argv[4], NULL, 10);
    r = cor_client_config_load(argv[2], NULL, &config, &a.why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &a.client, &a.why);
    if (r == 0)
        r = run(&a);
    if (r < 0)
        fprintf(stderr, "applier: %s\n", a.why.err ? cor_status_message(&a.why) : cor_err_text(r));
    cor_client_free(a.client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&a.why);
    return r < 0;
}
