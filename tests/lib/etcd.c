#include "etcd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held_port.h"
#include "test.h"

#define START_MS 120000
#define POLL_MS  20

static char url[64], peer_url[64], dir[128];
static unsigned port;
static pid_t pid;

static const char *program(void)
{
    const char *name = getenv("COR_ETCD");

    return name && *name ? name : "etcd";
}

static bool is_in_path(void)
{
    const char *path = getenv("PATH");
    char all[4096], file[4352], *rest = all, *one;

    if (strchr(program(), '/'))
        return access(program(), X_OK) == 0;
    snprintf(all, sizeof(all), "%s", path ? path : "");
    while ((one = strsep(&rest, ":"))) {
        snprintf(file, sizeof(file), "%s/%s", one, program());
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

void test_etcd_or_skip(void)
{
    if (is_in_path())
        return;
    printf("1..0 # SKIP there is no etcd: install etcd-server, or name one in COR_ETCD\n");
    exit(0);
}

/* Until the program ends. */
static unsigned own_port(void)
{
    uint16_t own = 0;

    assert_true(held_port(&own) >= 0);
    test_keep_fds();
    return own;
}

static void pause_ms(long ms)
{
    /* etcd tells nobody that it listens, or that its port is free again: it is asked. */
    poll(NULL, 0, (int)ms);
}

static bool listens(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool ok = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;

    close(fd);
    return ok;
}

/* Without syncs: a killed process leaves what it wrote to the kernel. */
static void run_etcd(pid_t parent)
{
    int null = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    setenv("ETCD_UNSUPPORTED_ARCH", "arm64", 1);
    execlp(program(), program(), "--name=t", "--data-dir", dir, "--listen-client-urls", url,
           "--advertise-client-urls", url, "--listen-peer-urls", peer_url,
           "--initial-advertise-peer-urls", peer_url, "--initial-cluster-state=new",
           "--heartbeat-interval=20", "--election-timeout=200", "--logger=zap", "--log-level=error",
           "--unsafe-no-fsync", NULL);
    _exit(127);
}

static void start(void)
{
    char cluster[96];
    pid_t parent = getpid();

    snprintf(cluster, sizeof(cluster), "t=%s", peer_url);
    setenv("ETCD_INITIAL_CLUSTER", cluster, 1);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_etcd(parent);
    for (int ms = 0; ms < START_MS; ms += POLL_MS) {
        if (listens())
            return;
        if (waitpid(pid, NULL, WNOHANG) == pid)
            break;
        pause_ms(POLL_MS);
    }
    fail_msg("%s does not start", program());
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    remove(path);
    return 0;
}

static void end(void)
{
    if (pid > 0)
        test_etcd_signal(SIGKILL);
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_etcd_url(void)
{
    const char *tmp = getenv("TMPDIR");

    if (url[0])
        return url;
    port = own_port();
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    snprintf(peer_url, sizeof(peer_url), "http://127.0.0.1:%u", own_port());
    snprintf(dir, sizeof(dir), "%s/cor-etcd-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    atexit(end);
    start();
    return url;
}

void test_etcd_signal(int signal)
{
    assert_int_equal(kill(pid, signal), 0);
    if (signal != SIGKILL)
        return;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    pid = 0;
}

void test_etcd_restart(void)
{
    start();
}
