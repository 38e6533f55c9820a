/* Paths and queries as Go writes them: what an aggregated server is asked for is made of what was
 * authorized, so both see the same (kube-apiserver's proxy decodes and encodes in the same way).
 * Thread: any. */
#ifndef COR_SERVER_REMOTE_URL_H
#define COR_SERVER_REMOTE_URL_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the decoded path as Go's URL.EscapedPath() writes it. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_remote_url_add_path(struct cor_str path, struct cor_buf *out);

/* The same, after Go's path.Clean(); a slash at the end stays. */
int cor_remote_url_add_clean_path(struct cor_str path, struct cor_buf *out);

/* Appends "?" and the query with its names in order, as Go's Values.Encode() of ParseQuery(); pairs
 * that cannot be decoded are left out. Nothing when no pair is left. Same errors. */
int cor_remote_url_add_query(struct cor_str query, struct cor_buf *out);

#endif
