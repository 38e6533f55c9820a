/* Runs a credential plugin: its arguments and environment are made, the process is started, its
 * output is read as an ExecCredential, and on_done gets the result.
 *
 * What fails: a command that does not exist is reported with upstream's help and the install hint
 * of the configuration; a plugin that exits with a status other than 0, writes something else, or
 * takes too long (it is killed then) is an error with its words.
 * Thread: the loop. */
#include "kit/config/exec_plugin.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "loop/loop.h"

#define INFO_NAME "KUBERNETES_EXEC_INFO"
#define INFO_MAX  (128u * 1024 - sizeof(INFO_NAME) - 1) /* what the kernel takes of one variable */
#define HOUR_MS   UINT64_C(3600000)
#define HINT_MAX  4096

static const char help[] =
    "\n\nIt looks like you are trying to use a client-go credential plugin that is not installed.\n"
    "\nTo learn more about this feature, consult the documentation available at:\n"
    "      https://kubernetes.io/docs/reference/access-authn-authz/authentication/"
    "#client-go-credential-plugins";

/* Arguments or variables: pointers that end with NULL, and copies that some of them point to. */
struct words {
    const char **at;
    size_t n;
    char **copies;
    size_t ncopies;
};

static void words_deinit(struct words *w)
{
    for (size_t i = 0; i < w->ncopies; i++)
        cor_free_secret(w->copies[i]);
    cor_free(w->copies);
    cor_free(w->at);
}

static int words_init(struct words *w, size_t max, size_t copies_max)
{
    w->at = cor_calloc(max + 1, sizeof(*w->at));
    w->copies = cor_calloc(copies_max + 1, sizeof(*w->copies));
    return w->at && w->copies ? 0 : -COR_ENOMEM;
}

static int add_variable(struct words *w, const char *name, struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init_secret(&text, strlen(name) + value.n + 1);
    r = cor_buf_addf(&text, "%s=%.*s", name, COR_STR_ARG(value));
    if (r < 0)
        return r;
    w->copies[w->ncopies] = cor_buf_steal(&text, NULL);
    w->at[w->n++] = w->copies[w->ncopies++];
    return 0;
}

/* Is the parent's variable replaced by one of the configuration? */
static bool is_replaced(const struct cor_exec_config *exec, const char *variable)
{
    size_t n = strcspn(variable, "=");
    struct cor_str name = cor_str(variable, n);

    if (cor_str_eqz(name, INFO_NAME))
        return true;
    for (size_t i = 0; i < exec->env.n; i++)
        if (cor_str_eqz(name, exec->env.items[i].key))
            return true;
    return false;
}

static int make_env(const struct cor_client_config *config, bool interactive, struct words *w)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf info;
    const struct cor_exec_config *exec = &config->exec;
    size_t n = 0;
    int r;

    while (environ && environ[n])
        n++;
    cor_buf_init_secret(&info, INFO_MAX); /* the proxy's URL may have a password */
    r = words_init(w, n + exec->env.n + 1, exec->env.n + 1);
    for (size_t i = 0; r == 0 && i < n; i++)
        if (!is_replaced(exec, environ[i]))
            w->at[w->n++] = environ[i];
    for (size_t i = 0; r == 0 && i < exec->env.n; i++)
        r = add_variable(w, exec->env.items[i].key, cor_strz(exec->env.items[i].value));
    if (r == 0)
        r = cor_exec_credential_write_info(config, interactive, &info);
    return r < 0 ? r : add_variable(w, INFO_NAME, cor_buf_str(&info));
}

static int make_argv(const struct cor_exec_config *exec, struct words *w)
{
    int r = words_init(w, exec->args.n + 1, 0);

    if (r < 0)
        return r;
    w->at[w->n++] = exec->command;
    for (size_t i = 0; i < exec->args.n; i++)
        w->at[w->n++] = exec->args.items[i];
    return 0;
}

static int check_terminal(const struct cor_exec_config *exec, bool *ret_interactive,
                          struct cor_status *reterr)
{
    const char *mode = exec->interactive_mode ? exec->interactive_mode : "IfAvailable";
    bool has_terminal = isatty(STDIN_FILENO) == 1;

    *ret_interactive = has_terminal && strcmp(mode, "Never") != 0;
    if (strcmp(mode, "Always") == 0 && !has_terminal)
        return cor_status_set(reterr, -COR_EINVAL,
                              "exec plugin cannot support interactive mode: standard input is not "
                              "a terminal");
    if (strcmp(mode, "Always") != 0 && strcmp(mode, "IfAvailable") != 0 &&
        strcmp(mode, "Never") != 0)
        return cor_status_set(reterr, -COR_EINVAL,
                              "exec plugin cannot support interactive mode: unknown "
                              "interactiveMode: \"%s\"",
                              mode);
    return 0;
}

