package main

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The content types of the answers about objects of the namespace, and of the bodies that were sent for them. Discovery,
// which is JSON, is not among them.
type contentTypes struct {
	next      http.RoundTripper
	namespace string
	lock      sync.Mutex
	others    []string
	count     int
}

const protobufType = "application/vnd.kubernetes.protobuf"

func (t *contentTypes) note(request *http.Request, found string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.count++
	if !strings.HasPrefix(found, protobufType) {
		t.others = append(t.others, fmt.Sprintf("%s %s: %s", request.Method, request.URL, found))
	}
}

func (t *contentTypes) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(request)
	if err != nil || !strings.Contains(request.URL.Path, "/namespaces/"+t.namespace+"/") {
		return answer, err
	}
	// Patches are JSON whatever the client speaks.
	if request.Body != nil && request.Method != http.MethodPatch {
		t.note(request, request.Header.Get("Content-Type"))
	}
	t.note(request, answer.Header.Get("Content-Type"))
	return answer, nil
}

// A client as programs make one, and what it sent and was answered.
func newClient(restConfig *rest.Config, namespace string) (client.WithWatch, *contentTypes) {
	restConfig = rest.CopyConfig(restConfig)
	seen := &contentTypes{namespace: namespace}
	restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	})
	made, err := client.NewWithWatch(restConfig, client.Options{})
	check(err, "client")
	return made, seen
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"of": "verbs", "name": name},
		Annotations: map[string]string{"note": "é \"\u2028<"}}
}

func newConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: named(namespace, name), Data: map[string]string{"k": "v", "other": "1"}}
}

func newPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named(namespace, name), Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "c", Image: "registry.example/c:1", Env: []corev1.EnvVar{{Name: "E", Value: "1"}}}}}}
}

func newDeployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: named(namespace, name), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"of": "verbs"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"of": "verbs"}}, Spec: newPod("", "").Spec}}}
}

func newLease(namespace, name string) *coordinationv1.Lease {
	holder, now := "me", metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
	return &coordinationv1.Lease{ObjectMeta: named(namespace, name),
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &now}}
}

// Create writes what was stored into the object; Get then reads the same.
func creates(ctx context.Context, c client.Client, made client.Object) {
	again := made.DeepCopyObject().(client.Object)
	tried := made.DeepCopyObject().(client.Object)
	check(c.Create(ctx, tried, client.DryRunAll), "dry run")
	err := c.Get(ctx, client.ObjectKeyFromObject(made), tried)
	expect(apierrors.IsNotFound(err), "what was only tried", err)

	check(c.Create(ctx, made), "create")
	expect(made.GetUID() != "" && made.GetResourceVersion() != "", "what was created", made)
	err = c.Create(ctx, again)
	expect(apierrors.IsAlreadyExists(err), "the second create", err)
	check(c.Get(ctx, client.ObjectKeyFromObject(made), again), "get")
	expect(reflect.DeepEqual(again, made), fmt.Sprintf("get of %v", made), again)
}

func updates(ctx context.Context, c client.Client, object client.Object) {
	old := object.DeepCopyObject().(client.Object)
	object.SetLabels(map[string]string{"of": "verbs", "name": object.GetName(), "updated": "1"})
	check(c.Update(ctx, object), "update")
	expect(object.GetResourceVersion() != old.GetResourceVersion(), "the version after an update", object)
	expect(object.GetLabels()["updated"] == "1", "labels after an update", object.GetLabels())
	err := c.Update(ctx, old.DeepCopyObject().(client.Object))
	expect(apierrors.IsConflict(err), "an update of an old version", err)

	changed := old.DeepCopyObject().(client.Object)
	changed.SetAnnotations(map[string]string{"patched": "1"})
	err = c.Patch(ctx, changed, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
	expect(apierrors.IsConflict(err), "a patch of an old version", err)
	changed = object.DeepCopyObject().(client.Object)
	changed.SetAnnotations(map[string]string{"patched": "1"})
	check(c.Patch(ctx, changed, client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})), "patch")
	expect(reflect.DeepEqual(changed.GetAnnotations(), map[string]string{"patched": "1"}), "the patch", changed.GetAnnotations())
	check(c.Get(ctx, client.ObjectKeyFromObject(object), object), "get")
	expect(reflect.DeepEqual(object, changed), fmt.Sprintf("get of %v", changed), object)
}

