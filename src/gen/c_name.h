/* Names of API types and fields as C writes them. Thread: any (no state). */
#ifndef COR_GEN_C_NAME_H
#define COR_GEN_C_NAME_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Appends a name in lower case with underscores between its words: podIPs becomes pod_ips,
 * CSIDriver csi_driver, x-kubernetes-list-type x_kubernetes_list_type. What cannot be in a name of
 * C separates words. Returns as cor_buf_add(). */
int cor_gen_snake(struct cor_str name, struct cor_buf *out);

/* The same in capitals, for the names of constants. */
int cor_gen_upper(struct cor_str name, struct cor_buf *out);

#endif
