/* The metrics of a HorizontalPodAutoscaler between autoscaling/v2 and the annotations of v1, one
 * function per kind of metric and direction. Everything is read from JSON and appended to a buffer;
 * a member of the wrong type counts as absent. The server and the structs of libcoracle-types share
 * this file, so it needs no more than the scanner and the writer of JSON.
 * Thread: any (pure). */
#include "schema/convert/hpa_metrics.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define MOVES_MAX 5
#define REST      "v2"

const struct cor_str cor_hpa_annotations[6] = {
    COR_STR(COR_HPA_METRICS),
    COR_STR(COR_HPA_STATUSES),
    COR_STR(COR_HPA_CONDITIONS),
    COR_STR(COR_HPA_BEHAVIOR),
    COR_STR(COR_HPA_PREFIX "scale-down-tolerance"),
    COR_STR(COR_HPA_PREFIX "scale-up-tolerance"),
};

/* A field of version 1, and where version 2 has it. */
struct move {
    const char *v1;
    const char *parent; /* NULL: in the source itself */
    const char *v2;
};

/* One kind of metric. */
struct source {
    const char *name;
    struct move moves[MOVES_MAX]; /* in upstream's order of version 1 */
    /* The target's type, which version 1 does not tell: it follows from one of the values. */
    const char *decides, *type_with, *type_without; /* NULL: there is no type */
};

static const struct source spec_sources[] = {
    {"object",
     {{"target", NULL, "describedObject"},
      {"metricName", "metric", "name"},
      {"targetValue", "target", "value"},
      {"selector", "metric", "selector"},
      {"averageValue", "target", "averageValue"}},
     "averageValue",
     "AverageValue",
     "Value"},
    {"pods",
     {{"metricName", "metric", "name"},
      {"targetAverageValue", "target", "averageValue"},
      {"selector", "metric", "selector"}},
     "averageValue",
     "AverageValue",
     "AverageValue"},
    {"resource",
     {{"name", NULL, "name"},
      {"targetAverageUtilization", "target", "averageUtilization"},
      {"targetAverageValue", "target", "averageValue"}},
     "averageUtilization",
     "Utilization",
     "AverageValue"},
    {"containerResource",
     {{"name", NULL, "name"},
      {"targetAverageUtilization", "target", "averageUtilization"},
      {"targetAverageValue", "target", "averageValue"},
      {"container", NULL, "container"}},
     "averageUtilization",
     "Utilization",
     "AverageValue"},
    {"external",
     {{"metricName", "metric", "name"},
      {"metricSelector", "metric", "selector"},
      {"targetValue", "target", "value"},
      {"targetAverageValue", "target", "averageValue"}},
     "value",
     "Value",
     "AverageValue"},
};

static const struct source status_sources[] = {
    {.name = "object",
     .moves = {{"target", NULL, "describedObject"},
               {"metricName", "metric", "name"},
               {"currentValue", "current", "value"},
               {"selector", "metric", "selector"},
               {"averageValue", "current", "averageValue"}}},
    {.name = "pods",
     .moves = {{"metricName", "metric", "name"},
               {"currentAverageValue", "current", "averageValue"},
               {"selector", "metric", "selector"}}},
    {.name = "resource",
     .moves = {{"name", NULL, "name"},
               {"currentAverageUtilization", "current", "averageUtilization"},
               {"currentAverageValue", "current", "averageValue"}}},
    {.name = "containerResource",
     .moves = {{"name", NULL, "name"},
               {"currentAverageUtilization", "current", "averageUtilization"},
               {"currentAverageValue", "current", "averageValue"},
               {"container", NULL, "container"}}},
    {.name = "external",
     .moves = {{"metricName", "metric", "name"},
               {"metricSelector", "metric", "selector"},
               {"currentValue", "current", "value"},
               {"currentAverageValue", "current", "averageValue"}}},
};

_Static_assert(COR_ARRAY_LEN(spec_sources) == COR_ARRAY_LEN(status_sources),
               "one kind, both sides");

static struct cor_str find(struct cor_str object, const char *key, enum cor_json_order order)
{
    struct cor_str value;

