/* ./dev bench apply: what server-side apply and managedFields cost. Deployments with forty fields
 * are applied, and replaced by PUT, in the same run; kube-apiserver and etcd do the same when they
 * are named in the environment. docs/internals/performance.md says how to read it.
 *
 *   bench_apply CORACLE DATA_DIR [--short] [--strict]
 *
 * The flow: Deployments are created by a POST and others by an apply; all get a status from a
 * second manager. Rounds follow of a PUT of the first, an apply with a change and an apply without
 * one of the others. Coracle is then started again with these Deployments, and once more with twice
 * as many: the difference is the memory of a Deployment. A failure ends the program with words
 * (process.h). Thread: one. */
#include <math.h>

#include "deployments.h"
#include "process.h"
#include "versus.h"
#include "json/text/scan.h"

#define BODY_MAX (1u << 20)
#define NS       "applied"
#define PUT_NS   "replaced"
/* What must hold. */
#define KUBE_BAR   (1.0 / 8)
#define PUT_BAR    4.0
#define MEMORY_BAR 2.2 /* bytes of memory for each byte of payload */

/* `rounds`: how often each write is measured, with another change; the median counts. */
struct sizes {
    size_t objects, rounds;
};

static const struct sizes whole = {.objects = 5000, .rounds = 3};
/* For kube-apiserver, which takes longer. */
static const struct sizes slow = {.objects = 1000, .rounds = 1};
static const struct sizes brief = {.objects = 50, .rounds = 1};

/* Server CPU of a request in us, and bytes; NAN: not measured. */
struct figures {
    double create_us, put_us, apply_create_us, apply_us, apply_same_us, status_us;
    /* An object with two managers: the bytes of its payload, the memory of one more beside many
     * others, and that of each of the first ones with its share of what the server keeps once. */
    double payload_bytes, memory_bytes, first_memory_bytes;
};

static const struct figures none = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* Each round changes one field of every object, in turns, so that what else the machine does falls
 * on both. */
static void writes(const struct sizes *sizes, const struct target *t, struct figures *f)
{
    double put_us[VERSUS_ROUNDS_MAX], apply_us[VERSUS_ROUNDS_MAX], same_us[VERSUS_ROUNDS_MAX];
    struct deployments replaced = {.ns = PUT_NS}, applied = {.ns = NS};

    versus_make_namespace(t, PUT_NS);
    versus_make_namespace(t, NS);
    f->create_us = versus_write(t, sizes->objects, deployments_write_create, &replaced);
    f->apply_create_us = versus_write(t, sizes->objects, deployments_write_apply, &applied);
    f->status_us = versus_write(t, sizes->objects, deployments_write_status, &applied);
    (void)versus_write(t, sizes->objects, deployments_write_status, &replaced);
    for (size_t i = 0; i < sizes->rounds; i++) {
        replaced.turn = applied.turn = i + 1;
        put_us[i] = versus_write(t, sizes->objects, deployments_write_update, &replaced);
        apply_us[i] = versus_write(t, sizes->objects, deployments_write_apply, &applied);
        same_us[i] = versus_write(t, sizes->objects, deployments_write_apply, &applied);
    }
    f->put_us = versus_median(put_us, sizes->rounds);
    f->apply_us = versus_median(apply_us, sizes->rounds);
    f->apply_same_us = versus_median(same_us, sizes->rounds);
}

/* The bytes of an object of a namespace without its managedFields. */
static double payload(const struct target *t, const char *ns)
{
    struct deployments d = {.ns = ns};
    struct cor_buf body;
    struct cor_str metadata, list;
    size_t n;

    cor_buf_init(&body, BODY_MAX);
    versus_save(t, deployments_write_get, &d, &body);
    if (cor_json_get(cor_buf_str(&body), COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) < 0 ||
        cor_json_get(metadata, COR_STR("managedFields"), COR_JSON_ANY_ORDER, &list) < 0)
        die("a Deployment has no managedFields");
    n = body.n - list.n - (sizeof("\"managedFields\":,") - 1);
    cor_buf_deinit(&body);
    return (double)n;
}

/* The memory of a server that has just read its store. */
static double memory_after_start(const struct versus *v, struct target *t)
{
    target_stop(t);
    versus_start_coracle(v, t);
    return (double)target_memory(t, "VmRSS");
}

/* As many objects as before come in addition, with two managers each: what they add is theirs,
 * without what any server with objects has, such as the pages that SQLite's readers keep. */
static void memory(const struct versus *v, const struct sizes *sizes, struct target *t, double idle,
                   struct figures *f)
{
    struct deployments replaced = {.ns = PUT_NS, .first = sizes->objects};
    struct deployments applied = {.ns = NS, .first = sizes->objects};
    const double n = 2.0 * (double)sizes->objects; /* before, and in addition */
    double before = memory_after_start(v, t);

    (void)versus_write(t, sizes->objects, deployments_write_create, &replaced);
    (void)versus_write(t, sizes->objects, deployments_write_status, &replaced);
    (void)versus_write(t, sizes->objects, deployments_write_apply, &applied);
    (void)versus_write(t, sizes->objects, deployments_write_status, &applied);
    f->memory_bytes = (memory_after_start(v, t) - before) / n;
    f->first_memory_bytes = (before - idle) / n;
    f->payload_bytes = (payload(t, NS) + payload(t, PUT_NS)) / 2;
}

static void measure_coracle(const struct versus *v, const struct sizes *sizes, struct figures *f)
{
    struct target t;
    double idle;

    versus_say("coracle");
    *f = none;
    /* A second start: the first one makes certificates, whose memory stays. */
    versus_start_coracle(v, &t);
    idle = memory_after_start(v, &t);
    writes(sizes, &t, f);
    memory(v, sizes, &t, idle, f);
    target_stop(&t);
}

static void measure_kube(const struct versus *v, const struct sizes *sizes, struct figures *f)
{
    struct target t;

    *f = none;
    if (!versus_start_kube(v, &t))
        return;
    writes(sizes, &t, f);
    target_stop(&t);
}

static void print(struct versus *v, const struct figures *c, const struct figures *k)
{
    versus_print_head("server CPU");
    versus_print(v, "apply of a Deployment with 40 fields, 16 writers, us", c->apply_us,
                 k->apply_us, "kube", KUBE_BAR);
    versus_print(v, "  beside a PUT of the same fields, us", c->apply_us, c->put_us, "PUT",
                 PUT_BAR);
    versus_print(v, "apply that changes nothing, us", c->apply_same_us, k->apply_same_us, "kube",
                 KUBE_BAR);
    versus_print(v, "apply that creates, us", c->apply_create_us, k->apply_create_us, "kube",
                 KUBE_BAR);
    versus_print(v, "POST that creates, us", c->create_us, k->create_us, "kube", NAN);
    versus_print(v, "PUT that moves no field, us", c->put_us, k->put_us, "kube", NAN);
    versus_print(v, "merge patch of a status by a second manager, us", c->status_us, k->status_us,
                 "kube", NAN);
    versus_print(v, "memory of a further Deployment, bytes", c->memory_bytes, c->payload_bytes,
                 "payload", MEMORY_BAR);
    versus_print(v, "  of the first ones, with what a server keeps, bytes", c->first_memory_bytes,
                 c->payload_bytes, "payload", NAN);
}

int main(int argc, char **argv)
{
    struct versus v = versus_read(argc, argv);
    struct figures coracle, kube;

    measure_coracle(&v, v.is_short ? &brief : &whole, &coracle);
    measure_kube(&v, v.is_short ? &brief : &slow, &kube);
    print(&v, &coracle, &kube);
    return versus_status(&v);
}
