#include "target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client.h"
#include "held_port.h"
#include "measure.h"
#include "process.h"

#define TEXT_MAX     1024
#define PROBE_MS     5000
#define PROBE_GAP_NS 500000
#define START_MAX_S  60
#define TOKEN_LINE   TARGET_TOKEN ",bench,bench,\"system:masters\"\n"

int target_listen(uint16_t *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        die("no listener on the loopback");
    *ret_port = ntohs(a.sin_port);
    return fd;
}

uint16_t target_free_port(void)
{
    uint16_t port;

    if (held_port(&port) < 0)
        die("no port of the loopback");
    return port;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        die("cannot write %s", path);
}

struct probe {
    int status;
    bool is_over;
};

static void on_probe_response(int status, void *arg)
{
    *(struct probe *)arg = (struct probe){status, true};
}

static void on_probe_lost(int why, void *arg)
{
    ((struct probe *)arg)->is_over = true;
}

static bool probe_is_over(void *arg)
{
    return ((struct probe *)arg)->is_over;
}

static int probe(struct client *client, const struct target *t, const char *path)
{
    static const struct conn_cbs cbs = {.on_response = on_probe_response, .on_lost = on_probe_lost};
    struct probe p = {0};
    struct conn *conn = conn_open(client, t->port, t->is_plain, &cbs, &p);
    char request[TEXT_MAX];
    int n = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);

    conn_send(conn, cor_str(request, (size_t)n));
    (void)client_run(client, probe_is_over, &p, PROBE_MS);
    conn_close(conn);
    return p.status;
}

/* Kept for the whole run: what a client's own start costs is not the server's. */
static struct client *prober(void)
{
    static struct client *client;

    if (!client)
        client = client_open();
    return client;
}

static void wait_for(const struct target *t, const char *path)
{
    const struct timespec gap = {.tv_nsec = PROBE_GAP_NS};
    struct client *client = prober();
    uint64_t end = measure_now_ns() + START_MAX_S * UINT64_C(1000000000);

    while (probe(client, t, path) != 200) {
        if (measure_now_ns() > end || process_is_gone(t->pids[0]))
            die("a server did not start; see the logs in the data folder");
        nanosleep(&gap, NULL);
    }
}

static void start(struct target *t, const char *const *argv, const char *log, const char *path)
{
    uint64_t began;

    (void)prober();
    began = measure_now_ns();
    t->pids[0] = process_start(argv, log);
    wait_for(t, path);
    t->start_ms = (double)(measure_now_ns() - began) / 1e6;
}

void target_start_coracle(const struct target_program *p, const char *dir, struct target *ret)
{
    char data[TEXT_MAX], tokens[TEXT_MAX], log[TEXT_MAX], port[16];
    const char *argv[] = {p->program, "serve", "--data", data, "--token-auth-file", tokens,
                          "--port", port, "--max-requests-inflight", "0",
                          "--service-cluster-ip-range", "10.96.0.0/12", "--die-with-parent",
                          /* kube-apiserver has none either. */
                          p->has_controllers ? "--controllers=*" : "--controllers=-*", NULL, NULL,
                          NULL, NULL};
    size_t n = 0;

    while (argv[n])
        n++;
    if (p->flag)
        argv[n++] = p->flag;
    if (p->etcd_url) {
        argv[n++] = "--etcd-servers";
        argv[n++] = p->etcd_url;
    }
    *ret = (struct target){.npids = 1, .port = target_free_port()};
    mkdir(dir, 0700);
    snprintf(data, sizeof(data), "%s/data", dir);
    snprintf(tokens, sizeof(tokens), "%s/tokens.csv", dir);
    snprintf(log, sizeof(log), "%s/log", dir);
    snprintf(port, sizeof(port), "%u", ret->port);
    write_file(tokens, TOKEN_LINE);
    start(ret, argv, log, "/readyz");
}

