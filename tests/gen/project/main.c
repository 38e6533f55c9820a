/* A program on generated views, as a user has it: it prints fields of an object of the kind that
 * website.yaml defines. */
#include <stdio.h>

#include "example_v1.h"

static const char json[] =
    "{\"kind\":\"Website\",\"apiVersion\":\"example.com/v1\",\"metadata\":{\"name\":\"home\"},"
    "\"spec\":{\"backends\":{\"blue\":{\"weight\":3}},\"image\":\"web:v2\","
    "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"tls\",\"port\":443}],\"replicas\":2}}";

int main(void)
{
    struct cor_object *object = NULL;
    struct cor_status why;
    struct example_v1_website site;
    struct example_v1_website_spec spec;
    struct example_v1_website_spec_ports tls;

    cor_status_init(&why);
    if (cor_object_from_json(cor_strz(json), &object, &why) < 0)
        return 1;
    site = example_v1_website(object);
    spec = example_v1_website_spec(site);
    tls = example_v1_website_spec_ports_by_name(spec, COR_STR("tls"));
    printf("%.*s %.*s %d %d %d\n",
           COR_STR_ARG(cor_meta_v1_object_meta_name(example_v1_website_metadata(site)).raw),
           COR_STR_ARG(example_v1_website_spec_image(spec).raw),
           (int)example_v1_website_spec_replicas(spec),
           (int)example_v1_website_spec_ports_port(tls),
           (int)example_v1_website_spec_has_paused(spec));
    cor_object_unref(object);
    return 0;
}
