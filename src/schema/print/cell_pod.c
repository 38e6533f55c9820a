/* The cells of pods. Ready, Status and Restarts come from one walk over the pod (pod_find), in the
 * order in which upstream's printer decides:
 *
 *   1. the phase, or the reason of the status, or SchedulingGated;
 *   2. the first init container that has not finished, unless it is a sidecar that has started:
 *      "Init:…", and the containers are not looked at while the pod is not initialized;
 *   3. the first container that waits or has terminated;
 *   4. Running or NotReady in place of Completed while another container runs;
 *   5. Terminating or Unknown of a pod that is being deleted.
 *
 * Statuses usually are in the order of the init containers. The first one that does not makes a
 * sorted copy of the containers' names, so that the work stays below quadratic; with many readiness
 * gates the conditions are sorted for the same reason. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/print/cell_hooks.h"

/* An init container: its name, and whether it is a sidecar. */
struct init_container {
    struct cor_str name; /* raw */
    bool is_sidecar;
};

/* The init containers while their statuses are visited. */
struct init_containers {
    struct cor_str list;
    struct cor_json_iter next; /* the one that the next status should be of */
    struct init_container *sorted;
    size_t n;
};

static struct init_container init_read(struct cor_str container)
{
    return (struct init_container){
        cor_cell_raw(cor_cell_member(container, "name")),
        cor_cell_is(cor_cell_member(container, "restartPolicy"), "Always")};
}

static int init_cmp(const void *a, const void *b)
{
    return cor_json_raw_cmp(((const struct init_container *)a)->name,
                            ((const struct init_container *)b)->name);
}

/* 0, -COR_ENOMEM. */
static int init_sort(struct init_containers *inits)
{
    struct cor_json_iter it = cor_json_iter(inits->list);
    size_t n = 0;

    inits->sorted = cor_calloc(inits->n > 0 ? inits->n : 1, sizeof(*inits->sorted));
    if (!inits->sorted)
        return -COR_ENOMEM;
    while (n < inits->n && cor_json_iter_elem(&it))
        inits->sorted[n++] = init_read(cor_json_iter_open_value(&it));
    qsort(inits->sorted, n, sizeof(*inits->sorted), init_cmp);
    return 0;
}

/* Is the init container of this name a sidecar? 1, 0, -COR_ENOMEM. */
static int init_is_sidecar(struct init_containers *inits, struct cor_str name)
{
    const struct init_container wanted = {name, false}, *found;
    int r;

    if (!inits->sorted && cor_json_iter_elem(&inits->next)) {
        struct init_container next = init_read(cor_json_iter_open_value(&inits->next));

        if (cor_json_raw_cmp(next.name, name) == 0)
            return next.is_sidecar;
    }
    r = inits->sorted ? 0 : init_sort(inits);
    if (r < 0)
        return r;
    found = bsearch(&wanted, inits->sorted, inits->n, sizeof(wanted), init_cmp);
    return found && found->is_sidecar;
}

/* The last restart of a container, if it is later than those before. */
static void note_restart(struct cor_str status, bool *has_last, int64_t *last_us)
{
    struct cor_str ended = cor_cell_member(cor_cell_member(status, "lastState"), "terminated");
    int64_t us;

    if (!cor_cell_time(cor_cell_member(ended, "finishedAt"), &us) || (*has_last && us <= *last_us))
        return;
    *has_last = true;
    *last_us = us;
}

static void set_own(struct cor_pod_cells *pod, const char *what, int64_t number)
{
    int n = snprintf(pod->own, sizeof(pod->own), "%s:%lld", what, (long long)number);

    pod->reason = cor_str(pod->own, n > 0 ? (size_t)n : 0);
}

/* Why a container has ended: its reason, its signal or its exit code. */
static void set_ended(struct cor_pod_cells *pod, struct cor_str terminated)
{
    struct cor_str reason = cor_cell_raw(cor_cell_member(terminated, "reason"));
    int64_t signal = cor_cell_number(cor_cell_member(terminated, "signal"));

    if (reason.n > 0)
        pod->reason = reason;
    else if (signal != 0)
        set_own(pod, "Signal", signal);
    else
        set_own(pod, "ExitCode", cor_cell_number(cor_cell_member(terminated, "exitCode")));
}