const char *target_find_nginx(void)
{
    static const char *const places[] = {"/usr/sbin/nginx", "/usr/bin/nginx",
                                         "/usr/local/sbin/nginx"};

    for (size_t i = 0; i < COR_ARRAY_LEN(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

void target_start_nginx_as(const struct target_program *p, const struct target_nginx *what,
                           const char *dir, const char *pki, struct target *ret)
{
    char conf[TEXT_MAX], log[TEXT_MAX], text[8 * TEXT_MAX];
    const char *argv[] = {p->program, "-c", conf, "-e", log, NULL};

    *ret = (struct target){.npids = 1, .port = target_free_port()};
    mkdir(dir, 0700);
    snprintf(conf, sizeof(conf), "%s/nginx.conf", dir);
    snprintf(log, sizeof(log), "%s/nginx.log", dir);
    snprintf(text, sizeof(text),
             "daemon off;\n%spid \"%s/nginx.pid\";\nworker_processes auto;\n"
             "events { worker_connections 4096; }\n"
             "http {\n access_log off;\n default_type application/json;\n sendfile on;\n"
             " open_file_cache max=100;\n keepalive_requests 100000000;\n"
             " client_body_temp_path \"%s/t1\";\n proxy_temp_path \"%s/t2\";\n"
             " fastcgi_temp_path \"%s/t3\";\n"
             " uwsgi_temp_path \"%s/t4\";\n scgi_temp_path \"%s/t5\";\n%s"
             " server {\n  listen 127.0.0.1:%u ssl;\n%s"
             "  ssl_certificate \"%s/server.crt\";\n  ssl_certificate_key \"%s/server.key\";\n"
             " }\n}\n",
             geteuid() == 0 ? "user root;\n" : "", dir, dir, dir, dir, dir, dir, what->http,
             ret->port, what->server, pki, pki);
    write_file(conf, text);
    start(ret, argv, log, what->probe);
    ret->npids += process_children(ret->pids[0], ret->pids + 1, TARGET_PIDS_MAX - 1);
}

void target_start_nginx(const struct target_program *p, const char *dir, const char *pki,
                        struct target *ret)
{
    char root[TEXT_MAX + 32];
    const struct target_nginx what = {.http = "", .server = root, .probe = "/get"};

    snprintf(root, sizeof(root), "  root \"%s/www\";\n", dir);
    target_start_nginx_as(p, &what, dir, pki, ret);
}

void target_start_etcd(const char *program, const char *dir, char *ret_url, size_t n,
                       struct target *ret)
{
    char data[TEXT_MAX], log[TEXT_MAX], peer[64];
    const char *argv[] = {program, "--data-dir",
                          data,    "--listen-client-urls",
                          ret_url, "--advertise-client-urls",
                          ret_url, "--listen-peer-urls",
                          peer,    "--initial-advertise-peer-urls",
                          peer,    "--initial-cluster",
                          NULL,    NULL};
    char cluster[80];

    *ret = (struct target){.npids = 1, .port = target_free_port(), .is_plain = true};
    snprintf(ret_url, n, "http://127.0.0.1:%u", ret->port);
    snprintf(peer, sizeof(peer), "http://127.0.0.1:%u", target_free_port());
    snprintf(cluster, sizeof(cluster), "default=%s", peer);
    argv[12] = cluster;
    snprintf(data, sizeof(data), "%s/etcd", dir);
    snprintf(log, sizeof(log), "%s/etcd.log", dir);
    start(ret, argv, log, "/health");
}

/* Tokens, certificate folder, and the key of service accounts, which the server insists on. */
static void prepare_kube(const char *dir, char *ret_key, size_t n)
{
    char path[TEXT_MAX], log[TEXT_MAX];
    const char *argv[] = {"openssl", "genrsa", "-out", ret_key, "2048", NULL};
    pid_t pid;

    mkdir(dir, 0700);
    snprintf(path, sizeof(path), "%s/tokens.csv", dir);
    write_file(path, TOKEN_LINE);
    snprintf(ret_key, n, "%s/sa.key", dir);
    snprintf(log, sizeof(log), "%s/openssl.log", dir);
    if (access(ret_key, R_OK) == 0)
        return;
    pid = process_start(argv, log);
    while (!process_is_gone(pid))
        usleep(1000);
}

void target_start_kube(const struct target_program *p, const char *dir, struct target *ret)
{
    char key[TEXT_MAX], tokens[TEXT_MAX + 32], certs[TEXT_MAX + 32], log[TEXT_MAX], port[32],
        url[64], etcd[96], sa[TEXT_MAX + 64], signing[TEXT_MAX + 64];
    const char *argv[] = {
        p->program, etcd, tokens, certs, port, sa, signing,
        "--service-account-issuer=https://bench", "--service-cluster-ip-range=10.96.0.0/12",
        "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
        "--max-requests-inflight=4000", "--bind-address=127.0.0.1",
        /* As Coracle writes: the same store then has the same bytes. */
        p->etcd_url ? "--storage-media-type=application/json" : NULL, "--etcd-prefix=/kube", NULL};
    struct target own = {0};

    *ret = (struct target){.npids = p->etcd_url ? 1 : 2, .port = target_free_port()};
    prepare_kube(dir, key, sizeof(key));
    if (!p->etcd_url)
        target_start_etcd(p->helper, dir, url, sizeof(url), &own);
    ret->pids[1] = own.pids[0];
    snprintf(etcd, sizeof(etcd), "--etcd-servers=%s", p->etcd_url ? p->etcd_url : url);
    snprintf(tokens, sizeof(tokens), "--token-auth-file=%s/tokens.csv", dir);
    snprintf(certs, sizeof(certs), "--cert-dir=%s/certs", dir);
    snprintf(port, sizeof(port), "--secure-port=%u", ret->port);
    snprintf(sa, sizeof(sa), "--service-account-key-file=%s", key);
    snprintf(signing, sizeof(signing), "--service-account-signing-key-file=%s", key);
    snprintf(log, sizeof(log), "%s/kube-apiserver.log", dir);
    start(ret, argv, log, "/readyz");
}

double target_add_controller_manager(const char *program, const char *dir, struct target *t)
{
    char file[TEXT_MAX], log[TEXT_MAX], text[2 * TEXT_MAX], config[TEXT_MAX + 32], port[32],
        key[TEXT_MAX + 64], ca[TEXT_MAX + 64], certs[TEXT_MAX + 32];
    const char *argv[] = {program,
                          config,
                          port,
                          key,
                          ca,
                          certs,
                          "--leader-elect=false",
                          "--bind-address=127.0.0.1",
                          "--kube-api-qps=100000",
                          "--kube-api-burst=100000",
                          NULL};
    struct target own = {.npids = 1, .port = target_free_port()};

    snprintf(file, sizeof(file), "%s/kubeconfig", dir);
    snprintf(text, sizeof(text),
             "apiVersion: v1\nkind: Config\ncurrent-context: bench\n"
             "clusters: [{name: bench, cluster: {server: 'https://127.0.0.1:%u', "
             "insecure-skip-tls-verify: true}}]\n"
             "users: [{name: bench, user: {token: " TARGET_TOKEN "}}]\n"
             "contexts: [{name: bench, context: {cluster: bench, user: bench}}]\n",
             t->port);
    write_file(file, text);
    snprintf(config, sizeof(config), "--kubeconfig=%s", file);
    snprintf(port, sizeof(port), "--secure-port=%u", own.port);
    snprintf(key, sizeof(key), "--service-account-private-key-file=%s/sa.key", dir);
    snprintf(ca, sizeof(ca), "--root-ca-file=%s/certs/apiserver.crt", dir);
    snprintf(certs, sizeof(certs), "--cert-dir=%s/manager-certs", dir);
    snprintf(log, sizeof(log), "%s/kube-controller-manager.log", dir);
    start(&own, argv, log, "/healthz");
    t->pids[t->npids++] = own.pids[0];
    return own.start_ms;
}

void target_stop(struct target *t)
{
    process_stop(t->pids[0]);
    for (size_t i = 1; i < t->npids; i++)
        if (!process_is_gone(t->pids[i]))
            process_stop(t->pids[i]);
}

uint64_t target_cpu_ns(const struct target *t)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < t->npids; i++)
        ns += process_cpu_ns(t->pids[i]);
    return ns;
}

uint64_t target_memory(const struct target *t, const char *field)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < t->npids; i++)
        bytes += process_memory(t->pids[i], field);
    return bytes;
}
