/* The body of a request as JSON, and the words in which a body is refused.
 * Thread: the thread that has the call (server/api/heavy.h). */
#ifndef COR_SERVER_WRITE_WRITE_BODY_H
#define COR_SERVER_WRITE_WRITE_BODY_H

#include "server/api/call.h"
#include "server/write/write_phases.h"

#define COR_BODY_DUPS_MAX (16u * 1024) /* of the report about the repeated keys of YAML */

/* The body itself, or what YAML or protobuf become in `text`. Keys that a YAML mapping repeats are
 * reported in `dups`, one line each after a head line. 0, or a failure (400, 415) in the call's
 * status. */
int cor_body_json(struct cor_call *call, const struct cor_gvk *expected, struct cor_buf *text,
                  struct cor_buf *dups, struct cor_str *ret_json);

/* What the stages over the body weigh for server/api/heavy.h, as far as the body shows it before it
 * is decoded: protobuf and the aliases of YAML grow on their way to JSON. */
size_t cor_body_weight(const struct cor_call *call);

/* The same for JSON: its bytes, and more for each object in it, which defaults make larger; without
 * managedFields where they may decide. Short JSON is not scanned, and it need not be valid. */
size_t cor_body_json_weight(struct cor_str json);

/* 400: no kind can be found in the body. Returns -COR_EINVAL. */
int cor_body_unrecognized(struct cor_call *call, const char *why);

/* 400: the body is not an object of its kind. "" is the kind or version of the request. Returns
 * -COR_EINVAL. */
int cor_body_cannot_handle(struct cor_call *call, struct cor_str api_version, struct cor_str kind,
                           const char *why);

/* 422: what a patch made is not an object of its kind. The words print what was made (`json`), or
 * the patch itself when it is a strategic merge patch. Returns -COR_EINVALID, -COR_ENOMEM. */
int cor_body_refuse_patched(struct cor_call *call, const struct cor_write_asked *asked,
                            struct cor_str json, const char *why);

#endif
