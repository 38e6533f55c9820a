/* The sending of events over the scripted port: which requests, and what each kind of failure does.
 * What is sent is test_event_recorder.c's. */
#include "kit/events/event_sender.h"

#include "base/err.h"
#include "scripted_port.h"
#include "test.h"

struct program {
    struct scripted_port sp;
    struct cor_rand rand;
    struct cor_event_sender *s;
    int ngiven_up, why, nidle;
};

static void on_wake_at(void *arg, uint64_t at_ms)
{
    scripted_wake_at(&((struct program *)arg)->sp, at_ms);
}

static void on_wake(void *arg)
{
    cor_event_sender_tick(((struct program *)arg)->s);
}

static void on_ready(void *arg)
{
}

static void on_given_up(void *arg, const struct cor_event *event, int r)
{
    struct program *p = arg;

    p->ngiven_up++;
    p->why = r;
}

static void on_idle(void *arg)
{
    ((struct program *)arg)->nidle++;
}

static int program_make(struct program *p, bool series)
{
    struct cor_event_sender_opts opts = {.port = &p->sp.port,
                                         .timeout_ms = 30000,
                                         .component = COR_STR("sample"),
                                         .host = COR_STR("n1"),
                                         .instance = COR_STR("sample-n1"),
                                         .series = series,
                                         .clock = &p->sp.clock.clock,
                                         .rand = &p->rand,
                                         .wake_at = on_wake_at,
                                         .on_ready = on_ready,
                                         .on_given_up = on_given_up,
                                         .on_idle = on_idle,
                                         .arg = p};

    *p = (struct program){0};
    scripted_port_init(&p->sp);
    p->sp.on_wake = on_wake;
    p->sp.arg = p;
    cor_rand_init_seeded(&p->rand, 7);
    return cor_event_sender_new(&opts, &p->s);
}

static void begin(struct program *p, bool series)
{
    assert_int_equal(program_make(p, series), 0);
}

static void end(struct program *p)
{
    cor_event_sender_free(p->s);
    scripted_port_deinit(&p->sp);
}

static const char pod[] = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web\","
                          "\"namespace\":\"default\",\"uid\":\"u1\"}}";

static void record(struct program *p, const char *reason)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *about = NULL;
    struct cor_event_told told = {.reason = reason, .message = "made"};

    assert_int_equal(cor_object_from_json(cor_strz(pod), &about, NULL), 0);
    told.about = about;
    assert_int_equal(cor_event_sender_record(p->s, &told), 0);
    cor_event_sender_step(p->s);
}

/* How many requests of the log begin with this. */
static int count(const struct program *p, const char *line)
{
    int n = 0;

    for (const char *at = p->sp.log; (at = strstr(at, line)); at++)
        n += at == p->sp.log || at[-1] == '\n';
    return n;
}

#define CREATE "CREATE v1 events default/"
#define PATCH  "PATCH v1 events default/"
#define SERVES "SERVES events.k8s.io/v1 events \n"
#define SERIES "CREATE events.k8s.io/v1 events default/"

TEST(event_sender, creates_an_event_and_patches_its_count)
{
    struct program p;

    begin(&p, false);
    scripted_answer(&p.sp, 5, pod);
    record(&p, "Synced");
    record(&p, "Synced");
    assert_int_equal(count(&p, CREATE), 1);
    assert_int_equal(count(&p, PATCH), 0); /* one at a time */
    scripted_answer(&p.sp, 5, pod);
    scripted_run(&p.sp, 10);
    assert_int_equal(count(&p, PATCH), 1);
    assert_int_equal(p.ngiven_up, 0);
    end(&p);
}

TEST(event_sender, a_server_that_answers_with_an_error_is_not_asked_again)
{
    struct program p;

    begin(&p, false);
    scripted_fail(&p.sp, 0, -COR_EBUSY);
    record(&p, "Synced");
    scripted_run(&p.sp, 60000);
    assert_int_equal(p.ngiven_up, 1);
    assert_int_equal(p.why, -COR_EBUSY);
    assert_int_equal(count(&p, CREATE), 1);
    end(&p);
}

