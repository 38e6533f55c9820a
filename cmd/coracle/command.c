/* The command line: finds the command by its one or two words, reads its flags and runs it; prints
 * help. A wrong word is answered with the nearest known one, and with exit status 2. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define HELP_BYTES_MAX    (64u * 1024)
#define MESSAGE_BYTES_MAX 4096
#define WORDS_MAX         64

static bool in_group(const struct command *c, const char *group)
{
    return group ? c->group && strcmp(c->group, group) == 0 : !c->group;
}

static bool is_group(const struct command_table *table, const char *word)
{
    for (size_t i = 0; i < table->nrows; i++) {
        if (in_group(table->rows[i], word))
            return true;
    }
    return false;
}

/* Takes one or two words. `ret_group` is the group that the first word names, if it names one. */
static const struct command *command_find(const struct command_table *table,
                                          const char *const *words, size_t nwords,
                                          const char **ret_group, size_t *ret_used)
{
    const char *name;

    *ret_group = nwords && is_group(table, words[0]) ? words[0] : NULL;
    *ret_used = *ret_group ? 2 : 1;
    if (nwords < *ret_used)
        return NULL;
    name = words[*ret_used - 1];
    for (size_t i = 0; i < table->nrows; i++) {
        if (in_group(table->rows[i], *ret_group) && strcmp(table->rows[i]->name, name) == 0)
            return table->rows[i];
    }
    return NULL;
}

/* The names that could have been meant: the group's commands, or the commands without a group and
 * the groups. */
static const char *command_nearest(const struct command_table *table, const char *group,
                                   const char *word)
{
    const char *words[WORDS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < table->nrows && n < WORDS_MAX; i++) {
        const struct command *c = table->rows[i];

        if (in_group(c, group))
            words[n++] = c->name;
        else if (!group)
            words[n++] = c->group;
    }
    return flags_nearest(word, words, n);
}

static int unknown_command(const struct command_table *table, const char *group, const char *word)
{
    const char *near = word ? command_nearest(table, group, word) : NULL;
    const char *space = group ? " " : "";

    group = group ? group : "";
    if (!word)
        fprintf(stderr, "coracle%s%s: a command is missing", space, group);
    else
        fprintf(stderr, "coracle%s%s: unknown command \"%s\"", space, group, word);
    if (near)
        fprintf(stderr, "; did you mean \"%s\"?", near);
    fprintf(stderr, "\nType `coracle help%s%s` for the list.\n", space, group);
    return EXIT_USAGE;
}

static int add_usage(const struct command *c, struct cor_buf *out)
{
    return cor_buf_addf(out, "coracle %s%s%s%s%s%s", c->group ? c->group : "", c->group ? " " : "",
                        c->name, *c->args ? " " : "", c->args, c->nflags ? " [flags]" : "");
}

static int add_full_help(const struct command *c, struct cor_buf *out)
{
    int r = cor_buf_addz(out, "usage: ");

    if (r == 0)
        r = add_usage(c, out);
    if (r == 0)
        r = cor_buf_addf(out, "\n\n%s.\n%s%s", c->summary, c->details ? "\n" : "",
                         c->details ? c->details : "");
    if (r == 0 && c->nflags)
        r = cor_buf_addz(out, "\nFlags:\n");
    if (r == 0)
        r = flags_help(c->flags, c->nflags, c->opts_default, out);
    return r;
}

static int add_list(const struct command_table *table, const char *group, struct cor_buf *out)
{
    int r =
        cor_buf_addf(out, "usage: coracle %s%sCOMMAND\n\n", group ? group : "", group ? " " : "");

    for (size_t i = 0; i < table->nrows && r == 0; i++) {
        const struct command *c = table->rows[i];
        char left[64];

        if (group && !in_group(c, group))
            continue;
        snprintf(left, sizeof(left), "%s%s%s %s", !group && c->group ? c->group : "",
                 !group && c->group ? " " : "", c->name, c->args);
        r = cor_buf_addf(out, "  %-24s %s\n", left, c->summary);
    }
    if (r == 0)
        r = cor_buf_addf(out,
                         "\n`coracle help %s%sCOMMAND` has a command's flags.\n"
                         "Exit status: 0 done, 1 it failed, 2 the command line is wrong.\n",
                         group ? group : "", group ? " " : "");
    return r;
}

