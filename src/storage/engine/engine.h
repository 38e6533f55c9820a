/* What a key-value engine offers to the store above it: revisioned keys with compare-and-swap,
 * reads at a revision, a feed of changes, leases, compaction. Two implementations: sqlite/ and
 * etcd/.
 *
 * Everything is asynchronous. A request is a struct of the caller's; it is handed in, and comes
 * back through `on_done` on the caller's loop, exactly once and never before the call returns, also
 * when the engine is full (-COR_EBUSY), failed (-COR_EIO …) or closing (-COR_ECANCELED). What a
 * request points to must stay until then. Results in it are the caller's to release
 * (cor_*_req_deinit). Thread: requests from any loop.  Owner of an engine: the server. */
#ifndef COR_STORAGE_ENGINE_H
#define COR_STORAGE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "loop/mailbox.h"
#include "loop/turns.h"
#include "meta/status/revision.h"
#include "meta/status/status.h"
#include "storage/engine/kv.h"

struct cor_clock;
struct cor_engine;
struct cor_feed;
struct cor_loop;

/* Set by the call that hands a request in. */
enum cor_engine_op {
    COR_ENGINE_RANGE,
    COR_ENGINE_WRITE,
    COR_ENGINE_LEASE,
    COR_ENGINE_COMPACT,
    COR_ENGINE_STATUS,
};

/* The head of every request. */
struct cor_engine_req {
    struct cor_mail mail;  /* the engine's while the request is under way */
    struct cor_loop *loop; /* where on_done is called */
    void (*on_done)(struct cor_engine_req *req);
    enum cor_engine_op op;     /* the engine's */
    struct cor_engine *engine; /* the engine's */
    int result;                /* 0 or negative COR_E… */
    struct cor_status status;  /* filled when result < 0, except for a lost compare */
};

/* Keys in [key, end), or the one key when `end` is empty; ascending byte order. */
struct cor_range_req {
    struct cor_engine_req req;
    struct cor_str key, end;
    cor_rev at;     /* 0: latest, linearizable; at most COR_REV_MAX */
    size_t limit;   /* most keys; 0: the engine's own page size, with `ret_more` */
    bool count;     /* also count all keys of the range */
    bool keys_only; /* count and revision only: no kv is returned; then without a key: revision only
                     */
    struct cor_kv **ret_kvs;
    size_t ret_nkvs;
    uint64_t ret_count; /* keys in the whole range at that revision; 0 unless `count` */
    bool ret_more;      /* keys remain after the last one returned */
    cor_rev ret_rev;    /* the store's revision when the read was made */
};
/* Errors: -COR_EEXPIRED (`at` was compacted), -COR_EFUTURE (`at` > revision; ret_rev is set). An
 * empty store has revision 1, as etcd's: 0 is never a revision. */

/* Compare-and-swap of one key. Errors: -COR_ECONFLICT (the compare was lost), -COR_ENOTFOUND (no
 * such lease), -COR_ETOOBIG, -COR_EINVAL (no key, or a deletion that expects absence), -COR_ENOSPC
 * (try again later), -COR_EIO and -COR_ECORRUPT (no write is taken any more), -COR_EREADONLY;
 * -COR_EUNREACHABLE (etcd has not seen it), -COR_ETIMEOUT (it is not known whether it happened). */
struct cor_write_req {
    struct cor_engine_req req;
    struct cor_str key;
    struct cor_str value;      /* put */
    struct cor_object *object; /* its content in stored form, for feeds that would otherwise have to
                                  decode it; NULL: not given */
    bool is_delete;
    cor_rev expected;        /* the key's mod_rev; 0: the key must be absent */
    int64_t lease;           /* 0: none */
    cor_rev ret_rev;         /* of this write */
    struct cor_kv *ret_prev; /* -COR_ECONFLICT: the current version (NULL: the key is absent);
                              * success: sqlite: the version that was replaced; etcd: NULL */
};

struct cor_lease_req {
    struct cor_engine_req req;
    int64_t ttl_s;
    int64_t ret_id; /* > 0; when it expires each attached key is deleted, with its own revision
                     * (sqlite) or all together with one (etcd) */
};