    if (!object.p || cor_json_type(object) != COR_JSON_OBJECT ||
        cor_json_get(object, cor_strz(key), order, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL)
        return (struct cor_str){NULL, 0};
    return value;
}

/* Of version 2, which is canonical. */
static struct cor_str member(struct cor_str object, const char *key)
{
    return find(object, key, COR_JSON_SORTED);
}

/* Of an annotation's text, which has its members in any order. */
static struct cor_str annotated(struct cor_str object, const char *key)
{
    return find(object, key, COR_JSON_ANY_ORDER);
}

static bool is_text(struct cor_str value, const char *text)
{
    struct cor_str raw;

    return value.p && cor_json_to_raw(value, &raw) == 0 && cor_str_eqz(raw, text);
}

static const struct source *find_source(struct cor_str raw_key, enum cor_hpa_side side)
{
    const struct source *sources = side == COR_HPA_SPEC ? spec_sources : status_sources;

    for (size_t i = 0; i < COR_ARRAY_LEN(spec_sources); i++) {
        if (cor_json_raw_eq(raw_key, cor_strz(sources[i].name)))
            return &sources[i];
    }
    return NULL;
}

static bool is_object(struct cor_str value)
{
    return cor_json_type(value) == COR_JSON_OBJECT;
}

static bool same_parent(const struct move *move, const char *parent)
{
    if (!move->parent || !parent)
        return move->parent == parent;
    return cor_str_eqz(cor_strz(move->parent), parent);
}

/* Where version 2 has the field of a move. */
static struct cor_str value_of(const struct move *move, struct cor_str source)
{
    return member(move->parent ? member(source, move->parent) : source, move->v2);
}

static const char *type_of(const struct source *s, struct cor_str parent)
{
    return member(parent, s->decides).p ? s->type_with : s->type_without;
}

static bool is_cpu(struct cor_str metric)
{
    struct cor_str resource = member(metric, "resource");

    return is_text(member(metric, "type"), "Resource") && is_text(member(resource, "name"), "cpu");
}

static struct cor_str utilization_of(struct cor_str metric, enum cor_hpa_side side)
{
    struct cor_str resource = member(metric, "resource");

    return member(member(resource, side == COR_HPA_SPEC ? "target" : "current"),
                  "averageUtilization");
}

struct cor_str cor_hpa_cpu(struct cor_str metrics, enum cor_hpa_side side)
{
    struct cor_json_iter it = cor_json_iter(metrics.p ? metrics : COR_STR("[]"));
    struct cor_str found = {NULL, 0};

    while (cor_json_iter_elem(&it)) {
        struct cor_str metric = cor_json_iter_value(&it);
        struct cor_str value = {NULL, 0};

        if (is_cpu(metric))
            value = utilization_of(metric, side);
        /* Of a spec the first one counts, of a status the last. */
        if (value.p && (side == COR_HPA_STATUS || !found.p))
            found = value;
    }
    return found;
}

/* Returns whether version 1 can represent this member of `parent` (NULL: of the source). */
static bool is_told(const struct source *s, const char *parent, struct cor_str raw_key,
                    struct cor_str value, struct cor_str around)
{
    for (size_t i = 0; i < MOVES_MAX && s->moves[i].v1; i++) {
        if (same_parent(&s->moves[i], parent) && cor_json_raw_eq(raw_key, cor_strz(s->moves[i].v2)))
            return true;
    }
    return s->decides && parent && cor_str_eqz(COR_STR("target"), parent) &&
           cor_str_eq(raw_key, COR_STR("type")) && is_text(value, type_of(s, around));
}

static const char *parent_named(const struct source *s, struct cor_str raw_key)
{
    for (size_t i = 0; i < MOVES_MAX && s->moves[i].v1; i++) {
        const char *parent = s->moves[i].parent;

        if (parent && cor_json_raw_eq(raw_key, cor_strz(parent)))
            return parent;
    }
    return NULL;
}

/* Are there members that version 1 has no place for, of the source or of its parents? */
static bool has_rest(const struct source *s, const char *parent, struct cor_str object)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str key;

    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);
        const char *inner = parent ? NULL : parent_named(s, key);

        if (is_told(s, parent, key, value, object))
            continue;
        if (!inner || !is_object(value) || has_rest(s, inner, value))
            return true;
    }
    return false;
}

static void write_rest(const struct source *s, const char *parent, struct cor_str object,
                       struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str key;

    cor_json_begin_object(w);
    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);
        const char *inner = parent ? NULL : parent_named(s, key);

        if (is_told(s, parent, key, value, object))
            continue;
        if (inner && is_object(value)) {
            if (!has_rest(s, inner, value))
                continue;
            cor_json_raw_key(w, key);
            write_rest(s, inner, value, w);
            continue;
        }
        cor_json_raw_key(w, key);
        cor_json_raw(w, value);
    }
    cor_json_end_object(w);
}

