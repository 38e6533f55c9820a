/* clang-format off */
/* From a context to a client's configuration, as clientcmd does:
 *
 *   context ──► its cluster: server, CA or insecure, proxy, extension for plugins
 *           ──► its user: certificate, token, password or exec plugin, impersonation
 *           ──► checks: what contradicts itself, what is missing, files that cannot be read
 *
 * Flags are applied where their field is read, so that a file's field that a flag replaces is not
 * checked. The stanza `nothing` takes the place of one that no file has, when flags say all that is
 * needed. A server that is neither https nor a local socket gets no credentials.
 * The first failure ends it: its message names file, line and field; the result is not written.
 * Thread: one at a time. */
/* clang-format on */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "kit/config/config_overrides.h"
#include "kit/config/kubeconfig_int.h"
#include "json/text/scan.h"

/* The stanza of a cluster or user that no file has. */
static const struct cor_stanza nothing = {.name = (char *)"",
                                          .path = (char *)"",
                                          .folder = (char *)"",
                                          .where = (char *)"overrides",
                                          .json = {"{}", 2}};

static const struct cor_stanza *stanza_peek(const struct cor_kubeconfig *kc,
                                            enum cor_stanza_kind kind, const char *name)
{
    return cor_map_peek(&kc->stanzas[kind], cor_strz(name));
}

/* Reads the file that a field names; the message names file and field. */
static int stanza_load_file(const struct cor_stanza *s, const char *field, const char *path,
                            char **ret, struct cor_status *reterr)
{
    int r = cor_client_config_read(path, ret);

    if (r == -COR_ENOMEM)
        return cor_status_no_memory(reterr);
    return r < 0 ? cor_stanza_mistake(s, field, reterr, "unable to read %s: %s", path,
                                      cor_err_text(r))
                 : 0;
}

static int read_ca(const struct cor_stanza *s, struct cor_client_config *c,
                   struct cor_status *reterr)
{
    COR_CLEANUP(cor_freep) char *path = NULL;
    int r = cor_stanza_data(s, "certificate-authority-data", &c->ca_pem, reterr);

    if (r == 0)
        r = cor_stanza_path(s, "certificate-authority", &path, reterr);
    if (r < 0 || !path)
        return r;
    if (c->ca_pem)
        return cor_stanza_mistake(s, "certificate-authority", reterr,
                                  "certificate-authority-data and certificate-authority are both "
                                  "specified. certificate-authority-data will override");
    return stanza_load_file(s, "certificate-authority", path, &c->ca_pem, reterr);
}

/* Flags that set the CA or the insecure flag replace both of the file. */
static int read_trust(const struct cor_stanza *s, const struct cor_client_config_overrides *o,
                      struct cor_client_config *c, struct cor_status *reterr)
{
    int r;

    if (cor_overrides_have_trust(o))
        return cor_override_trust(c, o, reterr);
    r = cor_stanza_bool(s, "insecure-skip-tls-verify", &c->insecure_skip_tls_verify, reterr);
    return r < 0 ? r : read_ca(s, c, reterr);
}

