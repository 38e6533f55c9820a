/* Text that begins with a brace is JSON, whose mistakes have a line and a column; all other text is
 * YAML. */
#include "gen/input_json.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/yaml.h"
#include "json/text/json.h"

static int wrong(const char *file, const char *message, struct cor_gen_error *reterr)
{
    snprintf(reterr->message, sizeof(reterr->message), "%s: %s", file, message);
    return -COR_EINVAL;
}

int cor_gen_input_json(const char *file, struct cor_str text, struct cor_buf *out,
                       struct cor_gen_error *reterr)
{
    const struct cor_json_limits limits = {COR_GEN_INPUT_MAX, COR_JSON_DEPTH_MAX,
                                           .any_number = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_json_error why = {.message = ""};
    struct cor_yaml_error why_yaml = {.message = ""};
    struct cor_str start = cor_str_trim(text);
    bool is_json = start.n > 0 && start.p[0] == '{';
    char message[300];
    int r = 0;

    cor_buf_init(&json, COR_GEN_INPUT_MAX);
    if (!is_json)
        r = cor_yaml_to_json(text, &json, NULL, &why_yaml);
    if (r == -COR_EINVAL || r == -COR_ETOOBIG)
        return wrong(file, why_yaml.message, reterr);
    if (r == 0)
        r = cor_json_canonicalize(is_json ? text : cor_buf_str(&json), &limits, out, NULL, &why);
    if (r == -COR_EINVAL || r == -COR_ETOOBIG) {
        snprintf(message, sizeof(message), "line %u, column %u: %s", why.line, why.column,
                 why.message);
        return wrong(file, is_json ? message : why.message, reterr);
    }
    return r;
}
