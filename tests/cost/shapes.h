/* What the files of shapes_cost share. A shape prepares what is stored and describes one request;
 * its file has a table of shapes, and shapes.c drives all of them. */
#ifndef COR_TEST_SHAPES_H
#define COR_TEST_SHAPES_H

#include <stdio.h>

#include "api_fixture.h"
#include "base/mem.h"

#define TEXT_MAX  (64u << 20)
#define MAPS      "/api/v1/namespaces/default/configmaps"
#define PODS      "/api/v1/namespaces/default/pods"
#define TEMPLATES "/api/v1/namespaces/default/podtemplates"

/* What a shape fills in. */
struct request {
    struct fx *fx;
    size_t n;
    const char *method;
    struct cor_buf target, body, accept;
    const char *content_type;
    int status; /* that the answer must have */
};

struct shape {
    const char *name;
    void (*make)(struct request *rq); /* prepares what is stored, and describes the request */
    size_t max;                       /* of elements; 0: none */
};

struct shapes {
    const struct shape *v;
    size_t n;
};
#define SHAPES(table)                                                                              \
    {                                                                                              \
        (table), COR_ARRAY_LEN(table)                                                              \
    }
extern const struct shapes shapes_of_objects, shapes_of_applies, shapes_of_patches, shapes_of_yaml,
    shapes_of_requests;

void shape_add(struct cor_buf *b, const char *fmt, ...) COR_PRINTF(2, 3);
/* Appends `n` times the format with the element's number, twice, between commas. */
#define EACH(b, count, ...)                                                                        \
    for (size_t i = 0; i < (count); i++) {                                                         \
        if (i > 0)                                                                                 \
            shape_add((b), ",");                                                                   \
        shape_add((b), __VA_ARGS__);                                                               \
    }

/* A text for a body, to be deinitialised: TEXT body = shape_text(); */
struct cor_buf shape_text(void);
#define TEXT COR_CLEANUP(cor_buf_deinit) struct cor_buf

void shape_get(struct request *rq, const char *target);
void shape_post(struct request *rq, const char *target);
void shape_patch(struct request *rq, const char *target, const char *type);

/* Creates a config map "x" with this metadata and data. */
void shape_store_map(struct request *rq, struct cor_buf *meta, struct cor_buf *data);
/* Creates a pod "x" with as many finalizers and containers as the request has elements. */
void shape_store_pod(struct request *rq);
/* Appends the member finalizers with `n` of them. */
void shape_finalizers(struct cor_buf *b, size_t n);
/* Appends `n` members with this value. */
void shape_members(struct cor_buf *b, size_t n, const char *value);
/* Appends objects inside of objects, each with ten members beside the inner one. */
void shape_nest(struct cor_buf *b, size_t depth, const char *inner);

#endif
