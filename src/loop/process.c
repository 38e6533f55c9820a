#include "loop/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uv.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"

#define PIECE 4096

/*   RUNNING ──► ENDED (both polls close) ──► gone        CLOSING: the same, without on_end */
struct cor_process {
    struct cor_loop *loop;
    pid_t pid;
    int pidfd, out_fd;
    uv_poll_t end_poll, out_poll;
    size_t nhandles; /* not closed yet */
    struct cor_timer timer;
    struct cor_buf output;
    struct cor_process_end end;
    bool has_ended, is_closing;
    void (*on_end)(void *arg, const struct cor_process_end *end);
    void (*on_closed)(void *arg);
    void *arg;
};

static void free_process(struct cor_process *p)
{
    cor_timer_cancel(&p->timer);
    if (p->pidfd >= 0)
        close(p->pidfd);
    if (p->out_fd >= 0)
        close(p->out_fd);
    cor_buf_deinit(&p->output);
    cor_free(p);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct cor_process *p = handle->data;
    void (*on_closed)(void *arg) = p->on_closed;
    void *arg = p->arg;

    if (--p->nhandles > 0)
        return;
    if (!p->is_closing) {
        p->end.output = cor_buf_str(&p->output);
        p->on_end(arg, &p->end);
    }
    free_process(p);
    if (on_closed)
        on_closed(arg);
}

static void close_polls(struct cor_process *p)
{
    uv_close((uv_handle_t *)&p->end_poll, on_handle_closed);
    uv_close((uv_handle_t *)&p->out_poll, on_handle_closed);
}

static void kill_with(struct cor_process *p, int r)
{
    if (p->end.r == 0)
        p->end.r = r;
    pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
}

/* What is there now. Whoever inherited the pipe may keep it open: its end is not waited for. */
static void read_output(struct cor_process *p)
{
    ssize_t n = 1;
    int r = 0;

    while (r == 0 && n > 0) {
        char piece[PIECE];

        n = read(p->out_fd, piece, sizeof(piece));
        if (n > 0)
            r = cor_buf_add(&p->output, piece, (size_t)n);
        else if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0 && errno != EAGAIN)
            r = -COR_EIO;
        explicit_bzero(piece, sizeof(piece));
    }
    if (r < 0)
        kill_with(p, r);
    if (r < 0 || n == 0)
        uv_poll_stop(&p->out_poll);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    read_output(poll->data);
}

static int exit_code(int pidfd)
{
    siginfo_t info = {0};

    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) != 0)
        if (errno != EINTR)
            return -1;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

static void on_exit_readable(uv_poll_t *poll, int status, int events)
{
    struct cor_process *p = poll->data;

    if (p->has_ended)
        return;
    p->has_ended = true;
    cor_timer_cancel(&p->timer);
    p->end.exit_code = exit_code(p->pidfd);
    if (p->end.r == 0)
        read_output(p);
    close_polls(p);
}

static void on_timer(struct cor_timer *timer)
{
    kill_with(COR_CONTAINER_OF(timer, struct cor_process, timer), -COR_ETIMEOUT);
}

static int from_errno(int e)
{
    switch (e) {
    case ENOENT:
    case ENOTDIR:
        return -COR_ENOTFOUND;
    case EACCES:
    case EPERM:
    case ENOEXEC:
        return -COR_EFORBIDDEN;
    case ENOMEM:
        return -COR_ENOMEM;
    default:
        return -COR_EIO;
    }
}

static int set_files(posix_spawn_file_actions_t *files, int out_fd, bool has_stdin)
{
    int e = 0;

    if (!has_stdin)
        e = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    return e ? e : posix_spawn_file_actions_adddup2(files, out_fd, STDOUT_FILENO);
}

/* A child begins with the signals of a new program, not with those that a loop blocks. */
static int set_signals(posix_spawnattr_t *attr)
{
    sigset_t none, pipe_signal;
    int e;

    sigemptyset(&none);
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    e = posix_spawnattr_setsigmask(attr, &none);
    if (e == 0)
        e = posix_spawnattr_setsigdefault(attr, &pipe_signal);
    return e ? e : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(struct cor_process *p, const struct cor_process_opts *opts, int out_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int e;

    if (posix_spawn_file_actions_init(&files) != 0)
        return -COR_ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return -COR_ENOMEM;
    }
    e = set_files(&files, out_fd, opts->has_stdin);
    if (e == 0)
        e = set_signals(&attr);
    if (e == 0)
        e = posix_spawnp(&p->pid, opts->command, &files, &attr, (char *const *)opts->argv,
                         (char *const *)opts->envp);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return e ? from_errno(e) : 0;
}

static int start(struct cor_process *p, const struct cor_process_opts *opts)
{
    int fds[2], r;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return -COR_EIO;
    p->out_fd = fds[0];
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    r = spawn(p, opts, fds[1]);
    close(fds[1]);
    if (r < 0)
        return r;
    p->pidfd = pidfd_open(p->pid, 0);
    if (p->pidfd >= 0)
        return 0;
    /* Not even ended processes that nobody has waited for lack one: no descriptors are left. */
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    return -COR_EIO;
}

static int watch(struct cor_process *p)
{
    uv_loop_t *uv = cor_loop_uv(p->loop);

    if (uv_poll_init(uv, &p->end_poll, p->pidfd) < 0)
        return -COR_EIO;
    p->end_poll.data = p->out_poll.data = p;
    p->nhandles = 1;
    if (uv_poll_init(uv, &p->out_poll, p->out_fd) < 0)
        return -COR_EIO;
    p->nhandles = 2;
    if (uv_poll_start(&p->end_poll, UV_READABLE, on_exit_readable) < 0 ||
        uv_poll_start(&p->out_poll, UV_READABLE, on_readable) < 0)
        return -COR_EIO;
    return 0;
}

/* It runs, but its end cannot be heard: it is waited for here. */
static void give_up(struct cor_process *p)
{
    kill_with(p, -COR_EIO);
    exit_code(p->pidfd);
    p->is_closing = true;
    if (p->nhandles == 0) {
        free_process(p);
        return;
    }
    if (p->nhandles == 2)
        uv_close((uv_handle_t *)&p->out_poll, on_handle_closed);
    uv_close((uv_handle_t *)&p->end_poll, on_handle_closed);
}

int cor_process_open(struct cor_loop *loop, const struct cor_process_opts *opts,
                     struct cor_process **ret_process)
{
    struct cor_process *p = cor_calloc(1, sizeof(*p));
    int r;

    assert(cor_loop_is_current(loop));
    if (!p)
        return -COR_ENOMEM;
    p->loop = loop;
    p->pidfd = p->out_fd = -1;
    p->on_end = opts->on_end;
    p->arg = opts->arg;
    cor_buf_init_secret(&p->output, opts->output_max);
    cor_timer_init(&p->timer, loop, on_timer);
    r = cor_timer_set(&p->timer, opts->timeout_ms);
    if (r == 0)
        r = start(p, opts);
    if (r < 0) {
        free_process(p);
        return r;
    }
    r = watch(p);
    if (r < 0) {
        give_up(p);
        return r;
    }
    *ret_process = p;
    return 0;
}

void cor_process_close(struct cor_process *p, void (*on_closed)(void *arg), void *arg)
{
    assert(!p->is_closing);
    p->is_closing = true;
    p->on_closed = on_closed;
    p->arg = arg;
    if (!p->has_ended)
        kill_with(p, -COR_ECANCELED);
}
