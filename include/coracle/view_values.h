/* Values that API objects have in a form of their own, read from a view (coracle/view.h). Each
 * function returns 0, -COR_ENOTFOUND (there is no value), -COR_EINVAL (the value has another form),
 * or -COR_ETOOBIG (the value or its result does not fit). Thread: any (values). */
#ifndef CORACLE_VIEW_VALUES_H
#define CORACLE_VIEW_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/str.h"
#include "coracle/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Decodes bytes in base64, as the data of a Secret and the binaryData of a ConfigMap have them,
 * into `buf`; `ret` borrows from it. A buffer as long as view.json is always large enough. Also
 * -COR_ENOMEM. The counterpart of cor_builder_set_base64(). */
COR_API int cor_view_base64(struct cor_view view, char *buf, size_t cap, struct cor_str *ret);

/* A number of things, or a share of `total` as a percentage ("25%"), as maxSurge, maxUnavailable
 * and minAvailable have them (intstr.GetScaledValueFromIntOrPercent). A share is rounded down, or
 * up, away from nothing: upstream rounds maxSurge and minAvailable up, maxUnavailable of a
 * Deployment down. A percentage may be more than 100 %. `total` is at least 0. */
COR_API int cor_view_scaled(struct cor_view view, int64_t total, bool rounds_up, int64_t *ret);

#ifdef __cplusplus
}
#endif

#endif