/* The status of the first init container that has not finished. */
static void set_initializing(struct cor_pod_cells *pod, struct cor_str state, size_t done,
                             size_t ninits)
{
    struct cor_str terminated = cor_cell_member(state, "terminated");
    struct cor_str waiting =
        cor_cell_raw(cor_cell_member(cor_cell_member(state, "waiting"), "reason"));
    int n;

    pod->is_init = true;
    if (terminated.p) {
        set_ended(pod, terminated);
    } else if (waiting.n > 0 && !cor_json_raw_eq(waiting, COR_STR("PodInitializing"))) {
        pod->reason = waiting;
    } else {
        n = snprintf(pod->own, sizeof(pod->own), "%zu/%zu", done, ninits);
        pod->reason = cor_str(pod->own, n > 0 ? (size_t)n : 0);
    }
}

/* As Go adds. A stored object may have any number. */
static int64_t add_wrapping(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Visits the statuses of init containers up to the first that has not finished. `ret_own_restarts`
 * and the others are those of the sidecars. 0, -COR_ENOMEM. */
static int find_inits(struct cor_pod_cells *pod, struct cor_str statuses, struct cor_str inits,
                      size_t ninits, struct cor_pod_cells *ret_sidecars)
{
    struct init_containers known = {inits, cor_json_iter(inits), NULL, ninits};
    struct cor_json_iter it = cor_json_iter(statuses);
    int r = 0;

    for (size_t i = 0; r >= 0 && !pod->is_init && cor_json_iter_elem(&it); i++) {
        struct cor_str one = cor_json_iter_open_value(&it), state = cor_cell_member(one, "state");
        struct cor_str terminated = cor_cell_member(state, "terminated");
        int64_t restarts = cor_cell_number(cor_cell_member(one, "restartCount"));

        r = init_is_sidecar(&known, cor_cell_raw(cor_cell_member(one, "name")));
        pod->restarts = add_wrapping(pod->restarts, restarts);
        note_restart(one, &pod->has_last_restart, &pod->last_restart_us);
        if (r > 0) {
            ret_sidecars->restarts = add_wrapping(ret_sidecars->restarts, restarts);
            note_restart(one, &ret_sidecars->has_last_restart, &ret_sidecars->last_restart_us);
        }
        if (terminated.p && cor_cell_number(cor_cell_member(terminated, "exitCode")) == 0)
            continue;
        if (r > 0 && cor_cell_true(cor_cell_member(one, "started")))
            pod->nready += cor_cell_true(cor_cell_member(one, "ready"));
        else
            set_initializing(pod, state, i, ninits);
    }
    cor_free(known.sorted);
    return r < 0 ? r : 0;
}

/* Visits the statuses of containers; the first that waits or has ended gives the reason. */
static void find_containers(struct cor_pod_cells *pod, struct cor_str statuses, bool is_ready)
{
    struct cor_json_iter it = cor_json_iter(statuses);
    bool is_running = false, is_found = false;

    while (cor_json_iter_elem(&it)) {
        struct cor_str one = cor_json_iter_open_value(&it), state = cor_cell_member(one, "state");
        struct cor_str terminated = cor_cell_member(state, "terminated");
        struct cor_str waiting =
            cor_cell_raw(cor_cell_member(cor_cell_member(state, "waiting"), "reason"));

        pod->restarts =
            add_wrapping(pod->restarts, cor_cell_number(cor_cell_member(one, "restartCount")));
        note_restart(one, &pod->has_last_restart, &pod->last_restart_us);
        if (waiting.n > 0 || terminated.p) {
            if (!is_found && waiting.n > 0)
                pod->reason = waiting;
            else if (!is_found)
                set_ended(pod, terminated);
            if (!is_found)
                pod->is_init = false;
            is_found = true;
        } else if (cor_cell_true(cor_cell_member(one, "ready")) &&
                   cor_cell_member(state, "running").p) {
            is_running = true;
            pod->nready++;
        }
    }
    if (is_running && !pod->is_init && cor_json_raw_eq(pod->reason, COR_STR("Completed")))
        pod->reason = is_ready ? COR_STR("Running") : COR_STR("NotReady");
}

/* Looks for the conditions of the pod that the word of its status depends on. */
static void find_conditions(struct cor_pod_cells *pod, struct cor_str conditions,
                            bool *ret_is_ready, bool *ret_is_initialized)
{
    struct cor_json_iter it = cor_json_iter(conditions);
    bool has_initialized = false;

    *ret_is_ready = *ret_is_initialized = false;
    while (cor_json_iter_elem(&it)) {
        struct cor_str one = cor_json_iter_open_value(&it), type = cor_cell_member(one, "type");
        bool is_true = cor_cell_is(cor_cell_member(one, "status"), "True");

        if (cor_cell_is(type, "PodScheduled") &&
            cor_cell_is(cor_cell_member(one, "reason"), "SchedulingGated"))
            pod->reason = COR_STR("SchedulingGated");
        if (cor_cell_is(type, "Ready") && is_true)
            *ret_is_ready = true;
        if (!has_initialized && cor_cell_is(type, "Initialized")) {
            has_initialized = true;
            *ret_is_initialized = is_true;
        }
    }
}

static void pod_find(struct cor_cells *cells)
{
    struct cor_pod_cells *pod = &cells->pod, sidecars = {0};
    struct cor_str phase = cor_cells_at(cells, "status", "phase");
    struct cor_str reason = cor_cells_at(cells, "status", "reason");
    struct cor_str inits = cor_cells_at(cells, "spec", "initContainers");
    struct cor_json_iter it = cor_json_iter(inits);
    size_t ninits = 0;
    bool is_ready, is_initialized;
    int r;

    if (pod->is_made)
        return;
    *pod = (struct cor_pod_cells){.is_made = true};
    pod->reason = cor_cell_raw(reason).n > 0 ? cor_cell_raw(reason) : cor_cell_raw(phase);
    pod->ncontainers = (int64_t)cor_cell_count(cor_cells_at(cells, "spec", "containers"));
    for (; cor_json_iter_elem(&it); ninits++)
        pod->ncontainers += init_read(cor_json_iter_open_value(&it)).is_sidecar;
    find_conditions(pod, cor_cells_at(cells, "status", "conditions"), &is_ready, &is_initialized);
    r = find_inits(pod, cor_cells_at(cells, "status", "initContainerStatuses"), inits, ninits,
                   &sidecars);
    if (r < 0 && !cells->w->error)
        cells->w->error = r;
    if (!pod->is_init || is_initialized) {
        pod->restarts = sidecars.restarts;
        pod->has_last_restart = sidecars.has_last_restart;
        pod->last_restart_us = sidecars.last_restart_us;
        find_containers(pod, cor_cells_at(cells, "status", "containerStatuses"), is_ready);
    }
    if (!cor_cells_is_deleted(cells))
        return;
    if (cor_cell_is(reason, "NodeLost")) {
        pod->is_init = false;
        pod->reason = COR_STR("Unknown");
    } else if (!cor_cell_is(phase, "Succeeded") && !cor_cell_is(phase, "Failed")) {
        pod->is_init = false;
        pod->reason = COR_STR("Terminating");
    }
}

void cor_cell_pod_completed(struct cor_cells *cells)
{
    struct cor_str phase = cor_cells_at(cells, "status", "phase");
    bool is_succeeded = cor_cell_is(phase, "Succeeded");

    if (!is_succeeded && !cor_cell_is(phase, "Failed"))
        return;
    cor_json_key(cells->w, COR_STR("conditions"));
    cor_json_begin_array(cells->w);
    cor_json_begin_object(cells->w);
    cor_json_member(cells->w, COR_STR("type"), COR_STR("Completed"));
    cor_json_member(cells->w, COR_STR("status"), COR_STR("True"));
    cor_json_member(cells->w, COR_STR("reason"),
                    is_succeeded ? COR_STR("Succeeded") : COR_STR("Failed"));
    cor_json_member(cells->w, COR_STR("message"),
                    is_succeeded ? COR_STR("The pod has completed successfully.")
                                 : COR_STR("The pod failed."));
    cor_json_end_object(cells->w);
    cor_json_end_array(cells->w);
}

static void put_pair(struct cor_cells *cells, int64_t a, int64_t b)
{
    cor_json_begin_string(cells->w);
    cor_json_add_i64(cells->w, a);
    cor_json_add_text(cells->w, COR_STR("/"));
    cor_json_add_i64(cells->w, b);
    cor_json_end_string(cells->w);
}

void cor_cell_pod_ready(struct cor_cells *cells)
{
    pod_find(cells);
    put_pair(cells, cells->pod.nready, cells->pod.ncontainers);
}

void cor_cell_pod_status(struct cor_cells *cells)
{
    pod_find(cells);
    cor_json_begin_string(cells->w);
    if (cells->pod.is_init)
        cor_json_add_text(cells->w, COR_STR("Init:"));
    cor_json_add_raw_text(cells->w, cells->pod.reason);
    cor_json_end_string(cells->w);
}

void cor_cell_pod_restarts(struct cor_cells *cells)
{
    pod_find(cells);
    cor_json_begin_string(cells->w);
    cor_json_add_i64(cells->w, cells->pod.restarts);
    if (cells->pod.restarts != 0 && cells->pod.has_last_restart) {
        cor_json_add_text(cells->w, COR_STR(" ("));
        cor_cells_add_duration(cells, cells->now_us - cells->pod.last_restart_us);
        cor_json_add_text(cells->w, COR_STR(" ago)"));
    }
    cor_json_end_string(cells->w);
}

void cor_cell_pod_ip(struct cor_cells *cells)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_at(cells, "status", "podIPs"));
    struct cor_str first = {NULL, 0};

    if (cor_json_iter_elem(&it))
        first = cor_json_iter_open_value(&it);
    cor_cells_put_raw(cells, cor_cell_raw(cor_cell_member(first, "ip")), "<none>");
}

