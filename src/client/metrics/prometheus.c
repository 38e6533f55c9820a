/* Prometheus' text form. Thread: any. */
#include "client/metrics/prometheus.h"

#include <inttypes.h>

#define US_PER_S 1000000

int cor_prometheus_head(struct cor_buf *out, const char *name, const char *type, const char *help)
{
    return cor_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

int cor_prometheus_label(struct cor_buf *out, const char *text)
{
    int r = cor_buf_addc(out, '"');

    for (; r == 0 && *text; text++) {
        if (*text == '\n')
            r = cor_buf_addz(out, "\\n");
        else if (*text == '"' || *text == '\\')
            r = cor_buf_addf(out, "\\%c", *text);
        else
            r = cor_buf_addc(out, *text);
    }
    return r == 0 ? cor_buf_addc(out, '"') : r;
}

int cor_prometheus_seconds(struct cor_buf *out, uint64_t us)
{
    return cor_buf_addf(out, "%" PRIu64 ".%06" PRIu64 "\n", us / US_PER_S, us % US_PER_S);
}

int cor_prometheus_histogram(struct cor_buf *out, const struct cor_prometheus_histogram *h)
{
    uint64_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i <= h->nbounds; i++) {
        n += h->counts[i];
        r = cor_buf_addf(out, "%s_bucket{%s,le=\"", h->name, h->labels);
        if (r == 0)
            r = i < h->nbounds ? h->bound(out, i) : cor_buf_addz(out, "+Inf");
        if (r == 0)
            r = cor_buf_addf(out, "\"} %" PRIu64 "\n", n);
    }
    if (r == 0)
        r = cor_buf_addf(out, "%s_sum{%s} ", h->name, h->labels);
    if (r == 0)
        r = cor_prometheus_seconds(out, h->sum_us);
    return r == 0 ? cor_buf_addf(out, "%s_count{%s} %" PRIu64 "\n", h->name, h->labels, n) : r;
}
