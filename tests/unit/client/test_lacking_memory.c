/* Everything that a client is made of and everything that it writes, with each allocation failed
 * once: it is made, or -COR_ENOMEM is told and nothing is left. */
#include "rest_fixture.h"

#include <sys/stat.h>

#include "client/informers/http_list_watch.h"
#include "identities.h"
#include "kit/config/client_config.h"
#include "kit/config/exec_credential.h"
#include "kit/config/kubeconfig.h"
#include "kit/election/leader_election.h"
#include "kit/events/event_correlator.h"
#include "kit/rest/header_list.h"
#include "kit/rest/rest_int.h"

/* `why` is filled exactly when `r` tells of an error; it is released. */
static void check(int r, struct cor_status *why)
{
    if (r != 0)
        assert_true(r == -COR_ENOMEM && test_alloc_failed());
    assert_int_equal(why->err, r);
    cor_status_deinit(why);
}

static const char *write_file(const char *folder, const char *name, const char *text)
{
    static char paths[8][256];
    static size_t npaths;
    char *path = paths[npaths++ % 8];
    FILE *f;

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static const char clusters[] =
    "current-context: plugin\n"
    "clusters:\n"
    "- {name: c, cluster: {server: 'https://c:1', certificate-authority-data: Q0E=,\n"
    "    tls-server-name: name, proxy-url: 'http://p:1', extensions: [\n"
    "    {name: client.authentication.k8s.io/exec, extension: {k: [1, x]}}]}}\n"
    "- {name: files, cluster: {server: 'https://c:1/'}}\n"
    "contexts:\n"
    "- {name: plugin, context: {cluster: c, user: plugin, namespace: ns}}\n"
    "- {name: files, context: {cluster: files, user: files}}\n";

static const char users[] =
    "users:\n"
    "- name: plugin\n"
    "  user:\n"
    "    exec: {command: bin/p, apiVersion: client.authentication.k8s.io/v1beta1,\n"
    "           args: [a, b], env: [{name: A, value: b}, {name: C, value: d}],\n"
    "           installHint: h, provideClusterInfo: true}\n"
    "- name: files\n"
    "  user: {client-certificate: cert.pem, client-key: key.pem, tokenFile: token,\n"
    "         as: me, as-uid: '1', as-groups: [g, h],\n"
    "         as-user-extra: {k: [v, w]}}\n";

static void assert_plugin(const struct cor_client_config *c)
{
    assert_string_equal(c->server, "https://c:1");
    assert_string_equal(c->ca_pem, "CA");
    assert_string_equal(c->tls_server_name, "name");
    assert_string_equal(c->proxy_url, "http://p:1");
    assert_string_equal(c->ns, "ns");
    assert_non_null(strstr(c->exec.command, "bin/p"));
    assert_string_equal(c->exec.api_version, "client.authentication.k8s.io/v1beta1");
    assert_string_equal(c->exec.install_hint, "h");
    assert_string_equal(c->exec.cluster_config, "{\"k\":[1,\"x\"]}");
    assert_true(c->exec.provide_cluster_info);
    assert_int_equal(c->exec.args.n, 2);
    assert_string_equal(c->exec.args.items[1], "b");
    assert_int_equal(c->exec.env.n, 2);
    assert_string_equal(c->exec.env.items[1].value, "d");
}

static void assert_files(const struct cor_client_config *c)
{
    assert_non_null(strstr(c->client_cert_file, "cert.pem"));
    assert_non_null(strstr(c->client_key_file, "key.pem"));
    assert_non_null(strstr(c->token_file, "token"));
    assert_string_equal(c->token, "T");
    assert_string_equal(c->ns, "default");
    assert_string_equal(c->impersonate_user, "me");
    assert_string_equal(c->impersonate_uid, "1");
    assert_int_equal(c->impersonate_groups.n, 2);
    assert_string_equal(c->impersonate_groups.items[1], "h");
    assert_int_equal(c->impersonate_extra.n, 2);
    assert_string_equal(c->impersonate_extra.items[1].key, "k");
    assert_string_equal(c->impersonate_extra.items[1].value, "w");
}

TEST(lacking_memory, a_kubeconfig_is_read_whole_or_not)
{
    const char *folder = test_tmpdir();
    const char *first = write_file(folder, "first", clusters);
    const char *second = write_file(folder, "second", users);
    static const char *const contexts[] = {"plugin", "files"};
    char list[520];

    write_file(folder, "cert.pem", "C");
    write_file(folder, "key.pem", "K");
    write_file(folder, "token", "T");
    snprintf(list, sizeof(list), "%s:%s", first, second);
    for (size_t i = 0; i < 2; i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            const struct cor_client_config_overrides overrides = {COR_CLIENT_CONFIG_OVERRIDES,
                                                                  .context = contexts[i]};
            const struct cor_kubeconfig_files files = {.list = list};
            struct cor_kubeconfig *kc = cor_kubeconfig_new();
            struct cor_client_config c = {0};
            struct cor_status why = {.err = kc ? 0 : -COR_ENOMEM};
            int r = kc ? cor_kubeconfig_load(kc, &files, NULL, &why) : -COR_ENOMEM;

            if (r == 0)
                r = cor_kubeconfig_resolve(kc, &overrides, &c, &why);
            check(r, &why);
            if (r == 0)
                (i == 0 ? assert_plugin : assert_files)(&c);
            cor_client_config_deinit(&c);
            cor_kubeconfig_free(kc);
        }
    }
}

