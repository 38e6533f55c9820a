/* What a row of a custom resource has beside what every row has (schema/kinds/resource_row.h). A
 * CustomResourceDefinition makes one such row for each version that it serves, and one for the
 * version that it stores; all of them share one life.
 *
 * Parts that another module compiles from the definition (the schema, columns, scale) are NULL when
 * the version does not have them. They are made with the row, on one thread, and are immutable from
 * then on, except for the schema, which is compiled with its first use
 * (schema/kinds/custom_schema.h); they are freed with the row's life. Thread: any (immutable).
 * Owner: the definition that made the row (server/crd/definition.h). */
#ifndef COR_SCHEMA_KINDS_CUSTOM_ROW_H
#define COR_SCHEMA_KINDS_CUSTOM_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "meta/object/object.h"
#include "schema/convert/conversion.h"
#include "schema/kinds/resource_row.h"

struct cor_custom_columns;
struct cor_custom_scale;
struct cor_custom_schema;
struct cor_resource_row;

struct cor_custom_row {
    struct cor_object *crd; /* the CustomResourceDefinition; held by the row's life */
    struct cor_str version; /* the member of its spec.versions that the row is of, as JSON */
    const struct cor_resource_row
        *stored;                         /* the row of the version that is stored; may be itself */
    const struct cor_resource_row *next; /* all versions of the definition, in a ring */
    const struct cor_str *short_names, *categories;
    size_t nshort_names, ncategories;
    bool is_hidden; /* the version is not served; the row is only stored */

    struct cor_custom_schema *schema;         /* of `version` */
    struct cor_custom_columns *columns;       /* of tables; NULL: Name and Age */
    struct cor_custom_scale *scale;           /* the paths of the subresource; NULL: it has none */
    struct cor_custom_columns *scale_columns; /* of its tables */
};

/* A stored object as `to` serves it: converted, and of a custom resource without the fields that
 * its schema does not know. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_row_convert(const struct cor_resource_row *to, const struct cor_conversion *conversion,
                    const struct cor_object *object, struct cor_object **ret_object);

#endif
