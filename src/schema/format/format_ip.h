/* The warnings about addresses that the API accepts but advises against (contract validation
 * 3.3.5). Thread: any (pure). */
#ifndef COR_SCHEMA_FORMAT_FORMAT_IP_H
#define COR_SCHEMA_FORMAT_FORMAT_IP_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the warning about an address that cor_ip_parse() accepts, without the path and the colon
 * before it. 1: there is one; 0: there is none; -COR_ENOMEM, -COR_ETOOBIG. */
int cor_ip_warning(struct cor_str text, struct cor_buf *out);

/* The same for a CIDR value, which may have two warnings: first that it is ambiguous, then that its
 * form is not standard or not canonical. */
#define COR_CIDR_WARNINGS 2
int cor_cidr_warning(struct cor_str text, size_t i, struct cor_buf *out);

#endif
