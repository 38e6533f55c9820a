/* TLS of a client whose certificate and key are files, which somebody may replace: made anew when
 * they have changed.
 * Owner: its maker.  Thread: one at a time. */
#ifndef COR_NET_STREAM_TLS_FILES_H
#define COR_NET_STREAM_TLS_FILES_H

#include "base/cleanup.h"

struct cor_tls;
struct cor_tls_files;
struct cor_tls_opts;

/* `opts` without certificate and key; its texts are copied, the protocols' names must stay valid.
 * 0, -COR_ENOTFOUND, -COR_EIO, -COR_ETOOBIG (of a file), or as cor_tls_new(). */
int cor_tls_files_new(const struct cor_tls_opts *opts, const char *cert_file, const char *key_file,
                      struct cor_tls_files **ret_files);

/* Wipes the key. Returns NULL. */
struct cor_tls_files *cor_tls_files_free(struct cor_tls_files *f);
COR_DEFINE_CLEANUP(struct cor_tls_files, cor_tls_files_free)

/* Reads both files. 1: they have changed, and cor_tls_files_peek() is another; 0: they have not.
 * The errors above: what is there cannot be used (yet: one of two may be new), and the old one
 * stays. */
int cor_tls_files_look(struct cor_tls_files *f);

/* Borrowed until the next look. */
struct cor_tls *cor_tls_files_peek(const struct cor_tls_files *f);

#endif
