/* The TTL-after-finished controller. Contract controllers 3.4. */
#include "../host_fixture.h"

#include "meta/value/time_text.h"

#define LIST "ttl-after-finished-controller"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
/* The host's clock is the machine's. */
#define LONG_AGO "2025-01-01T00:00:00Z"
#define NEVER    "2200-01-01T00:00:00Z"

/* A Job with this TTL (NULL: none) that has failed at this time (NULL: it runs). */
static void create_job(struct hfx *h, const char *name, const char *ttl, const char *time)
{
    const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    char text[1024], path[256];

    snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s%s%s" FX_JOB "}}",
             name, ttl ? "\"ttlSecondsAfterFinished\":" : "", ttl ? ttl : "", ttl ? "," : "");
    hfx_do(h, 201, "POST", JOBS, text);
    if (!time)
        return;
    snprintf(path, sizeof(path), JOBS "/%s/status", name);
    snprintf(text, sizeof(text),
             "{\"status\":{\"startTime\":\"" LONG_AGO "\",\"conditions\":["
             "{\"type\":\"FailureTarget\",\"status\":\"True\",\"lastTransitionTime\":\"%s\"},"
             "{\"type\":\"Failed\",\"status\":\"True\",\"lastTransitionTime\":\"%s\"}]}}",
             time, time);
    fx_do_with(&h->p.a.fx, 200, "PATCH", path, text, &merge);
}

/* Waits until the Job is being deleted in the foreground. */
static void await_deleted(struct hfx *h, const char *path)
{
    const char *job = hfx_await(h, path, "metadata.finalizers", "[\"foregroundDeletion\"]");

    assert_string_not_equal(fx_at(job, "metadata.deletionTimestamp"), "");
}

/* Contract controllers 3.4.1, 3.4.2, 3.4.3. */
TEST(ttl_after_finished, finished_jobs_are_deleted_in_the_foreground_when_their_time_is_over)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_job(&h, "without", NULL, LONG_AGO);
    create_job(&h, "runs", "0", NULL);
    create_job(&h, "later", "5", NEVER);
    create_job(&h, "zero", "0", LONG_AGO);
    create_job(&h, "old", "60", LONG_AGO);
    await_deleted(&h, JOBS "/zero");
    await_deleted(&h, JOBS "/old");
    /* The others were seen before these. */
    assert_at(hfx_do(&h, 200, "GET", JOBS "/without", ""), "metadata.deletionTimestamp", "");
    assert_at(hfx_do(&h, 200, "GET", JOBS "/runs", ""), "metadata.deletionTimestamp", "");
    assert_at(hfx_do(&h, 200, "GET", JOBS "/later", ""), "metadata.deletionTimestamp", "");
    hfx_close(&h);
}

/* Contract controllers 3.4.2: the rest of the time is waited for. */
TEST(ttl_after_finished, a_job_goes_when_the_rest_of_its_time_has_passed)
{
    int64_t finished_s = cor_clock_wall_ms(cor_clock_real()) / 1000 - 9;
    char time[COR_TIME_TEXT_MAX];
    struct hfx h;

    hfx_open(&h, LIST);
    (void)cor_time_print(finished_s, time);
    create_job(&h, "soon", "10", time);
    await_deleted(&h, JOBS "/soon");
    assert_true(cor_clock_wall_ms(cor_clock_real()) / 1000 >= finished_s + 10);
    hfx_close(&h);
}

/* Contract controllers 3.4.1: a change of the TTL counts, and so does what happened while no
 * controller ran. */
TEST(ttl_after_finished, a_restart_and_a_new_ttl_are_seen)
{
    const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct hfx h;

    pfx_open(&h.p, true);
    create_job(&h, "before", "0", LONG_AGO);
    create_job(&h, "later", "5", NEVER);
    hfx_start(&h, LIST);
    await_deleted(&h, JOBS "/before");
    create_job(&h, "without", NULL, LONG_AGO);
    fx_do_with(&h.p.a.fx, 200, "PATCH", JOBS "/without",
               "{\"spec\":{\"ttlSecondsAfterFinished\":1}}", &merge);
    await_deleted(&h, JOBS "/without");
    hfx_close(&h);
}

/* Contract controllers 3.4.4: the Job is tried again, and goes when it has a time. */
TEST(ttl_after_finished, a_job_without_a_time_is_tried_again)
{
    const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct hfx h;

    hfx_open(&h, LIST);
    create_job(&h, "timeless", "0", NULL);
    fx_do_with(&h.p.a.fx, 200, "PATCH", JOBS "/timeless/status",
               "{\"status\":{\"startTime\":\"" LONG_AGO
               "\",\"conditions\":[{\"type\":\"FailureTarget\",\"status\":\"True\"},{\"type\":"
               "\"Failed\",\"status\":\"True\"}]}}",
               &merge);
    create_job(&h, "zero", "0", LONG_AGO);
    await_deleted(&h, JOBS "/zero");
    assert_at(hfx_do(&h, 200, "GET", JOBS "/timeless", ""), "metadata.deletionTimestamp", "");
    fx_do_with(&h.p.a.fx, 200, "PATCH", JOBS "/timeless/status",
               "{\"status\":{\"conditions\":[{\"type\":\"FailureTarget\",\"status\":\"True\"},{"
               "\"type\":\"Failed\",\"status\":\"True\",\"lastTransitionTime\":\"" LONG_AGO
               "\"}]}}",
               &merge);
    await_deleted(&h, JOBS "/timeless");
    hfx_close(&h);
}

/* Whatever allocation fails after the Job has finished, the Job is deleted. */
TEST(ttl_after_finished, a_job_goes_although_an_allocation_fails)
{
    struct hfx h;
    char name[32], path[256];

    hfx_open(&h, LIST);
    create_job(&h, "first", "0", LONG_AGO);
    await_deleted(&h, JOBS "/first");
    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        snprintf(name, sizeof(name), "j%zu", n);
        create_job(&h, name, "0", LONG_AGO);
        test_fail_alloc(n, false);
        hfx_run_to_failure(&h);
        snprintf(path, sizeof(path), JOBS "/j%zu", n);
        await_deleted(&h, path);
    }
    hfx_close(&h);
}
