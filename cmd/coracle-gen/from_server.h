/* Reads the types of a running API server: its OpenAPI v3 documents, over libcoracle's client.
 * Thread: main; the calls wait. */
#ifndef COR_CMD_GEN_FROM_SERVER_H
#define COR_CMD_GEN_FROM_SERVER_H

#include <stdbool.h>

#include "gen/model.h"

/* Each may be NULL, and overrides the kubeconfig as kubectl's flag of the same name does. */
struct from_server_opts {
    const char *kubeconfig, *context, *server, *token, *ca_file;
    bool insecure_skip_tls_verify;
    const char *group;  /* "apps", "apps/v1", "v1" (core); NULL: all that the server has */
    const char *prefix; /* of symbols, and the folder of #include lines */
    struct cor_str folder;
};

/* Adds the types of the documents. 0, -COR_EINVAL (the message names the URL, the path in the
 * document, and what was expected), -COR_ENOMEM, -COR_ETOOBIG. */
int from_server(struct cor_gen_model *model, const struct from_server_opts *opts,
                struct cor_gen_error *reterr);

#endif