func patches(ctx context.Context, c client.Client, configMap *corev1.ConfigMap, deployment *appsv1.Deployment) {
	old := configMap.DeepCopy()
	delete(configMap.Data, "other")
	configMap.Data["merged"] = "1"
	check(c.Patch(ctx, configMap, client.MergeFrom(old)), "merge patch")
	expect(reflect.DeepEqual(configMap.Data, map[string]string{"k": "v", "merged": "1"}), "the merge patch", configMap.Data)
	check(c.Patch(ctx, configMap, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/data/merged"}]`))), "JSON patch")
	expect(reflect.DeepEqual(configMap.Data, map[string]string{"k": "v"}), "the JSON patch", configMap.Data)

	// The server merges both lists by name: containers, and the first container's variables.
	before, first := deployment.DeepCopy(), &deployment.Spec.Template.Spec.Containers[0]
	first.Env = append(first.Env, corev1.EnvVar{Name: "F", Value: "2"})
	deployment.Spec.Template.Spec.Containers = append(deployment.Spec.Template.Spec.Containers,
		corev1.Container{Name: "second", Image: "registry.example/second:1"})
	check(c.Patch(ctx, deployment, client.StrategicMergeFrom(before)), "strategic merge patch")
	containers := deployment.Spec.Template.Spec.Containers
	expect(len(containers) == 2 && len(containers[0].Env) == 2, "the strategic merge patch", containers)
	expect(containers[1].TerminationMessagePath != "", "the defaults of the second container", containers[1])
	expect(deployment.Generation == before.Generation+1, "the generation", deployment.Generation)
	before = deployment.DeepCopy()
	deployment.Spec.Template.Spec.Containers = containers[:1]
	check(c.Patch(ctx, deployment, client.StrategicMergeFrom(before)), "strategic merge patch that deletes")
	expect(len(deployment.Spec.Template.Spec.Containers) == 1, "what is left", deployment.Spec.Template.Spec.Containers)
}

func subresources(ctx context.Context, c client.Client, pod *corev1.Pod, deployment *appsv1.Deployment) {
	generation, image := deployment.Generation, deployment.Spec.Template.Spec.Containers[0].Image
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: generation, Replicas: 3}
	deployment.Spec.Template.Spec.Containers[0].Image = "registry.example/ignored:1"
	check(c.Status().Update(ctx, deployment), "status update")
	expect(deployment.Status.Replicas == 3 && deployment.Generation == generation, "the status", deployment.Status)
	expect(deployment.Spec.Template.Spec.Containers[0].Image == image, "the image after a status update", deployment.Spec)

	// Without its status the object is written back as it was: an update leaves the status alone.
	deployment.Status = appsv1.DeploymentStatus{}
	check(c.Update(ctx, deployment), "update")
	expect(deployment.Status.Replicas == 3, "the status after an update", deployment.Status)

	scale := &autoscalingv1.Scale{}
	check(c.SubResource("scale").Get(ctx, deployment, scale), "get of scale")
	scale.Spec.Replicas = 7
	check(c.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale)), "update of scale")
	check(c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment), "get")
	expect(*deployment.Spec.Replicas == 7, "the replicas", *deployment.Spec.Replicas)

	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	check(c.SubResource("binding").Create(ctx, pod, binding), "create of a binding")
	check(c.Get(ctx, client.ObjectKeyFromObject(pod), pod), "get")
	expect(pod.Spec.NodeName == "node", "the node", pod.Spec.NodeName)
	// The server merges conditions by type: the binding's stays.
	old := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	check(c.Status().Patch(ctx, pod, client.StrategicMergeFrom(old)), "status patch")
	expect(pod.Status.Phase == corev1.PodRunning && len(pod.Status.Conditions) == 2, "the status", pod.Status)
}

