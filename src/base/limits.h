/* The numbers of `coracle serve` that its users can meet: what a peer may send and make the server
 * hold, and how long things may take. docs/internals/limits.md says of each whom it is charged to,
 * what happens beyond it, and which test reaches it; tests/tools/ compares the numbers. Those with
 * a flag are its default, which its help shows.
 *
 * Numbers that only one module knows, or that belong to libcoracle (include/coracle/), are there.
 * Thread: any (constants). */
#ifndef COR_BASE_LIMITS_H
#define COR_BASE_LIMITS_H

#include <stdint.h>

/* Connections, and requests on their way. Go allows 1 MiB of head; clients of Kubernetes send one
 * or two KB, the largest token a few more, and a client that is still anonymous should not claim
 * more memory. */
#define COR_CONNECTIONS_MAX    16384
#define COR_HELD_FOR_PEERS_MAX (256u << 20) /* in all; http/budget.h has the shares */
#define COR_HEAD_BYTES_MAX     (64u * 1024)
#define COR_HEAD_FIELDS_MAX    256
#define COR_BODY_BYTES_MAX     (3u << 20)    /* also what a decoder or a patch makes of it */
#define COR_BODY_SKIPPED_MAX   (64u * 1024)  /* of a refused request */
#define COR_OUTPUT_WAITING_MAX (256u * 1024) /* of a response, for its reader */
#define COR_HEAD_TIMEOUT_MS    32000         /* TLS included */
#define COR_REQUEST_TIMEOUT_MS 60000 /* --request-timeout; also a body, and a reader's pause */
#define COR_WRITE_TIMEOUT_MS   34000 /* from when the body is whole */
#define COR_IDLE_TIMEOUT_MS    90000
#define COR_DRAIN_MS           10000 /* for requests under way when the server ends */

/* HTTP/2; docs/internals/h2.md has the reasons. */
#define COR_H2_STREAMS_MAX       1000          /* --http2-max-streams-per-connection */
#define COR_H2_STREAMS_FLAG_MAX  10000         /* each may hold a window of a body */
#define COR_H2_WINDOW            (256u * 1024) /* of a stream: what may come that nobody has taken */
#define COR_H2_CONTINUATIONS_MAX 6
#define COR_H2_CONTROL_BURST     1000
#define COR_H2_CONTROL_PER_S     100
#define COR_H2_CONTROL_BYTES     1024 /* that were sent allow one more */
#define COR_H2_RESETS_BURST      1000
#define COR_H2_RESETS_PER_S      33
#define COR_H2_EXPANDED_BYTES    (16u * 1024)
#define COR_H2_EXPANDED_BURST    200
#define COR_H2_EXPANDED_PER_S    10
#define COR_H2_ACKS_MAX          100

/* Requests at once, and what their answers hold. */
#define COR_READING_MAX          400          /* --max-requests-inflight */
#define COR_MUTATING_MAX         200          /* --max-mutating-requests-inflight */
#define COR_WATCH_CACHE_BYTES    (256u << 20) /* --watch-cache-bytes */
#define COR_WATCH_CACHE_FLAG_MIN (1u << 20)
#define COR_ANSWERS_HELD_MAX     (256u << 20)        /* while they wait; --watch-cache-bytes too */
#define COR_CALL_OUT_MAX         (64u << 20)         /* of an answer that is made whole */
#define COR_KEPT_DOCS_BYTES_MAX  (32u << 20)         /* OpenAPI */
#define COR_OPENAPI_BYTES_MAX    (16u << 20)         /* of one document */
#define COR_PROTOBUF_CACHE_BYTES (64u << 20)         /* --protobuf-cache-bytes */
#define COR_PROTOBUF_FLAG_MAX    (UINT64_C(1) << 40) /* a larger one would need larger maps */
#define COR_PROTOBUF_UNUSED_MS   60000
#define COR_FRAMES_MAX           32
#define COR_FRAMES_BYTES_MAX     (4u << 20)
#define COR_VARIANTS_MAX         16
#define COR_VARIANT_BYTES_MAX    (128u * 1024)

/* The work of a request (base/work.h), in steps of about 30 ns: half a second of a thread, of which
 * a loop does about 2 ms before a thread goes on. */
#define COR_WORK_STEPS_MAX (1u << 24)
#define COR_WORK_SLICE     (1u << 16)

/* Stages over large bytes leave their loop, and wait for a thread. */
#define COR_HEAVY_BYTES     (64u * 1024)
#define COR_HEAVY_JOBS_MAX  256
#define COR_HEAVY_QUEUE_MAX (128u << 20)

