/* How a server says to whoever started it that it is ready, or stops. Thread: main. */
#ifndef COR_CMD_NOTIFY_H
#define COR_CMD_NOTIFY_H

/* Sends `state` ("READY=1") to the service manager that $NOTIFY_SOCKET names; does nothing when
 * there is none or it does not listen. */
void notify_manager(const char *state);

/* Writes `line` and a line end to `fd`, and closes it. 0, or -COR_EIO. */
int notify_fd(int fd, const char *line);

/* This process gets SIGTERM when the one that started it ends. */
void notify_die_with_parent(void);

#endif
