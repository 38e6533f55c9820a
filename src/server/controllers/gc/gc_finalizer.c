/* clang-format off */
/* Removes a finalizer from an object (contract 2.6.4):
 *
 *   GET ── 404, or the finalizer is not there ──► done
 *    │
 *    └──► PATCH with the resourceVersion of the GET ── success ──► done
 *                │ 409, fewer than 4 tries: after 10, 50, 250 ms GET again
 *                └ 409 the fourth time, or another error: the attempt fails and is queued again */
/* clang-format on */
#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "server/controllers/gc/gc_int.h"

static void finalizer_read(struct cor_gc_attempt *a);

static void finalizer_fail_get(struct cor_gc_attempt *a, const struct cor_status *error)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf owner;
    struct cor_status why = {0};

    cor_buf_init(&owner, 4096);
    (void)cor_gc_identity_print(&a->id, &owner);
    cor_status_set(&why, error->err,
                   "cannot finalize owner %s, because cannot get it: %s. The garbage collector "
                   "will retry later",
                   cor_buf_z(&owner), cor_status_message(error));
    cor_gc_attempt_fail(a, error->err, &why);
    cor_status_deinit(&why);
}

static void finalizer_give_up(struct cor_gc_attempt *a)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf owner;
    struct cor_status why = {0};

    cor_buf_init(&owner, 4096);
    (void)cor_gc_identity_print(&a->id, &owner);
    cor_status_set(&why, -COR_ECONFLICT,
                   "updateMaxRetries(%d) has reached. The garbage collector will retry later for "
                   "owner %s",
                   COR_GC_FINALIZER_TRIES, cor_buf_z(&owner));
    cor_gc_attempt_fail(a, -COR_ECONFLICT, &why);
    cor_status_deinit(&why);
}

static void on_finalizer_patched(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    static const uint64_t pause_ms[] = {10, 50, 250};

    if (!answer->error) {
        cor_gc_attempt_done(a);
    } else if (!cor_gc_answer_is(answer, -COR_ECONFLICT)) {
        cor_gc_attempt_fail_with(a, answer);
    } else if (a->tries >= COR_GC_FINALIZER_TRIES) {
        finalizer_give_up(a);
    } else if (cor_gc_attempt_sleep(a, pause_ms[a->tries - 1]) < 0) {
        cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
    }
}

static void on_finalizer_read(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    struct cor_gc_deletion deletion;
    bool has_it;

    if (cor_gc_answer_is(answer, -COR_ENOTFOUND)) {
        cor_gc_attempt_done(a);
        return;
    }
    if (answer->error) {
        finalizer_fail_get(a, answer->error);
        return;
    }
    deletion = cor_gc_deletion(answer->object);
    has_it = cor_str_eqz(cor_strz(a->finalizer), COR_GC_ORPHAN) ? deletion.has_orphan
                                                                : deletion.has_foreground;
    if (!has_it) {
        cor_gc_attempt_done(a);
        return;
    }
    a->tries++;
    cor_buf_reset(&a->patch);
    if (cor_gc_patch_finalizers(&a->patch, answer->object, cor_strz(a->finalizer)) < 0)
        cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
    else
        cor_gc_attempt_patch(a, COR_PATCH_MERGE, on_finalizer_patched);
}

static void finalizer_read(struct cor_gc_attempt *a)
{
    struct cor_resource_path path;
    struct cor_status why = {0};

    if (cor_gc_path(a->gc, &a->id, &path, &why))
        cor_gc_attempt_read(a, &path, on_finalizer_read);
    else
        cor_gc_attempt_fail(a, why.err, &why);
    cor_status_deinit(&why);
}

void cor_gc_remove_finalizer(struct cor_gc_attempt *a, const char *finalizer)
{
    a->finalizer = finalizer;
    a->tries = 0;
    finalizer_read(a);
}

void cor_gc_finalizer_woken(struct cor_gc_attempt *a)
{
    assert(a->finalizer);
    finalizer_read(a);
}