static void source_to_v1(const struct source *s, struct cor_str source, struct cor_json_writer *w)
{
    cor_json_begin_object(w);
    for (size_t i = 0; i < MOVES_MAX && s->moves[i].v1; i++) {
        struct cor_str value = value_of(&s->moves[i], source);

        if (!value.p)
            continue;
        cor_json_key(w, cor_strz(s->moves[i].v1));
        cor_json_raw(w, value);
    }
    if (has_rest(s, NULL, source)) {
        cor_json_key(w, COR_STR(REST));
        write_rest(s, NULL, source, w);
    }
    cor_json_end_object(w);
}

/* Is it a name that version 1 has in a source? */
static bool is_v1_name(const struct source *s, struct cor_str raw_key)
{
    for (size_t i = 0; i < MOVES_MAX && s->moves[i].v1; i++) {
        if (cor_json_raw_eq(raw_key, cor_strz(s->moves[i].v1)))
            return true;
    }
    return false;
}

static void copy_members(struct cor_str object, struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(object.p ? object : COR_STR("{}"));
    struct cor_str key;

    while (cor_json_iter_member(&it, &key)) {
        cor_json_raw_key(w, key);
        cor_json_raw(w, cor_json_iter_value(&it));
    }
}

/* The values of one parent, its type, and what was left of it. */
static void write_parent(const struct source *s, const char *parent, struct cor_str source,
                         struct cor_str rest, struct cor_json_writer *w)
{
    bool has_type = s->decides && cor_str_eqz(COR_STR("target"), parent), is_decided = false;

    cor_json_key(w, cor_strz(parent));
    if (rest.p && !is_object(rest)) {
        cor_json_raw(w, rest);
        return;
    }
    cor_json_begin_object(w);
    for (size_t i = 0; i < MOVES_MAX && s->moves[i].v1; i++) {
        const struct move *move = &s->moves[i];
        struct cor_str value = annotated(source, move->v1);

        if (!value.p || !same_parent(move, parent))
            continue;
        is_decided = is_decided || (has_type && cor_str_eqz(cor_strz(move->v2), s->decides));
        cor_json_key(w, cor_strz(move->v2));
        cor_json_raw(w, value);
    }
    if (has_type)
        cor_json_member(w, COR_STR("type"), cor_strz(is_decided ? s->type_with : s->type_without));
    copy_members(rest, w);
    cor_json_end_object(w);
}

static bool has_parent(const struct source *s, const char *parent)
{
    return parent_named(s, cor_strz(parent)) != NULL;
}

/* Members come in any order, and of equal ones the last counts: the whole is made canonical. */
static void source_to_v2(const struct source *s, struct cor_str source, struct cor_json_writer *w)
{
    static const char *const parents[] = {"metric", "target", "current"};
    struct cor_str rest = annotated(source, REST), key;
    struct cor_json_iter it = cor_json_iter(source);

    cor_json_begin_object(w);
    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (is_v1_name(s, key) || cor_str_eq(key, COR_STR(REST)))
            continue;
        cor_json_raw_key(w, key);
        cor_json_raw(w, value);
    }
    if (rest.p && is_object(rest))
        copy_members(rest, w);
    for (size_t i = 0; i < MOVES_MAX && s->moves[i].v1; i++) {
        struct cor_str value = annotated(source, s->moves[i].v1);

        if (!value.p || s->moves[i].parent)
            continue;
        cor_json_key(w, cor_strz(s->moves[i].v2));
        cor_json_raw(w, value);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(parents); i++) {
        if (has_parent(s, parents[i]))
            write_parent(s, parents[i], source, annotated(rest, parents[i]), w);
    }
    cor_json_end_object(w);
}

typedef void (*source_fn)(const struct source *s, struct cor_str source, struct cor_json_writer *w);

/* A metric with its source in the other version; the type comes first, as upstream has it. */
static void convert_metric(struct cor_str metric, enum cor_hpa_side side, source_fn convert,
                           struct cor_json_writer *w)
{
    struct cor_str type = annotated(metric, "type"), key;
    struct cor_json_iter it = cor_json_iter(metric);

    cor_json_begin_object(w);
    if (type.p) {
        cor_json_key(w, COR_STR("type"));
        cor_json_raw(w, type);
    }
    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);
        const struct source *s = find_source(key, side);

        if (cor_str_eq(key, COR_STR("type")) || cor_json_type(value) == COR_JSON_NULL)
            continue;
        cor_json_raw_key(w, key);
        if (s && is_object(value))
            convert(s, value, w);
        else
            cor_json_raw(w, value);
    }
    cor_json_end_object(w);
}

