/* The bytes of a body, or of what a patch made, as a canonical object.
 * Thread: the thread that has the call (pure). */
#ifndef COR_SERVER_WRITE_BODY_PARSE_H
#define COR_SERVER_WRITE_BODY_PARSE_H

#include "server/write/write_phases.h"

/* The kind and version that the bytes themselves have; "" is that of the request. */
struct cor_body_kind {
    struct cor_str api_version, kind;
};

/* Sets `json` from the body, if no patch has made it, and parses it; text that is not UTF-8 is
 * mended. `dups` gets the fields that a JSON body repeats. `check` may refuse bytes that are not an
 * object of any kind, in words of its own; NULL: nothing is checked. 0, or a failure in the status.
 */
int cor_body_parse(const struct cor_receiving *write, const struct cor_object_limits *limits,
                   int (*check)(const struct cor_receiving *write, struct cor_str json),
                   struct cor_json_dups *dups, struct cor_object **ret_object);

/* `json` is `text` from now on, which is left empty. */
void cor_body_take_text(const struct cor_receiving *write, struct cor_buf *text);

/* The type that upstream's decoder would choose; NULL: there is no such kind. */
const struct cor_type *cor_body_type(const struct cor_call *call, const struct cor_body_kind *sent);

/* Walks over the JSON with the type that it claims to be of, and makes the report if it is not
 * `is_clean`. 0, -COR_EINVAL (report->error says why), -COR_ENOMEM. */
int cor_body_read(const struct cor_receiving *write, const struct cor_body_kind *sent,
                  bool is_clean);

/* Refuses what cor_body_read(), or a check that wrote into `why`, does not accept. Returns what is
 * in the status. */
int cor_body_refuse(const struct cor_receiving *write, const struct cor_body_kind *sent, int r,
                    const struct cor_buf *why);

#endif
