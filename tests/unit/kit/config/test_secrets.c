/* No block that a secret is read into, or made from, goes back with it, or is left behind by
 * realloc(). A file of its own, because it takes the place of the tests' allocator. */
#include <stdio.h>

#include "base/err.h"
#include "kit/config/exec_plugin.h"
#include "kit/config/kubeconfig.h"
#include "loop/loop.h"
#include "test.h"
#include "traces.h"

#define PATIENCE_MS 60000

static int resolve(struct cor_kubeconfig *kc, struct cor_status *reterr)
{
    struct cor_client_config c;
    int r = cor_kubeconfig_resolve(kc, NULL, &c, reterr);

    if (r == 0)
        cor_client_config_deinit(&c);
    return r;
}

static int read_all(const char *text)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    int r = cor_kubeconfig_add(kc, cor_strz(text), "f", &st);

    if (r == 0)
        r = resolve(kc, &st);
    assert_true(r == 0 || !strstr(cor_status_message(&st), SECRET));
    return r;
}

#define START "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
#define HEAD                                                                                       \
    START "clusters: [{name: x, cluster: {server: 'https://x'}}]\nusers:\n- name: x\n  user:\n"
#define WORDS "word word word word word word word word word word word word word word word word "
/* A buffer that holds the secret grows for what comes after it. */
#define TAIL "extensions: ['" WORDS WORDS WORDS WORDS WORDS WORDS "']\n"

TEST(secrets, of_a_kubeconfig_leave_no_trace)
{
    static const struct {
        const char *text;
        int r;
    } cases[] = {
        {HEAD "    token: " SECRET "\n", 0},
        {HEAD "    token: " SECRET "\n" TAIL, 0},
        {HEAD "    token: &t " SECRET "\n" TAIL "other: *t\n", 0},
        {HEAD "    username: u\n    password: " SECRET "\n", 0},
        {HEAD "    client-certificate-data: YQ==\n"
              "    client-key-data: aHVudGVyMmh1bnRlcjJodW50ZXIy\n",
         0},
        {HEAD "    exec: {command: c, interactiveMode: Never, "
              "apiVersion: client.authentication.k8s.io/v1, env: [{name: A, value: " SECRET "}]}\n",
         0},
        {START "clusters: [{name: x, cluster: {server: 'https://x', "
               "proxy-url: 'http://u:" SECRET "@p:1'}}]\nusers: [{name: x}]\n",
         0},
        {HEAD "    token: " SECRET "\n    username: u\n", -COR_EINVAL},
        {HEAD "    token: " SECRET "\n  broken: [\n", -COR_EINVAL},
        {HEAD "    client-key-data: " SECRET "!\n", -COR_EINVAL},
        {HEAD "    token: [" SECRET "]\n", -COR_EINVAL},
    };

    cor_mem_set(&traces_looking);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        traces_found = 0;
        assert_int_equal(read_all(cases[i].text), cases[i].r);
        assert_int_equal(traces_found, 0);
    }
    cor_mem_set(NULL);
}

