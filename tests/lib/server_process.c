#include "server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "held_port.h"

#define FLAGS_MAX 32
#define FILE_MAX  (64u * 1024)

static _Noreturn void become_server(const struct server_process *sp, int ready_fd)
{
    char port[16], fd[16], flags[1024];
    const char *argv[FLAGS_MAX + 16] = {sp->program, "serve", "--data",           sp->data,
                                        "--port",    port,    "--ready-fd",       fd,
                                        "-v",        "0",     "--die-with-parent"};
    size_t argc = 11;
    struct cor_str rest;

    /* Tests count objects; those of the controllers ask for them. */
    if (!strstr(sp->flags, "--controllers"))
        argv[argc++] = "--controllers=-*";
    snprintf(port, sizeof(port), "%u", sp->port);
    snprintf(fd, sizeof(fd), "%d", ready_fd);
    snprintf(flags, sizeof(flags), "%s", sp->flags);
    rest = cor_strz(flags);
    while (rest.n > 0 && argc < FLAGS_MAX + 15) {
        struct cor_str word = cor_str_cut(&rest, ' ');

        flags[word.p - flags + (ptrdiff_t)word.n] = '\0';
        if (word.n > 0)
            argv[argc++] = word.p;
    }
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    execv(sp->program, (char *const *)argv);
    perror(sp->program);
    _exit(127);
}

static bool read_file(const char *folder, const char *name, struct cor_buf *out)
{
    char path[512], chunk[4096];
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "re");
    if (!f)
        return false;
    cor_buf_deinit(out);
    cor_buf_init(out, FILE_MAX);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        if (cor_buf_add(out, chunk, n) < 0)
            abort();
    fclose(f);
    return true;
}

/* "https://127.0.0.1:40000" */
static bool read_port(int fd, uint16_t *ret_port)
{
    char line[128] = "";
    size_t n = 0;
    ssize_t got;
    const char *colon;

    while (n < sizeof(line) - 1 && (got = read(fd, line + n, sizeof(line) - 1 - n)) > 0)
        n += (size_t)got;
    colon = strrchr(line, ':');
    if (!colon)
        return false;
    *ret_port = (uint16_t)strtoul(colon + 1, NULL, 10);
    return *ret_port != 0;
}

bool server_process_start(struct server_process *sp)
{
    int ends[2];
    bool is_up;

    if (sp->port_fd == 0)
        sp->port_fd = held_port(&sp->port);
    if (sp->port_fd < 0 || pipe(ends) < 0)
        return false;
    sp->pid = fork();
    if (sp->pid == 0) {
        close(ends[0]);
        become_server(sp, ends[1]);
    }
    close(ends[1]);
    is_up = sp->pid > 0 && read_port(ends[0], &sp->port);
    close(ends[0]);
    return is_up && read_file(sp->data, "pki/admin.token", &sp->token) &&
           read_file(sp->data, "pki/ca.crt", &sp->ca);
}

void server_process_kill(struct server_process *sp)
{
    if (sp->pid <= 0)
        return;
    kill(sp->pid, SIGKILL);
    waitpid(sp->pid, NULL, 0);
    sp->pid = 0;
}

void server_process_ask(struct server_process *sp)
{
    kill(sp->pid, SIGTERM);
}

bool server_process_has_ended(struct server_process *sp, bool *ret_is_clean)
{
    int status;

    if (waitpid(sp->pid, &status, WNOHANG) == 0)
        return false;
    sp->pid = 0;
    *ret_is_clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return true;
}

void server_process_deinit(struct server_process *sp)
{
    server_process_kill(sp);
    if (sp->port_fd > 0)
        close(sp->port_fd);
    sp->port_fd = 0;
    cor_buf_deinit(&sp->token);
    cor_buf_deinit(&sp->ca);
}
