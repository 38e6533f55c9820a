/* The walk of a guaranteed update or a delete; store_change.h has the picture.
 *
 *   1. The state is the caller's suggestion, or is read from the engine.
 *   2. The deadline and the preconditions are checked, and the step decides (judge).
 *   3. A refusal of a suggestion counts only if the suggestion is the present state: one read finds
 *      out, and the step runs again if it was not.
 *   4. The write is a compare-and-swap on the revision of the state. When it is lost, the engine's
 *      answer has the present state, and the walk goes on at 2.
 *
 * What fails: a failed precondition, the step's refusal, the deadline, the engine and an allocation
 * end the operation. A write that is under way is never given up, because nobody could tell whether
 * it happened. After a write that succeeded, an answer that cannot be built is -COR_ENOMEM.
 *
 * Thread: the loop's. */
#include "storage/store/store_change.h"

#include "base/mem.h"

struct cor_store_change *cor_store_change_free(struct cor_store_change *change)
{
    change->store->busy--;
    cor_range_req_deinit(&change->range);
    cor_write_req_deinit(&change->write);
    cor_status_deinit(&change->refusal);
    store_scratch_deinit(&change->scratch);
    cor_object_unref(change->object);
    cor_object_unref(change->next);
    cor_free(change->uid);
    cor_free(change->rv);
    store_key_deinit(&change->key);
    return cor_free(change);
}

void cor_store_change_finish(struct cor_store_change *change, int err, struct cor_status *status,
                             struct cor_object *object)
{
    struct cor_store_reply reply = {err, err < 0 ? status : NULL, object, change->was_stopped};
    cor_store_cb on_done = change->on_done;
    void *arg = change->arg;

    cor_store_change_free(change);
    on_done(arg, &reply);
}

static bool change_is_too_late(const struct cor_store_change *change)
{
    return change->deadline_ms > 0 && cor_loop_now_ms(change->store->loop) > change->deadline_ms;
}

static int change_precondition_failed(struct cor_store_change *change, const char *what,
                                      const char *want, struct cor_str have,
                                      struct cor_status *reterr_status)
{
    return cor_storage_precondition_failed(reterr_status, store_key_str(&change->key), what,
                                           cor_strz(want), have);
}

static int change_check_preconditions(struct cor_store_change *change,
                                      struct cor_status *reterr_status)
{
    struct cor_str uid = COR_STR(""), rv = COR_STR("");

    if (change->object) {
        uid = cor_object_uid(change->object);
        rv = cor_object_resource_version(change->object);
    }
    if (change->has_uid && !cor_str_eqz(uid, change->uid))
        return change_precondition_failed(change, "UID", change->uid, uid, reterr_status);
    if (change->has_rv && !cor_str_eqz(rv, change->rv))
        return change_precondition_failed(change, "ResourceVersion", change->rv, rv, reterr_status);
    return 0;
}

/* A refusal counts only when it is of the present state: see 3. */
static void change_refuse(struct cor_store_change *change, int err, struct cor_status *status)
{
    if (change->current) {
        cor_store_change_finish(change, err, status, NULL);
        return;
    }
    change->refused = err;
    cor_status_move(&change->refusal, status);
    cor_store_change_read(change);
}

void cor_store_change_judge(struct cor_store_change *change)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int r;

    assert(cor_loop_is_current(change->store->loop) && (change->current || change->object));
    cor_status_init(&status);
    change->was_stopped = false;
    r = change_is_too_late(change) ? cor_status_timeout(&status, 0, "%s", COR_DEADLINE_TEXT) : 0;
    if (r < 0) {
        cor_store_change_finish(change, r, &status, NULL);
        return;
    }
    r = change_check_preconditions(change, &status);
    if (r < 0)
        change_refuse(change, r, &status);
    else if (change->step)
        change->step(change->arg, change, change->object);
    else
        cor_store_change_accept(change);
}

void cor_store_change_refuse(struct cor_store_change *change, int err, struct cor_status *status)
{
    assert(err < 0 && cor_loop_is_current(change->store->loop));
    change_refuse(change, err, status);
}

void cor_store_change_stop(struct cor_store_change *change)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    assert(cor_loop_is_current(change->store->loop));
    cor_status_init(&status);
    change->was_stopped = true;
    change_refuse(change, cor_status_set(&status, -COR_ECANCELED, "stopped"), &status);
}

static int change_take_unreadable(struct cor_store_change *change, struct cor_kv *kv,
                                  struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r = cor_store_decode(change->store, kv, 0, &object, NULL, reterr_status);

    if (r == -COR_ENOMEM)
        return r;
    if (r < 0)
        return 0;
    return cor_storage_error(
        reterr_status, COR_STORAGE_INVALID_OBJ, store_key_str(&change->key), 0,
        "unsafe deletion is not allowed because the object is decodable from storage");
}

/* The engine's answer becomes the state; NULL: the key is absent. */
static int change_take_state(struct cor_store_change *change, struct cor_kv *kv,
                             struct cor_status *reterr_status)
{
    change->object = cor_object_unref(change->object);
    change->rev = kv ? kv->mod_rev : 0;
    change->rewrite = false;
    change->current = true;
    if (!kv)
        return change->ignore_not_found ? 0
                                        : cor_storage_error(reterr_status, COR_STORAGE_NOT_FOUND,
                                                            store_key_str(&change->key), 0, NULL);
    if (change->unreadable)
        return change_take_unreadable(change, kv, reterr_status);
    return cor_store_decode(change->store, kv, 0, &change->object, &change->rewrite, reterr_status);
}

