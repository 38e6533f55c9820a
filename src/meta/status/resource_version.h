/* resourceVersion as it is in requests: a string that is empty, "0", or a revision.
 * Thread: any (pure). */
#ifndef COR_META_STATUS_RESOURCE_VERSION_H
#define COR_META_STATUS_RESOURCE_VERSION_H

#include "base/str.h"
#include "meta/status/revision.h"
#include "meta/status/status.h"

/* "" and "0" are 0, everything else an unsigned 64-bit number. -COR_EINVAL otherwise, with the text
 * of upstream's versioner, untyped (500), as a GET from cache and a watch report it. */
int cor_resource_version_parse(struct cor_str text, cor_rev *ret_rev,
                               struct cor_status *reterr_status);

/* The same, but the failure is 400 `invalid resource version: …`, as a list and the raw store's get
 * report it. */
int cor_resource_version_parse_request(struct cor_str text, cor_rev *ret_rev,
                                       struct cor_status *reterr_status);

/* The one in an object that is to be written: -COR_EINVAL, untyped, the number's text alone. */
int cor_resource_version_parse_object(struct cor_str text, cor_rev *ret_rev,
                                      struct cor_status *reterr_status);

#endif
