/* A server that is measured: Coracle, or a peer that serves the same clients or the same bytes.
 * Thread: one.  Owner: whoever started it. */
#ifndef COR_BENCH_TARGET_H
#define COR_BENCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TARGET_TOKEN    "bench-token"
#define TARGET_PIDS_MAX 64

struct client;

struct target {
    pid_t pids[TARGET_PIDS_MAX]; /* all that count; the first is the one that was started last */
    size_t npids;
    uint16_t port;
    bool is_plain;
    double start_ms; /* from before fork() until /readyz says 200 */
};

/* How to start one; `dir` is where it keeps everything, and may have been used before. */
struct target_program {
    const char *program;
    const char *helper;   /* etcd, for kube-apiserver */
    const char *etcd_url; /* not NULL: the store is there, and its keeper does not count */
    bool has_controllers; /* of Coracle: all run inside the server; else none */
    const char *flag;     /* of Coracle: one more flag; NULL: none */
};

/* What an nginx does beside TLS. The texts are lines of its configuration. */
struct target_nginx {
    const char *http, *server; /* lines of the block `http`, and of its only `server` */
    const char *probe;         /* the path that is answered with 200 when it has started */
};

/* The URL is for `etcd_url`. The process counts nowhere; target_stop() ends it. */
void target_start_etcd(const char *program, const char *dir, char *ret_url, size_t n,
                       struct target *ret);

void target_start_coracle(const struct target_program *p, const char *dir, struct target *ret);

/* Where nginx is installed; NULL: it is not. */
const char *target_find_nginx(void);

/* With the certificate that Coracle made in `pki`. */
void target_start_nginx_as(const struct target_program *p, const struct target_nginx *what,
                           const char *dir, const char *pki, struct target *ret);

/* Serves the files of `dir`/www. */
void target_start_nginx(const struct target_program *p, const char *dir, const char *pki,
                        struct target *ret);

void target_start_kube(const struct target_program *p, const char *dir, struct target *ret);

/* Starts kube-controller-manager for a kube-apiserver that was started in `dir`; its process counts
 * for `t` from then on and ends with it. Its limit of 20 requests a second is lifted. Returns the
 * milliseconds until it was healthy. */
double target_add_controller_manager(const char *program, const char *dir, struct target *t);

void target_stop(struct target *t);

/* Of all its processes together. */
uint64_t target_cpu_ns(const struct target *t);
uint64_t target_memory(const struct target *t, const char *field);

/* A socket that listens on the loopback, for a server inside the benchmark. */
int target_listen(uint16_t *ret_port);

/* A port of the loopback that is the benchmark's until it ends; a server may listen there. */
uint16_t target_free_port(void);

#endif