/* Answers of a server that is asked about tokens and access, on each loop: upstream's sizes. */
#define COR_TOKENS_KEPT_MAX     32768
#define COR_ACCESSES_KEPT_MAX   8192
#define COR_TOKEN_TTL_MS        10000 /* --authentication-token-webhook-cache-ttl */
#define COR_AUTHORIZED_TTL_MS   10000 /* --authorization-webhook-cache-authorized-ttl */
#define COR_UNAUTHORIZED_TTL_MS 10000 /* --authorization-webhook-cache-unauthorized-ttl */

/* Watches. */
#define COR_MIN_REQUEST_TIMEOUT_S  1800     /* --min-request-timeout */
#define COR_MIN_REQUEST_FLAG_MAX_S 31536000 /* a year */
#define COR_RETIRED_WATCH_MS       10000    /* that a watch goes on after its definition */
#define COR_ENGINE_FEEDS_MAX       4096     /* of one engine */
#define COR_ENGINE_FEEDS_OWN       256      /* of them the server's: its caches, its replays */
#define COR_STORE_WATCH_EVENTS_MAX 100      /* that a watch without a cache has not taken yet */
#define COR_STORE_WATCH_BYTES_MAX  (4u << 20)
#define COR_REPLAYS_MAX            64 /* a feed each */
#define COR_REPLAYS_OF_READER_MAX  8  /* of one resource on one loop */

/* The store: what waits for the engine (-COR_EBUSY beyond), and what a page has. */
#define COR_ENGINE_WRITES_MAX      16384
#define COR_ENGINE_WRITE_BYTES_MAX (128u << 20)
#define COR_ENGINE_READS_MAX       4096
#define COR_PAGE_KEYS_MAX          10000
#define COR_PAGE_BYTES_MAX         (8u << 20) /* a single value may pass it */
#define COR_LOOP_MAIL_MAX          65536
#define COR_EVENT_TTL_S            3600   /* --event-ttl */
#define COR_COMPACTION_INTERVAL_MS 300000 /* --etcd-compaction-interval */

/* Objects and kinds. */
#define COR_OBJECT_BYTES_MAX_DEFAULT (1536u * 1024)
#define COR_ANNOTATIONS_BYTES_MAX    (256u * 1024)  /* keys and values together */
#define COR_DATA_BYTES_MAX           (1024u * 1024) /* of a ConfigMap or a Secret: all values */
#define COR_JSON_PATCH_OPS_MAX       10000
#define COR_JSON_PATCH_WORK_MAX      50000000u /* values that are visited */
#define COR_CRDS_MAX                 4096      /* definitions that are known */
#define COR_DEFINITIONS_MAX          8192      /* with those that are retired and not freed yet */
#define COR_SERVED_ROWS_MAX          16384
#define COR_DISRUPTED_PODS_MAX       2000

/* Paths and options of requests. Upstream has no limit of a field selector but its URL's; a key is
 * longer than any name and namespace that the rules allow, with room for path segment names. */
#define COR_REQUEST_PATH_MAX         (16u * 1024)
#define COR_KEY_BYTES_MAX            4096
#define COR_FIELD_SELECTOR_BYTES_MAX (64u * 1024)
#define COR_FIELD_SELECTOR_TERMS_MAX 256
#define COR_ACCEPT_CLAUSES_MAX       32
#define COR_WARNING_HEADERS_MAX      256 /* more than texts of upstream's fit into the code points */
#define COR_WARNINGS_RUNES_MAX       4096

/* What one aggregated server may say, and all of them. Of all of Kubernetes discovery has about
 * 200 KB, 30 versions and 60 resources in one, subresources counted; OpenAPI 4 MB. */
#define COR_REMOTE_DISCOVERY_BYTES     (2u << 20)
#define COR_REMOTE_DISCOVERY_VERSIONS  1024
#define COR_REMOTE_DISCOVERY_RESOURCES 4096
#define COR_REMOTE_OPENAPI_BYTES       (8u << 20)
#define COR_REMOTE_TARGET_BYTES        (16u << 20)
#define COR_REMOTE_ALL_BYTES           (48u << 20)
/* What our controllers take of it: resources of a version; an answer that is no watch, its bytes
 * and the time until all of it is there (a watch has so long until it begins); what all calls to
 * one server hold of its bytes; what the garbage collector keeps of all of them, and references of
 * one object. */
#define COR_REMOTE_RESOURCES_MAX  256
#define COR_REMOTE_CALL_BYTES_MAX (64u << 20)
#define COR_REMOTE_CALL_MS        30000
#define COR_REMOTE_HELD_MAX       (16u << 20)
#define COR_GC_REMOTE_BYTES_MAX   (64u << 20)
#define COR_GC_REMOTE_REFS_MAX    (64u * 1024)

/* Input of the commands beside serve. */
#define COR_PUT_INPUT_MAX        (16u << 20)
#define COR_CRD_CHECK_INPUT_MAX  (64u << 20)
#define COR_CRD_CHECK_OBJECT_MAX (16u << 20) /* of one document */

#endif
