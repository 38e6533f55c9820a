/* The head of an object that the allocators write (object_head.h). */
#include "server/alloc/object_head.h"

#include <assert.h>

#include "base/clock.h"
#include "meta/value/time_text.h"
#include "json/write/print.h"

void cor_object_head_write(const struct cor_object_head *head, struct cor_api_loop *loop,
                           struct cor_json_writer *w)
{
    char time[COR_TIME_TEXT_MAX];

    assert(head->row && head->name.n > 0 && head->uid.n > 0);
    cor_json_print(w, "{kind:%s,apiVersion:%s,metadata:{creationTimestamp:%s", head->row->kind,
                   head->row->api_version,
                   cor_time_print(cor_clock_wall_ms(loop->settings->clock) / 1000, time));
    if (head->nlabels > 0) {
        cor_json_key(w, COR_STR("labels"));
        cor_json_begin_object(w);
        for (size_t i = 0; i < head->nlabels; i++)
            cor_json_member(w, head->labels[i][0], head->labels[i][1]);
        cor_json_end_object(w);
    }
    cor_json_print(w, "name:%s,uid:%s}", head->name, head->uid);
}
