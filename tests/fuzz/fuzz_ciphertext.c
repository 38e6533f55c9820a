/* Promises of reading stored values: any bytes under any provider are read or refused with words,
 * and what authentic ciphers read is what they would write. The first byte chooses the provider;
 * when its top bit is set, the prefix of that provider is put in front of the rest. */
#include "base/err.h"
#include "base/rand.h"
#include "fuzz.h"
#include "storage/encryption/encryption.h"

#define HEAD                                                                                       \
    "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"          \
    "- resources: ['*.*']\n  providers:\n"
#define SECRET "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY="
#define KEYS   ": {keys: [{name: key2, secret: " SECRET "}, {name: key1, secret: " SECRET "}]}\n"

static const struct {
    const char *config, *prefix;
} providers[] = {
    {HEAD "  - aesgcm" KEYS, "k8s:enc:aesgcm:v1:key1:"},
    {HEAD "  - aescbc" KEYS, "k8s:enc:aescbc:v1:key1:"},
    {HEAD "  - secretbox" KEYS, "k8s:enc:secretbox:v1:key2:"},
    {HEAD "  - identity: {}\n  - aescbc" KEYS, "k8s:enc:aescbc:v1:key2:"},
};

static const struct cor_transformer *transformer(size_t i)
{
    static struct cor_encryption *made[sizeof(providers) / sizeof(providers[0])];
    static struct cor_rand rand;
    const struct cor_gr pods = {.group = {"", 0}, .resource = {"pods", 4}};

    if (!made[i]) {
        cor_rand_init_seeded(&rand, 1);
        FUZZ_CHECK(cor_encryption_new(cor_strz(providers[i].config), &rand, &made[i], NULL) == 0);
    }
    return cor_encryption_peek(made[i], &pods);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    size_t i = size ? (data[0] & 0x7f) % (sizeof(providers) / sizeof(providers[0])) : 0;
    const struct cor_transformer *t = transformer(i);
    struct cor_buf value, plain;
    struct cor_status st;
    struct cor_str out;
    bool stale;
    int r;

    cor_buf_init(&value, 1u << 20);
    cor_buf_init(&plain, 1u << 20);
    cor_status_init(&st);
    if (size && data[0] & 0x80)
        FUZZ_CHECK(cor_buf_addz(&value, providers[i].prefix) == 0);
    if (size)
        FUZZ_CHECK(cor_buf_add(&value, data + 1, size - 1) == 0);
    r = t->from_storage(t, COR_STR("/registry/pods/a"), cor_buf_str(&value), &plain, &out, &stale,
                        &st);
    if (r < 0)
        FUZZ_CHECK(r == -COR_EINTERNAL && *cor_status_message(&st));
    else
        FUZZ_CHECK(out.n <= value.n);
    cor_buf_deinit(&value);
    cor_buf_deinit(&plain);
    cor_status_deinit(&st);
    return 0;
}
