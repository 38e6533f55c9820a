/* Contract client 4.5; the cases are those of client-go's clientcmd tests. */
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "kit/config/kubeconfig.h"
#include "test.h"

static const char two_clusters[] = "apiVersion: v1\n"
                                   "kind: Config\n"
                                   "current-context: one\n"
                                   "clusters:\n"
                                   "- name: red\n"
                                   "  cluster: {server: \"https://red:6443\"}\n"
                                   "- name: blue\n"
                                   "  cluster:\n"
                                   "    server: https://blue/prefix\n"
                                   "    tls-server-name: api.blue\n"
                                   "    insecure-skip-tls-verify: true\n"
                                   "    disable-compression: true\n"
                                   "users:\n"
                                   "- name: ann\n"
                                   "  user: {token: secret}\n"
                                   "contexts:\n"
                                   "- name: one\n"
                                   "  context: {cluster: red, user: ann}\n"
                                   "- name: two\n"
                                   "  context: {cluster: blue, namespace: work}\n";

static char message[1024];

static int add(struct cor_kubeconfig *kc, const char *text, const char *path)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    int r = cor_kubeconfig_add(kc, cor_strz(text), path, &st);

    snprintf(message, sizeof(message), "%s", r < 0 ? cor_status_message(&st) : "");
    return r;
}

static int resolve(struct cor_kubeconfig *kc, const char *context, struct cor_client_config *c)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    int r = cor_kubeconfig_resolve(
        kc, &(struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES, .context = context},
        c, &st);

    snprintf(message, sizeof(message), "%s", r < 0 ? cor_status_message(&st) : "");
    return r;
}

/* A config of one context with this cluster and user, as flow YAML. */
static int resolve_one(const char *cluster, const char *user, struct cor_client_config *c)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    char text[4096];

    snprintf(text, sizeof(text),
             "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
             "clusters: [{name: x, cluster: %s}]\nusers: [{name: x, user: %s}]\n",
             cluster, user);
    assert_int_equal(add(kc, text, "dir/f"), 0);
    return resolve(kc, NULL, c);
}

/* Contract client 4.5.12. */
TEST(kubeconfig, the_current_context_or_a_named_one_is_resolved)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    struct cor_client_config c;

    assert_int_equal(add(kc, two_clusters, "f"), 0);
    assert_str(cor_kubeconfig_current_context(kc), "one");
    assert_int_equal(resolve(kc, NULL, &c), 0);
    assert_string_equal(c.server, "https://red:6443");
    assert_string_equal(c.token, "secret");
    assert_string_equal(c.ns, "default");
    assert_false(c.insecure_skip_tls_verify || c.disable_compression);
    cor_client_config_deinit(&c);
    assert_int_equal(resolve(kc, "two", &c), 0);
    assert_string_equal(c.server, "https://blue/prefix");
    assert_string_equal(c.tls_server_name, "api.blue");
    assert_true(c.insecure_skip_tls_verify && c.disable_compression);
    assert_null(c.token);
    assert_string_equal(c.ns, "work");
    cor_client_config_deinit(&c);
}

static int resolve_over(const char *text, struct cor_client_config_overrides overrides,
                        struct cor_client_config *c)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    int r;

    assert_int_equal(add(kc, text, "dir/f"), 0);
    r = cor_kubeconfig_resolve(kc, &overrides, c, &st);
    snprintf(message, sizeof(message), "%s", r < 0 ? cor_status_message(&st) : "");
    return r;
}

static const char tuned[] =
    "current-context: x\n"
    "contexts: [{name: x, context: {cluster: a, user: u, namespace: work}}]\n"
    "clusters:\n"
    "- {name: a, cluster: {server: 'https://a', tls-server-name: t}}\n"
    "- {name: b, cluster: {server: 'https://b', extensions: [{name: other, extension: 1},\n"
    "    {name: client.authentication.k8s.io/exec, extension: {k: [1, x]}}]}}\n"
    "users: [{name: u, user: {token: t1}}, {name: v, user: {token: t2}}]\n";

