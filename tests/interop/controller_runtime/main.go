// A program over controller-runtime for ../clients.py:
//
//	client modes                          names what it can watch with, one word per line
//	client crud KUBECONFIG NAMESPACE      every verb of the client (verbs.go), reads from the cache (caches.go) and a
//	                                      manager with a reconciler (manager.go), then exits
//	client custom KUBECONFIG NAMESPACE    a manager on a kind of its own, whose definition it installs (custom.go), then exits
//	client apply KUBECONFIG NAMESPACE N   server-side apply to the deployment of ../appliers.py (apply.go), then exits
//	client MODE KUBECONFIG NAMESPACE      a cache's informer on the namespace's config maps; prints SYNCED, and
//	                                      ADDED, UPDATED and DELETED with name and resourceVersion
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The forms in which a cache can keep config maps. Each is a mode; with "streaming-" before it the informer begins with
// WatchListClient's streaming list.
var forms = map[string]func() client.Object{
	"typed-cache":        func() client.Object { return &corev1.ConfigMap{} },
	"unstructured-cache": func() client.Object { return unstructuredConfigMap() },
	"metadata-cache":     func() client.Object { return partialConfigMap() },
}

// How long everything that crud does may take, on however busy a machine; clients.py waits for two minutes.
const patience = 110 * time.Second

const modes = "typed-cache\nunstructured-cache\nmetadata-cache\nstreaming-typed-cache\ncustom ends"

func unstructuredConfigMap() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return object
}

func partialConfigMap() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return object
}

func fatal(format string, words ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", words...)
	os.Exit(1)
}

func check(err error, doing string) {
	if err != nil {
		fatal("%s: %v", doing, err)
	}
}

func expect(is bool, what string, got any) {
	if !is {
		fatal("%s: got %v", what, got)
	}
}

func show(what string, object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		what, object = what+"-UNSEEN", gone.Obj
	}
	meta := object.(metav1.Object)
	fmt.Println(what, meta.GetName(), meta.GetResourceVersion())
}

func follow(ctx context.Context, restConfig *rest.Config, namespace string, object client.Object) {
	objects, err := cache.New(restConfig, cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	check(err, "cache")
	informer, err := objects.GetInformer(ctx, object)
	check(err, "informer")
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { show("ADDED", object) },
		UpdateFunc: func(_, object any) { show("UPDATED", object) },
		DeleteFunc: func(object any) { show("DELETED", object) },
	})
	check(err, "handler")
	go func() { check(objects.Start(ctx), "start") }()
	expect(toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced), "the cache", "no sync")
	fmt.Println("SYNCED")
	select {}
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "modes" {
		fmt.Println(modes)
		return
	}
	if len(os.Args) != 4 && (len(os.Args) != 5 || os.Args[1] != "apply") {
		fatal("usage: client modes | MODE KUBECONFIG NAMESPACE | apply KUBECONFIG NAMESPACE N")
	}
	log.SetLogger(klog.Background())
	// controller-runtime's own way to a configuration, which has no limit of requests per second.
	os.Setenv("KUBECONFIG", os.Args[2])
	restConfig, err := config.GetConfig()
	check(err, "kubeconfig")
	if os.Args[1] == "crud" {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		verbs(ctx, restConfig, os.Args[3])
		caches(ctx, restConfig, os.Args[3])
		managers(ctx, restConfig, os.Args[3])
		return
	}
	if os.Args[1] == "custom" {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		custom(ctx, restConfig, os.Args[3])
		return
	}
	if os.Args[1] == "apply" {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		apply(ctx, restConfig, os.Args[3], os.Args[4])
		return
	}
	name, streaming := strings.CutPrefix(os.Args[1], "streaming-")
	// client-go reads this gate from the environment when it is first asked for.
	os.Setenv("KUBE_FEATURE_WatchListClient", fmt.Sprint(streaming))
	form, known := forms[name]
	if !known {
		fatal("unknown mode %s", os.Args[1])
	}
	follow(context.Background(), restConfig, os.Args[3], form())
}
