#include "server/metrics/request_metrics.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static struct cor_metrics *metrics;
static struct cor_request_metrics requests;
static struct cor_buf text; /* of all metrics */

static void open_metrics(void)
{
    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_request_metrics_init(&requests, metrics, 1), 0);
}

static void close_metrics(void)
{
    cor_buf_deinit(&text);
    cor_metrics_free(metrics);
    cor_request_metrics_deinit(&requests);
}

/* A request of the resource that `row` describes; NULL: of a built-in one, if there is one. */
static void get_of(const struct cor_resource_row *row, const char *path, int code)
{
    struct cor_request_info info;

    assert_int_equal(cor_request_info_init(&info, COR_HTTP_GET, cor_strz(path), COR_STR("")), 0);
    if (!row && info.is_resource)
        row = cor_api_builtin(info.group, info.version, info.resource);
    cor_request_metrics_done(&requests, 0, &info, row, COR_STR("GET"), false, code, 1000, 0);
    cor_request_info_deinit(&info);
}

static void get(const char *path, int code)
{
    get_of(NULL, path, code);
}

static void write_metrics(void)
{
    cor_buf_init(&text, 1u << 20);
    assert_int_equal(cor_metrics_write(metrics, &text), 0);
}

static void check_line(const char *line)
{
    if (!strstr(cor_buf_z(&text), line))
        fail_msg("no %s in:\n%s", line, cor_buf_z(&text));
}

/* More kinds than are remembered at once. */
TEST(request_metrics, requests_that_take_turns_are_counted_each_by_its_own_labels)
{
    static const char labels[] = "verb=\"GET\",group=\"\",version=\"v1\",resource=\"%s\","
                                 "subresource=\"\",scope=\"resource\",component=\"apiserver\","
                                 "dry_run=\"\",code=\"%d\"";
    char kind[256], line[512];

    open_metrics();
    for (int round = 0; round < 3; round++) {
        for (int code = 200; code < 400; code++) {
            get("/api/v1/namespaces/ns/pods/p", code);
            get("/api/v1/namespaces/ns/secrets/p", code);
        }
    }
    get("/api/v1/namespaces/ns/secrets/p", 399);
    write_metrics();
    for (int code = 200; code < 400; code++) {
        snprintf(kind, sizeof(kind), labels, "pods", code);
        snprintf(line, sizeof(line), "apiserver_request_total{%s} 3\n", kind);
        check_line(line);
        snprintf(kind, sizeof(kind), labels, "secrets", code);
        snprintf(line, sizeof(line), "apiserver_request_total{%s} %d\n", kind, code == 399 ? 4 : 3);
        check_line(line);
    }
    close_metrics();
}

TEST(request_metrics, a_client_that_went_away_is_an_abort_and_no_request)
{
    open_metrics();
    get("/version", 0);
    write_metrics();
    check_line("apiserver_request_aborts_total{verb=\"GET\",group=\"\",version=\"\",resource=\"\","
               "subresource=\"\",scope=\"\",component=\"apiserver\"} 1\n");
    close_metrics();
}

static size_t freed;

static void count_free(const struct cor_resource_row *row)
{
    freed++;
}

/* A resource that is defined while the server runs is counted under its own name, and what is
 * remembered of it keeps its row: another row at the same address must not pass for it. */
TEST(request_metrics, a_row_made_at_run_time_is_counted_and_not_held)
{
    struct cor_row_life life = {.place = 9999, .free_row = count_free};
    struct cor_resource_row row = {.life = &life,
                                   .group = COR_STR("example.com"),
                                   .version = COR_STR("v1"),
                                   .plural = COR_STR("frobs")};

    freed = 0;
    cor_ref_init(&life.refs);
    open_metrics();
    get_of(&row, "/apis/example.com/v1/namespaces/ns/frobs/f", 200);
    get_of(&row, "/apis/example.com/v1/namespaces/ns/frobs/f", 200);
    cor_row_unref(&row);
    assert_int_equal(freed, 1);
    write_metrics();
    check_line("apiserver_request_total{verb=\"GET\",group=\"example.com\",version=\"v1\","
               "resource=\"frobs\",subresource=\"\",scope=\"resource\",component=\"apiserver\","
               "dry_run=\"\",code=\"200\"} 2\n");
    close_metrics();
}
