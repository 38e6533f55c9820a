#include "storage/store/transformer.h"

#include <assert.h>

#define CHAIN_MESSAGE_MAX 4096
#define ENCRYPTED         COR_STR("k8s:enc:")

static int identity_from_storage(const struct cor_transformer *t, struct cor_str key,
                                 struct cor_str in, struct cor_buf *scratch,
                                 struct cor_str *ret_out, bool *ret_stale,
                                 struct cor_status *reterr_status)
{
    if (cor_str_starts(in, ENCRYPTED))
        return cor_status_set(reterr_status, -COR_EINTERNAL,
                              "identity transformer tried to read encrypted data");
    *ret_out = in;
    *ret_stale = false;
    return 0;
}

static int identity_to_storage(const struct cor_transformer *t, struct cor_str key,
                               struct cor_str in, struct cor_buf *scratch, struct cor_str *ret_out,
                               struct cor_status *reterr_status)
{
    *ret_out = in;
    return 0;
}

const struct cor_transformer *cor_transformer_identity(void)
{
    static const struct cor_transformer identity = {identity_from_storage, identity_to_storage};

    return &identity;
}

/* Upstream's aggregate of errors: each message once; a single one as it is, several in brackets. */
struct errors {
    struct cor_buf text;
    size_t n;
};

static bool errors_has(const struct errors *errors, struct cor_str message)
{
    struct cor_str rest = cor_buf_str(&errors->text);
    const char *hit;

    while (message.n > 0 && (hit = memmem(rest.p, rest.n, message.p, message.n))) {
        struct cor_str after = cor_str_from(rest, (size_t)(hit - rest.p) + message.n);
        bool begins = hit == errors->text.p || hit[-1] == ' ';

        if (begins && (after.n == 0 || *after.p == ','))
            return true;
        rest = after;
    }
    return false;
}

static int errors_add(struct errors *errors, const char *message)
{
    int r;

    if (errors_has(errors, cor_strz(message)))
        return 0;
    r = cor_buf_addf(&errors->text, "%s%s", errors->n ? ", " : "", message);
    errors->n += r == 0;
    return r == -COR_ETOOBIG ? 0 : r;
}

static int chain_refuse(const struct cor_transformer_chain *chain, const struct errors *errors,
                        struct cor_status *reterr_status)
{
    if (errors->n == 0)
        return cor_status_set(reterr_status, -COR_EINTERNAL, "%s", chain->no_match);
    return cor_status_set(reterr_status, -COR_EINTERNAL, errors->n == 1 ? "%s" : "[%s]",
                          cor_buf_z(&errors->text));
}

static void errors_deinit(struct errors *errors)
{
    cor_buf_deinit(&errors->text);
}

static int chain_from_storage(const struct cor_transformer *t, struct cor_str key,
                              struct cor_str in, struct cor_buf *scratch, struct cor_str *ret_out,
                              bool *ret_stale, struct cor_status *reterr_status)
{
    const struct cor_transformer_chain *chain =
        COR_CONTAINER_OF(t, struct cor_transformer_chain, transformer);
    COR_CLEANUP(errors_deinit) struct errors errors = {.n = 0};
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int r;

    cor_buf_init(&errors.text, CHAIN_MESSAGE_MAX);
    cor_status_init(&status);
    for (size_t i = 0; i < chain->nlinks; i++) {
        const struct cor_transformer_link *link = &chain->links[i];

        if (!cor_str_starts(in, link->prefix))
            continue;
        r = link->transformer->from_storage(link->transformer, key,
                                            cor_str_from(in, link->prefix.n), scratch, ret_out,
                                            ret_stale, &status);
        if (r == 0) {
            *ret_stale |= i > 0;
            return 0;
        }
        if (r != -COR_ENOMEM && link->prefix.n > 0)
            r = errors_add(&errors, cor_status_message(&status));
        if (r == -COR_ENOMEM)
            return cor_status_set_err(reterr_status, r);
    }
    return chain_refuse(chain, &errors, reterr_status);
}

static int chain_to_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                            struct cor_buf *scratch, struct cor_str *ret_out,
                            struct cor_status *reterr_status)
{
    const struct cor_transformer_chain *chain =
        COR_CONTAINER_OF(t, struct cor_transformer_chain, transformer);
    const struct cor_transformer_link *first = &chain->links[0];
    size_t mark = scratch->n, after;
    struct cor_str out;
    int r;

    if (first->prefix.n == 0)
        return first->transformer->to_storage(first->transformer, key, in, scratch, ret_out,
                                              reterr_status);
    r = cor_buf_adds(scratch, first->prefix);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    after = scratch->n;
    r = first->transformer->to_storage(first->transformer, key, in, scratch, &out, reterr_status);
    if (r < 0)
        return r;
    if (scratch->n == after) { /* The transformer passed the value through. */
        r = cor_buf_adds(scratch, out);
        if (r < 0)
            return cor_status_set_err(reterr_status, r);
    }
    *ret_out = cor_str_from(cor_buf_str(scratch), mark);
    return 0;
}

void cor_transformer_chain_init(struct cor_transformer_chain *chain,
                                const struct cor_transformer_link *links, size_t nlinks,
                                const char *no_match)
{
    assert(nlinks > 0);
    *chain = (struct cor_transformer_chain){
        {chain_from_storage, chain_to_storage},
        links,
        nlinks,
        no_match ? no_match : "no matching prefix found",
    };
}

bool cor_transformer_chain_reads(const struct cor_transformer *t, struct cor_str value)
{
    const struct cor_transformer_chain *chain =
        COR_CONTAINER_OF(t, struct cor_transformer_chain, transformer);
    bool is_encrypted = cor_str_starts(value, ENCRYPTED);

    for (size_t i = 0; i < chain->nlinks; i++) {
        struct cor_str prefix = chain->links[i].prefix;

        if (cor_str_starts(value, prefix) && (prefix.n > 0 || !is_encrypted))
            return true;
    }
    return false;
}
