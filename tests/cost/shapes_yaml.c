/* Bodies and answers in YAML, and indented answers. */
#include "shapes.h"

static void make_nested_answer(struct request *rq, const char *accept)
{
    TEXT body = shape_text(), inner = shape_text();

    shape_add(&inner, "[");
    EACH(&inner, 10 * rq->n, "%zu", i);
    shape_add(&inner, "]");
    shape_add(&body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    shape_nest(&body, rq->n, cor_buf_z(&inner));
    shape_add(&body, "}");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
    rq->method = "GET";
    rq->status = 200;
    shape_add(&rq->target, MAPS "/x");
    shape_add(&rq->accept, "%s", accept);
}

static void make_nested_yaml_answer(struct request *rq)
{
    make_nested_answer(rq, "application/yaml");
}

static void make_nested_pretty_answer(struct request *rq)
{
    make_nested_answer(rq, "application/json;pretty=1");
}

static void make_yaml(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "metadata:\n  name: x\ndata:\n");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "  k%zu: v\n", rq->n - i);
}

static void make_yaml_duplicates(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "metadata:\n  name: x\ndata:\n");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "  k%zu: v\n", i / 2);
}

static void make_yaml_anchors(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "metadata:\n  name: x\ndata:\n");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "  a%zu: &a%zu v\n  b%zu: *a%zu\n", i, i, i, i / 2);
}

static void make_yaml_merges(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "metadata:\n  name: x\nbase: &b {a: b}\ndata:\n");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "  a%zu: v\n  <<: *b\n", i);
}

static void make_yaml_flow(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "{metadata: {name: x}, data: {");
    EACH(&rq->body, rq->n, "k%zu: v", i);
    shape_add(&rq->body, "}}");
}

static void make_yaml_nested(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "{metadata: {name: x}, deep: ");
    shape_nest(&rq->body, rq->n, "1");
    shape_add(&rq->body, "}");
}

static void make_yaml_nested_block(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "metadata:\n  name: x\ndeep:\n");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "%*sk%zu: v\n%*sn:\n", (int)i + 1, "", i, (int)i + 1, "");
    shape_add(&rq->body, "%*sk: v\n", (int)rq->n + 1, "");
}

static void make_yaml_nested_merges(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "{metadata: {name: x}, deep: ");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "{a%zu: 12345678901234567890, <<: ", i);
    shape_add(&rq->body, "{}");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "}");
    shape_add(&rq->body, "}");
}

static void make_yaml_nested_anchors(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "{metadata: {name: x}, deep: ");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "&a%zu [12345678901234567890, ", i);
    shape_add(&rq->body, "1");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "]");
    shape_add(&rq->body, "}");
}

static void make_yaml_lines(struct request *rq)
{
    shape_post(rq, MAPS);
    rq->content_type = "application/yaml";
    shape_add(&rq->body, "metadata:\n  name: x\ndata:\n  text: |\n");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "    a line of text\n");
}

static void make_yaml_answer(struct request *rq)
{
    TEXT data = shape_text();

    EACH(&data, rq->n, "\"k%zu\":\"v\"", i);
    shape_store_map(rq, NULL, &data);
    shape_get(rq, MAPS "/x");
    shape_add(&rq->accept, "application/yaml");
}

static void make_pretty_answer(struct request *rq)
{
    TEXT data = shape_text();

    shape_members(&data, rq->n, "v");
    shape_store_map(rq, NULL, &data);
    shape_get(rq, MAPS "/x");
    shape_add(&rq->accept, "application/json;pretty=1");
}

static const struct shape table[] = {
    {"nested-yaml-answer", make_nested_yaml_answer, 980},
    {"nested-pretty-answer", make_nested_pretty_answer, 980},
    {"yaml", make_yaml, 0},
    {"yaml-duplicates", make_yaml_duplicates, 0},
    {"yaml-anchors", make_yaml_anchors, 0},
    {"yaml-merges", make_yaml_merges, 0},
    {"yaml-flow", make_yaml_flow, 0},
    {"yaml-nested", make_yaml_nested, 120},
    {"yaml-nested-merges", make_yaml_nested_merges, 16},
    {"yaml-nested-anchors", make_yaml_nested_anchors, 120},
    {"yaml-nested-block", make_yaml_nested_block, 980},
    {"yaml-lines", make_yaml_lines, 0},
    {"yaml-answer", make_yaml_answer, 0},
    {"pretty-answer", make_pretty_answer, 0},
};

const struct shapes shapes_of_yaml = SHAPES(table);
