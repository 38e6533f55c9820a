#include "sim_server.h"

#include <stdio.h>

#include "base/err.h"
#include "sim_check.h"

static const char *const names[SIM_KEYS] = {"n0/k0", "n1/k1", "n0/k2", "n1/k3",
                                            "n0/k4", "n1/k5", "n0/k6", "n1/k7"};

struct cor_str sim_key_name(int key)
{
    return cor_strz(names[key]);
}

int sim_key_of(struct cor_str name)
{
    for (int key = 0; key < SIM_KEYS; key++)
        if (cor_str_eqz(name, names[key]))
            return key;
    return -1;
}

void sim_server_init(struct sim_server *s, struct cor_rand *rand)
{
    *s = (struct sim_server){.rand = rand};
    s->streams = cor_rand_below(rand, 3) > 0;
    s->caches = cor_rand_below(rand, 2);
    for (uint64_t n = 1 + cor_rand_below(rand, 20); n > 0; n--)
        sim_server_write(s);
    s->compacted = 1;
}

void sim_server_deinit(struct sim_server *s)
{
    for (cor_rev i = 0; i < s->head; i++)
        cor_object_unref(s->log[i].object);
}

struct cor_object *sim_server_state(const struct sim_server *s, int key, cor_rev rev)
{
    for (cor_rev at = rev; at > 0; at--) {
        const struct sim_version *v = &s->log[at - 1];

        if (v->key == key)
            return v->type == COR_WATCH_DELETED ? NULL : v->object;
    }
    return NULL;
}

static struct cor_object *object_of(int key, cor_rev rev)
{
    struct cor_status status = {0};
    struct cor_object *bare = NULL, *o = NULL;
    struct cor_str ns = cor_strz(names[key]), name = ns;
    char json[200];

    ns.n = 2;
    name = cor_str_from(name, 3);
    snprintf(json, sizeof(json),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"v\":\"%llu\"},"
             "\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"%.*s\"}}",
             (unsigned long long)rev, COR_STR_ARG(name), COR_STR_ARG(ns));
    sim_check(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &bare, &status) == 0, "parse");
    sim_check(cor_object_at(bare, rev, &o) == 0, "at");
    cor_object_unref(bare);
    return o;
}

int sim_server_write(struct sim_server *s)
{
    cor_rev rev = s->head + 1;
    struct sim_version *v = &s->log[s->head];
    struct cor_object *old;

    v->key = (int)cor_rand_below(s->rand, SIM_KEYS + 2);
    if (v->key >= SIM_KEYS) {
        v->key = -1;
        s->head = rev;
        return -1;
    }
    old = sim_server_state(s, v->key, s->head);
    v->type = !old                              ? COR_WATCH_ADDED
              : cor_rand_below(s->rand, 4) == 0 ? COR_WATCH_DELETED
                                                : COR_WATCH_MODIFIED;
    if (v->type == COR_WATCH_DELETED)
        sim_check(cor_object_at(old, rev, &v->object) == 0, "at");
    else
        v->object = object_of(v->key, rev);
    s->head = rev;
    return v->key;
}

bool sim_server_is_full(const struct sim_server *s)
{
    return s->head == SIM_VERSIONS;
}

void sim_server_compact(struct sim_server *s)
{
    s->compacted += cor_rand_below(s->rand, s->head - s->compacted + 1);
}
