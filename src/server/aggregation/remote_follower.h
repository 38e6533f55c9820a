/* clang-format off */
/* Learns from the servers of remote APIServices what they serve, and publishes it with the next
 * snapshot of the catalog: their discovery and their OpenAPI documents, which are merged with our
 * own when somebody asks for them (server/docs/). No request waits for another server.
 *
 *   snapshot ──► services of remote APIServices, with the versions that each answers for
 *                  ├── discovery_asker.c   GET /apis, or /apis/GROUP/VERSION     every minute, 5 s
 *                  └── openapi_asker.c     GET /openapi/v3, /openapi/v3/apis/…,
 *                                          /openapi/v2                           every minute, 60 s
 *   what was learned ──► cor_remote_docs ──► the publisher ──► the next snapshot
 *
 * A service is asked again at once when one of its APIServices changes or becomes available. One that
 * is not available is not asked: its versions are stale in discovery, without resources (Contract
 * extension 4.5.3; case 35), and its OpenAPI documents stay as they were.
 *
 * Maxima: COR_REMOTE_TARGET_BYTES of documents of one service, COR_REMOTE_ALL_BYTES of all. A document
 * beyond them is not taken, and the one before it stays: the group is served and discovered all the
 * same. Without remote APIServices nothing is done and no timer runs.
 * Thread: the first loop of the API; long documents are read on offload threads.
 * Owner: its opener. */
/* clang-format on */
#ifndef COR_SERVER_REMOTE_FOLLOWER_H
#define COR_SERVER_REMOTE_FOLLOWER_H

struct cor_api;
struct cor_remote_follower;
struct cor_targets;

/* `targets` are those of the API's first loop and stay until the follower is closed. 0,
 * -COR_ENOMEM. */
int cor_remote_follower_open(struct cor_api *api, struct cor_targets *targets,
                             struct cor_remote_follower **ret_follower);

/* Asks nobody any more; what was published stays. `on_closed` comes from a later turn, and the
 * memory is gone then. No use of the targets is left when this returns. */
void cor_remote_follower_close(struct cor_remote_follower *f, void (*on_closed)(void *arg),
                               void *arg);

#endif