/* Contract client 4.5.12, 4.5.13, 4.5.20. */
TEST(kubeconfig, flags_say_more_than_files)
{
    struct cor_client_config c;

    assert_int_equal(
        resolve_over(tuned, (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES}, &c),
        0);
    assert_string_equal(c.tls_server_name, "t");
    assert_string_equal(c.ns, "work");
    assert_null(c.exec.cluster_config);
    cor_client_config_deinit(&c);
    assert_int_equal(
        resolve_over(tuned,
                     (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                          .cluster = "b", .user = "v", .ns = "m"},
                     &c),
        0);
    assert_string_equal(c.server, "https://b");
    assert_string_equal(c.token, "t2");
    assert_string_equal(c.ns, "m");
    assert_string_equal(c.exec.cluster_config, "{\"k\":[1,\"x\"]}");
    cor_client_config_deinit(&c);
    assert_int_equal(resolve_over(tuned,
                                  (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                                       .server = "https://s"},
                                  &c),
                     0);
    assert_string_equal(c.server, "https://s");
    assert_null(c.tls_server_name);
    assert_string_equal(c.token, "t1");
    cor_client_config_deinit(&c);
    assert_int_equal(resolve_over(tuned,
                                  (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                                       .server = "https://s",
                                                                       .tls_server_name = "z"},
                                  &c),
                     0);
    assert_string_equal(c.tls_server_name, "z");
    cor_client_config_deinit(&c);
}

/* Contract client 4.5.12. */
TEST(kubeconfig, flags_may_stand_without_a_context)
{
    struct cor_client_config c;

    assert_int_equal(resolve_over("",
                                  (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                                       .server = "http://s"},
                                  &c),
                     0);
    assert_string_equal(c.server, "http://s");
    assert_string_equal(c.ns, "default");
    cor_client_config_deinit(&c);
    assert_int_equal(
        resolve_over("",
                     (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                          .server = "https://s", .token = "t"},
                     &c),
        0);
    assert_string_equal(c.token, "t");
    cor_client_config_deinit(&c);
    assert_int_equal(
        resolve_over(
            "", (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES, .user = "u"}, &c),
        -COR_ENOTFOUND);
    assert_int_equal(resolve_over(tuned,
                                  (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES,
                                                                       .cluster = "c"},
                                  &c),
                     -COR_ENOTFOUND);
    assert_string_equal(message, "cluster \"c\" does not exist");
    assert_int_equal(
        resolve_over(tuned,
                     (struct cor_client_config_overrides){COR_CLIENT_CONFIG_OVERRIDES, .user = "w"},
                     &c),
        -COR_ENOTFOUND);
    assert_string_equal(message, "user \"w\" does not exist");
}

/* Contract client 4.5.7, 4.5.8 and sequence 56. */
TEST(kubeconfig, of_equal_names_in_two_files_the_first_counts_whole)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    struct cor_client_config c;

    assert_int_equal(add(kc, two_clusters, "f"), 0);
    assert_int_equal(add(kc,
                         "current-context: two\n"
                         "clusters: [{name: red, cluster: {server: \"https://other\", "
                         "tls-server-name: extra}}]\n"
                         "contexts: [{name: three, context: {cluster: red}}]\n",
                         "g"),
                     0);
    assert_int_equal(resolve(kc, NULL, &c), 0);
    assert_string_equal(c.server, "https://red:6443");
    assert_null(c.tls_server_name);
    cor_client_config_deinit(&c);
    assert_int_equal(resolve(kc, "three", &c), 0);
    assert_string_equal(c.server, "https://red:6443");
    cor_client_config_deinit(&c);
}

/* Contract client 4.5.9. */
TEST(kubeconfig, a_name_twice_in_one_file_is_refused)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();

    assert_int_equal(add(kc, "users: [{name: a, user: {}}, {name: a, user: {}}]", "f"),
                     -COR_EINVAL);
    assert_string_equal(message, "kubeconfig f: line 1: users: duplicate name \"a\" in list");
}

