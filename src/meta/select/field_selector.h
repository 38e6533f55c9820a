/* A field selector, parsed for one resource and ready to match: a conjunction of `field=value` and
 * `field!=value`. The grammar, the messages and the printed form are upstream's (apimachinery's
 * fields package, v1.34); which fields there are is the resource's table.
 * Thread: any (immutable).  Owner: whoever parsed it. */
#ifndef COR_META_SELECT_FIELD_SELECTOR_H
#define COR_META_SELECT_FIELD_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "meta/select/field_notes.h"
#include "meta/status/status.h"

struct cor_json_path;

/* What a field reads as when the object does not have it: "", "false" or "0". */
enum cor_field_kind { COR_FIELD_KIND_STRING, COR_FIELD_KIND_BOOL, COR_FIELD_KIND_INT };

/* A name that clients may select by. */
struct cor_field_label {
    const char *label; /* as clients write it */
    const char *field; /* the field it stands for; NULL: the label itself */
    const char
        *path; /* where the object has it, see json/path/path.h; NULL: the field's own name */
    const char *otherwise; /* where it is looked for when that is absent or empty; NULL: nowhere */
    enum cor_field_kind kind;
};

/* The names of one resource. NULL in place of a table: metadata.name and metadata.namespace. */
struct cor_field_labels {
    const struct cor_field_label *v;
    size_t n;
    const char *gvk;  /* named by the message about an unknown label; NULL: not named */
    const char *kind; /* the same, in a message with other words; NULL: not named */
};

/* Any label is its own field. A selector that was read by it is not for matching. */
extern const struct cor_field_labels cor_field_labels_any;

struct cor_field_term {
    struct cor_str field, value; /* the value without escapes */
    struct cor_json_path *path, *otherwise;
    enum cor_field_kind kind;
    bool equal;     /* field=value; else field!=value */
    bool has_field; /* it is the first of one or several terms about its field */
    bool in_meta;   /* the path begins with metadata */
    uint8_t note;   /* cor_field_note() of the value */
};

struct cor_field_selector {
    size_t n;       /* 0: selects everything */
    size_t nfields; /* how often matching reads a field */
    struct cor_field_term terms[];
};

/* 0, -COR_EINVAL (in upstream's words), -COR_ENOMEM. `labels` is not kept. */
int cor_field_selector_parse(struct cor_str text, const struct cor_field_labels *labels,
                             struct cor_field_selector **ret_selector,
                             struct cor_status *reterr_status);

struct cor_field_selector *cor_field_selector_free(struct cor_field_selector *selector);
COR_DEFINE_CLEANUP(struct cor_field_selector, cor_field_selector_free)

/* An object, and what is known of it. */
struct cor_field_source {
    struct cor_str json;                   /* canonical */
    size_t meta_at;                        /* of the value of its metadata; 0: it is not known */
    struct cor_field_notes *notes;         /* NULL: none are kept */
    const struct cor_field_places *places; /* not NULL where there are notes */
};

/* False: the notes alone tell that the object does not match. True: it may. */
bool cor_field_selector_may_match(const struct cor_field_selector *selector,
                                  const struct cor_field_notes *notes,
                                  const struct cor_field_places *places);

/* Does this object match? Strings are compared by their text, numbers and booleans as they are
 * written. What is read is noted. Allocates nothing. */
bool cor_field_selector_matches_source(const struct cor_field_selector *selector,
                                       const struct cor_field_source *source);

/* The value that `field` must have, when a term asks for one. */
bool cor_field_selector_requires(const struct cor_field_selector *selector, struct cor_str field,
                                 struct cor_str *ret_value);

#endif
