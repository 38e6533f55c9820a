/* Internals of a merged kubeconfig: stanzas by name, each with the JSON that its file had and with
 * its place in that file.
 * Thread: one at a time.  Owner: the kubeconfig. */
#ifndef COR_KIT_KUBECONFIG_INT_H
#define COR_KIT_KUBECONFIG_INT_H

#include "base/map.h"
#include "codec/yaml_lines.h"
#include "kit/config/kubeconfig.h"

enum cor_stanza_kind { COR_STANZA_CLUSTER, COR_STANZA_USER, COR_STANZA_CONTEXT, COR_STANZA_KINDS };

struct cor_stanza {
    char *name;
    char *path;   /* of its file */
    char *folder; /* of its file, with a final slash; "" for the working directory */
    char *where;  /* "clusters[2].cluster" */
    struct cor_yaml_lines *lines; /* of its file */
    struct cor_str json;          /* an object; owned */
};

struct cor_kubeconfig {
    struct cor_map stanzas[COR_STANZA_KINDS]; /* name -> stanza */
    char *current_context;                    /* NULL: no file has one */
};

/* Both put the place of the error into the message. A field that is absent or null leaves `*ret` as
 * it is. 0, -COR_EINVAL (another type; the message says which was expected), -COR_ENOMEM. */
int cor_stanza_string(const struct cor_stanza *s, const char *field, char **ret,
                      struct cor_status *reterr);
int cor_stanza_bool(const struct cor_stanza *s, const char *field, bool *ret,
                    struct cor_status *reterr);

/* A string that names a file: relative to the stanza's file. Empty counts as absent. */
int cor_stanza_path(const struct cor_stanza *s, const char *field, char **ret,
                    struct cor_status *reterr);

/* A string of Base64, decoded. */
int cor_stanza_data(const struct cor_stanza *s, const char *field, char **ret,
                    struct cor_status *reterr);

/* The text of a JSON string. 0, -COR_EINVAL (no string, or with a NUL), -COR_ENOMEM. */
int cor_stanza_text(struct cor_str value, char **ret);

/* -COR_EINVAL with "kubeconfig FILE: line N: WHERE: <text>". */
int cor_kubeconfig_mistake(const char *path, const struct cor_yaml_lines *lines, const char *where,
                           const char *text, struct cor_status *reterr);

/* The same for a field of a stanza. */
int cor_stanza_mistake(const struct cor_stanza *s, const char *field, struct cor_status *reterr,
                       const char *fmt, ...) COR_PRINTF(4, 5);

#endif