func lists(ctx context.Context, c client.Client, namespace string) {
	for i := range 5 {
		check(c.Create(ctx, newConfigMap(namespace, fmt.Sprintf("page-%d", i))), "create")
	}
	in := client.InNamespace(namespace)
	without, err := labels.Parse("of=verbs,name notin (page-0,page-1),!updated")
	check(err, "selector")
	counts := []struct {
		count   int
		options []client.ListOption
	}{
		{6, []client.ListOption{in, client.MatchingLabels{"of": "verbs"}}},
		{1, []client.ListOption{in, client.MatchingLabels{"of": "verbs", "name": "page-3"}}},
		{1, []client.ListOption{in, client.HasLabels{"updated"}}},
		{3, []client.ListOption{in, client.MatchingLabelsSelector{Selector: without}}},
		{1, []client.ListOption{in, client.MatchingFields{"metadata.name": "page-2"}}},
		{1, []client.ListOption{client.MatchingFields{"metadata.namespace": namespace, "metadata.name": "page-2"}}},
		{0, []client.ListOption{in, client.MatchingFields{"metadata.name": "page-2"}, client.HasLabels{"updated"}}},
	}
	for i, each := range counts {
		list := &corev1.ConfigMapList{}
		check(c.List(ctx, list, each.options...), "list")
		expect(len(list.Items) == each.count && list.ResourceVersion != "", fmt.Sprintf("list %d", i), list)
	}
	seen, list := 0, &corev1.ConfigMapList{}
	for more := true; more; more = list.Continue != "" {
		check(c.List(ctx, list, in, client.HasLabels{"of"}, client.Limit(4), client.Continue(list.Continue)), "list")
		seen += len(list.Items)
	}
	expect(seen == 6, "the pages", seen)

	pods := &corev1.PodList{}
	check(c.List(ctx, pods, in, client.MatchingFields{"spec.nodeName": "node", "status.phase": "Running"}), "list of pods")
	expect(len(pods.Items) == 1 && pods.Items[0].Name == "pod", "the pods of a node", pods)
	check(c.List(ctx, pods, in, client.MatchingFields{"spec.nodeName": "other"}), "list of pods")
	expect(len(pods.Items) == 0, "the pods of another node", pods)
}

// The other forms of the same client: unstructured objects, which are JSON, and metadata alone.
func otherForms(ctx context.Context, c client.Client, namespace string) {
	key := client.ObjectKey{Namespace: namespace, Name: "page-0"}
	typed, whole, metadata := &corev1.ConfigMap{}, unstructuredConfigMap(), partialConfigMap()
	check(c.Get(ctx, key, whole), "unstructured get")
	value, _, _ := unstructured.NestedString(whole.Object, "data", "k")
	expect(value == "v", "unstructured data", whole)
	check(unstructured.SetNestedField(whole.Object, "w", "data", "k"), "set")
	check(c.Update(ctx, whole), "unstructured update")
	check(c.Get(ctx, key, typed), "get")
	expect(typed.Data["k"] == "w" && typed.ResourceVersion == whole.GetResourceVersion(), "the unstructured update", typed)

	check(c.Get(ctx, key, metadata), "metadata get")
	expect(reflect.DeepEqual(metadata.ObjectMeta, typed.ObjectMeta), "metadata", metadata)
	old := metadata.DeepCopy()
	metadata.Annotations["patched"] = "1"
	check(c.Patch(ctx, metadata, client.MergeFrom(old)), "metadata patch")
	check(c.Get(ctx, key, typed), "get")
	expect(reflect.DeepEqual(metadata.ObjectMeta, typed.ObjectMeta) && typed.Annotations["patched"] == "1", "the metadata patch", typed)
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	check(c.List(ctx, list, client.InNamespace(namespace), client.HasLabels{"of"}), "metadata list")
	expect(len(list.Items) == 6, "metadata list", list)
	wholes := &unstructured.UnstructuredList{}
	wholes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	check(c.List(ctx, wholes, client.InNamespace(namespace), client.HasLabels{"of"}), "unstructured list")
	expect(len(wholes.Items) == 6, "unstructured list", wholes)
}

