// A program over client-go for ../clients.py:
//
//	client modes                          names what it can watch with, one word per line
//	client crud KUBECONFIG NAMESPACE      every verb of the dynamic client, and typed clients and informers in
//	                                      protobuf (typed.go), then exits
//	client custom KUBECONFIG NAMESPACE    a definition by the client of apiextensions-apiserver, and objects of its kind
//	                                      (custom.go), then exits
//	client apply KUBECONFIG NAMESPACE N   server-side apply to the deployment of ../appliers.py (apply.go), then exits
//	client MODE KUBECONFIG NAMESPACE      an informer on the namespace's config maps, or on the boats of ../clients.py;
//	                                      prints SYNCED, and ADDED, UPDATED and DELETED with name and resourceVersion
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	boats      = schema.GroupVersionResource{Group: "clients.example.com", Version: "v1", Resource: "boats"}
)

func fatal(format string, words ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", words...)
	os.Exit(1)
}

func dynamicInformer(config *rest.Config, namespace string, resource schema.GroupVersionResource) cache.SharedIndexInformer {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		fatal("dynamic client: %v", err)
	}
	return dynamicinformer.NewFilteredDynamicInformer(client, resource, namespace, 0, cache.Indexers{}, nil).Informer()
}

func metadataInformer(config *rest.Config, namespace string, resource schema.GroupVersionResource) cache.SharedIndexInformer {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		fatal("metadata client: %v", err)
	}
	return metadatainformer.NewFilteredMetadataInformer(client, resource, namespace, 0, cache.Indexers{}, nil).Informer()
}

func show(what string, object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		what, object = what+"-UNSEEN", gone.Obj
	}
	meta := object.(metav1.Object)
	fmt.Println(what, meta.GetName(), meta.GetResourceVersion())
}

func follow(informer cache.SharedIndexInformer) {
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { show("ADDED", object) },
		UpdateFunc: func(_, object any) { show("UPDATED", object) },
		DeleteFunc: func(object any) { show("DELETED", object) },
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		fatal("handler: %v", err)
	}
	go informer.Run(nil)
	if !cache.WaitForCacheSync(nil, registration.HasSynced) {
		fatal("no sync")
	}
	fmt.Println("SYNCED")
	select {}
}

// client-go reads this gate from the environment when it is first asked for.
func setWatchList(on string) {
	os.Setenv("KUBE_FEATURE_WatchListClient", on)
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "modes" {
		fmt.Println("dynamic\nmetadata\ntyped-protobuf\nstreaming-dynamic\nstreaming-metadata\nstreaming-typed-protobuf\n" +
			"custom ends\ncustom-dynamic boats\ncustom-metadata boats\nstreaming-custom-dynamic boats")
		return
	}
	if len(os.Args) != 4 && (len(os.Args) != 5 || os.Args[1] != "apply") {
		fatal("usage: client modes | MODE KUBECONFIG NAMESPACE | apply KUBECONFIG NAMESPACE N")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	if err != nil {
		fatal("%v", err)
	}
	setWatchList("false")
	switch os.Args[1] {
	case "crud":
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		crud(ctx, config, os.Args[3])
		typed(ctx, config, os.Args[3])
	case "custom":
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		custom(ctx, config, os.Args[3])
	case "apply":
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		apply(ctx, config, os.Args[3], os.Args[4])
	case "dynamic":
		follow(dynamicInformer(config, os.Args[3], configMaps))
	case "metadata":
		follow(metadataInformer(config, os.Args[3], configMaps))
	case "typed-protobuf":
		follow(typedInformer(config, os.Args[3]))
	case "streaming-dynamic":
		setWatchList("true")
		follow(dynamicInformer(config, os.Args[3], configMaps))
	case "streaming-metadata":
		setWatchList("true")
		follow(metadataInformer(config, os.Args[3], configMaps))
	case "streaming-typed-protobuf":
		setWatchList("true")
		follow(typedInformer(config, os.Args[3]))
	case "custom-dynamic":
		follow(dynamicInformer(config, os.Args[3], boats))
	case "custom-metadata":
		follow(metadataInformer(config, os.Args[3], boats))
	case "streaming-custom-dynamic":
		setWatchList("true")
		follow(dynamicInformer(config, os.Args[3], boats))
	default:
		fatal("unknown mode %s", os.Args[1])
	}
}
