/* A SQLite VFS that stands in front of the default one: counts writes and syncs by kind of file,
 * and spoils one of them on request. It becomes the default VFS, so that whatever opens a database
 * after fault_vfs_install() goes through it. Only tests and benchmarks link it.
 *
 * A power cut is played truly: what was written to a file since its last sync is undone, then the
 * process dies. A writer that does not sync loses data by it; SIGKILL alone would not show that.
 * Thread: any. */
#ifndef COR_TEST_FAULT_VFS_H
#define COR_TEST_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_file {
    FAULT_MAIN,
    FAULT_WAL,
    FAULT_JOURNAL,
    FAULT_OTHER, /* temporary files, super-journals */
    FAULT_FILES
};

enum fault_op { FAULT_READ, FAULT_WRITE, FAULT_SYNC, FAULT_OPS };

enum fault_action {
    FAULT_NONE,
    FAULT_ERROR,     /* SQLITE_IOERR_READ, _WRITE or _FSYNC; nothing is done */
    FAULT_SHORT,     /* write: half of the bytes, then SQLITE_IOERR_WRITE */
    FAULT_FULL,      /* write: SQLITE_FULL, nothing is written */
    FAULT_KILL,      /* the operation, then SIGKILL */
    FAULT_TORN_KILL, /* write: half of the bytes, then SIGKILL */
    FAULT_POWER_CUT, /* undo all that was not synced, then SIGKILL */
    FAULT_ACTIONS
};

struct fault_plan {
    enum fault_action action;
    enum fault_op on;
    unsigned files;  /* mask of 1 << enum fault_file; 0: all */
    uint64_t nth;    /* 1: the next such operation */
    bool persistent; /* and every one after it */
};

/* The variable that fault_vfs_install() reads:
 * "action=short,on=write,files=wal+main,nth=7,persistent". Words: error short full kill torn-kill
 * power-cut; read write sync; main wal journal other. */
#define FAULT_VFS_ENV "COR_FAULT"

/* Registers the VFS as default and takes the plan from the environment, if there is one. Again:
 * only the plan is taken anew. False: a bad plan (said on stderr), or SQLite refused. */
bool fault_vfs_install(void);

/* The default VFS is the former one again; open files keep going through the shim. */
void fault_vfs_uninstall(void);

/* NULL: no fault from now on. Counting towards `nth` begins here. */
void fault_vfs_plan(const struct fault_plan *plan);

/* How often a fault was injected since the last fault_vfs_plan(). */
uint64_t fault_vfs_fired(void);

/* Operations that were asked for since the program began, spoiled ones included. */
uint64_t fault_vfs_count(enum fault_op op, enum fault_file file);

/* When the calling thread's last sync of a write-ahead log returned: the moment its commit became
 * durable. Nanoseconds of CLOCK_MONOTONIC; 0: never. */
uint64_t fault_vfs_synced_ns(void);

#endif