func deletes(ctx context.Context, c client.WithWatch, configMap *corev1.ConfigMap, others ...client.Object) {
	in := client.InNamespace(configMap.Namespace)
	list := &corev1.ConfigMapList{}
	check(c.List(ctx, list, in), "list")
	changes, err := c.Watch(ctx, &corev1.ConfigMapList{}, in, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	check(err, "watch")
	defer changes.Stop()

	wrong := types.UID("no-such-uid")
	err = c.Delete(ctx, configMap, client.Preconditions{UID: &wrong})
	expect(apierrors.IsConflict(err), "a delete of another uid", err)
	check(c.Delete(ctx, configMap, client.Preconditions{UID: &configMap.UID}), "delete")
	event := <-changes.ResultChan()
	gone, ok := event.Object.(*corev1.ConfigMap)
	expect(ok && event.Type == watch.Deleted && gone.UID == configMap.UID, "the event of a delete", event)
	err = c.Delete(ctx, configMap)
	expect(apierrors.IsNotFound(err), "the second delete", err)

	check(c.DeleteAllOf(ctx, &corev1.ConfigMap{}, in, client.MatchingLabels{"name": "page-1"}), "delete of one name")
	check(c.List(ctx, list, in, client.HasLabels{"of"}), "list")
	expect(len(list.Items) == 4, "what is left", list)
	check(c.DeleteAllOf(ctx, &corev1.ConfigMap{}, in, client.HasLabels{"of"}), "delete of all")
	check(c.List(ctx, list, in, client.HasLabels{"of"}), "list")
	expect(len(list.Items) == 0, "what is left", list)
	for _, object := range others {
		check(c.DeleteAllOf(ctx, object, in, client.MatchingLabels{"of": "verbs"}, client.GracePeriodSeconds(0)), "delete of all")
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		expect(apierrors.IsNotFound(err), "what was deleted", err)
	}
}

func verbs(ctx context.Context, restConfig *rest.Config, namespace string) {
	c, seen := newClient(restConfig, namespace)
	configMap, pod := newConfigMap(namespace, "map"), newPod(namespace, "pod")
	deployment, lease := newDeployment(namespace, "deployment"), newLease(namespace, "lease")
	for _, object := range []client.Object{configMap, pod, deployment, lease} {
		creates(ctx, c, object)
		updates(ctx, c, object)
	}
	renewed := metav1.NewMicroTime(lease.Spec.RenewTime.Add(time.Millisecond))
	lease.Spec.RenewTime = &renewed
	check(c.Update(ctx, lease), "renew")
	expect(lease.Spec.RenewTime.Equal(&renewed), "the time of the lease", lease.Spec.RenewTime)
	patches(ctx, c, configMap, deployment)
	subresources(ctx, c, pod, deployment)
	lists(ctx, c, namespace)
	deletes(ctx, c, configMap, pod, deployment, lease)
	expect(len(seen.others) == 0 && seen.count > 0, "bodies and answers in protobuf alone", seen.others)

	c, _ = newClient(restConfig, namespace)
	check(c.Create(ctx, newConfigMap(namespace, "map")), "create")
	for i := range 5 {
		check(c.Create(ctx, newConfigMap(namespace, fmt.Sprintf("page-%d", i))), "create")
	}
	otherForms(ctx, c, namespace)
	check(c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace)), "delete of all")
}
