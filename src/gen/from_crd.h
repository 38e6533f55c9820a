/* The model of custom resources, from the file of their CustomResourceDefinitions. */
#ifndef COR_GEN_FROM_CRD_H
#define COR_GEN_FROM_CRD_H

#include "base/str.h"
#include "gen/model.h"

struct cor_gen_input {
    const char *file;      /* for messages */
    struct cor_str text;   /* YAML or JSON; of CRDs any number of documents */
    const char *prefix;    /* of symbols, in front of group and version; "" for none */
    struct cor_str folder; /* in front of the headers' names in #include; may be empty */
};

/* Adds every version of every definition: a package for each group and version (the first label of
 * the group: example_v1 for example.com/v1), with the kind, its list and the structs inside. Their
 * metadata is that of libcoracle-types. 0, -COR_EINVAL (the message has file, path and what was
 * expected), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_gen_from_crd(struct cor_gen_model *model, const struct cor_gen_input *input,
                     struct cor_gen_error *reterr);

#endif
