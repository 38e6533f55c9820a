/* The codec of values that follow the schema of their kind: JSON or protobuf, built-in kinds and
 * custom resources, also as older servers and kube-apiserver wrote them. Owner and thread: as in
 * storage/store/value_codec.h. */
#ifndef COR_SERVER_KIND_CODEC_H
#define COR_SERVER_KIND_CODEC_H

#include "schema/kinds/custom_schema.h"
#include "server/stored/stored_form.h"
#include "storage/store/value_codec.h"

struct cor_kind_codec_opts {
    struct cor_str api_version, kind; /* of the served objects; copied. Empty: not known */
    enum cor_stored_form form;        /* what is written, if the kind has that form */
    cor_rev old_rev; /* values up to this revision are normalised and get their defaults when they
                      * are read (cor_engine_old_rev()); 0: none */
    bool is_custom;  /* a custom resource: its objects become `kind` of `api_version`, and follow
                      * `schema` when they are read */
    struct cor_custom_schema *schema; /* a reference is taken; NULL: objects stay as they are */
};

/* 0 or -COR_ENOMEM. */
int cor_kind_codec_new(const struct cor_kind_codec_opts *opts, struct cor_value_codec **ret_codec);

#endif
