/* Prints the pods of a namespace, or of all: list_pods [NAMESPACE] */
#include <stdio.h>
#include <string.h>

#include <coracle.h>

#include "usage.h"

#define PAGE 500

static void print(struct cor_object *pod)
{
    struct cor_view status = cor_view_member(cor_object_view(pod), COR_STR("status"));
    struct cor_str phase =
        cor_view_text_or(cor_view_member(status, COR_STR("phase")), NULL, 0, "Unknown");

    printf("%.*s/%.*s %.*s\n", COR_STR_ARG(cor_object_namespace(pod)),
           COR_STR_ARG(cor_object_name(pod)), COR_STR_ARG(phase));
}

/* Page by page: a list of any size takes the memory of one page. */
static int list(struct cor_client *client, const char *ns, struct cor_status *why)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = {"", "v1", "pods"},
                              .ns = ns,    .limit = PAGE,         .timeout_ms = 30000};
    struct cor_object_list page = {0}, last;
    int r;

    do {
        last = page;
        req.continue_token = last.continue_token;
        r = cor_client_list(client, &req, &page, why);
        cor_object_list_deinit(&last);
        for (size_t i = 0; r == 0 && i < page.n; i++)
            print(page.items[i]);
    } while (r == 0 && page.continue_token[0]);
    if (r == 0)
        cor_object_list_deinit(&page);
    return r;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;
    struct cor_status why;
    int r;

    usage(argc, argv, 0, 1, "list_pods [NAMESPACE]\nPrints the pods of a namespace, or of all.");
    cor_status_init(&why);
    r = cor_client_config_load(NULL, NULL, &config, &why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &client, &why);
    if (r == 0)
        r = list(client, argc > 1 ? argv[1] : NULL, &why);
    if (r < 0)
        fprintf(stderr, "list_pods: %s\n", why.err ? cor_status_message(&why) : cor_err_text(r));

    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    return r < 0;
}
