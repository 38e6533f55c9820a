/* What Kubernetes' decoder finds wrong with a body as a whole, in its words: bytes that are not an
 * object, a kind that cannot be read or is not the resource's. What is wrong with members is found
 * by schema/walk/read.h. Each appends the reason to `why`: 0 nothing is wrong, -COR_EINVAL. Out of
 * memory only costs words. Thread: any (pure). */
#ifndef COR_SCHEMA_KINDS_DECODE_H
#define COR_SCHEMA_KINDS_DECODE_H

#include "base/buf.h"
#include "base/str.h"
#include "schema/kinds/resource_row.h"
#include "json/text/scan.h"

/* Bytes in which no kind can be found: not JSON, or not an object. */
int cor_decode_check_bytes(struct cor_str json, struct cor_buf *why);
/* And a kind or version that is not a string, in the canonical bytes of an object. */
int cor_decode_check_type(struct cor_str canonical, struct cor_buf *why);

/* What an apiVersion with an empty part stands for: "" (the resource's own version) for "/" and for
 * the resource's group before a slash, the version alone behind one, else the apiVersion itself. */
struct cor_str cor_decode_version(const struct cor_resource_row *resource,
                                  struct cor_str api_version);

/* What Kubernetes' first look at a body takes for its type: it does not tell upper from lower case
 * in the two keys, and the last of equal ones counts, in the order of the bytes. Members that are
 * not there leave the values as they are. As cor_decode_check_type() for what is not a string. */
int cor_decode_sniff(struct cor_str json, struct cor_str *api_version, struct cor_str *kind,
                     struct cor_buf *why);

/* A number anywhere that neither an int64 nor a double holds. */
int cor_decode_check_numbers(struct cor_str json, struct cor_buf *why);

/* The type that Kubernetes' decoder chooses for a body of this resource; "" is the resource's own
 * version or kind. NULL: the scheme of the resource's server does not know the kind. */
const struct cor_type *cor_decode_type(const struct cor_resource_row *resource,
                                       struct cor_str api_version, struct cor_str kind);

/* Checks that the kind exists and can be converted to that of the resource; "" is the resource's
 * own kind. The conversion between versions is left to the caller. */
int cor_decode_check_kind(const struct cor_resource_row *resource, struct cor_str api_version,
                          struct cor_str kind, struct cor_buf *why);

/* The first bytes of a body, for a message: as text, or in hexadecimal when they are not an object.
 */
int cor_decode_summary(struct cor_str body, struct cor_buf *out);

/* What Kubernetes' own code calls the group: "core", "apps", "rbac". */
struct cor_str cor_decode_package(const struct cor_resource_row *resource);

#endif