/* --- readiness gates ------------------------------------------------------------------------- */

/* With more gates than this, the conditions are sorted by their types instead of searched for each
 * gate. */
#define GATES_SEARCHED_MAX 8

/* A condition: its type, and whether it is true. */
struct gate_condition {
    struct cor_str type; /* raw */
    size_t place;
    bool is_true;
};

static int gate_cmp(const void *a, const void *b)
{
    const struct gate_condition *x = a, *y = b;
    int c = cor_json_raw_cmp(x->type, y->type);

    return c != 0 ? c : x->place < y->place ? -1 : x->place > y->place;
}

static struct gate_condition gate_read(struct cor_str condition, size_t place)
{
    return (struct gate_condition){cor_cell_raw(cor_cell_member(condition, "type")), place,
                                   cor_cell_is(cor_cell_member(condition, "status"), "True")};
}

/* Is the first condition of this type true? */
static bool gate_is_open(struct cor_str conditions, struct cor_str type)
{
    struct cor_json_iter it = cor_json_iter(conditions);

    while (cor_json_iter_elem(&it)) {
        struct gate_condition one = gate_read(cor_json_iter_open_value(&it), 0);

        if (cor_json_raw_cmp(one.type, type) == 0)
            return one.is_true;
    }
    return false;
}

/* The same among `n` sorted ones. */
static bool gate_is_open_sorted(const struct gate_condition *conditions, size_t n,
                                struct cor_str type)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (cor_json_raw_cmp(conditions[middle].type, type) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && cor_json_raw_cmp(conditions[low].type, type) == 0 && conditions[low].is_true;
}