int command_help(const struct command_table *table, const char *const *words, size_t nwords)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    const struct command *c;
    const char *group;
    size_t used;
    int r;

    cor_buf_init(&out, HELP_BYTES_MAX);
    c = command_find(table, words, nwords, &group, &used);
    if (!c && nwords > (group ? 1 : 0))
        return unknown_command(table, group, words[group ? 1 : 0]);
    r = c ? add_full_help(c, &out) : add_list(table, group, &out);
    if (r < 0) {
        fprintf(stderr, "coracle: %s\n", cor_err_text(r));
        return EXIT_FAILED;
    }
    fputs(cor_buf_z(&out), stdout);
    return EXIT_OK;
}

static int usage_error(const struct command *c, const char *message)
{
    const char *group = c->group ? c->group : "", *space = c->group ? " " : "";

    fprintf(stderr, "coracle %s%s%s: %s\n", group, space, c->name, message);
    fprintf(stderr, "Type `coracle help %s%s%s` for its usage.\n", group, space, c->name);
    return EXIT_USAGE;
}

static int check_nargs(const struct command *c, size_t nargs, const char *const *args,
                       struct cor_buf *reterr_message)
{
    if (nargs < c->args_min) {
        cor_buf_addf(reterr_message, "an argument is missing: expected %s", c->args);
        return -COR_EINVAL;
    }
    if (nargs > c->args_max) {
        cor_buf_addf(reterr_message, "too many arguments (\"%s\"): expected %s", args[c->args_max],
                     *c->args ? c->args : "none");
        return -COR_EINVAL;
    }
    return 0;
}

static int command_run(const struct command_table *table, const struct command *c, int argc,
                       char *const *argv)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf message;
    COR_CLEANUP(cor_freep) void *opts = NULL;
    const char *args[COMMAND_ARGS_MAX + 1];
    const char *const words[] = {c->group ? c->group : c->name, c->name};
    size_t nargs = 0;
    int r;

    cor_buf_init(&message, MESSAGE_BYTES_MAX);
    opts = c->opts_size ? cor_memdup(c->opts_default, c->opts_size) : cor_alloc(0);
    if (!opts) {
        fprintf(stderr, "coracle: %s\n", cor_err_text(-COR_ENOMEM));
        return EXIT_FAILED;
    }
    r = flags_parse(c->flags, c->nflags, argc, argv, opts, args, COMMAND_ARGS_MAX + 1, &nargs,
                    &message);
    if (r == -COR_ECANCELED)
        return command_help(table, words, c->group ? 2 : 1);
    if (r == 0)
        r = check_nargs(c, nargs, args, &message);
    if (r < 0)
        return usage_error(c, cor_buf_z(&message));
    return c->run(opts, args, nargs);
}

static int refuse_early_flag(const char *flag)
{
    fprintf(stderr,
            "coracle: %s: flags stand after their command, as in `coracle serve --port 0`\n", flag);
    fputs("Type `coracle help` for the commands.\n", stderr);
    return EXIT_USAGE;
}

const char *command_hint(int err)
{
    return err == -COR_ELOCKED ? "; stop it, or name another folder with --data" : "";
}

int command_main(const struct command_table *table, int argc, char *const *argv)
{
    static const char *const version_word = "version";
    const char *const *words = (const char *const *)argv;
    const struct command *c;
    const char *group;
    size_t used, nwords = 0;

    while (nwords < (size_t)argc && (words[nwords][0] != '-' || words[nwords][1] == '\0'))
        nwords++;
    if (nwords < (size_t)argc && nwords < 2 &&
        (strcmp(words[nwords], "-h") == 0 || strcmp(words[nwords], "--help") == 0))
        return command_help(table, words, nwords);
    if (argc == 1 && (strcmp(words[0], "--version") == 0 || strcmp(words[0], "-V") == 0)) {
        c = command_find(table, &version_word, 1, &group, &used);
        return command_run(table, c, 0, argv + 1);
    }
    if (argc > 0 && nwords == 0)
        return refuse_early_flag(words[0]);
    c = command_find(table, words, nwords, &group, &used);
    if (!c)
        return unknown_command(table, group, nwords >= used ? words[used - 1] : NULL);
    return command_run(table, c, argc - (int)used, argv + used);
}
