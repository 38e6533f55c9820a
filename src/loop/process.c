/* clang-format off */
/* A child process on a loop: a pidfd and a pipe, each with a poll handle.
 *
 *   open: pipe ──► posix_spawn ──► pidfd ──► polls ──► RUNNING
 *   RUNNING: output is gathered as it comes; the pidfd becomes readable when the process has ended
 *   end: exit code, what is left in the pipe, close both polls ──► on_end ──► freed
 *
 * Failures. A step of the opening that fails undoes the ones before; a process that runs already is
 * killed and waited for. Output beyond its maximum, an output that cannot be read, and the time limit
 * kill the process: on_end comes when it has ended, with the first reason. A close kills it too, and
 * on_closed comes instead of on_end.
 *
 * Thread: the loop's. */
/* clang-format on */
#include "loop/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
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

struct cor_process {
    struct cor_loop *loop;
    pid_t pid;
    int pidfd, out_fd;
    uv_poll_t end_poll, out_poll;
    size_t nhandles; /* poll handles that are not closed yet */
    struct cor_timer timer;
    struct cor_buf output;
    struct cor_process_end end;
    bool has_ended, is_closing;
    void (*on_end)(void *arg, const struct cor_process_end *end);
    void (*on_closed)(void *arg);
    void *arg;
};

static void process_free(struct cor_process *p)
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
    process_free(p);
    if (on_closed)
        on_closed(arg);
}

static void process_close_polls(struct cor_process *p)
{
    uv_close((uv_handle_t *)&p->end_poll, on_handle_closed);
    uv_close((uv_handle_t *)&p->out_poll, on_handle_closed);
}

static void process_kill(struct cor_process *p, int r)
{
    if (p->end.r == 0)
        p->end.r = r;
    syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
}

/* Reads what is in the pipe now. The end of the pipe is not waited for, because a process that
 * inherited it may keep it open. */
static void process_read_output(struct cor_process *p)
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
        process_kill(p, r);
    if (r < 0 || n == 0)
        uv_poll_stop(&p->out_poll);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    process_read_output(poll->data);
}

static int process_exit_code(int pidfd)
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
    p->end.exit_code = process_exit_code(p->pidfd);
    if (p->end.r == 0)
        process_read_output(p);
    process_close_polls(p);
}

static void on_timer(struct cor_timer *timer)
{
    process_kill(COR_CONTAINER_OF(timer, struct cor_process, timer), -COR_ETIMEOUT);
}

static int spawn_err(int e)
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

static int spawn_set_files(posix_spawn_file_actions_t *files, int out_fd, bool has_stdin)
{
    int e = 0;

    if (!has_stdin)
        e = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    return e ? e : posix_spawn_file_actions_adddup2(files, out_fd, STDOUT_FILENO);
}

/* A child begins with the signals of a new program, not with those that a loop blocks. */
static int spawn_set_signals(posix_spawnattr_t *attr)
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

static int process_spawn(struct cor_process *p, const struct cor_process_opts *opts, int out_fd)
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
    e = spawn_set_files(&files, out_fd, opts->has_stdin);
    if (e == 0)
        e = spawn_set_signals(&attr);
    if (e == 0)
        e = posix_spawnp(&p->pid, opts->command, &files, &attr, (char *const *)opts->argv,
                         (char *const *)opts->envp);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return e ? spawn_err(e) : 0;
}

static int process_start(struct cor_process *p, const struct cor_process_opts *opts)
{
    int fds[2], r;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return -COR_EIO;
    p->out_fd = fds[0];
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    r = process_spawn(p, opts, fds[1]);
    close(fds[1]);
    if (r < 0)
        return r;
    /* By its number: musl has no function for it. */
    p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->pidfd >= 0)
        return 0;
    /* A process that has ended and was not waited for still has a pidfd, so the reason can only be
     * that no descriptors are left. */
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    return -COR_EIO;
}

static int process_watch(struct cor_process *p)
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

/* The process runs, but the loop cannot watch it: kills it, and waits for its end here. */
static void process_give_up(struct cor_process *p)
{
    process_kill(p, -COR_EIO);
    process_exit_code(p->pidfd);
    p->is_closing = true;
    if (p->nhandles == 0) {
        process_free(p);
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

    assert(cor_loop_is_current(loop) && opts->command && opts->on_end);
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
        r = process_start(p, opts);
    if (r < 0) {
        process_free(p);
        return r;
    }
    r = process_watch(p);
    if (r < 0) {
        process_give_up(p);
        return r;
    }
    *ret_process = p;
    return 0;
}

void cor_process_close(struct cor_process *p, void (*on_closed)(void *arg), void *arg)
{
    assert(cor_loop_is_current(p->loop) && !p->is_closing);
    p->is_closing = true;
    p->on_closed = on_closed;
    p->arg = arg;
    if (!p->has_ended)
        process_kill(p, -COR_ECANCELED);
}
