#include "storage/transformer.h"

#include <assert.h>

#define CHAIN_MESSAGE_MAX 4096

static int identity_from_storage(const struct cor_transformer *t, struct cor_str key,
                                 struct cor_str in, struct cor_buf *scratch,
                                 struct cor_str *ret_out, bool *ret_stale,
                                 struct cor_status *reterr_status)
{
    if (cor_str_starts(in, COR_STR("k8s:enc:")))
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

/* Upstream's aggregate: one error stands alone, several stand in brackets. */
static int refuse(const struct cor_buf *errors, size_t nerrors, struct cor_status *reterr_status)
{
    if (nerrors == 0)
        return cor_status_set(reterr_status, -COR_EINTERNAL, "no matching prefix found");
    return cor_status_set(reterr_status, -COR_EINTERNAL, nerrors == 1 ? "%s" : "[%s]",
                          cor_buf_z(errors));
}

static int chain_from_storage(const struct cor_transformer *t, struct cor_str key,
                              struct cor_str in, struct cor_buf *scratch, struct cor_str *ret_out,
                              bool *ret_stale, struct cor_status *reterr_status)
{
    const struct cor_transformer_chain *chain =
        COR_CONTAINER_OF(t, struct cor_transformer_chain, transformer);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf errors;
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    size_t nerrors = 0;
    int r;

    cor_buf_init(&errors, CHAIN_MESSAGE_MAX);
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
        if (r == -COR_ENOMEM)
            return cor_status_set(reterr_status, r, "%s", cor_err_text(r));
        if (link->prefix.n == 0)
            continue;
        r = cor_buf_addf(&errors, "%s%s", nerrors++ ? ", " : "", cor_status_message(&status));
        if (r == -COR_ENOMEM)
            return cor_status_set(reterr_status, r, "%s", cor_err_text(r));
    }
    return refuse(&errors, nerrors, reterr_status);
}

static int chain_to_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                            struct cor_buf *scratch, struct cor_str *ret_out,
                            struct cor_status *reterr_status)
{
    const struct cor_transformer_chain *chain =
        COR_CONTAINER_OF(t, struct cor_transformer_chain, transformer);
    const struct cor_transformer_link *first = &chain->links[0];
    COR_CLEANUP(cor_buf_deinit) struct cor_buf inner;
    struct cor_str out;
    int r;

    if (first->prefix.n == 0)
        return first->transformer->to_storage(first->transformer, key, in, scratch, ret_out,
                                              reterr_status);
    cor_buf_init(&inner, scratch->max);
    r = first->transformer->to_storage(first->transformer, key, in, &inner, &out, reterr_status);
    if (r < 0)
        return r;
    cor_buf_reset(scratch);
    r = cor_buf_adds(scratch, first->prefix);
    if (r == 0)
        r = cor_buf_adds(scratch, out);
    if (r < 0)
        return cor_status_set(reterr_status, r, "%s", cor_err_text(r));
    *ret_out = cor_buf_str(scratch);
    return 0;
}

void cor_transformer_chain_init(struct cor_transformer_chain *chain,
                                const struct cor_transformer_link *links, size_t nlinks)
{
    assert(nlinks > 0);
    *chain = (struct cor_transformer_chain){
        {chain_from_storage, chain_to_storage},
        links,
        nlinks,
    };
}
