/* Keeps copies of the names of trigger fields, and their paths; and says by which text a value is
 * indexed. Failures: no memory; a name that is not a path. */
#include "storage/cacher/triggers.h"

#include "base/err.h"
#include "base/mem.h"
#include "json/path/path.h"

int cor_triggers_init(struct cor_triggers *triggers, const char *const *fields)
{
    *triggers = (struct cor_triggers){0};
    for (size_t i = 0; fields && fields[i] && i < COR_TRIGGERS_MAX; i++) {
        char *field = cor_strdup(fields[i]);
        int r;

        if (!field)
            return -COR_ENOMEM;
        triggers->fields[triggers->n++] = cor_strz(field);
        r = cor_json_path_new(cor_strz(field), &triggers->paths[i], NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

void cor_triggers_deinit(struct cor_triggers *triggers)
{
    for (size_t i = 0; i < triggers->n; i++) {
        cor_json_path_free(triggers->paths[i]);
        cor_free((char *)(uintptr_t)triggers->fields[i].p);
    }
    *triggers = (struct cor_triggers){0};
}

/* Triggers are compared as they are in the object. */
static bool is_plain(struct cor_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '"' || value.p[i] == '\\' || (unsigned char)value.p[i] < 0x20)
            return false;
    }
    return true;
}

bool cor_trigger_text_of(struct cor_str value, struct cor_str *ret_text)
{
    if (!is_plain(value))
        return false;
    *ret_text = cor_trigger_text(value);
    return true;
}
