/* The numbers of coracle-gen that its users can meet. Thread: any (constants). */
#ifndef COR_CMD_GEN_LIMITS_H
#define COR_CMD_GEN_LIMITS_H

#define GEN_FILE_BYTES_MAX    (64u << 20) /* of one input */
#define GEN_PACKAGES_MAX      256         /* that are named */
#define GEN_URL_BYTES_MAX     (64u * 1024)
#define GEN_SERVER_TIMEOUT_MS 60000 /* of each request to --server */

#endif