TEST(kubeconfig, an_empty_file_is_an_empty_config)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    struct cor_client_config c;

    assert_int_equal(add(kc, "", "f"), 0);
    assert_int_equal(add(kc, "clusters:\nusers: null\n", "f"), 0);
    assert_int_equal(resolve(kc, NULL, &c), -COR_ENOTFOUND);
    assert_non_null(strstr(message, "no configuration has been provided"));
}

TEST(kubeconfig, mistakes_name_file_line_and_field)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"a: [1", "kubeconfig f: yaml: line 1:"},
        {"- 1\n", "kubeconfig f: line 1: document: an object is expected"},
        {"clusters: {}\n", "kubeconfig f: line 1: clusters: a list is expected"},
        {"clusters: [1]\n", "kubeconfig f: line 1: clusters[0]: an object is expected"},
        {"clusters: [{name: 1}]\n",
         "kubeconfig f: line 1: clusters[0]: name: a string is expected"},
        {"users: [{name: a}, {name: b, user: 1}]\n",
         "kubeconfig f: line 1: users[1].user: an object is expected"},
        {"# mine\nusers:\n- name: a\n  user:\n    token: t\n- name: b\n  user: 1\n",
         "kubeconfig f: line 7: users[1].user: an object is expected"},
        {"current-context: [1]\n", "kubeconfig f: line 1: current-context: a string is expected"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();

        assert_int_equal(add(kc, cases[i].text, "f"), -COR_EINVAL);
        assert_memory_equal(message, cases[i].expected, strlen(cases[i].expected));
    }
}

