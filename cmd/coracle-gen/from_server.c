/* Reads the OpenAPI v3 documents of a server.
 *
 * Flow: the client configuration is loaded (kubeconfig, then flags), /openapi/v3 tells which groups
 * and versions there are and where their documents are, and each document that was asked for is
 * read into the model as if it were a file. What fails is told with the URL; -COR_EINVAL means that
 * the message is written. */
#include "from_server.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "coracle/client.h"
#include "coracle/client_config.h"
#include "coracle/runtime.h"
#include "coracle/view.h"
#include "gen/from_openapi.h"
#include "gen/input_json.h"
#include "gen_limits.h"

#define INDEX "/openapi/v3"

struct source {
    struct cor_gen_model *model;
    const struct from_server_opts *opts;
    struct cor_gen_error *reterr;
    struct cor_client_config config;
    struct cor_runtime *runtime;
    struct cor_client *client;
};

static int tell(struct source *s, const char *fmt, ...) COR_PRINTF(2, 3);
static int tell(struct source *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->reterr->message, sizeof(s->reterr->message), fmt, ap);
    va_end(ap);
    return -COR_EINVAL;
}

static int connect_to_server(struct source *s)
{
    const struct cor_client_config_overrides overrides = {
        COR_CLIENT_CONFIG_OVERRIDES, .context = s->opts->context,
        .server = s->opts->server,   .token = s->opts->token,
        .ca_file = s->opts->ca_file, .insecure_skip_tls_verify = s->opts->insecure_skip_tls_verify,
    };
    const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &s->config,
                                         .user_agent = "coracle-gen"};
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r = cor_client_config_load_with(s->opts->kubeconfig, &overrides, &s->config, &why);

    if (r == 0)
        r = cor_runtime_new(NULL, &s->runtime);
    if (r == 0)
        r = cor_client_new(s->runtime, &opts, &s->client, &why);
    if (r < 0 && why.err != 0)
        return tell(s, "the configuration of a server was expected: %s", cor_status_message(&why));
    return r;
}

static int keep_body(void *arg, struct cor_str body)
{
    return cor_buf_add(arg, body.p, body.n);
}

/* The body of a path, and the path with the server before it, which names it in messages. */
static int get(struct source *s, const char *path, struct cor_buf *body, struct cor_str *ret_url)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_str server = cor_strz(s->config.server);
    int r;

    while (server.n > 0 && server.p[server.n - 1] == '/')
        server.n--;
    *ret_url = cor_gen_printf(s->model, "%.*s%s", COR_STR_ARG(server), path);
    if (ret_url->n == 0)
        return cor_gen_model_error(s->model);
    cor_buf_init(body, COR_GEN_INPUT_MAX);
    r = cor_client_get_path(s->client, path, GEN_SERVER_TIMEOUT_MS, keep_body, body, &why);
    if (r == -COR_ENOMEM || r == 0)
        return r;
    return tell(s, "%s: an OpenAPI v3 document was expected: %s", ret_url->p,
                why.err != 0 ? cor_status_message(&why) : cor_err_text(r));
}

/* Is a document of the index asked for? Its key is "api/v1" or "apis/apps/v1"; the others, such as
 * "version" and "apis/apps", describe no types. */
static bool is_wanted(struct cor_str key, const char *group)
{
    struct cor_str rest = key, root = cor_str_cut(&rest, '/'), of = {"", 0};

    if (cor_str_eqz(root, "apis"))
        of = rest.p ? cor_str_cut(&rest, '/') : rest;
    else if (!cor_str_eqz(root, "api"))
        return false;
    if (!rest.p || rest.n == 0)
        return false;
    if (!group)
        return true;
    /* "apps/v1" or "v1", then "apps". */
    return cor_str_eqz(cor_str_from(key, root.n + 1), group) || cor_str_eqz(of, group);
}

static int read_document(struct source *s, struct cor_str url)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {0}, path = {0};
    struct cor_gen_input input = {.prefix = s->opts->prefix, .folder = s->opts->folder};
    struct cor_str name;
    int r;

    cor_buf_init(&path, GEN_URL_BYTES_MAX);
    r = cor_buf_add(&path, url.p, url.n);
    if (r == 0)
        r = get(s, cor_buf_z(&path), &body, &name);
    if (r < 0)
        return r;
    input.file = name.p;
    input.text = cor_buf_str(&body);
    return cor_gen_from_openapi(s->model, &input, s->reterr);
}

static int read_index(struct source *s, const struct cor_buf *json, const char *url)
{
    struct cor_view paths = cor_view_member(cor_view(cor_buf_str(json)), COR_STR("paths"));
    struct cor_view_iter it = cor_view_iter(paths);
    bool is_found = false;
    int r = 0;

    if (cor_view_type(paths) != COR_JSON_OBJECT)
        return tell(s, "%s: paths: an object was expected", url);
    while (r == 0 && cor_view_next(&it)) {
        struct cor_str to =
            cor_view_text_or(cor_view_member(it.value, COR_STR("serverRelativeURL")), NULL, 0, "");

        if (!is_wanted(it.key, s->opts->group))
            continue;
        is_found = true;
        if (to.n == 0)
            return tell(s, "%s: paths.%.*s.serverRelativeURL: a text was expected", url,
                        COR_STR_ARG(it.key));
        r = read_document(s, to);
    }
    if (r == 0 && !is_found)
        return tell(s, "%s: paths: %s was expected, but the server does not have it", url,
                    s->opts->group ? s->opts->group : "a group and version");
    return r;
}

int from_server(struct cor_gen_model *model, const struct from_server_opts *opts,
                struct cor_gen_error *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {0}, json = {0};
    struct source s = {.model = model, .opts = opts, .reterr = reterr};
    struct cor_str url;
    int r = connect_to_server(&s);

    cor_buf_init(&json, COR_GEN_INPUT_MAX);
    if (r == 0)
        r = get(&s, INDEX, &body, &url);
    if (r == 0)
        r = cor_gen_input_json(url.p, cor_buf_str(&body), &json, reterr);
    if (r == 0)
        r = read_index(&s, &json, url.p);
    cor_client_free(s.client);
    cor_runtime_free(s.runtime);
    cor_client_config_deinit(&s.config);
    return r;
}