/* History before `rev` goes: reads at an earlier revision and feeds from one are -COR_EEXPIRED.
 * Done when it can no longer be read; space is released afterwards, in steps. */
struct cor_compact_req {
    struct cor_engine_req req;
    cor_rev rev; /* at most the current revision: else -COR_EFUTURE */
};

struct cor_engine_status_req {
    struct cor_engine_req req; /* result < 0: the engine can take no writes, and why */
    cor_rev ret_rev;
    cor_rev ret_compact_rev;
    uint64_t ret_file_bytes; /* as allocated */
    uint64_t ret_used_bytes; /* in use within it */
    unsigned ret_format;     /* the format of the store; 0: the engine has none (etcd) */
};

/* Values of this revision and earlier ones may have been written by a server that did not follow
 * the schema: an older version of Coracle, or, where other servers are on the store, anybody (then
 * it is COR_REV_MAX). 0: there are none. From any thread. */
cor_rev cor_engine_old_rev(const struct cor_engine *engine);

/* How long the turns of the engine's thread take, which applies what it has committed to the
 * caches: a batch of requests. From any thread. */
void cor_engine_get_turns(const struct cor_engine *engine, struct cor_loop_turns *ret_turns);

/* Writes that were refused because the store has no room for them (-COR_ENOSPC). From any thread.
 */
uint64_t cor_engine_refused_writes(const struct cor_engine *engine);

/* Was the last value that somebody wanted to store refused for that? A deletion does not change the
 * answer: it needs less room. From any thread. */
bool cor_engine_is_full(const struct cor_engine *engine);

void cor_engine_range(struct cor_engine *engine, struct cor_range_req *req);
void cor_engine_write(struct cor_engine *engine, struct cor_write_req *req);
void cor_engine_lease(struct cor_engine *engine, struct cor_lease_req *req);
void cor_engine_compact(struct cor_engine *engine, struct cor_compact_req *req);
void cor_engine_status(struct cor_engine *engine, struct cor_engine_status_req *req);

/* Set loop, on_done and an initialised status; everything else is zero. Deinit releases results.
 * For a lease, compaction or status request zero the struct and init its head. */
void cor_engine_req_init(struct cor_engine_req *req, struct cor_loop *loop,
                         void (*on_done)(struct cor_engine_req *req));
void cor_engine_req_deinit(struct cor_engine_req *req);
void cor_range_req_init(struct cor_range_req *req, struct cor_loop *loop,
                        void (*on_done)(struct cor_engine_req *req));
void cor_range_req_deinit(struct cor_range_req *req);
void cor_write_req_init(struct cor_write_req *req, struct cor_loop *loop,
                        void (*on_done)(struct cor_engine_req *req));
void cor_write_req_deinit(struct cor_write_req *req);

/* One change. A deletion's `kv` has the key, no value, and the deletion's revision as mod_rev. */
struct cor_feed_event {
    struct cor_kv *kv;
    struct cor_kv *prev; /* the version before; NULL for a creation, or when nobody wants it */
    bool deleted;
};

/* Events in revision order; a batch never splits a revision. `upto`: everything up to this revision
 * has now been delivered; a batch without events says just that (progress). Borrowed: ref what
 * stays. */
struct cor_feed_batch {
    const struct cor_feed_event *events;
    size_t nevents;
    cor_rev upto;
};

/* Changes to keys in [key, end) with revision > from, first out of history, then as they commit.
 * Both callbacks run on the engine thread and must not block. */
struct cor_feed_opts {
    struct cor_str key, end; /* copied; `end` empty: the one key */
    cor_rev from;            /* 0: from the current revision on */
    size_t credit;           /* events it may deliver; SIZE_MAX: all, see cor_feed_credit */
    bool with_prev;          /* events bring the version before */
    bool in_step;            /* live, it has a write before that is acknowledged; when there is no
                              * memory for that it breaks (-COR_ENOMEM) instead of falling behind;
                              * it is told of progress that it did not ask for */
    void (*on_batch)(void *arg, const struct cor_feed_batch *batch);
    /* The feed broke: -COR_EEXPIRED (compacted under it), -COR_EIO …; no batch after it. It must
     * still be closed. */
    void (*on_broken)(void *arg, int err, const char *message);
    void (*on_closed)(void *arg); /* the last call; `arg` may go */
    void *arg;
};