/* Contract client 4.5.14. */
TEST(kubeconfig, wrong_fields_of_a_context_are_named)
{
    static const struct {
        const char *cluster, *user, *expected;
    } cases[] = {
        {"{}", "{}", "clusters[0].cluster.server: no server found"},
        {"{server: 1}", "{}", "clusters[0].cluster.server: a string is expected"},
        {"{server: 'ftp://x'}", "{}",
         "clusters[0].cluster.server: http, https or unix is expected"},
        {"{server: 'https://x', proxy-url: 'ftp://p'}", "{}",
         "clusters[0].cluster.proxy-url: http, https or socks5 is expected"},
        {"{server: 'https://x', insecure-skip-tls-verify: 'yes'}", "{}",
         "clusters[0].cluster.insecure-skip-tls-verify: true or false is expected"},
        {"{server: 'https://x', certificate-authority-data: '?'}", "{}",
         "clusters[0].cluster.certificate-authority-data: illegal base64 data at input byte 0"},
        {"{server: 'https://x', certificate-authority: missing.pem}", "{}",
         "clusters[0].cluster.certificate-authority: unable to read dir/missing.pem: not found"},
        {"{server: 'https://x', certificate-authority-data: YQ==, certificate-authority: a}", "{}",
         "clusters[0].cluster.certificate-authority: certificate-authority-data and"},
        {"{server: 'https://x', certificate-authority-data: YQ==, insecure-skip-tls-verify: true}",
         "{}", "clusters[0].cluster.insecure-skip-tls-verify: specifying a root certificates file"},
        {"{server: 'https://x'}",
         "{client-certificate-data: YQ==, client-certificate: c, client-key-data: YQ==}",
         "users[0].user.client-certificate: client-cert-data and client-cert are both"},
        {"{server: 'https://x'}",
         "{client-certificate-data: YQ==, client-key: k, client-key-data: YQ==}",
         "users[0].user.client-key: client-key-data and client-key are both"},
        {"{server: 'https://x'}", "{client-certificate: c, client-key-data: YQ==}",
         "users[0].user.client-certificate: unable to read dir/c: not found"},
        {"{server: 'https://x'}", "{client-certificate-data: YQ==, client-key: k}",
         "users[0].user.client-key: unable to read dir/k: not found"},
        {"{server: 'https://x'}", "{token: t, password: p}",
         "users[0].user.token: more than one authentication method found"},
        {"{server: 'https://x'}", "{exec: {command: c}, auth-provider: {name: gcp}}",
         "users[0].user.auth-provider: authProvider cannot be provided in combination"},
        {"{server: 'https://x'}", "{exec: {command: c, env: 5}}",
         "users[0].user.exec.env: a list of names and values"},
        {"{server: 'https://x'}", "{exec: {command: c, env: [{value: v}]}}",
         "users[0].user.exec.env: a list of names and values"},
        {"{server: 'https://x'}", "{as: a, as-user-extra: [1]}",
         "users[0].user.as-user-extra: an object is expected"},
        {"{server: 'https://x'}", "{client-certificate: c}",
         "users[0].user.client-key: client-key-data or client-key must be specified"},
        {"{server: 'https://x'}", "{token: t, username: u, password: p}",
         "users[0].user.token: more than one authentication method found"},
        {"{server: 'https://x'}", "{tokenFile: missing}",
         "users[0].user.tokenFile: unable to read dir/missing: not found"},
        {"{server: 'https://x'}", "{as-groups: [g]}", "users[0].user.as: requesting uid, groups"},
        {"{server: 'https://x'}", "{exec: {}}", "users[0].user.exec.command: command must be"},
        {"{server: 'https://x'}", "{exec: {command: c}}",
         "users[0].user.exec.apiVersion: apiVersion must be"},
        {"{server: 'https://x'}",
         "{exec: {command: c, apiVersion: client.authentication.k8s.io/v1alpha1}}",
         "users[0].user.exec.apiVersion: client.authentication.k8s.io/v1 or"},
        {"{server: 'https://x'}",
         "{exec: {command: c, apiVersion: client.authentication.k8s.io/v1}}",
         "users[0].user.exec.interactiveMode: Never, IfAvailable or Always is expected"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_client_config c;
        char expected[512];

        assert_int_equal(resolve_one(cases[i].cluster, cases[i].user, &c), -COR_EINVAL);
        snprintf(expected, sizeof(expected), "kubeconfig dir/f: line %c: %s",
                 cases[i].expected[0] == 'c' ? '3' : '4', cases[i].expected);
        assert_memory_equal(message, expected, strlen(expected));
    }
}

/* Contract client 4.5.12. */
TEST(kubeconfig, missing_names_are_told)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    struct cor_client_config c;

    assert_int_equal(add(kc, "contexts: [{name: x, context: {cluster: gone}}, {name: bare}]", "f"),
                     0);
    assert_int_equal(resolve(kc, "z", &c), -COR_ENOTFOUND);
    assert_string_equal(message, "context was not found for specified context: z");
    assert_int_equal(resolve(kc, "x", &c), -COR_ENOTFOUND);
    assert_string_equal(message, "cluster \"gone\" was not found for context \"x\"");
    assert_int_equal(resolve(kc, "bare", &c), -COR_EINVAL);
    assert_string_equal(
        message, "kubeconfig f: line 1: contexts[1].context.cluster: cluster was not specified");
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

TEST(kubeconfig, client_certificates_are_named_and_begin_at_the_file)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    const char *dir = test_tmpdir();
    struct cor_client_config c;
    char text[512], file[256], crt[256], key[256];

    snprintf(file, sizeof(file), "%s/config", dir);
    snprintf(crt, sizeof(crt), "%s/a.crt", dir);
    snprintf(key, sizeof(key), "%s/a.key", dir);
    write_file(crt, "");
    write_file(key, "");
    snprintf(text, sizeof(text),
             "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
             "clusters: [{name: x, cluster: {server: 'https://x'}}]\n"
             "users: [{name: x, user: {client-certificate: a.crt, client-key: %s}}]\n",
             key);
    assert_int_equal(add(kc, text, file), 0);
    assert_int_equal(resolve(kc, NULL, &c), 0);
    assert_string_equal(c.client_cert_file, crt);
    assert_string_equal(c.client_key_file, key);
    cor_client_config_deinit(&c);
}

