/* The text of typed clients, with places for what differs between kinds. A place is a dollar and a
 * letter:
 *
 *   $b  the beginning of the names of structs and of functions on them: cor_core_v1_pod
 *   $v  the struct of the view, which is $b unless a name was taken
 *   $f  the name of the function: cor_core_v1_pods_get
 *   $o  as $b, of what the subresource speaks; of the resource itself $b
 *   $k  the kind, $a its apiVersion: Pod, v1
 *   $r  the constant of the resource: COR_CORE_V1_POD_RESOURCE
 *   $n  the parameter of the namespace, and $N its argument: NULL without namespaces
 *   $m  the same of a lister, and $M
 *   $s  the subresource as an argument: "status", or NULL
 *
 * Thread: any (constants). */
#ifndef COR_GEN_CLIENT_TEXT_H
#define COR_GEN_CLIENT_TEXT_H

/* A kind's objects, and how structs that programs own become objects. */
extern const char cor_gen_object_text[], cor_gen_own_text[];

/* Functions of verbs. */
extern const char cor_gen_get_text[], cor_gen_create_text[], cor_gen_update_text[],
    cor_gen_patch_text[], cor_gen_apply_text[], cor_gen_delete_text[],
    cor_gen_delete_collection_text[];

/* A create of a subresource, which is that of a name. */
extern const char cor_gen_create_of_text[];

/* The structs and functions that need them: of lists, of watches, of informers with their
 * listers. */
extern const char cor_gen_items_text[], cor_gen_list_text[];
extern const char cor_gen_watch_struct_text[], cor_gen_watch_text[];
extern const char cor_gen_informer_struct_text[], cor_gen_informer_text[];

#endif
