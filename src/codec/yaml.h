/* YAML in and out, with the meaning that sigs.k8s.io/yaml gives it: YAML 1.1 scalars, and only what
 * JSON can say. Thread: any (no state). */
#ifndef COR_CODEC_YAML_H
#define COR_CODEC_YAML_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Nesting of the document; what aliases add shows as nesting of the JSON. */
#define COR_YAML_DEPTH_MAX 1000
/* Of collections in braces and brackets, and of merges (<<) inside each other. */
#define COR_YAML_FLOW_DEPTH_MAX 128
#define COR_YAML_MERGES_MAX     16
/* What all anchors may hold together, and what all aliases may add: the bound of "billion laughs".
 */
#define COR_YAML_ALIAS_BYTES_MAX (4u * 1024 * 1024)

struct cor_yaml_error {
    char message[200]; /* "yaml: line 3: did not find expected key" */
};

/* Appends the first document as JSON, and does not look at what follows it: keys in the order of
 * the document, repeated ones repeated (the last counts, as cor_json_canonicalize() has it); the
 * nesting may exceed what a JSON limit allows. An empty document is null. Keys that are twice in a
 * mapping are listed in `dups` (NULL: not asked for) in the words of Go's strict decoder: "yaml:
 * unmarshal errors:\n line 3: key \"a\" already set in map"; it stays empty when there are none. 0,
 * -COR_EINVAL (not YAML, or not for JSON), -COR_ETOOBIG (the maximum of `out`, depth or aliases),
 * -COR_ENOMEM. On failure `out` is as before; `reterr` (may be NULL) is written for the first two.
 */
int cor_yaml_to_json(struct cor_str in, struct cor_buf *out, struct cor_buf *dups,
                     struct cor_yaml_error *reterr);

/* Appends valid JSON (at most COR_JSON_DEPTH_MAX deep) as YAML, laid out as kubectl prints it:
 * block style, sorted keys, strings quoted where they would be read as something else. 0,
 * -COR_ENOMEM, -COR_ETOOBIG; on failure `out` is as before. */
int cor_yaml_from_json(struct cor_str json, struct cor_buf *out);

#endif
