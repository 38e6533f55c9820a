/* Who is at the other end of a stream.
 * Owner: the stream.  Thread: its loop; unchanged once the stream is open. */
#ifndef COR_NET_STREAM_PEER_H
#define COR_NET_STREAM_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* A client certificate's subject. Its size is bounded by what TLS lets a peer send (100 KB). */
struct cor_peer_cert {
    /* By the authorities of the TLS options; otherwise nothing here may be believed. False on a
     * server with `client_cas`, which judge the certificate per request (net/stream/client_cas.h).
     */
    bool is_verified;
    struct {
        uint64_t generation; /* of the authorities; 0: not judged yet */
        int64_t until_s;
        unsigned by;
    } judged;           /* the kept answer of cor_client_cas_judge() */
    void *x509, *chain; /* OpenSSL's certificate, and what was sent after it; of the session */
    struct cor_str common_name;
    size_t norgs;
    struct cor_str orgs[]; /* in the certificate's order */
};

struct cor_peer {
    bool is_tls;
    bool is_unix; /* then uid, gid and pid come from the kernel */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    struct cor_peer_cert *cert; /* NULL: none was sent */
    char address[64];           /* "127.0.0.1:40000", "[::1]:40000", "@" for a Unix socket */
};

#endif
