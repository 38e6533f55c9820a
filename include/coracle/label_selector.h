/* A parsed label selector: requirements that must all be met. The grammar of its text and the
 * messages are those of Kubernetes (apimachinery's labels package, v1.34). Thread: any (immutable).
 * Owner: the program that made it. */
#ifndef CORACLE_LABEL_SELECTOR_H
#define CORACLE_LABEL_SELECTOR_H

#include <stdbool.h>

#include "coracle/api.h"
#include "coracle/status.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_label_selector;

/* A longer selector is refused as a bad request. Kubernetes limits only the length of the URL. */
#define COR_LABEL_SELECTOR_BYTES_MAX        (64u * 1024)
#define COR_LABEL_SELECTOR_REQUIREMENTS_MAX 1024
#define COR_LABEL_SELECTOR_VALUES_MAX       8192 /* of all requirements together */

/* "app=web,tier in (a,b),!canary"; the empty text selects everything. `text` is not kept. 0,
 * -COR_EINVAL (in upstream's words), -COR_ENOMEM. */
COR_API int cor_label_selector_parse(struct cor_str text, struct cor_label_selector **ret_selector,
                                     struct cor_status *reterr);

/* NULL is fine; returns NULL. */
COR_API struct cor_label_selector *cor_label_selector_free(struct cor_label_selector *selector);

/* Do the labels match? `labels` is an object's cor_object_labels(), or a JSON object of strings
 * with its keys sorted, or empty for none. The labels are
 * read once, and nothing is allocated. */
COR_API bool cor_label_selector_matches(const struct cor_label_selector *selector,
                                        struct cor_str labels);

#ifdef __cplusplus
}
#endif

#endif