/* Contract client 4.5.16: the token of the stanza beside its file, or what the file says now. */
TEST(kubeconfig, a_token_and_its_file_are_both_kept)
{
    struct cor_client_config c;
    char path[256], user[512];

    snprintf(path, sizeof(path), "%s/token", test_tmpdir());
    write_file(path, " t2 \n");
    snprintf(user, sizeof(user), "{token: t1, tokenFile: '%s'}", path);
    assert_int_equal(resolve_one("{server: 'https://x'}", user, &c), 0);
    assert_string_equal(c.token, "t1");
    assert_string_equal(c.token_file, path);
    cor_client_config_deinit(&c);
    snprintf(user, sizeof(user), "{tokenFile: '%s'}", path);
    assert_int_equal(resolve_one("{server: 'https://x'}", user, &c), 0);
    assert_string_equal(c.token, "t2");
    assert_string_equal(c.token_file, path);
    cor_client_config_deinit(&c);
}

/* Contract client 4.5.10. */
TEST(kubeconfig, relative_paths_begin_at_the_file)
{
    struct cor_client_config c;

    assert_int_equal(
        resolve_one("{server: 'https://x'}",
                    "{exec: {command: ./bin/p, apiVersion: client.authentication.k8s.io/v1beta1, "
                    "args: [get, token], env: [{name: A, value: b}, {name: B}]}}",
                    &c),
        0);
    assert_string_equal(c.exec.command, "dir/./bin/p");
    assert_string_equal(c.exec.interactive_mode, "IfAvailable");
    assert_int_equal(c.exec.args.n, 2);
    assert_string_equal(c.exec.args.items[1], "token");
    assert_string_equal(c.exec.env.items[0].key, "A");
    assert_string_equal(c.exec.env.items[1].value, "");
    cor_client_config_deinit(&c);
    assert_int_equal(resolve_one("{server: 'https://x'}",
                                 "{exec: {command: plugin, interactiveMode: Never, apiVersion: "
                                 "client.authentication.k8s.io/v1}}",
                                 &c),
                     0);
    assert_string_equal(c.exec.command, "plugin");
    cor_client_config_deinit(&c);
}

/* Contract client 4.5.19. */
TEST(kubeconfig, a_prefix_has_no_query_and_no_fragment)
{
    static const char *const cases[][2] = {
        {"https://x:8080/foo/bar?a=b#c", "https://x:8080/foo/bar"},
        {"https://x/foo#c", "https://x/foo"},
        {"https://x/foo", "https://x/foo"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_client_config c;
        char cluster[128];

        snprintf(cluster, sizeof(cluster), "{server: '%s'}", cases[i][0]);
        assert_int_equal(resolve_one(cluster, "{}", &c), 0);
        assert_string_equal(c.server, cases[i][1]);
        cor_client_config_deinit(&c);
    }
}

TEST(kubeconfig, all_files_together_have_a_maximum)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, 1u << 20);
    for (int file = 0; file < 2; file++) {
        cor_buf_reset(&text);
        assert_int_equal(cor_buf_addz(&text, "users: ["), 0);
        for (int i = 0; i < COR_KUBECONFIG_STANZAS_MAX / 2 + 1; i++)
            assert_int_equal(cor_buf_addf(&text, "%s{name: u%d-%d}", i ? ", " : "", file, i), 0);
        assert_int_equal(cor_buf_addz(&text, "]"), 0);
        assert_int_equal(add(kc, text.p, "f"), file == 0 ? 0 : -COR_ETOOBIG);
    }
    assert_string_equal(message, "kubeconfig f: users: more than 10000 entries");
}

/* Contract client 4.5.15, 4.5.17. */
TEST(kubeconfig, data_is_decoded_and_plain_http_gets_no_credentials)
{
    struct cor_client_config c;

    assert_int_equal(resolve_one("{server: 'https://x', certificate-authority-data: Q0E=}",
                                 "{client-certificate-data: Q0VSVA==, client-key-data: S0VZ}", &c),
                     0);
    assert_string_equal(c.ca_pem, "CA");
    assert_string_equal(c.client_cert_pem, "CERT");
    assert_null(c.client_cert_file);
    assert_string_equal(c.client_key_pem, "KEY");
    assert_null(c.client_key_file);
    cor_client_config_deinit(&c);
    assert_int_equal(resolve_one("{server: 'http://x'}", "{token: t, as: ann}", &c), 0);
    assert_null(c.token);
    assert_string_equal(c.impersonate_user, "ann");
    cor_client_config_deinit(&c);
    assert_int_equal(resolve_one("{server: 'x:8080'}", "{token: t}", &c), 0);
    assert_null(c.token);
    cor_client_config_deinit(&c);
}

