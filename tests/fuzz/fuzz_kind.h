/* The type that an object names in its first members, for the fuzzers of walks over built-in
 * types. */
#ifndef COR_TESTS_FUZZ_KIND_H
#define COR_TESTS_FUZZ_KIND_H

#include "schema/types/types.h"
#include "json/text/scan.h"

/* NULL: none is known. */
static inline const struct cor_type *fuzz_type_of(struct cor_str json)
{
    struct cor_str kind, version, group;

    if (cor_json_get(json, COR_STR("kind"), COR_JSON_SORTED, &kind) < 0 ||
        cor_json_to_raw(kind, &kind) < 0 ||
        cor_json_get(json, COR_STR("apiVersion"), COR_JSON_SORTED, &version) < 0 ||
        cor_json_to_raw(version, &version) < 0)
        return NULL;
    group = cor_str_cut(&version, '/');
    if (!version.p) {
        version = group;
        group = cor_str("", 0);
    }
    return cor_type_of_kind(group, version, kind);
}

#endif