int cor_hpa_metrics_to_v1(struct cor_str metrics, enum cor_hpa_side side, struct cor_buf *out)
{
    struct cor_json_iter it = cor_json_iter(metrics.p ? metrics : COR_STR("[]"));
    struct cor_json_writer w;
    size_t n = 0;
    int r;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str metric = cor_json_iter_value(&it);

        if (side == COR_HPA_SPEC && is_cpu(metric) && utilization_of(metric, side).p)
            continue;
        convert_metric(metric, side, source_to_v1, &w);
        n++;
    }
    cor_json_end_array(&w);
    r = cor_json_writer_finish(&w);
    if (n == 0)
        cor_buf_reset(out);
    return r;
}

static void write_cpu(enum cor_hpa_side side, struct cor_str cpu, struct cor_json_writer *w)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("type"), COR_STR("Resource"));
    cor_json_key(w, COR_STR("resource"));
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("name"), COR_STR("cpu"));
    cor_json_key(w, side == COR_HPA_SPEC ? COR_STR("target") : COR_STR("current"));
    cor_json_begin_object(w);
    if (side == COR_HPA_SPEC)
        cor_json_member(w, COR_STR("type"), COR_STR("Utilization"));
    cor_json_key(w, COR_STR("averageUtilization"));
    cor_json_raw(w, cpu);
    cor_json_end_object(w);
    cor_json_end_object(w);
    cor_json_end_object(w);
}

static bool are_objects(struct cor_str array)
{
    struct cor_json_iter it = cor_json_iter(array);

    while (cor_json_iter_elem(&it)) {
        if (!is_object(cor_json_iter_value(&it)))
            return false;
    }
    return true;
}

int cor_hpa_metrics_to_v2(struct cor_str metrics, enum cor_hpa_side side, struct cor_str cpu,
                          struct cor_buf *out)
{
    bool is_read = metrics.n > 0 && are_objects(metrics);
    struct cor_json_iter it = cor_json_iter(is_read ? metrics : COR_STR("[]"));
    bool has_cpu = cpu.p && (side == COR_HPA_SPEC || !is_read), is_empty = !has_cpu;
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it)) {
        convert_metric(cor_json_iter_value(&it), side, source_to_v2, &w);
        is_empty = false;
    }
    if (has_cpu)
        write_cpu(side, cpu, &w);
    cor_json_end_array(&w);
    r = cor_json_writer_finish(&w);
    if (is_empty)
        cor_buf_reset(out);
    return r;
}

/* Upstream writes its internal type, whose members are named as Go's are: with a capital. */
static void write_key(struct cor_str raw, bool capital, struct cor_json_writer *w)
{
    char name[64];
    char first = raw.n > 0 ? raw.p[0] : 0;

    if (raw.n == 0 || raw.n > sizeof(name) ||
        !(capital ? first >= 'a' && first <= 'z' : first >= 'A' && first <= 'Z')) {
        cor_json_raw_key(w, raw);
        return;
    }
    memcpy(name, raw.p, raw.n);
    name[0] = (char)(first ^ 0x20);
    cor_json_raw_key(w, cor_str(name, raw.n));
}

static void write_renamed(struct cor_str value, bool capital, struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(value);
    struct cor_str key;

    if (is_object(value)) {
        cor_json_begin_object(w);
        while (cor_json_iter_member(&it, &key)) {
            struct cor_str member = cor_json_iter_value(&it);

            if (cor_json_type(member) == COR_JSON_NULL)
                continue;
            write_key(key, capital, w);
            write_renamed(member, capital, w);
        }
        cor_json_end_object(w);
    } else if (cor_json_type(value) == COR_JSON_ARRAY) {
        cor_json_begin_array(w);
        while (cor_json_iter_elem(&it))
            write_renamed(cor_json_iter_value(&it), capital, w);
        cor_json_end_array(w);
    } else {
        cor_json_raw(w, value);
    }
}

int cor_hpa_behavior_to_v1(struct cor_str behavior, struct cor_buf *out)
{
    struct cor_json_writer w;

    if (!behavior.p || !is_object(behavior))
        return 0;
    cor_json_writer_init(&w, out);
    write_renamed(behavior, true, &w);
    return cor_json_writer_finish(&w);
}

int cor_hpa_behavior_to_v2(struct cor_str behavior, struct cor_buf *out)
{
    struct cor_json_writer w;

    if (!behavior.p || !is_object(behavior))
        return 0;
    cor_json_writer_init(&w, out);
    write_renamed(behavior, false, &w);
    return cor_json_writer_finish(&w);
}
