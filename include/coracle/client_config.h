/* How to reach an API server and who to be there: out of kubeconfig files, of a pod's service
 * account, or set by hand. Plain strings; NULL is absent. Files are named, not read, where they may
 * change under a running client (client certificate, token). A configuration is filled by success
 * only; a failure leaves it as it was, and one that was zeroed may be released in both cases.
 *
 *   struct cor_client_config config = {0};
 *
 *   if (cor_client_config_load(NULL, NULL, &config, &why) < 0)
 *       ...
 *   cor_client_config_deinit(&config);
 *
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef CORACLE_CLIENT_CONFIG_H
#define CORACLE_CLIENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/api.h"
#include "coracle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A list of owned strings; at most COR_STRINGS_MAX. */
#define COR_STRINGS_MAX 1000
struct cor_strings {
    char **items;
    size_t n;
};

/* A pair of owned strings: an extra of impersonation (one entry per value), a variable. */
struct cor_string_pair {
    char *key, *value;
};
struct cor_string_pairs {
    struct cor_string_pair *items;
    size_t n;
};

/* A program that makes credentials (client.authentication.k8s.io). */
struct cor_exec_config {
    char *command; /* NULL: there is none */
    char *api_version;
    char *interactive_mode; /* Never, IfAvailable or Always */
    char *install_hint;
    struct cor_strings args;
    struct cor_string_pairs env;
    bool provide_cluster_info;
    char *cluster_config; /* JSON: what the cluster's stanza has for plugins; NULL: nothing */
};

struct cor_client_config {
    char *server; /* a URL: http, https or unix; the path of the first two is a prefix. Without a
                     scheme it is plain HTTP, or TLS with a CA or a certificate below */
    char *tls_server_name;
    char *ca_pem; /* NULL: the system's roots */
    bool insecure_skip_tls_verify;
    bool disable_compression;
    char *proxy_url;
    char *ns; /* "default" unless set */

    char *client_cert_pem, *client_key_pem;   /* as data … */
    char *client_cert_file, *client_key_file; /* … or as files, read when a connection is made */
    char *token;      /* of the file too, as it was when the config was read */
    char *token_file; /* read again from time to time; wins over the token */
    char *username, *password;
    struct cor_exec_config exec;

    char *impersonate_user, *impersonate_uid;
    struct cor_strings impersonate_groups;
    struct cor_string_pairs impersonate_extra;
};

/* Safe on a zeroed struct. Secrets are wiped before their memory goes. */
COR_API void cor_client_config_deinit(struct cor_client_config *config);

/* What most programs want: the file `kubeconfig`, else the files of KUBECONFIG, else
 * HOME/.kube/config, with `context` or the current one; without any file, what a pod has. Either
 * may be NULL. 0, -COR_ENOTFOUND (no file, and no pod; or no such context), -COR_EINVAL (the
 * message names file and field), -COR_EIO, -COR_ENOMEM. */
COR_API int cor_client_config_load(const char *kubeconfig, const char *context,
                                   struct cor_client_config *ret_config, struct cor_status *reterr);

/* What a program's flags say over what is read, as kubectl's do. NULL, "" and false say nothing;
 * each other word takes the place of its own in the context, cluster or user that is chosen, and
 * what they are after is checked as a whole. Files are named from the working directory. */
struct cor_client_config_overrides {
    size_t size; /* of this struct: COR_CLIENT_CONFIG_OVERRIDES sets it (coracle/api.h) */
    const char *context, *cluster, *user; /* names, which must be there */
    const char *ns;
    const char *server; /* clears the cluster's tls-server-name. As in a kubeconfig, credentials
                           go to https and unix only, not to a server without a scheme */
    const char *tls_server_name;
    const char *ca_file; /* this or the next: in the place of both, and of data */
    bool insecure_skip_tls_verify;
    const char *proxy_url;

    const char *token, *token_file; /* either: in the place of both */
    const char *username, *password;
    const char *client_cert_file, *client_key_file;
    const char *impersonate_user, *impersonate_uid;
    const char *const *impersonate_groups; /* if any, in the place of all */
    size_t nimpersonate_groups;
};

#define COR_CLIENT_CONFIG_OVERRIDES .size = sizeof(struct cor_client_config_overrides)

/* As cor_client_config_load(), with the flags of a program over it; without a context a `server` is
 * enough, and then no pod is looked for. What a pod has may be overridden too, but not by a user
 * name, a password or a certificate (-COR_EINVAL). `overrides` may be NULL. */
COR_API int cor_client_config_load_with(const char *kubeconfig,
                                        const struct cor_client_config_overrides *overrides,
                                        struct cor_client_config *ret_config,
                                        struct cor_status *reterr);

/* What a pod has: KUBERNETES_SERVICE_HOST and _PORT, and the files of its service account under
 * `folder` (NULL: /var/run/secrets/kubernetes.io/serviceaccount). -COR_ENOTFOUND: this is no pod;
 * -COR_ENOMEM. */
COR_API int cor_client_config_in_cluster(const char *folder, struct cor_client_config *ret_config,
                                         struct cor_status *reterr);

/* Sets a string of a configuration, for one made by hand (begin with a zeroed struct):
 * cor_client_config_set(&config.server, "https://10.0.0.1:6443"). The text is copied; NULL: absent.
 * 0 or -COR_ENOMEM (the string is as it was). */
COR_API int cor_client_config_set(char **field, const char *text);

#ifdef __cplusplus
}
#endif

#endif