/* 0, or -COR_ENOMEM, -COR_EBUSY (too many feeds). A `from` that was compacted or lies in the future
 * shows as on_broken (-COR_EEXPIRED; sqlite: -COR_EFUTURE, etcd: it is waited for), a feed of a
 * read-only engine as -COR_ENOTSUP.
 * From any thread; the feed may be used as soon as a callback of it runs. */
int cor_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                  struct cor_feed **ret_feed);

/* Lets the feed deliver `events` more. A feed without credit keeps nothing but its position, and
 * reads on from history when it gets some. From any thread. */
void cor_feed_credit(struct cor_feed *feed, size_t events);

/* Asks for a batch that says how far the feed is, when all before it has been delivered. */
void cor_feed_progress(struct cor_feed *feed);

/* From any thread, once. on_closed follows on the engine thread; the feed is gone after it. */
void cor_feed_close(struct cor_feed *feed);

/* True: others write to the same store, and a feed can be behind a write that was acknowledged.
 * Then only a read with `at` 0 tells the current revision. */
bool cor_engine_shares_store(const struct cor_engine *engine);

/* How servers on one etcd list themselves: each has a key, whose value is a JSON object. */
#define COR_SERVERS_PREFIX "coracle/servers/"

/* Once, from any thread: puts the key as long as the engine is open, where others share the store;
 * it goes with the process, soon after it when that was killed. A user who may not write the key
 * does without it. 0, -COR_ENOMEM, -COR_ETOOBIG (a few KB). */
int cor_engine_announce(struct cor_engine *engine, struct cor_str key, struct cor_str value);

/* Of all keys of the store. */
#define COR_STORE_PATH_PREFIX_DEFAULT "/registry"

/* The key through which the servers on one engine agree who compacts it (see
 * storage/maintenance/compactor.h). Its value is the compacted revision, in digits. */
#define COR_COMPACT_KEY COR_STR("compact_rev_key")

/* Where etcd is, and how to be let in. NULL: not given. */
struct cor_etcd_config {
    const char *servers; /* URLs with http or https, separated by commas */
    const char *ca_file, *cert_file, *key_file;
    const char *user, *password_file;
};

/* The backend by that name; NULL: etcd3 when there are servers, else sqlite. */
const char *cor_engine_backend(const char *name, const struct cor_etcd_config *etcd);

struct cor_engine_config {
    const char *backend; /* "sqlite" or "etcd3"; NULL: see cor_engine_backend() */
    struct cor_etcd_config etcd;
    const char *path_prefix; /* etcd: of the keys that its user can read; NULL: the default */
    const char *data_dir;    /* sqlite: the folder, or ":memory:" */
    bool read_only;          /* sqlite: beside a process that holds the store; writes are refused */
    const struct cor_clock *clock; /* for leases; NULL: the real one */
    /* etcd: called once when no member has answered after COR_ENGINE_QUIET_MS, on the thread that
     * opens, which goes on waiting for some seconds; `servers` are the addresses. May be NULL. */
    void (*on_waiting)(void *arg, const char *servers);
    void *waiting_arg;
};

#define COR_ENGINE_QUIET_MS 500

/* Opens by name. Blocks: for start-up, not for a loop. -COR_EINVAL (unknown backend: the message
 * lists the known ones), -COR_ELOCKED (the message names the pid), -COR_ESCHEMA, -COR_ECORRUPT,
 * -COR_EIO, -COR_ENOSPC, -COR_EREADONLY, -COR_ENOMEM. */
int cor_engine_open(const struct cor_engine_config *config, struct cor_engine **ret_engine,
                    struct cor_status *reterr_status);

/* Finishes what was taken, answers the rest with -COR_ECANCELED, closes. Blocks; not from a loop
 * that waits for an answer. All feeds must have been closed. Returns NULL; NULL is fine. */
struct cor_engine *cor_engine_close(struct cor_engine *engine);

#endif
