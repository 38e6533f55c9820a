/* No block that a kubeconfig is read into, or made from, goes back with a secret in it. A program
 * of its own, because it takes the place of the tests' allocator. */
#include <malloc.h>

#include "base/err.h"
#include "base/mem.h"
#include "client/kubeconfig.h"
#include "test.h"

#define SECRET "hunter2hunter2hunter2"

static size_t nfound;

static void look_and_free(void *p)
{
    nfound += memmem(p, malloc_usable_size(p), SECRET, strlen(SECRET)) != NULL;
    free(p);
}

static const struct cor_mem_fns looking = {malloc, realloc, look_and_free};

static int read_all(const char *text)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    struct cor_client_config c;
    int r = cor_kubeconfig_add(kc, cor_strz(text), "f", &st);

    if (r == 0)
        r = cor_kubeconfig_resolve(kc, NULL, &c, &st);
    if (r == 0)
        cor_client_config_deinit(&c);
    assert_true(r == 0 || !strstr(cor_status_message(&st), SECRET));
    return r;
}

#define HEAD                                                                                       \
    "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"                  \
    "clusters: [{name: x, cluster: {server: 'https://x'}}]\nusers:\n- name: x\n  user:\n"

TEST(kubeconfig_secrets, leave_no_trace)
{
    static const struct {
        const char *text;
        int r;
    } cases[] = {
        {HEAD "    token: " SECRET "\n", 0},
        {HEAD "    username: u\n    password: " SECRET "\n", 0},
        {HEAD "    client-certificate-data: YQ==\n"
              "    client-key-data: aHVudGVyMmh1bnRlcjJodW50ZXIy\n",
         0},
        {HEAD "    exec: {command: c, interactiveMode: Never, "
              "apiVersion: client.authentication.k8s.io/v1, env: [{name: A, value: " SECRET "}]}\n",
         0},
        {HEAD "    token: " SECRET "\n    username: u\n", -COR_EINVAL},
        {HEAD "    token: " SECRET "\n  broken: [\n", -COR_EINVAL},
        {HEAD "    client-key-data: " SECRET "!\n", -COR_EINVAL},
        {HEAD "    token: [" SECRET "]\n", -COR_EINVAL},
    };

    cor_mem_set(&looking);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        nfound = 0;
        assert_int_equal(read_all(cases[i].text), cases[i].r);
        assert_int_equal(nfound, 0);
    }
    cor_mem_set(NULL);
}
