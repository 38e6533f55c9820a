/* Where resources live as one loop sees them: the store and the reader of each, which the loop
 * opens when a request first needs them.
 *
 * A backing that cannot be opened fails its request only, and is tried again by the next one. That
 * of a custom resource leaves its place when its definition is retired: its watches end when they
 * have delivered what came before, and its last call frees it.
 * Thread: the loop's. */
#include "server/api/backing.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "meta/names/key.h"
#include "schema/kinds/custom_row.h"
#include "server/api/api_cachers.h"
#include "server/api/api_int.h"
#include "server/stored/kind_codec.h"
#include "storage/encryption/dynamic_transformers.h"
#include "storage/store/store.h"

#define PREFIX_MAX   256
#define BACKINGS_MIN 64

static struct cor_backing *backing_free(struct cor_backing *backing)
{
    if (!backing)
        return NULL;
    assert(cor_dlist_empty(&backing->watches));
    cor_reader_free(backing->reader);
    cor_store_free(backing->store);
    cor_buf_deinit(&backing->prefix);
    cor_row_unref(backing->row);
    return cor_free(backing);
}

/* Takes the backing from its place, which another definition may have next. */
static void backing_retire(struct cor_api_loop *loop, size_t place)
{
    struct cor_backing *backing = COR_STEAL(cor_loop_part(loop)->backings[place]);

    /* No call ends the backing while its watches are ended. */
    backing->ncalls++;
    COR_DLIST_FOREACH_SAFE(link, &backing->watches)
        COR_CONTAINER_OF(link, struct cor_call_link, link)
            ->end(link, backing->row->life->retired_rev);
    cor_api_put_backing(loop, backing);
}

void cor_api_put_backing(struct cor_api_loop *loop, struct cor_backing *backing)
{
    const struct cor_loop_part *part = cor_loop_part(loop);
    size_t place = cor_row_place(backing->row);

    assert(backing->row->life && backing->ncalls > 0 && cor_loop_is_current(loop->loop));
    if (--backing->ncalls == 0 && (place >= part->nbackings || part->backings[place] != backing))
        backing_free(backing);
}

void cor_api_retire_backings(struct cor_api_loop *loop, uint64_t generation)
{
    const struct cor_loop_part *part = cor_loop_part(loop);
    size_t nbuiltins;

    (void)cor_api_builtins(&nbuiltins);
    for (size_t place = nbuiltins; place < part->nbackings; place++) {
        if (part->backings[place] && cor_row_is_retired_in(part->backings[place]->row, generation))
            backing_retire(loop, place);
    }
}

void cor_api_free_backings(struct cor_api_loop *loop)
{
    struct cor_loop_part *part = cor_loop_part(loop);

    for (size_t i = 0; i < part->nbackings; i++)
        backing_free(part->backings[i]);
    part->backings = cor_free(part->backings);
    part->nbackings = 0;
}

int cor_api_store_new(struct cor_api *api, const struct cor_resource_row *resource,
                      struct cor_loop *loop, struct cor_buf *ret_prefix,
                      struct cor_store **ret_store, struct cor_status *reterr_status)
{
    struct cor_gr gr = cor_api_gr(resource);
    const struct cor_api_settings *settings = &api->settings;
    struct cor_store_opts opts = {
        .engine = settings->engine,
        .loop = loop,
        .path_prefix = settings->path_prefix,
        .api_version = resource->api_version,
        .kind = resource->kind,
        .clock = settings->clock,
        .decode_errors = resource->life ? NULL : &api->decode_errors[cor_row_place(resource)],
    };
    const struct cor_kind_codec_opts codec = {
        .api_version = resource->api_version,
        .kind = resource->kind,
        .form = settings->stored_form,
        .old_rev = resource->custom ? 0 : cor_engine_old_rev(settings->engine),
        .is_custom = resource->custom,
        .schema = resource->custom ? resource->custom->schema : NULL,
    };
    int r;

    assert(!resource->conversion && !(resource->flags & COR_API_VIRTUAL));
    cor_buf_init(ret_prefix, PREFIX_MAX);
    r = cor_key_resource_prefix(&gr, resource->custom, ret_prefix);
    if (r == 0 && settings->transformers)
        r = cor_dynamic_transformers_peek(settings->transformers, &gr, &opts.transformer);
    if (r == 0)
        r = cor_kind_codec_new(&codec, &opts.take_codec);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    opts.resource_prefix = cor_buf_z(ret_prefix);
    return cor_store_new(&opts, ret_store, reterr_status);
}

static int backing_open(struct cor_api_loop *loop, const struct cor_resource_row *resource,
                        struct cor_backing *backing, struct cor_status *reterr_status)
{
    struct cor_cacher *cacher;
    int r = cor_api_store_new(loop->api, resource, loop->loop, &backing->prefix, &backing->store,
                              reterr_status);

    backing->row = cor_row_ref(resource);
    if (r < 0)
        return r;
    cacher = loop->shared->cachers ? cor_api_cachers_peek(loop->shared->cachers, resource) : NULL;
    if (cacher)
        r = cor_cacher_reader_new(cacher, backing->store, &backing->reader);
    else
        r = cor_store_reader_new(backing->store, &backing->reader);
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

/* Makes room for the backing at `place`. 0, -COR_ENOMEM. */
static int backing_reserve(struct cor_loop_part *part, size_t place)
{
    struct cor_backing **grown;
    size_t n = part->nbackings ? part->nbackings : BACKINGS_MIN;

    if (place < part->nbackings)
        return 0;
    while (n <= place)
        n *= 2;
    grown = cor_realloc(part->backings, n * sizeof(struct cor_backing *));
    if (!grown)
        return -COR_ENOMEM;
    memset(grown + part->nbackings, 0, (n - part->nbackings) * sizeof(struct cor_backing *));
    part->backings = grown;
    part->nbackings = n;
    return 0;
}

int cor_api_backing(struct cor_api_loop *loop, const struct cor_resource_row *resource,
                    struct cor_backing **ret_backing, struct cor_status *reterr_status)
{
    struct cor_loop_part *part = cor_loop_part(loop);
    size_t place = cor_row_place(resource);
    struct cor_backing *backing = place < part->nbackings ? part->backings[place] : NULL;
    int r;

    assert(!resource->conversion && !(resource->flags & COR_API_VIRTUAL));
    if (!backing) {
        r = backing_reserve(part, place);
        backing = r == 0 ? cor_calloc(1, sizeof(*backing)) : NULL;
        if (!backing)
            return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
        cor_dlist_init(&backing->watches);
        r = backing_open(loop, resource, backing, reterr_status);
        if (r < 0) {
            backing_free(backing);
            return r;
        }
        part->backings[place] = backing;
    }
    *ret_backing = backing;
    return 0;
}
