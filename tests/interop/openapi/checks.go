package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/util/proto"
	prototest "k8s.io/kube-openapi/pkg/util/proto/validation"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

var checks = []check{
	{"validation-spec-reads-every-member-of-version-2", readVersion2},
	{"spec3-reads-every-member-of-version-3", readVersion3},
	{"the-protobuf-of-version-2-is-its-JSON", protobufVersion2},
	{"openapiconv-makes-version-3-of-version-2", convertVersion2},
	{"aggregator-filters-and-merges-version-2", aggregateVersion2},
	{"util-proto-has-a-model-for-each-definition-of-version-2", modelsVersion2},
	{"util-proto-has-a-model-for-each-schema-of-version-3", modelsVersion3},
	{"util-proto-validation-accepts-what-the-server-sends", validateModels},
	{"validation-validate-accepts-what-the-server-sends", validateSchemas},
	{"schemaconv-of-version-2-has-types-that-structured-merge-diff-parses", typesVersion2},
	{"schemaconv-of-version-3-has-types-that-structured-merge-diff-parses", typesVersion3},
	{"managedfields-reads-what-the-server-sends", typedObjects},
}

func readVersion2(d *documents) (string, error) {
	written, err := json.Marshal(d.spec2)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d definitions, %d paths", len(d.spec2.Definitions), len(d.spec2.Paths.Paths)), same(d.v2, written)
}

func readVersion3(d *documents) (string, error) {
	paths := 0
	for name, document := range d.spec3 {
		written, err := json.Marshal(document)
		if err == nil {
			err = same(d.v3[name], written)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		paths += len(document.Paths.Paths)
	}
	return fmt.Sprintf("%d documents, %d schemas, %d paths", len(d.spec3), len(d.all), paths), nil
}

func protobufVersion2(d *documents) (string, error) {
	swagger := &spec.Swagger{}
	whole, err := swagger.FromGnostic(d.v2pb)
	if err != nil {
		return "", err
	}
	if !whole {
		return "", errors.New("not all of the document was converted")
	}
	written, err := json.Marshal(swagger)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d definitions", len(swagger.Definitions)), same(d.v2, written)
}

// The identifiers of all operations of a document.
func operations(document *spec3.OpenAPI, into map[string]bool) {
	for _, path := range document.Paths.Paths {
		for _, op := range []*spec3.Operation{path.Get, path.Put, path.Post, path.Delete, path.Options, path.Head, path.Patch, path.Trace} {
			if op != nil {
				into[op.OperationId] = true
			}
		}
	}
}

func convertVersion2(d *documents) (string, error) {
	converted := openapiconv.ConvertV2ToV3(d.spec2)
	made, served := map[string]bool{}, map[string]bool{}
	operations(converted, made)
	for _, document := range d.spec3 {
		operations(document, served)
	}
	if len(made) == 0 || len(made) != len(served) {
		return "", fmt.Errorf("%d operations were converted, %d are served", len(made), len(served))
	}
	for id := range served {
		if !made[id] {
			return "", fmt.Errorf("version 2 has no operation %s", id)
		}
	}
	for name := range d.all {
		if converted.Components.Schemas[name] == nil {
			return "", fmt.Errorf("version 2 has no definition %s", name)
		}
	}
	return fmt.Sprintf("%d operations, %d schemas", len(made), len(converted.Components.Schemas)), nil
}

// What kube-aggregator does with the documents of the servers behind it.
func aggregateVersion2(d *documents) (string, error) {
	apps := aggregator.FilterSpecByPathsWithoutSideEffects(d.spec2, []string{"/apis/apps/"})
	rest := aggregator.FilterSpecByPathsWithoutSideEffects(d.spec2, []string{"/api/", "/apis/batch/"})
	if apps.Definitions["io.k8s.api.core.v1.PodSpec"].Type == nil || apps.Definitions["io.k8s.api.batch.v1.Job"].Type != nil {
		return "", errors.New("the definitions of a part are not those that it refers to")
	}
	if err := aggregator.MergeSpecs(rest, apps); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d definitions, %d paths of three parts", len(rest.Definitions), len(rest.Paths.Paths)), nil
}

func checkModels(models proto.Models, names int) error {
	if got := len(models.ListModels()); got != names || got == 0 {
		return fmt.Errorf("%d models of %d schemas", got, names)
	}
	return nil
}

func modelsVersion2(d *documents) (string, error) {
	models, err := proto.NewOpenAPIData(d.v2pb)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d models", len(models.ListModels())), checkModels(models, len(d.spec2.Definitions))
}

func modelsVersion3(d *documents) (string, error) {
	n := 0
	for name, document := range d.v3pb {
		models, err := proto.NewOpenAPIV3Data(document)
		if err == nil {
			err = checkModels(models, len(d.spec3[name].Components.Schemas))
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		n += len(models.ListModels())
	}
	return fmt.Sprintf("%d models of %d documents", n, len(d.v3pb)), nil
}

// The group, version and kind of an object, as text.
func kindOf(object map[string]any) string {
	return fmt.Sprint(object["apiVersion"], " ", object["kind"])
}

// The names of schemas by the kinds that they are for.
func kinds(schemas map[string]*spec.Schema) map[string]string {
	out := map[string]string{}
	for name, schema := range schemas {
		list, _ := schema.Extensions["x-kubernetes-group-version-kind"].([]any)
		for _, entry := range list {
			gvk := entry.(map[string]any)
			version := strings.TrimPrefix(fmt.Sprint(gvk["group"], "/", gvk["version"]), "/")
			out[fmt.Sprint(version, " ", gvk["kind"])] = name
		}
	}
	return out
}

// Calls check with each object and the name of its schema, and again with a member that no kind has, which must fail when
// isStrict.
func eachObject(d *documents, isStrict bool, check func(name string, object map[string]any) error) (string, error) {
	names, seen := kinds(d.all), map[string]bool{}
	for _, object := range d.object {
		kind := kindOf(object)
		name := names[kind]
		if name == "" {
			return "", fmt.Errorf("no schema has the kind %s", kind)
		}
		if err := check(name, object); err != nil {
			return "", fmt.Errorf("%s: %w", kind, err)
		}
		object["nonsense"] = true
		err := check(name, object)
		delete(object, "nonsense")
		if isStrict && err == nil {
			return "", fmt.Errorf("%s: a member that the kind does not have was accepted", kind)
		}
		seen[kind] = true
	}
	if len(seen) == 0 {
		return "", errors.New("there are no objects")
	}
	return fmt.Sprintf("%d objects of %d kinds", len(d.object), len(seen)), nil
}

// How old kubectl validates.
func validateModels(d *documents) (string, error) {
	models, err := proto.NewOpenAPIData(d.v2pb)
	if err != nil {
		return "", err
	}
	return eachObject(d, true, func(name string, object map[string]any) error {
		return errors.Join(prototest.ValidateModel(object, models.LookupModel(name), name)...)
	})
}

// Puts schemas in the place of references, but not below themselves.
func resolved(d *documents, schema *spec.Schema, above map[string]bool) *spec.Schema {
	if ref := schema.Ref.String(); ref != "" {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		if above[name] || d.all[name] == nil {
			return &spec.Schema{}
		}
		above[name] = true
		defer delete(above, name)
		return resolved(d, d.all[name], above)
	}
	out := *schema
	if out.Format == "int-or-string" {
		out.Format = "" // The validator takes it for the format of a text; the schema has oneOf beside it.
	}
	out.Properties = map[string]spec.Schema{}
	for name, property := range schema.Properties {
		out.Properties[name] = *resolved(d, &property, above)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		out.Items = &spec.SchemaOrArray{Schema: resolved(d, schema.Items.Schema, above)}
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: resolved(d, schema.AdditionalProperties.Schema, above)}
	}
	out.AllOf = nil
	for i := range schema.AllOf {
		out.AllOf = append(out.AllOf, *resolved(d, &schema.AllOf[i], above))
	}
	return &out
}

// The value without null members: Go writes an empty list as null, which a schema does not allow, kube-apiserver's likewise.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range value {
			if member != nil {
				out[key] = withoutNulls(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			out[i] = withoutNulls(element)
		}
		return out
	}
	return value
}

