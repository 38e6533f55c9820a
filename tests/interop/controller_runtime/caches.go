package main

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What a handler was called with. The cache has the object when its handlers are called.
type change struct {
	what   string
	object client.Object
}

func changesOf(ctx context.Context, objects cache.Cache, object client.Object) chan change {
	informer, err := objects.GetInformer(ctx, object)
	check(err, "informer")
	changes := make(chan change, 100)
	note := func(what string) func(any) {
		return func(object any) { changes <- change{what, object.(client.Object)} }
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    note("ADDED"),
		UpdateFunc: func(_, object any) { note("UPDATED")(object) },
		DeleteFunc: note("DELETED"),
	})
	check(err, "handler")
	return changes
}

func await(ctx context.Context, changes chan change, what, name, version string) client.Object {
	select {
	case got := <-changes:
		same := got.what == what && got.object.GetName() == name && (version == "" || got.object.GetResourceVersion() == version)
		expect(same, fmt.Sprintf("%s %s %s", what, name, version), got)
		return got.object
	case <-ctx.Done():
		fatal("no change %s %s", what, name)
	}
	return nil
}

// How many config maps of the cache have the key in their data, in each of the three forms.
func expectIndexed(ctx context.Context, objects cache.Cache, namespace, key string, count int) {
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMapList")
	typed, metadata, whole := &corev1.ConfigMapList{}, &metav1.PartialObjectMetadataList{}, &unstructured.UnstructuredList{}
	metadata.SetGroupVersionKind(gvk)
	whole.SetGroupVersionKind(gvk)
	in := client.InNamespace(namespace)
	check(objects.List(ctx, typed, in, client.MatchingFields{"data": key}), "list by index")
	check(objects.List(ctx, whole, in, client.MatchingFields{"data": key}), "unstructured list by index")
	check(objects.List(ctx, metadata, in, client.MatchingFields{"label": key}), "metadata list by index")
	counts := []int{len(typed.Items), len(whole.Items), len(metadata.Items)}
	expect(reflect.DeepEqual(counts, []int{count, count, count}), "config maps with "+key, counts)
}

func addIndexes(ctx context.Context, objects cache.Cache) {
	check(objects.IndexField(ctx, &corev1.ConfigMap{}, "data", func(object client.Object) []string {
		return []string{object.(*corev1.ConfigMap).Data["k"]}
	}), "index")
	check(objects.IndexField(ctx, unstructuredConfigMap(), "data", func(object client.Object) []string {
		value, _, _ := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "data", "k")
		return []string{value}
	}), "unstructured index")
	check(objects.IndexField(ctx, partialConfigMap(), "label", func(object client.Object) []string {
		return []string{object.GetLabels()["k"]}
	}), "metadata index")
}

func indexed(namespace, name, key string) *corev1.ConfigMap {
	object := newConfigMap(namespace, name)
	object.Data["k"], object.Labels["k"] = key, key
	return object
}

// One cache with informers in all three forms, whose indexes follow what a client changes. Its pods are those that two
// selectors choose, so that a pod that no longer matches is deleted from the cache.
func caches(ctx context.Context, restConfig *rest.Config, namespace string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := client.New(restConfig, client.Options{})
	check(err, "client")
	first := indexed(namespace, "first", "red")
	check(c.Create(ctx, first), "create")

	objects, err := cache.New(restConfig, cache.Options{
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {
			Label: labels.SelectorFromSet(labels.Set{"of": "verbs"}),
			Field: fields.SelectorFromSet(fields.Set{"status.phase": "Pending"}),
		}},
	})
	check(err, "cache")
	addIndexes(ctx, objects)
	typed, whole := changesOf(ctx, objects, &corev1.ConfigMap{}), changesOf(ctx, objects, unstructuredConfigMap())
	metadata, pods := changesOf(ctx, objects, partialConfigMap()), changesOf(ctx, objects, &corev1.Pod{})
	ended := make(chan error, 1)
	go func() { ended <- objects.Start(ctx) }()
	expect(objects.WaitForCacheSync(ctx), "the cache", "no sync")
	all := func(what, name, version string) client.Object {
		await(ctx, whole, what, name, version)
		await(ctx, metadata, what, name, version)
		return await(ctx, typed, what, name, version)
	}

	expect(reflect.DeepEqual(all("ADDED", "first", first.ResourceVersion), first), fmt.Sprintf("the listed %v", first), "another")
	expectIndexed(ctx, objects, namespace, "red", 1)
	second := indexed(namespace, "second", "red")
	check(c.Create(ctx, second), "create")
	expect(reflect.DeepEqual(all("ADDED", "second", second.ResourceVersion), second), fmt.Sprintf("the watched %v", second), "another")
	expectIndexed(ctx, objects, namespace, "red", 2)
	cached := &corev1.ConfigMap{}
	check(objects.Get(ctx, client.ObjectKeyFromObject(second), cached), "get from the cache")
	cached.SetGroupVersionKind(second.GroupVersionKind())
	expect(reflect.DeepEqual(cached, second), fmt.Sprintf("the cached %v", second), cached)

	old := second.DeepCopy()
	second.Data["k"], second.Labels["k"] = "green", "green"
	check(c.Patch(ctx, second, client.MergeFrom(old)), "patch")
	all("UPDATED", "second", second.ResourceVersion)
	expectIndexed(ctx, objects, namespace, "red", 1)
	expectIndexed(ctx, objects, namespace, "green", 1)
	check(c.DeleteAllOf(ctx, first, client.InNamespace(namespace), client.MatchingLabels{"k": "green"}), "delete of all")
	all("DELETED", "second", "")
	expectIndexed(ctx, objects, namespace, "green", 0)
	err = objects.Get(ctx, client.ObjectKeyFromObject(second), cached)
	expect(apierrors.IsNotFound(err), "get of what was deleted", err)

	pod, other := newPod(namespace, "chosen"), newPod(namespace, "other")
	other.Labels["of"] = "nobody"
	check(c.Create(ctx, other), "create")
	check(c.Create(ctx, pod), "create")
	await(ctx, pods, "ADDED", "chosen", pod.ResourceVersion)
	pod.Status.Phase = corev1.PodRunning
	check(c.Status().Update(ctx, pod), "status update")
	await(ctx, pods, "DELETED", "chosen", "")
	cancel()
	check(<-ended, "the end of the cache")
}
