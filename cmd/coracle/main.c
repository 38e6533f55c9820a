/* main(): the table of all commands. A new command is a row of `rows`. */
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "command.h"
#include "coracle/version.h"
#include "crd_check.h"
#include "explain_type.h"
#include "serve.h"
#include "store_commands.h"

static int run_version(const void *opts, const char *const *args, size_t nargs)
{
    (void)opts, (void)args, (void)nargs;
    puts("coracle " COR_VERSION);
    return EXIT_OK;
}

static int run_help(const void *opts, const char *const *args, size_t nargs);

static const struct command version = {
    .name = "version",
    .args = "",
    .summary = "Print the version",
    .run = run_version,
};
static const struct command help = {
    .name = "help",
    .args = "[COMMAND]",
    .summary = "Explain a command, or list them all",
    .args_max = 2,
    .run = run_help,
};

static const struct command *const rows[] = {
    &serve,        &store_put,     &store_get,     &store_list,  &store_watch,
    &store_delete, &store_compact, &store_rewrite, &store_check, &store_status,
    &store_backup, &crd_check,     &explain_type,  &version,     &help,
};

static const struct command_table table = {rows, COR_ARRAY_LEN(rows)};

static int run_help(const void *opts, const char *const *args, size_t nargs)
{
    (void)opts;
    return command_help(&table, args, nargs);
}

int main(int argc, char **argv)
{
    /* A reader that went away shows as a write error, not as a silent death. */
    signal(SIGPIPE, SIG_IGN);
    return command_main(&table, argc - 1, argv + 1);
}