/* Larger than what is read at a time. */
static void write_file(const char *name, const char *text, char path[512])
{
    FILE *f;

    snprintf(path, 512, "%s/%s", test_tmpdir(), name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    for (int i = 0; i < 200; i++)
        fputs("# " WORDS "\n", f);
    assert_int_equal(fclose(f), 0);
}

TEST(secrets, of_large_files_leave_no_trace)
{
    struct cor_kubeconfig_files files = {0};
    struct cor_kubeconfig *kc;
    char path[512], key[512], text[1200];

    write_file("key", SECRET "\n", key);
    snprintf(text, sizeof(text),
             HEAD "    token: " SECRET "\n    client-certificate-data: YQ==\n    client-key: %s\n",
             key);
    write_file("config", text, path);
    files.explicit_path = path;
    cor_mem_set(&traces_looking);
    traces_found = 0;
    kc = cor_kubeconfig_new();
    assert_int_equal(cor_kubeconfig_load(kc, &files, NULL, NULL), 0);
    assert_int_equal(resolve(kc, NULL), 0);
    cor_kubeconfig_free(kc);
    assert_int_equal(traces_found, 0);
    cor_mem_set(NULL);
}

/* Those of the flags, and those whose place they take; some are refused, whole or half-way. */
TEST(secrets, of_overrides_leave_no_trace)
{
    static const char text[] =
        START "clusters: [{name: x, cluster: {server: 'https://x', proxy-url: 'http://u:" SECRET
              "@p:1'}}]\nusers:\n- name: x\n  user:\n    token: " SECRET "\n";
    static const struct {
        struct cor_client_config_overrides overrides;
        int r;
    } cases[] = {
        {{.token = "other", .proxy_url = "http://q"}, 0},
        {{.token = SECRET "2", .proxy_url = "http://u:" SECRET "@q"}, 0},
        {{.token_file = "token"}, 0},
        {{.username = "u", .password = SECRET}, -COR_EINVAL},
        {{.token_file = "token", .proxy_url = SECRET}, -COR_EINVAL},
        {{.token = SECRET, .token_file = "token", .impersonate_uid = "1"}, -COR_EINVAL},
    };
    char path[512];

    write_file("token", SECRET "\n", path);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_client_config_overrides o = cases[i].overrides;
        COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
        struct cor_client_config c;
        struct cor_kubeconfig *kc;

        o.token_file = o.token_file ? path : NULL;
        cor_mem_set(&traces_looking);
        traces_found = 0;
        kc = cor_kubeconfig_new();
        assert_int_equal(cor_kubeconfig_add(kc, COR_STR(text), "f", NULL), 0);
        assert_int_equal(cor_kubeconfig_resolve(kc, &o, &c, &st), cases[i].r);
        if (cases[i].r == 0)
            cor_client_config_deinit(&c);
        cor_kubeconfig_free(kc);
        assert_null(strstr(cor_status_message(&st), SECRET));
        cor_status_deinit(&st);
        cor_mem_set(NULL);
        assert_int_equal(traces_found, 0);
    }
}

struct run {
    bool is_done;
    size_t token_bytes;
};

static void on_done(void *arg, const struct cor_exec_credential *made,
                    const struct cor_status *error)
{
    struct run *run = arg;

    run->is_done = true;
    run->token_bytes = made ? strlen(made->token) : 0;
}

static bool is_done(void *arg)
{
    return ((struct run *)arg)->is_done;
}

/* What it is given, and what it answers in many pieces. */
TEST(secrets, of_a_plugin_leave_no_trace)
{
    static char *args[] = {
        (char *)"-c",
        (char *)"printf '{\"kind\":\"ExecCredential\","
                "\"apiVersion\":\"client.authentication.k8s.io/v1\","
                "\"status\":{\"token\":\"%s%09000d\"}}' \"$A\" 0",
    };
    struct cor_string_pair env = {(char *)"A", (char *)SECRET};
    const struct cor_client_config config = {
        .server = (char *)"https://x",
        .proxy_url = (char *)"http://u:" SECRET "@p:1",
        .exec = {.command = (char *)"sh",
                 .args = {args, 2},
                 .env = {&env, 1},
                 .api_version = (char *)"client.authentication.k8s.io/v1",
                 .interactive_mode = (char *)"Never",
                 .provide_cluster_info = true}};
    struct run run = {.is_done = false};
    struct cor_exec_plugin plugin;
    struct cor_loop *loop;

    cor_mem_set(&traces_looking);
    traces_found = 0;
    assert_int_equal(cor_loop_new(16, &loop), 0);
    cor_exec_plugin_init(&plugin, loop, &config);
    plugin.on_done = on_done;
    plugin.arg = &run;
    assert_int_equal(cor_exec_plugin_run(&plugin, NULL), 0);
    assert_true(cor_loop_run_until(loop, is_done, &run, PATIENCE_MS));
    assert_int_equal(run.token_bytes, strlen(SECRET) + 9000);
    cor_loop_free(loop);
    assert_int_equal(traces_found, 0);
    cor_mem_set(NULL);
}
