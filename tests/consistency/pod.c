#include "pod.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "json/text/scan.h"

static void add_pad(struct cor_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cor_buf_addc(out, (char)('a' + i % 26));
}

static void write_pod(struct cor_buf *out, unsigned key, struct content c, const char *more,
                      size_t pad)
{
    cor_buf_addf(out,
                 "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"k%02u\","
                 "\"labels\":{\"color\":\"c%u\"},%s",
                 key % NAMES, c.color, more);
    cor_buf_addf(out, "\"annotations\":{\"token\":\"%u\",\"pad\":\"", c.token);
    add_pad(out, pad);
    cor_buf_addf(out,
                 "\"}},\"spec\":{\"nodeName\":\"n%u\",\"containers\":[{\"name\":\"c\","
                 "\"image\":\"i\"}]}}",
                 c.node);
}

void pod_write(struct cor_buf *out, unsigned key, struct content c, uint64_t rev, size_t pad)
{
    char more[64] = "";

    if (rev)
        snprintf(more, sizeof(more), "\"resourceVersion\":\"%llu\",", (unsigned long long)rev);
    write_pod(out, key, c, more, pad);
}

void pod_write_stored(struct cor_buf *out, unsigned key, struct content c, size_t pad)
{
    char more[160];

    snprintf(more, sizeof(more),
             "\"namespace\":\"ns%u\",\"uid\":\"00000000-0000-4000-8000-%012u\","
             "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",",
             key / NAMES, c.token);
    write_pod(out, key, c, more, pad);
}

void pod_write_patch(struct cor_buf *out, struct content c, size_t pad)
{
    cor_buf_addf(out,
                 "{\"metadata\":{\"labels\":{\"color\":\"c%u\"},\"annotations\":{\"token\":\"%u\","
                 "\"pad\":\"",
                 c.color, c.token);
    add_pad(out, pad);
    cor_buf_addz(out, "\"}}}");
}

void pod_path(char *out, size_t n, unsigned key, bool is_collection)
{
    if (is_collection)
        snprintf(out, n, "/api/v1/namespaces/ns%u/pods", key / NAMES);
    else
        snprintf(out, n, "/api/v1/namespaces/ns%u/pods/k%02u", key / NAMES, key % NAMES);
}

void scope_path(char *out, size_t n, const struct scope *s)
{
    char space[40] = "", label[40] = "", field[80] = "";

    if (s->space != ANY)
        snprintf(space, sizeof(space), "namespaces/ns%d/", s->space);
    if (s->color != ANY)
        snprintf(label, sizeof(label), "labelSelector=color%%3Dc%d&", s->color);
    else if (s->not_color != ANY)
        snprintf(label, sizeof(label), "labelSelector=color%%21%%3Dc%d&", s->not_color);
    if (s->name != ANY)
        snprintf(field, sizeof(field), "fieldSelector=metadata.name%%3Dk%02d&", s->name);
    else if (s->node != ANY)
        snprintf(field, sizeof(field), "fieldSelector=spec.nodeName%%3Dn%d&", s->node);
    snprintf(out, n, "/api/v1/%spods?%s%s", space, label, field);
}

struct cor_str json_member(struct cor_str object, const char *key)
{
    struct cor_str value;

    if (cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0)
        return cor_strz("");
    return value;
}

struct cor_str json_text(struct cor_str object, const char *key)
{
    struct cor_str raw;

    if (cor_json_to_raw(json_member(object, key), &raw) < 0)
        return cor_strz("");
    return raw;
}

/* "k07", "ns1", "c2" without the letters. */
static bool read_number(struct cor_str text, size_t nletters, uint64_t below, uint64_t *ret)
{
    return text.n > nletters && cor_str_to_u64(cor_str_from(text, nletters), ret) == 0 &&
           *ret < below;
}

bool pod_read(struct cor_str json, struct event *ret)
{
    struct cor_str metadata = json_member(json, "metadata");
    uint64_t name, space, color, node, token;

    if (!read_number(json_text(metadata, "name"), 1, NAMES, &name) ||
        !read_number(json_text(metadata, "namespace"), 2, SPACES, &space) ||
        !read_number(json_text(json_member(metadata, "labels"), "color"), 1, COLORS, &color) ||
        !read_number(json_text(json_member(json, "spec"), "nodeName"), 1, NODES, &node) ||
        !read_number(json_text(json_member(metadata, "annotations"), "token"), 0, UINT32_MAX,
                     &token) ||
        cor_str_to_u64(json_text(metadata, "resourceVersion"), &ret->rev) < 0)
        return false;
    ret->key = (uint16_t)(space * NAMES + name);
    ret->is_marked = json_text(metadata, "deletionTimestamp").n > 0;
    ret->content = (struct content){(uint32_t)token, (uint8_t)color, (uint8_t)node};
    return true;
}

bool pod_read_event(struct cor_str line, struct event *ret, bool *ret_ends_initial)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    struct cor_str type = json_text(line, "type"), object = json_member(line, "object"), metadata;
    size_t i = 0;

    *ret = (struct event){0};
    *ret_ends_initial = false;
    while (i < COR_ARRAY_LEN(types) && !cor_str_eqz(type, types[i]))
        i++;
    ret->type = (enum event_type)i;
    if (i < EVENT_BOOKMARK)
        return pod_read(object, ret);
    metadata = json_member(object, "metadata");
    *ret_ends_initial =
        json_member(json_member(metadata, "annotations"), "k8s.io/initial-events-end").n > 0;
    return i == EVENT_BOOKMARK &&
           cor_str_to_u64(json_text(metadata, "resourceVersion"), &ret->rev) == 0;
}

bool pod_read_list(struct cor_str json, struct events *events, uint64_t *ret_rev)
{
    struct cor_json_iter it = cor_json_iter(json_member(json, "items"));

    while (cor_json_iter_elem(&it)) {
        struct event event = {.type = EVENT_ADDED};

        if (!pod_read(cor_json_iter_value(&it), &event))
            return false;
        events_add(events, &event);
    }
    return cor_str_to_u64(json_text(json_member(json, "metadata"), "resourceVersion"), ret_rev) ==
           0;
}
