#include "cache/informers/handler_fns.h"

void cor_handler_fns_call(const struct cor_handler_fns *handler, const struct cor_change *change)
{
    switch (change->kind) {
    case COR_CHANGE_ADD:
        if (handler->on_add)
            handler->on_add(handler->arg, change->object, change->flag);
        break;
    case COR_CHANGE_UPDATE:
        if (handler->on_update)
            handler->on_update(handler->arg, change->old, change->object);
        break;
    case COR_CHANGE_DELETE:
        if (handler->on_delete)
            handler->on_delete(handler->arg, change->key, change->object, change->flag);
        break;
    }
}
