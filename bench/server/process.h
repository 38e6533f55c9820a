/* A program that the benchmark starts: its time on the CPU, its memory, its end.
 * Thread: one.  Owner: whoever started it. */
#ifndef COR_BENCH_PROCESS_H
#define COR_BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Prints "bench: ..." and ends the program; children die with it. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* argv[0] is a path or found in PATH. What it prints is appended to `log`. It is killed when the
 * benchmark ends, however that happens. */
pid_t process_start(const char *const *argv, const char *log);

/* Runs `child(arg)` in a fork instead. */
pid_t process_fork(void (*child)(void *arg), void *arg);

/* SIGTERM, and after 20 s SIGKILL. */
void process_stop(pid_t pid);

/* Has it ended by itself? */
bool process_is_gone(pid_t pid);

/* The program that an environment variable names; NULL when it is not set, or empty. */
const char *process_named(const char *variable);

/* User and system time so far, of all its threads, also of those that have ended. */
uint64_t process_cpu_ns(pid_t pid);

/* A line of /proc/PID/status in bytes: "VmRSS" (what the table means by memory), "RssAnon". */
uint64_t process_memory(pid_t pid, const char *field);

/* Up to `max` children; returns how many. */
size_t process_children(pid_t pid, pid_t *ret_pids, size_t max);

#endif
