/* clang-format off */
/* When the work of server_upkeep.h is done.
 *
 *   start: a mail to the loop ──► beat ──► 10 s later, a little more or less: beat ──► …
 *   beat: what is due and not under way (renewal, pass over the objects, the ConfigMap, collection) is begun
 *
 * All four run side by side through one port. A work that fails is logged once until it succeeds, and
 * is begun again at the next beat: so a server whose store does not answer asks every ten seconds.
 * Without memory for the timer the next turn tries again. A stop waits until the port has freed its
 * last request.
 * Thread: the API's first loop. */
/* clang-format on */
#include "server/instance/server_upkeep.h"

#include <assert.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/uuid.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "schema/kinds/bootstrap_objects.h"
#include "server/api/api_loop.h"
#include "server/instance/bootstrap_keeper.h"
#include "server/instance/identity_lease.h"
#include "server/instance/trust_keeper.h"
#include "server/port/inner_port.h"

#define OBJECTS_MS 60000
/* Servers that were started together do not stay in step: each beat is up to 4 % later. */
#define JITTER_MS (COR_IDENTITY_RENEW_MS * 4 / 100)

/* A work that is done again and again. */
struct upkeep_work {
    const char *what;
    uint64_t interval_ms;
    uint64_t due_ms;
    bool is_under_way;
    bool has_failed; /* that was logged */
};

enum { WORK_RENEW, WORK_OBJECTS, WORK_TRUST, WORK_COLLECT, WORKS };

struct cor_server_upkeep {
    struct cor_loop *loop;
    struct cor_timer timer;
    struct cor_mail turn; /* to itself */
    bool has_turn, is_stopping;
    struct cor_rand rand;
    struct cor_inner_port port;
    struct cor_bootstrap_keeper keeper;
    struct cor_identity_lease lease;
    struct cor_trust_keeper trust;
    struct upkeep_work works[WORKS];
    void (*on_stopped)(void *arg);
    void *arg;
};

static void upkeep_on_turn(struct cor_mail *mail);

static void upkeep_next_turn(struct cor_server_upkeep *u)
{
    u->has_turn = true;
    u->turn.on_mail = upkeep_on_turn;
    cor_dlist_init(&u->turn.link);
    cor_loop_post_always(u->loop, &u->turn);
}

static void upkeep_end_work(struct cor_server_upkeep *u, size_t i, int err)
{
    struct upkeep_work *work = &u->works[i];

    work->is_under_way = false;
    if (err < 0 && !work->has_failed)
        COR_LOG_WARN("an upkeep of the server failed; it is tried again",
                     COR_F_STR("work", work->what), COR_F_ERR(err));
    work->has_failed = err < 0;
    if (err < 0)
        work->due_ms = 0;
}

static void upkeep_on_renewed(void *arg, int err)
{
    upkeep_end_work(arg, WORK_RENEW, err);
}

static void upkeep_on_objects(void *arg, int err)
{
    upkeep_end_work(arg, WORK_OBJECTS, err);
}

static void upkeep_on_trust(void *arg, int err)
{
    upkeep_end_work(arg, WORK_TRUST, err);
}

static void upkeep_on_collected(void *arg, int err)
{
    upkeep_end_work(arg, WORK_COLLECT, err);
}

static void upkeep_beat(struct cor_server_upkeep *u)
{
    uint64_t now_ms = cor_loop_now_ms(u->loop);

    assert(cor_loop_is_current(u->loop) && !u->is_stopping);
    for (size_t i = 0; i < WORKS; i++) {
        struct upkeep_work *work = &u->works[i];

        if (work->is_under_way || now_ms < work->due_ms)
            continue;
        work->is_under_way = true;
        /* Half a beat earlier, so that a beat that comes a little early does not skip the work. */
        work->due_ms = now_ms + work->interval_ms - COR_IDENTITY_RENEW_MS / 2;
        if (i == WORK_RENEW)
            cor_identity_lease_renew(&u->lease);
        else if (i == WORK_OBJECTS)
            cor_bootstrap_keeper_check(&u->keeper, upkeep_on_objects, u);
        else if (i == WORK_TRUST)
            cor_trust_keeper_check(&u->trust, upkeep_on_trust, u);
        else
            cor_identity_lease_collect(&u->lease);
    }
    if (cor_timer_set(&u->timer, COR_IDENTITY_RENEW_MS + cor_rand_below(&u->rand, JITTER_MS)) < 0)
        upkeep_next_turn(u);
}

