#include "cache/informers/event_handler.h"

void cor_event_handler_tell(const struct cor_event_handler *handler,
                            const struct cor_change *change)
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
