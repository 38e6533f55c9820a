/* kubeconfig files: which files are read, how they are merged, and what a context means.
 * Behaviour: client-go's clientcmd.
 * Thread: one at a time.  Owner: whoever made it. */
#ifndef COR_KIT_KUBECONFIG_H
#define COR_KIT_KUBECONFIG_H

#include "base/cleanup.h"
#include "base/str.h"
#include "kit/config/client_config.h"
#include "meta/status/status.h"

#define COR_KUBECONFIG_FILE_MAX    (4u << 20)
#define COR_KUBECONFIG_STANZAS_MAX 10000 /* of one kind, in all files together */

struct cor_kubeconfig;

/* Empty. NULL when out of memory. */
struct cor_kubeconfig *cor_kubeconfig_new(void);
struct cor_kubeconfig *cor_kubeconfig_free(struct cor_kubeconfig *kc); /* returns NULL */
COR_DEFINE_CLEANUP(struct cor_kubeconfig, cor_kubeconfig_free)

/* Adds the text of a file (YAML or JSON; it may be empty). Of equal names in several files the
 * first counts, whole. `path` is for messages, and relative paths in the text begin at its folder.
 * 0, -COR_EINVAL (the message names file, line or field), -COR_ETOOBIG, -COR_ENOMEM; after a
 * failure part of the text may have been added. */
int cor_kubeconfig_add(struct cor_kubeconfig *kc, struct cor_str text, const char *path,
                       struct cor_status *reterr);

struct cor_kubeconfig_files {
    const char *explicit_path; /* the only file, and it must be there; NULL: none */
    const char *list;          /* KUBECONFIG: files separated by colons; NULL or "": none */
    const char *home;          /* else HOME/.kube/config; NULL: none */
};

/* Reads the files that there are. 0 also when there is none; -COR_ENOTFOUND (the explicit one is
 * missing), -COR_EIO, or as cor_kubeconfig_add(). `ret_read` (NULL: not wanted) says how many. */
int cor_kubeconfig_load(struct cor_kubeconfig *kc, const struct cor_kubeconfig_files *files,
                        size_t *ret_read, struct cor_status *reterr);

/* KUBECONFIG and HOME of the process; borrowed from its environment. */
struct cor_kubeconfig_files cor_kubeconfig_files_from_env(void);

/* "" when no file has one. */
struct cor_str cor_kubeconfig_current_context(const struct cor_kubeconfig *kc);

/* Makes and checks the configuration of a context: the current one unless `overrides` (may be NULL)
 * names another.
 * Without a context the overrides must have a cluster or a server. The config is initialised on
 * success. -COR_ENOTFOUND: no context, cluster or user of that name; -COR_EINVAL: a field is wrong
 * or missing, or the file that it names cannot be read (the message names it); -COR_ENOMEM.
 * A server that is not https (or a local socket) gets no credentials. */
int cor_kubeconfig_resolve(const struct cor_kubeconfig *kc,
                           const struct cor_client_config_overrides *overrides,
                           struct cor_client_config *ret_config, struct cor_status *reterr);

#endif
