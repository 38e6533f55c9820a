#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_TURNS   20000
#define STOP_TURN_NS 1000000

void die(const char *fmt, ...)
{
    va_list ap;

    fputs("bench: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(2);
}

static void become_child(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
}

static void redirect(const char *log)
{
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (out < 0 || in < 0)
        _exit(127);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
}

pid_t process_start(const char *const *argv, const char *log)
{
    pid_t parent = getpid(), pid = fork();

    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid > 0)
        return pid;
    become_child(parent);
    redirect(log);
    execvp(argv[0], (char *const *)argv);
    dprintf(2, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

pid_t process_fork(void (*child)(void *arg), void *arg)
{
    pid_t parent = getpid(), pid = fork();

    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid > 0)
        return pid;
    become_child(parent);
    child(arg);
    _exit(0);
}

bool process_is_gone(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) != 0;
}

const char *process_named(const char *variable)
{
    const char *name = getenv(variable);

    return name && name[0] ? name : NULL;
}

void process_stop(pid_t pid)
{
    const struct timespec turn = {.tv_nsec = STOP_TURN_NS};

    kill(pid, SIGTERM);
    for (int i = 0; i < STOP_TURNS; i++) {
        if (process_is_gone(pid))
            return;
        nanosleep(&turn, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

uint64_t process_cpu_ns(pid_t pid)
{
    struct timespec ts;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) != 0)
        die("process %d has no CPU clock: it has ended", (int)pid);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t process_memory(pid_t pid, const char *field)
{
    char path[64], line[256];
    size_t n = strlen(field);
    uint64_t kb = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    if (!f)
        die("%s: %s", path, strerror(errno));
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, field, n) == 0 && line[n] == ':')
            kb = strtoull(line + n + 1, NULL, 10);
    fclose(f);
    return kb * 1024;
}

size_t process_children(pid_t pid, pid_t *ret_pids, size_t max)
{
    char path[64];
    size_t n = 0;
    unsigned long child;
    char line[4096], *at = line, *end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    f = fopen(path, "re");
    if (!f || !fgets(line, sizeof(line), f))
        line[0] = '\0';
    if (f)
        fclose(f);
    while (n < max && (child = strtoul(at, &end, 10)) > 0 && end > at) {
        ret_pids[n++] = (pid_t)child;
        at = end;
    }
    return n;
}