static bool may_hint(struct cor_exec_plugin *p)
{
    uint64_t now = cor_loop_now_ms(p->loop);

    if (p->nhints == 0 || now - p->hints_since_ms >= HOUR_MS) {
        p->hints_since_ms = now;
        p->nhints = 0;
    }
    return p->nhints < COR_EXEC_HINTS_PER_HOUR && ++p->nhints > 0;
}

/* The hint is printed, and a kubeconfig may come from somebody else: characters that could control
 * a terminal are shown as numbers, as client-go does; white space stays. What has no room is left
 * out. */
static void add_hint(struct cor_str hint, struct cor_buf *out)
{
    while (hint.n > 0) {
        uint32_t cp;
        size_t n = cor_utf8_first(hint, &cp);
        int r;

        if (cp == COR_UTF8_INVALID)
            r = cor_buf_addz(out, "\xef\xbf\xbd");
        else if (cor_utf8_is_control(cp) && (cp < '\t' || cp > '\r'))
            r = cor_buf_addf(out, "U+%04X", (unsigned)cp);
        else
            r = cor_buf_add(out, hint.p, n);
        if (r < 0)
            return;
        hint = cor_str_from(hint, n);
    }
}

static int not_started(struct cor_exec_plugin *p, int r, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf hint;
    const struct cor_exec_config *exec = &p->config->exec;
    bool hints = r == -COR_ENOTFOUND && may_hint(p);

    cor_buf_init(&hint, HINT_MAX);
    if (hints)
        add_hint(cor_strz(exec->install_hint), &hint);
    if (r == -COR_ENOTFOUND)
        return cor_status_set(reterr, r, "exec: executable %s not found%s%s%s", exec->command,
                              hints ? help : "", hint.n > 0 ? "\n\n" : "", cor_buf_z(&hint));
    return cor_status_set(reterr, r, "exec: executable %s could not be started: %s", exec->command,
                          cor_err_text(r));
}

static int read_end(struct cor_exec_plugin *p, const struct cor_process_end *end,
                    struct cor_exec_credential *ret, struct cor_status *reterr)
{
    const struct cor_exec_config *exec = &p->config->exec;

    if (end->r == -COR_ETIMEOUT)
        return cor_status_set(reterr, end->r, "exec: executable %s was killed: it took too long",
                              exec->command);
    if (end->r == -COR_ETOOBIG)
        return cor_status_set(reterr, end->r, "exec: executable %s wrote more than %u bytes",
                              exec->command, COR_EXEC_OUTPUT_MAX);
    if (end->r < 0)
        return cor_status_set(reterr, end->r, "exec: executable %s: %s", exec->command,
                              cor_err_text(end->r));
    if (end->exit_code > 0)
        return cor_status_set(reterr, -COR_EIO, "exec: executable %s failed with exit code %d",
                              exec->command, end->exit_code);
    return cor_exec_credential_read(end->output, exec->api_version, ret, reterr);
}

static void on_end(void *arg, const struct cor_process_end *end)
{
    struct cor_exec_plugin *p = arg;
    struct cor_exec_credential credential = {0};
    struct cor_status why = {0};
    int r = read_end(p, end, &credential, &why);

    p->process = NULL;
    p->on_done(p->arg, r < 0 ? NULL : &credential, r < 0 ? &why : NULL);
    cor_exec_credential_deinit(&credential);
    cor_status_deinit(&why);
}

void cor_exec_plugin_init(struct cor_exec_plugin *p, struct cor_loop *loop,
                          const struct cor_client_config *config)
{
    *p = (struct cor_exec_plugin){.loop = loop, .config = config};
}

int cor_exec_plugin_run(struct cor_exec_plugin *p, struct cor_status *reterr)
{
    COR_CLEANUP(words_deinit) struct words argv = {0};
    COR_CLEANUP(words_deinit) struct words envp = {0};
    struct cor_process_opts opts = {.command = p->config->exec.command,
                                    .output_max = COR_EXEC_OUTPUT_MAX,
                                    .on_end = on_end,
                                    .arg = p};
    int r = check_terminal(&p->config->exec, &opts.has_stdin, reterr);

    assert(!p->process);
    if (r < 0)
        return r;
    opts.timeout_ms = opts.has_stdin ? COR_EXEC_INTERACTIVE_TIMEOUT_MS : COR_EXEC_TIMEOUT_MS;
    r = make_argv(&p->config->exec, &argv);
    if (r == 0)
        r = make_env(p->config, opts.has_stdin, &envp);
    opts.argv = argv.at;
    opts.envp = envp.at;
    if (r == 0)
        r = cor_process_open(p->loop, &opts, &p->process);
    return r < 0 ? not_started(p, r, reterr) : 0;
}

void cor_exec_plugin_close(struct cor_exec_plugin *p, void (*on_closed)(void *arg), void *arg)
{
    cor_process_close(p->process, on_closed, arg);
    p->process = NULL;
}