TEST(event_sender, a_request_without_an_answer_is_tried_twelve_times)
{
    struct program p;

    begin(&p, false);
    for (int i = 0; i < COR_EVENT_TRIES_MAX; i++)
        scripted_break(&p.sp, 1, -COR_EUNREACHABLE);
    record(&p, "Synced");
    scripted_run(&p.sp, 120000);
    assert_int_equal(count(&p, CREATE), COR_EVENT_TRIES_MAX);
    assert_int_equal(p.ngiven_up, 1);
    assert_int_equal(p.why, -COR_EUNREACHABLE);
    end(&p);
}

TEST(event_sender, what_cannot_be_sent_now_is_tried_again_and_a_bad_name_is_not)
{
    struct program p;

    begin(&p, false);
    scripted_refuse(&p.sp, -COR_ENOMEM);
    scripted_refuse(&p.sp, -COR_EBUSY);
    scripted_answer(&p.sp, 0, pod);
    record(&p, "Synced");
    scripted_run(&p.sp, 30000);
    assert_int_equal(count(&p, CREATE), 3);
    assert_int_equal(p.ngiven_up, 0);
    scripted_refuse(&p.sp, -COR_EINVAL);
    record(&p, "Other");
    scripted_run(&p.sp, 0);
    assert_int_equal(p.ngiven_up, 1);
    assert_int_equal(p.why, -COR_EINVAL);
    end(&p);
}

TEST(event_sender, asks_for_the_api_of_series_before_the_first_event)
{
    struct program p;

    begin(&p, true);
    scripted_answer(&p.sp, 5, NULL);
    scripted_answer(&p.sp, 5, pod);
    record(&p, "Synced");
    scripted_assert_log(&p.sp, SERVES);
    scripted_run(&p.sp, 10);
    assert_int_equal(count(&p, SERIES), 1);
    end(&p);
}

TEST(event_sender, a_server_without_series_gets_events_of_core)
{
    struct program p;

    begin(&p, true);
    scripted_fail(&p.sp, 0, -COR_ENOTFOUND);
    scripted_answer(&p.sp, 0, pod);
    record(&p, "Synced");
    scripted_run(&p.sp, 0);
    assert_int_equal(count(&p, CREATE), 1);
    end(&p);
}

TEST(event_sender, a_question_without_an_answer_is_repeated_and_then_given_up)
{
    struct program p;

    begin(&p, true);
    for (int i = 0; i < COR_EVENT_TRIES_MAX; i++)
        scripted_break(&p.sp, 0, -COR_EUNREACHABLE);
    scripted_answer(&p.sp, 0, pod);
    record(&p, "Synced");
    scripted_run(&p.sp, 10000 * (COR_EVENT_TRIES_MAX - 2));
    assert_int_equal(count(&p, SERVES), COR_EVENT_TRIES_MAX - 1);
    assert_int_equal(count(&p, CREATE), 0);
    scripted_run(&p.sp, 10000);
    assert_int_equal(count(&p, CREATE), 1);
    end(&p);
}

TEST(event_sender, the_end_does_not_wait_for_the_next_question)
{
    struct program p;

    begin(&p, true);
    scripted_break(&p.sp, 0, -COR_EUNREACHABLE);
    record(&p, "Synced");
    scripted_run(&p.sp, 0);
    assert_int_equal(p.nidle, 0);
    scripted_break(&p.sp, 0, -COR_EUNREACHABLE); /* each event is tried once */
    cor_event_sender_shutdown(p.s);
    scripted_run(&p.sp, 0);
    assert_int_equal(count(&p, CREATE), 1);
    assert_int_equal(p.ngiven_up, 1);
    assert_int_equal(p.nidle, 1);
    end(&p);
}

TEST(event_sender, freeing_cancels_the_request_under_way)
{
    struct program p;

    begin(&p, false);
    record(&p, "Synced");
    p.s = cor_event_sender_free(p.s);
    scripted_run(&p.sp, 60000);
    assert_int_equal(p.ngiven_up, 0);
    end(&p);
}

TEST(event_sender, making_one_survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct program p;
        int r = program_make(&p, true);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            end(&p);
    }
}
