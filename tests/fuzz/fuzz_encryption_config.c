/* Promises of the encryption file's reader: any bytes are read or refused with words; what is read
 * has the shape that the rest relies on, and its transformers write what they can read. */
#include "base/err.h"
#include "base/rand.h"
#include "fuzz.h"
#include "storage/encryption/encryption.h"
#include "storage/encryption/encryption_config.h"

static void check_config(const struct cor_encryption_config *c)
{
    FUZZ_CHECK(c->nrules > 0);
    for (size_t i = 0; i < c->nrules; i++) {
        const struct cor_encryption_rule *rule = &c->rules[i];

        FUZZ_CHECK(rule->nresources > 0 && rule->nproviders > 0);
        for (size_t j = 0; j < rule->nproviders; j++) {
            const struct cor_encryption_provider *p = &rule->providers[j];

            FUZZ_CHECK(p->kinds == 1u << p->kind && p->kind != COR_PROVIDER_KMS);
            FUZZ_CHECK((p->kind == COR_PROVIDER_IDENTITY) == (p->nkeys == 0));
        }
    }
}

static void check_round_trip(const struct cor_encryption *e, struct cor_str resource)
{
    const struct cor_gr gr = cor_encryption_gr(resource);
    const struct cor_transformer *t = cor_encryption_peek(e, &gr);
    struct cor_buf sealed, plain;
    struct cor_str out, back;
    bool stale;

    cor_buf_init(&sealed, 4u << 20);
    cor_buf_init(&plain, 4u << 20);
    FUZZ_CHECK(t->to_storage(t, COR_STR("/k"), COR_STR("{}"), &sealed, &out, NULL) == 0);
    FUZZ_CHECK(t->from_storage(t, COR_STR("/k"), out, &plain, &back, &stale, NULL) == 0);
    FUZZ_CHECK(!stale && cor_str_eq(back, COR_STR("{}")));
    cor_buf_deinit(&sealed);
    cor_buf_deinit(&plain);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str file = cor_str((const char *)data, size);
    struct cor_encryption_config config;
    struct cor_encryption *e = NULL;
    struct cor_status st;
    struct cor_rand rand;

    cor_status_init(&st);
    cor_rand_init_seeded(&rand, 1);
    if (cor_encryption_config_read(file, &config, &st) < 0) {
        FUZZ_CHECK(st.err < 0 && *cor_status_message(&st));
        FUZZ_CHECK(cor_encryption_new(file, &rand, &e, NULL) < 0);
        cor_status_deinit(&st);
        return 0;
    }
    check_config(&config);
    if (cor_encryption_new(file, &rand, &e, &st) == 0)
        check_round_trip(e, config.rules[0].resources[0]);
    cor_encryption_unref(e);
    cor_encryption_config_deinit(&config);
    cor_status_deinit(&st);
    return 0;
}
