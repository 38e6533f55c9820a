package main

import (
	"context"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	watchtools "k8s.io/client-go/tools/watch"
)

const buoysName = "buoys.client-go.example.com"

var buoys = schema.GroupVersionResource{Group: "client-go.example.com", Version: "v1", Resource: "buoys"}

func buoysDefinition() *apiextensionsv1.CustomResourceDefinition {
	one := 1.0
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"depth"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"depth":  {Type: "integer", Minimum: &one},
		"colour": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"red"`)}},
	}}
	status := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"seen": {Type: "boolean"}}}
	whole := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": status}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: buoysName},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: buoys.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: buoys.Resource, Kind: "Buoy"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: whole},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// Waits for a change of the definition after a resourceVersion, or for the definition as it is when that is "".
func definitionOnce(ctx context.Context, definitions apiextensions.CustomResourceDefinitionInterface, after string, wanted watchtools.ConditionFunc) {
	stream, err := definitions.Watch(ctx, metav1.ListOptions{ResourceVersion: after,
		FieldSelector: fields.OneTermEqualSelector("metadata.name", buoysName).String()})
	check(err, "watch of the definition")
	_, err = watchtools.UntilWithoutRetry(ctx, stream, wanted)
	check(err, "the definition")
}

func isEstablished(event watch.Event) (bool, error) {
	for _, condition := range event.Object.(*apiextensionsv1.CustomResourceDefinition).Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue, nil
		}
	}
	return false, nil
}

func buoy(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": buoys.GroupVersion().String(), "kind": "Buoy", "metadata": map[string]any{"name": name}, "spec": spec}}
}

// The verbs on objects of a kind that has been defined a moment ago.
func useBuoys(ctx context.Context, objects dynamic.ResourceInterface) {
	made, err := objects.Create(ctx, buoy("a", map[string]any{"depth": int64(3), "shape": "cone"}), metav1.CreateOptions{})
	check(err, "create")
	expect(reflect.DeepEqual(made.Object["spec"], map[string]any{"depth": int64(3), "colour": "red"}), "the buoy", made.Object)
	_, err = objects.Create(ctx, buoy("b", map[string]any{"depth": int64(0)}), metav1.CreateOptions{})
	expect(apierrors.IsInvalid(err), "a buoy without a depth", err)
	_, err = objects.Create(ctx, buoy("b", map[string]any{"depth": int64(1), "shape": "cone"}),
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	expect(apierrors.IsBadRequest(err), "a shape, strictly", err)
	_, err = objects.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"spec":{"depth":4}}`), metav1.PatchOptions{})
	expect(apierrors.IsUnsupportedMediaType(err), "a strategic merge patch", err)
	patched, err := objects.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"depth":4}}`), metav1.PatchOptions{})
	check(err, "patch")
	expect(patched.GetGeneration() == 2, "the generation", patched.GetGeneration())

	check(unstructured.SetNestedField(patched.Object, true, "status", "seen"), "set")
	shown, err := objects.UpdateStatus(ctx, patched, metav1.UpdateOptions{})
	check(err, "status update")
	expect(reflect.DeepEqual(shown.Object["status"], map[string]any{"seen": true}) && shown.GetGeneration() == 2, "the status", shown.Object)
	list, err := objects.List(ctx, metav1.ListOptions{})
	check(err, "list")
	expect(list.GetKind() == "BuoyList" && len(list.Items) == 1 && reflect.DeepEqual(list.Items[0], *shown), "the list", list)
}

// A definition by the typed client of apiextensions-apiserver: created, awaited, used, changed and deleted with an object
// of its kind.
func custom(ctx context.Context, config *rest.Config, namespace string) {
	client, err := apiextensions.NewForConfig(config)
	check(err, "client of apiextensions")
	definitions := client.CustomResourceDefinitions()
	dynamicClient, err := dynamic.NewForConfig(config)
	check(err, "dynamic client")
	objects := dynamicClient.Resource(buoys).Namespace(namespace)

	made, err := definitions.Create(ctx, buoysDefinition(), metav1.CreateOptions{})
	check(err, "create")
	expect(made.Spec.Names.ListKind == "BuoyList" && made.Spec.Conversion.Strategy == apiextensionsv1.NoneConverter, "defaults", made.Spec)
	_, err = definitions.Create(ctx, buoysDefinition(), metav1.CreateOptions{})
	expect(apierrors.IsAlreadyExists(err), "the second create", err)
	definitionOnce(ctx, definitions, "", isEstablished)
	// At kube-apiserver discovery follows.
	known := discovery.NewDiscoveryClientForConfigOrDie(config)
	found, err := known.ServerResourcesForGroupVersion(buoys.GroupVersion().String())
	for apierrors.IsNotFound(err) && ctx.Err() == nil {
		found, err = known.ServerResourcesForGroupVersion(buoys.GroupVersion().String())
	}
	check(err, "discovery")
	expect(len(found.APIResources) == 2 && found.APIResources[0].Kind == "Buoy" && found.APIResources[1].Name == "buoys/status", "discovery", found)
	useBuoys(ctx, objects)

	_, err = definitions.Update(ctx, made, metav1.UpdateOptions{})
	expect(apierrors.IsConflict(err), "an update of an old version", err)
	current, err := definitions.Get(ctx, buoysName, metav1.GetOptions{})
	check(err, "get")
	expect(reflect.DeepEqual(current.Spec, made.Spec) && reflect.DeepEqual(current.Status.StoredVersions, []string{"v1"}), "the definition", current)
	current.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["shape"] = apiextensionsv1.JSONSchemaProps{Type: "string",
		Default: &apiextensionsv1.JSON{Raw: []byte(`"ball"`)}}
	current, err = definitions.Update(ctx, current, metav1.UpdateOptions{})
	check(err, "update")
	expect(current.Generation == 2, "the generation", current.Generation)
	// kube-apiserver serves the change some time after it was accepted.
	for {
		got, err := objects.Get(ctx, "a", metav1.GetOptions{})
		check(err, "get")
		if shape, _, _ := unstructured.NestedString(got.Object, "spec", "shape"); shape == "ball" {
			break
		}
	}

	current, err = definitions.Get(ctx, buoysName, metav1.GetOptions{})
	check(err, "get")
	check(definitions.Delete(ctx, buoysName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &current.UID}}), "delete")
	definitionOnce(ctx, definitions, current.ResourceVersion, func(event watch.Event) (bool, error) { return event.Type == watch.Deleted, nil })
	// kube-apiserver serves what is no longer defined for a moment.
	for err = nil; err == nil; {
		_, err = objects.List(ctx, metav1.ListOptions{})
	}
	expect(apierrors.IsNotFound(err), "a list of what is no longer defined", err)
}