/* Contract client 4.5.22. */
TEST(kubeconfig, impersonation_is_read_whole)
{
    struct cor_client_config c;

    assert_int_equal(
        resolve_one("{server: 'https://x'}",
                    "{as: ann, as-uid: u1, as-groups: [a, b], as-user-extra: {'k\"\"': [v, "
                    "w]}}",
                    &c),
        0);
    assert_string_equal(c.impersonate_user, "ann");
    assert_string_equal(c.impersonate_uid, "u1");
    assert_int_equal(c.impersonate_groups.n, 2);
    assert_int_equal(c.impersonate_extra.n, 2);
    assert_string_equal(c.impersonate_extra.items[1].key, "k\"\"");
    assert_string_equal(c.impersonate_extra.items[1].value, "w");
    cor_client_config_deinit(&c);
}

/* Contract client 4.5.1 to 4.5.4. */
TEST(kubeconfig, files_are_chosen_by_upstreams_rules)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    char a[256], bad[256], list[1024], missing[256];
    const char *dir = test_tmpdir();
    size_t nread;
    struct cor_kubeconfig_files files = {.explicit_path = missing};
    struct cor_kubeconfig *kc = cor_kubeconfig_new();

    snprintf(a, sizeof(a), "%s/a", dir);
    snprintf(missing, sizeof(missing), "%s/missing", dir);
    snprintf(list, sizeof(list), ":%s:%s:%s", missing, a, a);
    write_file(a, two_clusters);
    assert_int_equal(cor_kubeconfig_load(kc, &files, &nread, &st), -COR_ENOTFOUND);
    files = (struct cor_kubeconfig_files){.list = list, .home = "/nowhere"};
    assert_int_equal(cor_kubeconfig_load(kc, &files, &nread, &st), 0);
    assert_int_equal(nread, 1);
    assert_str(cor_kubeconfig_current_context(kc), "one");
    files = (struct cor_kubeconfig_files){.home = dir};
    assert_int_equal(cor_kubeconfig_load(kc, &files, &nread, &st), 0);
    assert_int_equal(nread, 0);
    files = (struct cor_kubeconfig_files){.list = missing, .home = dir};
    assert_int_equal(cor_kubeconfig_load(kc, &files, &nread, &st), 0);
    assert_int_equal(nread, 0);
    snprintf(bad, sizeof(bad), "%s/bad", dir);
    write_file(bad, "clusters: [");
    snprintf(list, sizeof(list), "%s:%s", a, bad);
    files.list = list;
    assert_int_equal(cor_kubeconfig_load(kc, &files, &nread, &st), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&st), bad));
    cor_kubeconfig_free(kc);
}

TEST(kubeconfig, any_allocation_may_fail)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_kubeconfig *kc = cor_kubeconfig_new();
        struct cor_client_config c;
        int r = kc ? add(kc, two_clusters, "dir/f") : -COR_ENOMEM;

        if (r == 0)
            r = resolve(kc, "one", &c);
        if (r == 0) {
            assert_string_equal(c.server, "https://red:6443");
            assert_string_equal(c.token, "secret");
            assert_string_equal(c.ns, "default");
            cor_client_config_deinit(&c);
        }
        assert_true(r == 0 || test_alloc_failed());
        assert_true(r == 0 || r == -COR_ENOMEM);
        cor_kubeconfig_free(kc);
    }
}

TEST(kubeconfig, an_empty_current_context_leaves_it_to_the_next_file)
{
    struct cor_kubeconfig *kc = cor_kubeconfig_new();

    assert_int_equal(add(kc, "current-context: \"\"\n", "f"), 0);
    assert_int_equal(add(kc, "current-context: two\n", "g"), 0);
    assert_int_equal(add(kc, "current-context: three\n", "h"), 0);
    assert_str(cor_kubeconfig_current_context(kc), "two");
    cor_kubeconfig_free(kc);
}
