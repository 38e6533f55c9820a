/* The address of an API server and the credentials for it: from kubeconfig files, from a pod's
 * service account, or set by the program. All members are plain strings; NULL is absent. Files that
 * may change while a client runs (client certificate, token) are named here and read by the client.
 * The functions fill a configuration only when they succeed; a failure leaves it as it was. A
 * configuration that was zeroed can be released in both cases.
 *
 *   struct cor_client_config config = {0};
 *
 *   if (cor_client_config_load(NULL, NULL, &config, &why) < 0)
 *       ...
 *   cor_client_config_deinit(&config);
 *
 * Thread: one at a time.  Owner: the program that embeds it. */
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

/* A pair of owned strings: an extra of impersonation (one entry for each value), or an environment
 * variable. */
struct cor_string_pair {
    char *key, *value;
};
struct cor_string_pairs {
    struct cor_string_pair *items;
    size_t n;
};

/* A program that provides credentials (client.authentication.k8s.io). */
struct cor_exec_config {
    char *command; /* NULL: no program */
    char *api_version;
    char *interactive_mode; /* Never, IfAvailable or Always */
    char *install_hint;
    struct cor_strings args;
    struct cor_string_pairs env;
    bool provide_cluster_info;
    char *cluster_config; /* JSON: the cluster's configuration for plugins; NULL: none */
};

struct cor_client_config {
    char *server; /* a URL: http, https or unix; the path of the first two is a prefix. Without a
                     scheme it is plain HTTP, or TLS with a CA or a certificate below */
    char *tls_server_name;
    char *ca_pem; /* NULL: the system's roots */
    bool insecure_skip_tls_verify;
    /* Large answers are sent as they are. Unless set, the server is asked to compress them. */
    bool disable_compression;
    char *proxy_url;
    char *ns; /* "default" unless set */

    char *client_cert_pem, *client_key_pem;   /* as data … */
    char *client_cert_file, *client_key_file; /* … or as files, read when a connection is made */
    char *token;      /* also that of the file, as it was when the config was read */
    char *token_file; /* read again from time to time; wins over the token */
    char *username, *password;
    struct cor_exec_config exec;

    char *impersonate_user, *impersonate_uid;
    struct cor_strings impersonate_groups;
    struct cor_string_pairs impersonate_extra;
};

/* Releases the content; safe on a zeroed struct. Secrets are overwritten before their memory is
 * freed. */
COR_API void cor_client_config_deinit(struct cor_client_config *config);

/* Loads the configuration as most programs want it: from the file `kubeconfig`, or the files of
 * KUBECONFIG, or HOME/.kube/config, with the context `context` or the current one; without any
 * file, from the service account of the pod. Both arguments may be NULL. 0, -COR_ENOTFOUND (no
 * file, and not in a pod; or no such context), -COR_EINVAL (the message names file and field),
 * -COR_EIO, -COR_ENOMEM. */
COR_API int cor_client_config_load(const char *kubeconfig, const char *context,
                                   struct cor_client_config *ret_config, struct cor_status *reterr);

/* The flags of a program that override the loaded configuration, as kubectl's do. NULL, "" and
 * false override nothing. Every other value replaces the same value of the chosen context, cluster
 * or user, and the result is checked as a whole. File names are relative to the working directory.
 */
struct cor_client_config_overrides {
    size_t size; /* of this struct: COR_CLIENT_CONFIG_OVERRIDES sets it (coracle/api.h) */
    const char *context, *cluster, *user; /* names, which must exist */
    const char *ns;
    const char *server; /* clears the cluster's tls-server-name. As in a kubeconfig, credentials
                           go to https and unix only, not to a server without a scheme */
    const char *tls_server_name;
    const char *ca_file; /* this or the next replaces both, and the data */
    bool insecure_skip_tls_verify;
    const char *proxy_url;

    const char *token, *token_file; /* either one replaces both */
    const char *username, *password;
    const char *client_cert_file, *client_key_file;
    const char *impersonate_user, *impersonate_uid;
    const char *const *impersonate_groups; /* if set, they replace all */
    size_t nimpersonate_groups;
};

#define COR_CLIENT_CONFIG_OVERRIDES .size = sizeof(struct cor_client_config_overrides)

/* As cor_client_config_load(), with the overrides of a program. Without a context a `server` is
 * enough, and a pod's service account is not used then. The configuration of a pod can be
 * overridden, too, but not by a user name, a password or a certificate (-COR_EINVAL). `overrides`
 * may be NULL. */
COR_API int cor_client_config_load_with(const char *kubeconfig,
                                        const struct cor_client_config_overrides *overrides,
                                        struct cor_client_config *ret_config,
                                        struct cor_status *reterr);

/* Loads the configuration of a pod: KUBERNETES_SERVICE_HOST and _PORT, and the files of the service
 * account in `folder` (NULL: /var/run/secrets/kubernetes.io/serviceaccount). 0, -COR_ENOTFOUND (the
 * process does not run in a pod), -COR_ENOMEM. */
COR_API int cor_client_config_in_cluster(const char *folder, struct cor_client_config *ret_config,
                                         struct cor_status *reterr);

/* Sets a string of a configuration that the program fills itself, beginning with a zeroed struct:
 * cor_client_config_set(&config.server, "https://10.0.0.1:6443"). The text is copied; NULL makes
 * the string absent. 0 or -COR_ENOMEM (the string is unchanged). */
COR_API int cor_client_config_set(char **field, const char *text);

#ifdef __cplusplus
}
#endif

#endif
