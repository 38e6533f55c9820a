/* How repeated fields are reported: ignored, as warnings, or as a refusal, by fieldValidation.
 * Thread: the thread that has the call (server/api/heavy.h). */
#ifndef COR_SERVER_WRITE_STRICT_H
#define COR_SERVER_WRITE_STRICT_H

#include "server/api/call.h"

/* The report of cor_body_json() about the keys of a YAML body. 0, or -COR_EINVAL or -COR_ENOMEM in
 * the call's status. */
int cor_strict_report_yaml(struct cor_call *call, struct cor_str report);

#endif
