/* A label selector, ready to match: a conjunction of requirements, sorted by key. The grammar of
 * its text, the messages and the printed form are upstream's (apimachinery's labels package,
 * v1.34). Thread: any (immutable).  Owner: whoever made it. */
#ifndef COR_META_SELECT_LABEL_SELECTOR_H
#define COR_META_SELECT_LABEL_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "coracle/label_selector.h"
#include "meta/status/status.h"

struct cor_field_errors;
struct cor_field_path;

enum cor_label_op {
    COR_LABEL_EXISTS,
    COR_LABEL_NOT_EXISTS,
    COR_LABEL_EQUALS,
    COR_LABEL_DOUBLE_EQUALS,
    COR_LABEL_NOT_EQUALS,
    COR_LABEL_IN,
    COR_LABEL_NOT_IN,
    COR_LABEL_GREATER,
    COR_LABEL_LESS,
};

struct cor_label_requirement {
    struct cor_str key;
    struct cor_str *values; /* sorted, each once; none for the two unary operators */
    size_t nvalues;
    int64_t number; /* the value, of GREATER and LESS */
    enum cor_label_op op;
};

struct cor_label_selector {
    uint64_t mask; /* a fingerprint that lacks one of these bits cannot match
                      (meta/value/fingerprint.h) */
    size_t n;      /* 0: selects everything, or nothing */
    struct cor_label_requirement *requirements;
    bool nothing;
};

/* From the LabelSelector of an API object, canonical JSON with matchLabels and matchExpressions; {}
 * selects everything, an absent one (empty or null) nothing. What is wrong with it is added to
 * `errs` under `path`, in upstream's words. 0, -COR_EINVALID (see errs), -COR_ENOMEM. */
int cor_label_selector_read(struct cor_str json, const struct cor_field_path *path,
                            struct cor_field_errors *errs,
                            struct cor_label_selector **ret_selector);

COR_DEFINE_CLEANUP(struct cor_label_selector, cor_label_selector_free)

/* Appends the canonical text. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_label_selector_print(const struct cor_label_selector *selector, struct cor_buf *out);

#endif
