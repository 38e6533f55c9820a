/* The engine's requests as messages of etcd's v3 API, and its answers.
 *
 * Encoders append one message to `out` (0, -COR_ENOMEM, -COR_ETOOBIG). Decoders read one message;
 * -COR_ENOMEM, or -COR_EINTERNAL: the bytes are not such a message. Thread: any. */
#ifndef COR_STORAGE_ETCD_ETCD_MESSAGES_H
#define COR_STORAGE_ETCD_ETCD_MESSAGES_H

#include "base/buf.h"
#include "storage/engine/engine.h"

/* At most `limit` keys; 0: all. */
int cor_etcd_encode_range(const struct cor_range_req *req, size_t limit, struct cor_buf *out);
/* Fills the results of the request; nothing is changed on failure. */
int cor_etcd_decode_range(struct cor_str bytes, struct cor_range_req *req);

/* A transaction: if the key's mod revision is the expected one, put or delete, else get. */
int cor_etcd_encode_write(const struct cor_write_req *req, struct cor_buf *out);
/* Also -COR_ECONFLICT. */
int cor_etcd_decode_write(struct cor_str bytes, struct cor_write_req *req);

int cor_etcd_encode_compaction(cor_rev rev, struct cor_buf *out);

int cor_etcd_encode_grant(int64_t ttl_s, struct cor_buf *out);
int cor_etcd_decode_grant(struct cor_str bytes, int64_t *ret_id);

int cor_etcd_encode_revoke(int64_t id, struct cor_buf *out);
int cor_etcd_encode_keep_alive(int64_t id, struct cor_buf *out);
/* Seconds that it has left; 0: it is gone. */
int cor_etcd_decode_keep_alive(struct cor_str bytes, int64_t *ret_ttl_s);

/* Whatever the key's version is; the answer is not looked at. */
int cor_etcd_encode_put(struct cor_str key, struct cor_str value, int64_t lease,
                        struct cor_buf *out);

int cor_etcd_encode_authenticate(const char *name, const char *password, struct cor_buf *out);
int cor_etcd_decode_authenticate(struct cor_str bytes, struct cor_buf *ret_token);

struct etcd_member_status {
    uint64_t db_bytes, used_bytes;
    bool has_progress; /* of a version that answers a request for progress only when all watches of
                        * the stream are in step */
    bool keeps_deletions; /* of a version whose compaction leaves the deletions that are at the
                           * compacted revision itself, from which a watch may begin */
};
/* The request is empty. */
int cor_etcd_decode_status(struct cor_str bytes, struct etcd_member_status *ret_status);

struct etcd_watch_create {
    int64_t id; /* chosen by the client, not 0 */
    struct cor_str key, end;
    cor_rev from; /* events after this revision */
    bool with_prev;
};
int cor_etcd_encode_watch_create(const struct etcd_watch_create *create, struct cor_buf *out);
int cor_etcd_encode_watch_cancel(int64_t id, struct cor_buf *out);
int cor_etcd_encode_watch_progress(struct cor_buf *out);

struct etcd_watch_answer {
    int64_t id; /* -1: of all watches of the stream */
    uint64_t cluster_id;
    cor_rev rev; /* the member's */
    bool created, canceled;
    bool is_fragment; /* more of this answer follows */
    cor_rev compact_rev;
    char reason[256]; /* why it was canceled; cut at its size */
    struct cor_feed_event *events;
    size_t nevents;
};
int cor_etcd_decode_watch(struct cor_str bytes, struct etcd_watch_answer *ret_answer);
void cor_etcd_watch_answer_deinit(struct etcd_watch_answer *answer);

#endif