static bool has_scheme(const char *url, const char *const schemes[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

/* A mistake in an override is reported without the file. */
static int check_cluster(const struct cor_stanza *s, const struct cor_client_config_overrides *o,
                         const struct cor_client_config *c, struct cor_status *reterr)
{
    static const char *const servers[] = {"http://", "https://", "unix://"};
    static const char *const proxies[] = {"http://", "https://", "socks5://"};

    if (!cor_config_has(c->server))
        return cor_stanza_mistake(s, "server", reterr, "no server found");
    if (strstr(c->server, "://") && !has_scheme(c->server, servers, COR_ARRAY_LEN(servers)))
        return cor_stanza_mistake(cor_config_has(o->server) ? &nothing : s, "server", reterr,
                                  "http, https or unix is expected");
    if (cor_config_has(c->proxy_url) && !has_scheme(c->proxy_url, proxies, COR_ARRAY_LEN(proxies)))
        return cor_config_has(o->proxy_url)
                   ? cor_stanza_mistake(&nothing, "proxy_url", reterr,
                                        "http, https or socks5 is expected")
                   : cor_stanza_mistake(s, "proxy-url", reterr,
                                        "http, https or socks5 is expected");
    if (c->insecure_skip_tls_verify && c->ca_pem)
        return cor_stanza_mistake(s, "insecure-skip-tls-verify", reterr,
                                  "specifying a root certificates file with the insecure flag is "
                                  "not allowed");
    return 0;
}

/* Cuts query and fragment off a server's URL; a server without a path is left as it is. */
static void clean_server(char *server)
{
    char *host = strstr(server, "://"), *path = host ? strchr(host + 3, '/') : NULL;

    if (path && path[strcspn(path, "?#")] && strcspn(path, "?#") > 1)
        path[strcspn(path, "?#")] = '\0';
}

static int read_server(const struct cor_stanza *s, const struct cor_client_config_overrides *o,
                       struct cor_client_config *c, struct cor_status *reterr)
{
    int r = cor_stanza_string(s, "server", &c->server, reterr);

    if (r == 0)
        r = cor_stanza_string(s, "tls-server-name", &c->tls_server_name, reterr);
    if (r == 0 && cor_config_has(o->server))
        c->tls_server_name = cor_free(c->tls_server_name);
    if (r == 0)
        r = cor_override_text(&c->server, o->server, reterr);
    return r < 0 ? r : cor_override_text(&c->tls_server_name, o->tls_server_name, reterr);
}

/* The extension of the cluster that exec plugins get, unchanged. */
static int read_extension(const struct cor_stanza *s, struct cor_client_config *c,
                          struct cor_status *reterr)
{
    struct cor_str list = COR_STR(""), name, extension;
    struct cor_json_iter it;

    cor_json_get(s->json, COR_STR("extensions"), COR_JSON_ANY_ORDER, &list);
    it = cor_json_iter(list);
    while (cor_json_iter_elem(&it)) {
        struct cor_str item = cor_json_iter_value(&it);

        if (cor_json_get(item, COR_STR("name"), COR_JSON_ANY_ORDER, &name) < 0 ||
            !cor_str_eqz(name, "\"client.authentication.k8s.io/exec\"") ||
            cor_json_get(item, COR_STR("extension"), COR_JSON_ANY_ORDER, &extension) < 0)
            continue;
        c->exec.cluster_config = cor_strndup(extension.p, extension.n);
        return c->exec.cluster_config ? 0 : cor_status_no_memory(reterr);
    }
    return 0;
}

static int read_cluster(const struct cor_stanza *s, const struct cor_client_config_overrides *o,
                        struct cor_client_config *c, struct cor_status *reterr)
{
    int r = read_server(s, o, c, reterr);

    if (r == 0)
        r = read_extension(s, c, reterr);
    if (r == 0)
        r = cor_stanza_bool(s, "disable-compression", &c->disable_compression, reterr);
    if (r == 0)
        r = cor_stanza_string(s, "proxy-url", &c->proxy_url, reterr);
    if (r == 0)
        r = cor_override_text(&c->proxy_url, o->proxy_url, reterr);
    if (r == 0)
        r = read_trust(s, o, c, reterr);
    if (r == 0)
        r = check_cluster(s, o, c, reterr);
    if (r == 0)
        clean_server(c->server);
    return r;
}

static int read_strings(const struct cor_stanza *s, const char *field, struct cor_str list,
                        struct cor_strings *ret, struct cor_status *reterr)
{
    struct cor_json_iter it = cor_json_iter(list);
    size_t n = 0;

    if (list.n == 0 || cor_json_type(list) == COR_JSON_NULL)
        return 0;
    if (cor_json_type(list) != COR_JSON_ARRAY)
        return cor_stanza_mistake(s, field, reterr, "a list of strings is expected");
    while (cor_json_iter_elem(&it))
        n++;
    if (n > COR_STRINGS_MAX)
        return cor_stanza_mistake(s, field, reterr, "at most %d entries are expected",
                                  COR_STRINGS_MAX);
    ret->items = cor_calloc(n ? n : 1, sizeof(ret->items[0]));
    if (!ret->items)
        return cor_status_no_memory(reterr);
    it = cor_json_iter(list);
    while (cor_json_iter_elem(&it)) {
        int r = cor_stanza_text(cor_json_iter_value(&it), &ret->items[ret->n]);

        if (r < 0)
            return r == -COR_ENOMEM ? cor_status_no_memory(reterr)
                                    : cor_stanza_mistake(s, field, reterr, "a string is expected");
        ret->n++;
    }
    return 0;
}

static int add_pair(struct cor_string_pairs *pairs, char *take_key, char *take_value)
{
    struct cor_string_pair *items =
        take_key && take_value ? cor_realloc(pairs->items, (pairs->n + 1) * sizeof(pairs->items[0]))
                               : NULL;

    if (!items) {
        cor_free(take_key);
        cor_free_secret(take_value);
        return -COR_ENOMEM;
    }
    pairs->items = items;
    pairs->items[pairs->n++] = (struct cor_string_pair){take_key, take_value};
    return 0;
}

/* {name, value}; a value may be absent. 0, -COR_ENOMEM, -COR_EINVAL. */
static int read_variable(struct cor_str entry, struct cor_string_pairs *ret)
{
    struct cor_str name = COR_STR("\"\""), value = COR_STR("\"\"");
    char *key = NULL, *text = NULL;
    int r;

    if (cor_json_type(entry) != COR_JSON_OBJECT || ret->n == COR_STRINGS_MAX)
        return -COR_EINVAL;
    cor_json_get(entry, COR_STR("name"), COR_JSON_ANY_ORDER, &name);
    cor_json_get(entry, COR_STR("value"), COR_JSON_ANY_ORDER, &value);
    r = cor_stanza_text(name, &key);
    if (r == 0 && !key[0])
        r = -COR_EINVAL;
    if (r == 0)
        r = cor_stanza_text(value, &text);
    if (r < 0) {
        cor_free(key);
        return r;
    }
    return add_pair(ret, key, text);
}

static int read_env(const struct cor_stanza *s, struct cor_str list, struct cor_string_pairs *ret,
                    struct cor_status *reterr)
{
    struct cor_json_iter it = cor_json_iter(list);
    int r = 0;

    if (list.n == 0 || cor_json_type(list) == COR_JSON_NULL)
        return 0;
    if (cor_json_type(list) != COR_JSON_ARRAY)
        r = -COR_EINVAL;
    while (r == 0 && cor_json_iter_elem(&it))
        r = read_variable(cor_json_iter_value(&it), ret);
    if (r == -COR_ENOMEM)
        return cor_status_no_memory(reterr);
    return r < 0 ? cor_stanza_mistake(s, "exec.env", reterr,
                                      "a list of names and values, all strings, is expected")
                 : 0;
}

/* A command that contains a slash is a path relative to the file; any other is looked up in PATH.
 */
static int read_command(const struct cor_stanza *exec, struct cor_exec_config *ret,
                        struct cor_status *reterr)
{
    int r = cor_stanza_string(exec, "command", &ret->command, reterr);

    if (r == 0 && ret->command && strchr(ret->command, '/')) {
        ret->command = cor_free(ret->command);
        r = cor_stanza_path(exec, "command", &ret->command, reterr);
    }
    return r;
}

static int check_exec(const struct cor_stanza *exec, struct cor_exec_config *c,
                      struct cor_status *reterr)
{
    static const char v1beta1[] = "client.authentication.k8s.io/v1beta1";
    static const char v1[] = "client.authentication.k8s.io/v1";

    if (!cor_config_has(c->command))
        return cor_stanza_mistake(exec, "command", reterr, "command must be specified");
    if (!cor_config_has(c->api_version))
        return cor_stanza_mistake(exec, "apiVersion", reterr, "apiVersion must be specified");
    if (strcmp(c->api_version, v1) != 0 && strcmp(c->api_version, v1beta1) != 0)
        return cor_stanza_mistake(exec, "apiVersion", reterr, "%s or %s is expected", v1, v1beta1);
    if (!cor_config_has(c->interactive_mode) && strcmp(c->api_version, v1beta1) == 0) {
        cor_free(c->interactive_mode);
        c->interactive_mode = cor_strdup("IfAvailable");
        return c->interactive_mode ? 0 : cor_status_no_memory(reterr);
    }
    if (!cor_config_has(c->interactive_mode) || (strcmp(c->interactive_mode, "Never") != 0 &&
                                                 strcmp(c->interactive_mode, "IfAvailable") != 0 &&
                                                 strcmp(c->interactive_mode, "Always") != 0))
        return cor_stanza_mistake(exec, "interactiveMode", reterr,
                                  "Never, IfAvailable or Always is expected");
    return 0;
}

static int read_exec(const struct cor_stanza *s, struct cor_exec_config *ret,
                     struct cor_status *reterr)
{
    struct cor_stanza exec = *s;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf where;
    struct cor_str args = COR_STR(""), env = COR_STR(""), provider;
    int r;

    cor_buf_init(&where, 4096);
    if (cor_json_get(s->json, COR_STR("exec"), COR_JSON_ANY_ORDER, &exec.json) < 0 ||
        cor_json_type(exec.json) == COR_JSON_NULL)
        return 0;
    if (cor_json_type(exec.json) != COR_JSON_OBJECT)
        return cor_stanza_mistake(s, "exec", reterr, "an object is expected");
    if (cor_json_get(s->json, COR_STR("auth-provider"), COR_JSON_ANY_ORDER, &provider) == 0 &&
        cor_json_type(provider) != COR_JSON_NULL)
        return cor_stanza_mistake(s, "auth-provider", reterr,
                                  "authProvider cannot be provided in combination with an exec "
                                  "plugin");
    if (cor_buf_addf(&where, "%s.exec", s->where) < 0)
        return cor_status_no_memory(reterr);
    exec.where = where.p;
    cor_json_get(exec.json, COR_STR("args"), COR_JSON_ANY_ORDER, &args);
    cor_json_get(exec.json, COR_STR("env"), COR_JSON_ANY_ORDER, &env);
    r = read_command(&exec, ret, reterr);
    if (r == 0)
        r = cor_stanza_string(&exec, "apiVersion", &ret->api_version, reterr);
    if (r == 0)
        r = cor_stanza_string(&exec, "interactiveMode", &ret->interactive_mode, reterr);
    if (r == 0)
        r = cor_stanza_string(&exec, "installHint", &ret->install_hint, reterr);
    if (r == 0)
        r = cor_stanza_bool(&exec, "provideClusterInfo", &ret->provide_cluster_info, reterr);
    if (r == 0)
        r = read_strings(&exec, "args", args, &ret->args, reterr);
    if (r == 0)
        r = read_env(s, env, &ret->env, reterr);
    return r < 0 ? r : check_exec(&exec, ret, reterr);
}

/* {key: [value, …]} becomes a pair per value. */
static int read_extra(const struct cor_stanza *s, struct cor_client_config *c,
                      struct cor_status *reterr)
{
    struct cor_str extra = COR_STR(""), raw_key;
    struct cor_json_iter it;

    cor_json_get(s->json, COR_STR("as-user-extra"), COR_JSON_ANY_ORDER, &extra);
    if (extra.n > 0 && cor_json_type(extra) != COR_JSON_OBJECT &&
        cor_json_type(extra) != COR_JSON_NULL)
        return cor_stanza_mistake(s, "as-user-extra", reterr, "an object is expected");
    it = cor_json_iter(extra);
    while (cor_json_iter_member(&it, &raw_key)) {
        /* The key with its quotes is a value like any other. */
        struct cor_str key = cor_str(raw_key.p - 1, raw_key.n + 2);
        struct cor_strings values = {0};
        int r = read_strings(s, "as-user-extra", cor_json_iter_value(&it), &values, reterr);

        for (size_t i = 0; i < values.n; i++) {
            char *copy = NULL;

            if (r == 0 && (cor_stanza_text(key, &copy) < 0 ||
                           add_pair(&c->impersonate_extra, copy, COR_STEAL(values.items[i])) < 0))
                r = cor_status_no_memory(reterr);
            cor_free(values.items[i]);
        }
        cor_free(values.items);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_impersonation(const struct cor_stanza *s,
                              const struct cor_client_config_overrides *o,
                              struct cor_client_config *c, struct cor_status *reterr)
{
    struct cor_str groups = COR_STR("");
    int r = cor_stanza_string(s, "as", &c->impersonate_user, reterr);

    cor_json_get(s->json, COR_STR("as-groups"), COR_JSON_ANY_ORDER, &groups);
    if (r == 0)
        r = cor_stanza_string(s, "as-uid", &c->impersonate_uid, reterr);
    if (r == 0)
        r = read_strings(s, "as-groups", groups, &c->impersonate_groups, reterr);
    if (r == 0)
        r = read_extra(s, c, reterr);
    if (r == 0)
        r = cor_override_impersonation(c, o, reterr);
    if (r == 0 && cor_impersonates_nobody(c))
        return cor_stanza_mistake(s, "as", reterr, COR_NOBODY_TEXT);
    return r;
}

/* The file is read when a connection is made; whether it can be read is checked now. */
static int check_readable(const struct cor_stanza *s, const char *field, const char *path,
                          struct cor_status *reterr)
{
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (path && fd < 0)
        return cor_stanza_mistake(s, field, reterr, "unable to read %s: %s", path,
                                  cor_err_text(errno == ENOENT ? -COR_ENOTFOUND : -COR_EIO));
    if (fd >= 0)
        close(fd);
    return 0;
}

static int check_client_cert(const struct cor_stanza *s, const struct cor_client_config *c,
                             struct cor_status *reterr)
{
    int r;

    if (!c->client_cert_pem && !c->client_cert_file)
        return 0;
    if (c->client_cert_pem && c->client_cert_file)
        return cor_stanza_mistake(s, "client-certificate", reterr,
                                  "client-cert-data and client-cert are both specified. "
                                  "client-cert-data will override");
    if (c->client_key_pem && c->client_key_file)
        return cor_stanza_mistake(s, "client-key", reterr,
                                  "client-key-data and client-key are both specified; "
                                  "client-key-data will override");
    if (!c->client_key_pem && !c->client_key_file)
        return cor_stanza_mistake(s, "client-key", reterr,
                                  "client-key-data or client-key must be specified to use the "
                                  "clientCert authentication method");
    r = check_readable(s, "client-certificate", c->client_cert_file, reterr);
    return r < 0 ? r : check_readable(s, "client-key", c->client_key_file, reterr);
}

static int read_client_cert(const struct cor_stanza *s, const struct cor_client_config_overrides *o,
                            struct cor_client_config *c, struct cor_status *reterr)
{
    int r = cor_stanza_data(s, "client-certificate-data", &c->client_cert_pem, reterr);

    if (r == 0)
        r = cor_stanza_data(s, "client-key-data", &c->client_key_pem, reterr);
    if (r == 0)
        r = cor_stanza_path(s, "client-certificate", &c->client_cert_file, reterr);
    if (r == 0)
        r = cor_stanza_path(s, "client-key", &c->client_key_file, reterr);
    if (r == 0)
        r = cor_override_text(&c->client_cert_file, o->client_cert_file, reterr);
    if (r == 0)
        r = cor_override_text(&c->client_key_file, o->client_key_file, reterr);
    if (r < 0)
        return r;
    r = check_client_cert(s, c, reterr);
    /* Data beats files: of a key without a certificate both may be there. */
    if (r == 0 && c->client_key_pem)
        c->client_key_file = cor_free(c->client_key_file);
    return r;
}

static int read_token(const struct cor_stanza *s, const struct cor_client_config_overrides *o,
                      struct cor_client_config *c, struct cor_status *reterr)
{
    int r;

    if (cor_overrides_have_token(o))
        return cor_override_token(c, o, reterr);
    r = cor_stanza_string(s, "token", &c->token, reterr);
    if (r == 0)
        r = cor_stanza_path(s, "tokenFile", &c->token_file, reterr);
    if (r == 0 && c->token_file && !cor_config_has(c->token)) {
        c->token = cor_free(c->token);
        r = stanza_load_file(s, "tokenFile", c->token_file, &c->token, reterr);
    }
    return r;
}

static int read_credentials(const struct cor_stanza *s, const struct cor_client_config_overrides *o,
                            struct cor_client_config *c, struct cor_status *reterr)
{
    int r = read_client_cert(s, o, c, reterr);

    if (r == 0)
        r = read_token(s, o, c, reterr);
    if (r == 0)
        r = cor_stanza_string(s, "username", &c->username, reterr);
    if (r == 0)
        r = cor_stanza_string(s, "password", &c->password, reterr);
    if (r == 0)
        r = cor_override_text(&c->username, o->username, reterr);
    if (r == 0)
        r = cor_override_text(&c->password, o->password, reterr);
    if (r == 0)
        r = read_exec(s, &c->exec, reterr);
    if (r == 0 && cor_config_has(c->token) &&
        (cor_config_has(c->username) || cor_config_has(c->password)))
        return cor_stanza_mistake(s, "token", reterr,
                                  "more than one authentication method found; found [token "
                                  "basicAuth], only one is allowed");
    return r;
}

/* The stanza that a context names; the empty name means that there is none. */
static int find_named(const struct cor_kubeconfig *kc, const struct cor_stanza *context,
                      enum cor_stanza_kind kind, const char *with, const struct cor_stanza **ret,
                      struct cor_status *reterr)
{
    COR_CLEANUP(cor_freep) char *name = NULL;
    const char *field = kind == COR_STANZA_CLUSTER ? "cluster" : "user";
    int r = cor_stanza_string(context, field, &name, reterr);

    *ret = NULL;
    if (r == 0)
        r = cor_override_text(&name, with, reterr);
    if (r < 0 || !cor_config_has(name))
        return r;
    *ret = stanza_peek(kc, kind, name);
    if (!*ret && cor_config_has(with))
        return cor_status_set(reterr, -COR_ENOTFOUND, "%s \"%s\" does not exist", field, name);
    if (!*ret)
        return cor_status_set(reterr, -COR_ENOTFOUND, "%s \"%s\" was not found for context \"%s\"",
                              field, name, context->name);
    return 0;
}

static int resolve_context(const struct cor_kubeconfig *kc, const struct cor_stanza *context,
                           const struct cor_client_config_overrides *o, struct cor_client_config *c,
                           struct cor_status *reterr)
{
    static const char *const secure[] = {"https://", "unix://"};
    const struct cor_stanza *cluster = NULL, *user = NULL;
    int r = find_named(kc, context, COR_STANZA_CLUSTER, o->cluster, &cluster, reterr);

    if (r == 0)
        r = find_named(kc, context, COR_STANZA_USER, o->user, &user, reterr);
    if (r == 0 && !cluster && !cor_config_has(o->server))
        return cor_stanza_mistake(context, "cluster", reterr, "cluster was not specified");
    if (r == 0)
        r = read_cluster(cluster ? cluster : &nothing, o, c, reterr);
    /* Credentials are not sent over a connection that others can read, or that is not known to be
     * private. */
    user = user ? user : &nothing;
    if (r == 0 && has_scheme(c->server, secure, COR_ARRAY_LEN(secure)))
        r = read_credentials(user, o, c, reterr);
    if (r == 0)
        r = read_impersonation(user, o, c, reterr);
    if (r == 0)
        r = cor_stanza_string(context, "namespace", &c->ns, reterr);
    if (r == 0)
        r = cor_override_text(&c->ns, o->ns, reterr);
    return r < 0 || cor_config_has(c->ns) ? r : cor_override_text(&c->ns, "default", reterr);
}

int cor_kubeconfig_resolve(const struct cor_kubeconfig *kc,
                           const struct cor_client_config_overrides *overrides,
                           struct cor_client_config *ret_config, struct cor_status *reterr)
{
    COR_CLEANUP(cor_client_config_deinit) struct cor_client_config c = {0};
    const struct cor_client_config_overrides none = {COR_CLIENT_CONFIG_OVERRIDES},
                                             *o = overrides ? overrides : &none;
    const char *name = cor_config_has(o->context) ? o->context : kc->current_context;
    const struct cor_stanza *stanza = &nothing;
    int r;

    if (!cor_config_has(name) && !cor_config_has(o->cluster) && !cor_config_has(o->server))
        return cor_status_set(reterr, -COR_ENOTFOUND,
                              "invalid configuration: no configuration has been provided, try "
                              "setting KUBERNETES_MASTER environment variable");
    if (cor_config_has(name))
        stanza = stanza_peek(kc, COR_STANZA_CONTEXT, name);
    if (!stanza)
        return cor_status_set(reterr, -COR_ENOTFOUND,
                              "context was not found for specified context: %s", name);
    r = resolve_context(kc, stanza, o, &c, reterr);
    if (r < 0)
        return r;
    *ret_config = c;
    c = (struct cor_client_config){0};
    return 0;
}