func validateSchemas(d *documents) (string, error) {
	validators := map[string]*validate.SchemaValidator{}
	return eachObject(d, false, func(name string, object map[string]any) error {
		if validators[name] == nil {
			validators[name] = validate.NewSchemaValidator(resolved(d, d.all[name], map[string]bool{}), nil, "", strfmt.Default)
		}
		return errors.Join(validators[name].Validate(withoutNulls(object)).Errors...)
	})
}

// Every type, and everything that it refers to, must be one that the parser finds.
func checkTypes(types *smd.Schema) (int, error) {
	parser := &typed.Parser{Schema: *types}
	for i := range types.Types {
		name := types.Types[i].Name
		if !parser.Type(name).IsValid() {
			return 0, fmt.Errorf("the type %s cannot be used", name)
		}
		for _, ref := range references(&types.Types[i].Atom) {
			if _, found := parser.Schema.Resolve(ref); !found {
				return 0, fmt.Errorf("%s refers to a type that is not there", name)
			}
		}
	}
	return len(types.Types), nil
}

func references(atom *smd.Atom) []smd.TypeRef {
	var out []smd.TypeRef
	if atom.List != nil {
		out = append(out, atom.List.ElementType)
	}
	if atom.Map != nil {
		for _, field := range atom.Map.Fields {
			out = append(out, field.Type)
		}
		if element := atom.Map.ElementType; element.NamedType != nil || element.Inlined != (smd.Atom{}) {
			out = append(out, element)
		}
	}
	for _, ref := range append([]smd.TypeRef{}, out...) {
		out = append(out, references(&ref.Inlined)...)
	}
	return out
}

func typesVersion2(d *documents) (string, error) {
	models, err := proto.NewOpenAPIData(d.v2pb)
	if err != nil {
		return "", err
	}
	types, err := schemaconv.ToSchema(models)
	if err != nil {
		return "", err
	}
	n, err := checkTypes(types)
	return fmt.Sprintf("%d types", n), err
}

func typesVersion3(d *documents) (string, error) {
	n := 0
	for name, document := range d.spec3 {
		types, err := schemaconv.ToSchemaFromOpenAPI(document.Components.Schemas, false)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		found, err := checkTypes(types)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		n += found
	}
	return fmt.Sprintf("%d types of %d documents", n, len(d.spec3)), nil
}

// How server-side apply and its client-side helpers read objects.
func typedObjects(d *documents) (string, error) {
	converter, err := managedfields.NewTypeConverter(d.all, false)
	if err != nil {
		return "", err
	}
	return eachObject(d, true, func(_ string, object map[string]any) error {
		value, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: object})
		if err == nil {
			_, err = value.ToFieldSet()
		}
		return err
	})
}
