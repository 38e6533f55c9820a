#include "meta/names/api_verb.h"

const char *cor_api_verb_name(enum cor_api_verb verb)
{
    static const char *const names[] = {
#define COR_API_VERB_ROW(name, text) text,
        COR_API_VERBS(COR_API_VERB_ROW)
#undef COR_API_VERB_ROW
            "",
    };

    return names[verb];
}

enum cor_api_verb cor_api_verb_find(struct cor_str name)
{
    int verb = 0;

    while (verb < COR_API_VERB_COUNT &&
           !cor_str_eqz(name, cor_api_verb_name((enum cor_api_verb)verb)))
        verb++;
    return (enum cor_api_verb)verb;
}