/* The conditions by type, equal ones in their order. NULL: out of memory, which the writer notes.
 */
static struct gate_condition *gate_sort(struct cor_cells *cells, struct cor_str conditions,
                                        size_t *ret_n)
{
    size_t max = cor_cell_count(conditions), n = 0;
    struct gate_condition *sorted = cor_calloc(max > 0 ? max : 1, sizeof(*sorted));
    struct cor_json_iter it = cor_json_iter(conditions);

    if (!sorted) {
        if (!cells->w->error)
            cells->w->error = -COR_ENOMEM;
        return NULL;
    }
    for (; n < max && cor_json_iter_elem(&it); n++)
        sorted[n] = gate_read(cor_json_iter_open_value(&it), n);
    qsort(sorted, n, sizeof(*sorted), gate_cmp);
    *ret_n = n;
    return sorted;
}

void cor_cell_pod_gates(struct cor_cells *cells)
{
    struct cor_str gates = cor_cells_at(cells, "spec", "readinessGates");
    struct cor_str conditions = cor_cells_at(cells, "status", "conditions");
    struct cor_json_iter it = cor_json_iter(gates);
    size_t n = cor_cell_count(gates), nsorted = 0;
    struct gate_condition *sorted = NULL;
    int64_t nopen = 0;

    if (n == 0) {
        cor_cells_put(cells, "<none>");
        return;
    }
    if (n > GATES_SEARCHED_MAX) {
        sorted = gate_sort(cells, conditions, &nsorted);
        if (!sorted)
            return;
    }
    while (cor_json_iter_elem(&it)) {
        struct cor_str type =
            cor_cell_raw(cor_cell_member(cor_json_iter_open_value(&it), "conditionType"));

        nopen +=
            sorted ? gate_is_open_sorted(sorted, nsorted, type) : gate_is_open(conditions, type);
    }
    cor_free(sorted);
    put_pair(cells, nopen, (int64_t)n);
}
