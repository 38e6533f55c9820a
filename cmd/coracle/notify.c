/* Reports readiness to who started the server: a line on a descriptor, and systemd's socket; and
 * ends with the parent process if that is wanted. */
#include "notify.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

void notify_manager(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;
    int fd;

    if (n == 0 || n >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, n);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}

int notify_fd(int fd, const char *line)
{
    int r = dprintf(fd, "%s\n", line) < 0 ? -COR_EIO : 0;

    return close(fd) < 0 ? -COR_EIO : r;
}

void notify_die_with_parent(void)
{
    pid_t parent = getppid();

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* It may have ended before the request was made. */
    if (getppid() != parent)
        raise(SIGTERM);
}