static void on_read(struct cor_engine_req *req)
{
    struct cor_store_change *change = COR_CONTAINER_OF(req, struct cor_store_change, range.req);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    cor_rev before = change->rev;
    int r;

    cor_status_init(&status);
    if (req->result < 0)
        r = cor_store_engine_failure(&change->key, req, &status);
    else
        r = change_take_state(change, change->range.ret_nkvs > 0 ? change->range.ret_kvs[0] : NULL,
                              &status);
    if (r == 0 && change->refused < 0 && change->rev == before) {
        r = change->refused;
        cor_status_move(&status, &change->refusal);
    } else {
        change->was_stopped = false;
    }
    if (r < 0)
        cor_store_change_finish(change, r, &status, NULL);
    else if (change->confirm)
        cor_store_update_confirmed(change);
    else
        cor_store_change_judge(change);
}

/* At most once: from then on the state is current. */
void cor_store_change_read(struct cor_store_change *change)
{
    assert(!change->current);
    change->range.key = store_key_str(&change->key);
    cor_engine_range(change->store->engine, &change->range);
}

static void change_succeed(struct cor_store_change *change)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *served = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct cor_object *object = change->is_delete ? change->object : change->next;
    int r = 0;

    cor_status_init(&status);
    if (object && cor_object_at(object, change->write.ret_rev, &served) < 0)
        r = cor_store_no_memory(&status);
    cor_store_change_finish(change, r, &status, served);
}

static void on_written(struct cor_engine_req *req)
{
    struct cor_store_change *change = COR_CONTAINER_OF(req, struct cor_store_change, write.req);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    COR_CLEANUP(cor_kv_unrefp) struct cor_kv *present = NULL;
    int r = req->result;

    cor_status_init(&status);
    if (r == 0) {
        change_succeed(change);
        return;
    }
    if (cor_lease_manager_lost(&change->store->leases, &change->lease, &change->write)) {
        cor_store_update_write(change);
        return;
    }
    if (r == -COR_ECONFLICT) {
        present = COR_STEAL(change->write.ret_prev);
        r = change_take_state(change, present, &status);
    } else {
        r = cor_store_engine_failure(&change->key, req, &status);
    }
    if (r < 0)
        cor_store_change_finish(change, r, &status, NULL);
    else
        cor_store_change_judge(change);
}

/* key, value and lease are set. */
void cor_store_change_submit(struct cor_store_change *change)
{
    assert(change->is_delete ? change->rev > 0 : change->value.n > 0);
    cor_write_req_deinit(&change->write);
    cor_write_req_init(&change->write, change->store->loop, on_written);
    change->write.key = store_key_str(&change->key);
    change->write.is_delete = change->is_delete;
    change->write.expected = change->rev;
    change->write.lease = change->lease.id;
    if (!change->is_delete) {
        change->write.value = change->value;
        change->write.object = change->next;
    }
    cor_engine_write(change->store->engine, &change->write);
}

static void on_turn(struct cor_mail *mail)
{
    cor_store_change_judge(COR_CONTAINER_OF(mail, struct cor_store_change, turn));
}

void cor_store_change_start(struct cor_store_change *change)
{
    if (change->object && !change->unreadable)
        cor_loop_post_always(change->store->loop, &change->turn);
    else
        cor_store_change_read(change);
}

static int copy_precondition(struct cor_str want, bool *ret_has, char **ret_text)
{
    *ret_has = want.p != NULL;
    if (*ret_has && !(*ret_text = cor_strndup(want.p, want.n)))
        return -COR_ENOMEM;
    return 0;
}

int cor_store_change_new(struct cor_store *store, struct cor_str key,
                         const struct cor_preconditions *preconditions,
                         struct cor_object *suggestion, struct cor_store_change **ret_change,
                         struct cor_status *reterr_status)
{
    struct cor_store_change *change = cor_calloc(1, sizeof(*change));
    int r;

    assert(cor_loop_is_current(store->loop));
    if (!change)
        return cor_store_no_memory(reterr_status);
    change->store = store;
    store->busy++;
    cor_status_init(&change->refusal);
    store_scratch_init(&change->scratch);
    cor_range_req_init(&change->range, store->loop, on_read);
    cor_write_req_init(&change->write, store->loop, on_written);
    change->turn.on_mail = on_turn;
    assert(!suggestion || suggestion->rev > 0);
    if (suggestion) {
        change->object = cor_object_ref(suggestion);
        change->rev = suggestion->rev;
    }
    r = cor_store_key_init(&change->key, store, key, false, reterr_status);
    if (r == 0 &&
        (copy_precondition(preconditions->uid, &change->has_uid, &change->uid) < 0 ||
         copy_precondition(preconditions->resource_version, &change->has_rv, &change->rv) < 0))
        r = cor_store_no_memory(reterr_status);
    if (r < 0) {
        cor_store_change_free(change);
        return r;
    }
    *ret_change = change;
    return 0;
}
