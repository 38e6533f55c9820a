package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

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

func configMap(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"of": "crud"}},
		"data":     map[string]any{"k": "v"},
	}}
}

func data(object *unstructured.Unstructured) map[string]string {
	found, _, err := unstructured.NestedStringMap(object.Object, "data")
	check(err, "data")
	return found
}

func changes(ctx context.Context, maps dynamic.ResourceInterface) {
	made, err := maps.Create(ctx, configMap("a"), metav1.CreateOptions{})
	check(err, "create")
	_, err = maps.Create(ctx, configMap("a"), metav1.CreateOptions{})
	expect(apierrors.IsAlreadyExists(err), "the second create", err)
	_, err = maps.Create(ctx, configMap("dry"), metav1.CreateOptions{DryRun: []string{"All"}})
	check(err, "dry run")
	_, err = maps.Get(ctx, "dry", metav1.GetOptions{})
	expect(apierrors.IsNotFound(err), "what was only tried", err)

	old := made.DeepCopy()
	check(unstructured.SetNestedField(made.Object, "w", "data", "k"), "set")
	changed, err := maps.Update(ctx, made, metav1.UpdateOptions{})
	check(err, "update")
	expect(data(changed)["k"] == "w", "the update", data(changed))
	_, err = maps.Update(ctx, old, metav1.UpdateOptions{})
	expect(apierrors.IsConflict(err), "an update of an old version", err)

	patches := map[types.PatchType]string{
		types.MergePatchType:          `{"data":{"merge":"1"}}`,
		types.JSONPatchType:           `[{"op":"add","path":"/data/json","value":"1"}]`,
		types.StrategicMergePatchType: `{"data":{"strategic":"1"}}`,
	}
	for kind, patch := range patches {
		_, err = maps.Patch(ctx, "a", kind, []byte(patch), metav1.PatchOptions{})
		check(err, string(kind))
	}
	got, err := maps.Get(ctx, "a", metav1.GetOptions{})
	check(err, "get")
	expect(len(data(got)) == 4, "after the patches", data(got))
}

func lists(ctx context.Context, maps dynamic.ResourceInterface) {
	for i := range 5 {
		_, err := maps.Create(ctx, configMap(fmt.Sprintf("page-%d", i)), metav1.CreateOptions{})
		check(err, "create")
	}
	options := metav1.ListOptions{Limit: 2, LabelSelector: "of=crud"}
	seen, pages := 0, 0
	for {
		page, err := maps.List(ctx, options)
		check(err, "list")
		seen, pages = seen+len(page.Items), pages+1
		if page.GetContinue() == "" {
			break
		}
		options.Continue = page.GetContinue()
	}
	expect(seen == 6 && pages == 3, "objects and pages", []int{seen, pages})
}

func watches(ctx context.Context, maps dynamic.ResourceInterface) {
	list, err := maps.List(ctx, metav1.ListOptions{})
	check(err, "list")
	stream, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	check(err, "watch")
	defer stream.Stop()
	check(maps.Delete(ctx, "a", metav1.DeleteOptions{}), "delete")
	event := <-stream.ResultChan()
	expect(event.Type == watch.Deleted, "the event of a delete", event)
	err = maps.Delete(ctx, "a", metav1.DeleteOptions{})
	expect(apierrors.IsNotFound(err), "the second delete", err)

	wrong := types.UID("no-such-uid")
	err = maps.Delete(ctx, "page-0", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	expect(apierrors.IsConflict(err), "a delete of another uid", err)
	check(maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "of=crud"}), "deletecollection")
	list, err = maps.List(ctx, metav1.ListOptions{LabelSelector: "of=crud"})
	check(err, "list")
	expect(len(list.Items) == 0, "what is left", len(list.Items))
}

func onlyMetadata(ctx context.Context, config *rest.Config, namespace string) {
	client, err := metadata.NewForConfig(config)
	check(err, "metadata client")
	maps := client.Resource(configMaps).Namespace(namespace)
	got, err := maps.Get(ctx, "page-0", metav1.GetOptions{})
	check(err, "metadata get")
	expect(got.Labels["of"] == "crud", "metadata", got)
	list, err := maps.List(ctx, metav1.ListOptions{Limit: 2})
	check(err, "metadata list")
	expect(len(list.Items) == 2 && list.Continue != "", "metadata list", list)
	got, err = maps.Patch(ctx, "page-0", types.MergePatchType, []byte(`{"metadata":{"annotations":{"n":"1"}}}`), metav1.PatchOptions{})
	check(err, "metadata patch")
	expect(got.Annotations["n"] == "1", "metadata patch", got)
}

func crud(ctx context.Context, config *rest.Config, namespace string) {
	client, err := dynamic.NewForConfig(config)
	check(err, "dynamic client")
	maps := client.Resource(configMaps).Namespace(namespace)
	changes(ctx, maps)
	lists(ctx, maps)
	onlyMetadata(ctx, config, namespace)
	watches(ctx, maps)
}