TEST(lacking_memory, the_file_at_home_is_read_or_not)
{
    const char *home = test_tmpdir();
    char folder[256];

    snprintf(folder, sizeof(folder), "%s/.kube", home);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(folder, "config", clusters);
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_kubeconfig_files files = {.home = home};
        struct cor_kubeconfig *kc = cor_kubeconfig_new();
        struct cor_status why = {.err = kc ? 0 : -COR_ENOMEM};
        size_t nread = 0;
        int r = kc ? cor_kubeconfig_load(kc, &files, &nread, &why) : -COR_ENOMEM;

        check(r, &why);
        assert_int_equal(nread, r == 0);
        cor_kubeconfig_free(kc);
    }
}

TEST(lacking_memory, a_pods_configuration_is_read_or_not)
{
    const char *folder = test_tmpdir();

    write_file(folder, "token", "T");
    write_file(folder, "ca.crt", "CA");
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    unsetenv("POD_NAMESPACE");
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_client_config c = {0};
        struct cor_status why = {0};
        int r = cor_client_config_in_cluster(folder, &c, &why);

        check(r, &why);
        if (r == 0) {
            assert_string_equal(c.server, "https://10.0.0.1:443");
            assert_string_equal(c.token, "T");
            assert_string_equal(c.ca_pem, "CA");
            assert_string_equal(c.ns, "default");
        }
        cor_client_config_deinit(&c);
    }
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
}

TEST(lacking_memory, what_a_plugin_is_told_is_written_or_not)
{
    const struct cor_client_config c = {.server = (char *)"https://h:6443",
                                        .tls_server_name = (char *)"n",
                                        .ca_pem = (char *)"CA",
                                        .proxy_url = (char *)"http://p",
                                        .exec = {.api_version = (char *)"v1",
                                                 .cluster_config = (char *)"{\"a\":1}",
                                                 .provide_cluster_info = true}};

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
        int r;

        cor_buf_init(&out, 1u << 20);
        r = cor_exec_credential_write_info(&c, true, &out);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_str(cor_buf_str(&out),
                       "{\"kind\":\"ExecCredential\",\"apiVersion\":\"v1\",\"spec\":{\"cluster\":{"
                       "\"server\":\"https://h:6443\",\"tls-server-name\":\"n\","
                       "\"certificate-authority-data\":\"Q0E=\",\"proxy-url\":\"http://p\","
                       "\"config\":{\"a\":1}},\"interactive\":true}}");
    }
}