static void upkeep_on_timer(struct cor_timer *timer)
{
    upkeep_beat(COR_CONTAINER_OF(timer, struct cor_server_upkeep, timer));
}

static void upkeep_end_stop(struct cor_server_upkeep *u)
{
    if (!cor_inner_port_is_idle(&u->port))
        upkeep_next_turn(u);
    else
        u->on_stopped(u->arg);
}

static void upkeep_on_turn(struct cor_mail *mail)
{
    struct cor_server_upkeep *u = COR_CONTAINER_OF(mail, struct cor_server_upkeep, turn);

    u->has_turn = false;
    if (u->is_stopping)
        upkeep_end_stop(u);
    else
        upkeep_beat(u);
}

/* ---- life ---- */

int cor_server_upkeep_new(struct cor_api *api, struct cor_str host,
                          const struct cor_cluster_trust *trust,
                          struct cor_server_upkeep **ret_upkeep)
{
    struct cor_server_upkeep *u = cor_calloc(1, sizeof(*u));
    char uuid[COR_UUID_TEXT_MAX];
    int r;

    if (!u)
        return -COR_ENOMEM;
    u->works[WORK_RENEW] =
        (struct upkeep_work){.what = "the identity Lease", .interval_ms = COR_IDENTITY_RENEW_MS};
    u->works[WORK_OBJECTS] = (struct upkeep_work){.what = "the objects that the server makes",
                                                  .interval_ms = OBJECTS_MS};
    u->works[WORK_TRUST] = (struct upkeep_work){.what = "the ConfigMap for aggregated servers",
                                                .interval_ms = OBJECTS_MS};
    u->works[WORK_COLLECT] = (struct upkeep_work){.what = "the identity Leases of other servers",
                                                  .interval_ms = COR_IDENTITY_COLLECT_MS};
    cor_rand_init(&u->rand);
    cor_inner_port_init(&u->port, cor_api_loop(api, 0), COR_STR(""), COR_STR("kube-apiserver"), 0);
    u->loop = u->port.port.loop;
    cor_timer_init(&u->timer, u->loop, upkeep_on_timer);
    cor_trust_keeper_init(&u->trust, &u->port.port, cor_api_settings(api)->clock, trust);
    r = cor_bootstrap_keeper_init(&u->keeper, &u->port.port, cor_api_settings(api)->clock,
                                  cor_bootstrap_objects, cor_bootstrap_nobjects);
    if (r == 0)
        r = cor_identity_lease_init(&u->lease, &u->port.port, cor_api_settings(api)->clock, host,
                                    cor_uuid_print(&u->rand, uuid));
    if (r < 0) {
        cor_server_upkeep_free(u);
        return r;
    }
    u->lease.on_renewed = upkeep_on_renewed;
    u->lease.on_collected = upkeep_on_collected;
    u->lease.arg = u;
    *ret_upkeep = u;
    return 0;
}

struct cor_server_upkeep *cor_server_upkeep_free(struct cor_server_upkeep *u)
{
    if (!u)
        return NULL;
    assert(!u->has_turn && !cor_timer_is_set(&u->timer));
    cor_bootstrap_keeper_deinit(&u->keeper);
    cor_identity_lease_deinit(&u->lease);
    cor_trust_keeper_deinit(&u->trust);
    cor_inner_port_deinit(&u->port);
    return cor_free(u);
}

void cor_server_upkeep_start(struct cor_server_upkeep *u)
{
    upkeep_next_turn(u);
}

void cor_server_upkeep_stop(struct cor_server_upkeep *u, void (*on_stopped)(void *arg), void *arg)
{
    assert(cor_loop_is_current(u->loop) && !u->is_stopping);
    u->is_stopping = true;
    u->on_stopped = on_stopped;
    u->arg = arg;
    cor_timer_cancel(&u->timer);
    cor_bootstrap_keeper_cancel(&u->keeper);
    cor_identity_lease_cancel(&u->lease);
    cor_trust_keeper_cancel(&u->trust);
    if (!u->has_turn)
        upkeep_end_stop(u);
}
