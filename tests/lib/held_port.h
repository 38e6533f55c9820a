/* A port of the loopback that stays the caller's: the kernel gives it to nobody else, neither for a
 * listener nor for a connection, while a server that is told of it may listen there, end, and
 * listen again. That takes SO_REUSEADDR at both sides, which every server sets. Thread: any. */
#ifndef COR_TEST_HELD_PORT_H
#define COR_TEST_HELD_PORT_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns the descriptor that holds it until it is closed, or -1. */
static inline int held_port(uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&at, n) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0) {
        close(fd);
        return -1;
    }
    *ret_port = ntohs(at.sin_port);
    return fd;
}

#endif