TEST(lacking_memory, an_event_is_written_or_not)
{
    static int (*const writers[])(const struct cor_event *, struct cor_buf *) = {
        cor_event_write, cor_event_write_patch, cor_event_write_v1, cor_event_write_v1_patch};
    const struct cor_event e = {
        .about = {.kind = COR_STR("Pod"), .name = COR_STR("p"), .ns = COR_STR("ns")},
        .related = {.kind = COR_STR("Node"), .name = COR_STR("n")},
        .action = COR_STR("Action"),
        .type = COR_STR("Normal"),
        .reason = COR_STR("Reason"),
        .message = COR_STR("a message that is not short"),
        .component = COR_STR("component"),
        .host = COR_STR("host"),
        .event_name = COR_STR("p.1"),
        .count = 2};

    for (size_t i = 0; i < COR_ARRAY_LEN(writers); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf whole;

        cor_buf_init(&whole, 1u << 14);
        assert_int_equal(writers[i](&e, &whole), 0);
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
            int r;

            cor_buf_init(&out, 1u << 14);
            r = writers[i](&e, &out);
            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            if (r == 0)
                assert_str(cor_buf_str(&out), cor_buf_z(&whole));
        }
    }
}

/* The tenth message of a kind is the first that is combined. */
TEST(lacking_memory, a_combined_event_is_made_or_not)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_event e = {.about.name = COR_STR("p"), .event_name = COR_STR("p.1")}, out;
        struct cor_event_correlator *c;
        char message[32];
        int r = 0;

        test_fail_alloc(0, false);
        assert_int_equal(cor_event_correlator_new(&c), 0);
        for (int i = 0; r == 0 && i < COR_EVENT_SIMILAR_MAX; i++) {
            snprintf(message, sizeof(message), "message %d", i);
            e.message = cor_strz(message);
            if (i == COR_EVENT_SIMILAR_MAX - 1)
                test_fail_alloc(n, false);
            r = cor_event_correlate(c, &e, 0, &out);
        }
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        test_fail_alloc(0, false);
        assert_int_equal(cor_event_correlate(c, &e, 0, &out), 0);
        assert_true(cor_str_starts(out.message, COR_STR("(combined from similar events): ")));
        cor_event_correlator_free(c);
    }
}

static void ignore(void *arg)
{
}

TEST(lacking_memory, a_leader_election_is_made_or_not)
{
    struct cor_leader_driver driver = {0};
    const struct cor_leader_opts opts = {
        .identity = "me", .on_started = ignore, .on_stopped = ignore};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_leader *l = NULL;
        struct cor_status why = {0};

        int r = cor_leader_new(&opts, &driver, &l, &why);

        check(r, &why);
        assert_int_equal(l != NULL, r == 0);
        cor_leader_free(l);
    }
}

TEST(lacking_memory, a_list_watch_is_made_or_not)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_http_list_watch_opts opts = {
            .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")}, .ns = COR_STR("ns")},
            .label_selector = COR_STR("a=b")};
        struct cor_http_list_watch *lw = NULL;
        int r;

        test_fail_alloc(0, false);
        assert_int_equal(cor_loop_new(8, &opts.loop), 0);
        test_fail_alloc(n, false);
        r = cor_http_list_watch_new(&opts, &lw);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_http_list_watch_free(lw);
        cor_loop_free(opts.loop);
    }
}

static void open_with(struct world *w, const struct cor_client_config *config)
{
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_rest_client_opts opts = {.config = config, .user_agent = "agent"};
        struct cor_rest_client *rc = NULL;
        struct cor_status why = {0};
        bool closed = false;

        check(cor_rest_client_open(w->net, &opts, &rc, &why), &why);
        test_fail_alloc(0, false);
        if (rc) {
            cor_rest_client_close(rc, set_flag, &closed);
            world_until(w, is_flag, &closed);
        }
    }
}

TEST(lacking_memory, a_client_of_any_identity_is_made_or_not)
{
    char *groups[] = {(char *)"g"};
    struct cor_string_pair extra[] = {{(char *)"k", (char *)"v"}};
    struct identities ids;
    struct cor_client_config c;
    const char *folder = test_tmpdir();
    struct world w;

    identities_init(&ids);
    world_begin(&w, NULL);
    c = (struct cor_client_config){.server = (char *)"https://127.0.0.1:1",
                                   .ca_pem = (char *)cor_buf_z(&ids.ca.cert_pem)};
    c.username = (char *)"u";
    c.password = (char *)"p";
    c.impersonate_user = (char *)"me";
    c.impersonate_groups = (struct cor_strings){groups, 1};
    c.impersonate_extra = (struct cor_string_pairs){extra, 1};
    open_with(&w, &c);
    c.username = c.password = NULL;
    c.client_cert_file = (char *)write_file(folder, "cert", cor_buf_z(&ids.client.cert_pem));
    c.client_key_file = (char *)write_file(folder, "key", cor_buf_z(&ids.client.key_pem));
    open_with(&w, &c);
    c.client_key_file = NULL;
    c.client_key_pem = (char *)cor_buf_z(&ids.client.key_pem);
    open_with(&w, &c);
    world_end(&w);
    identities_deinit(&ids);
}

/* A plugin's certificate, key and token come together or stay together. */
TEST(lacking_memory, a_plugins_credential_is_taken_whole_or_not)
{
    const struct cor_exec_credential a = {
        .token = (char *)"a", .cert_pem = (char *)"cert a", .key_pem = (char *)"key a"};
    const struct cor_exec_credential b = {
        .token = (char *)"b", .cert_pem = (char *)"cert b", .key_pem = (char *)"key b"};
    char *args[] = {(char *)"-c", (char *)"exit 1"};
    struct heard h;
    struct cor_credentials *c;
    struct world w;

    world_begin(&w, NULL);
    w.config.exec =
        (struct cor_exec_config){.command = (char *)"sh",
                                 .api_version = (char *)"client.authentication.k8s.io/v1",
                                 .interactive_mode = (char *)"Never",
                                 .args = {args, 2}};
    world_connect_freely(&w);
    c = &w.rc->credentials;
    ask(&w, "/x", &h); /* the plugin has run, in vain */
    heard_deinit(&h);
    FOR_EACH_FAILED_ALLOC(n) {
        uint64_t version, generation;
        const char *letter;

        test_fail_alloc(0, false);
        c->plugin.on_done(c->plugin.arg, &a, NULL);
        version = c->cert_version;
        generation = c->generation;
        test_fail_alloc(n, false);
        c->plugin.on_done(c->plugin.arg, &b, NULL);
        test_fail_alloc(0, false);
        letter = c->generation > generation ? "b" : "a";
        assert_int_equal(c->cert_version - version, c->generation - generation);
        assert_string_equal(strrchr(cor_buf_z(&c->authorization), ' ') + 1, letter);
        assert_string_equal(strrchr(cor_buf_z(&c->cert_pem), ' ') + 1, letter);
        assert_string_equal(strrchr(cor_buf_z(&c->key_pem), ' ') + 1, letter);
        if (!test_alloc_failed())
            assert_string_equal(letter, "b");
    }
    world_end(&w);
}

/* What broke is told as what it is, with or without its words. */
static void fails_with(struct world *w, int err)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct heard h;
        const struct cor_rest_request_opts opts = {
            .target = COR_STR("/x"), .cbs = &heard_cbs, .arg = &h, .deadline_ms = PATIENCE_MS};
        struct cor_rest_request *req;
        int r;

        heard_init(&h);
        r = cor_rest_request_open(w->rc, &opts, &req);
        if (r == 0)
            world_until(w, is_flag, &h.is_done);
        else
            h.err = r;
        test_fail_alloc(0, false);
        assert_true(h.err == err || (h.err == -COR_ENOMEM && test_alloc_failed()));
        heard_deinit(&h);
    }
}

TEST(lacking_memory, a_failure_stays_that_failure)
{
    char *args[] = {(char *)"-c", (char *)"exit 1"};
    struct world w;

    world_begin(&w, NULL);
    w.config.server = (char *)"http://127.0.0.1:1";
    world_connect_freely(&w);
    fails_with(&w, -COR_EUNREACHABLE);
    world_end(&w);
    world_begin(&w, NULL);
    w.config.exec =
        (struct cor_exec_config){.command = (char *)"sh",
                                 .api_version = (char *)"client.authentication.k8s.io/v1",
                                 .interactive_mode = (char *)"Never",
                                 .args = {args, 2}};
    world_connect_freely(&w);
    fails_with(&w, -COR_EIO);
    world_end(&w);
}
