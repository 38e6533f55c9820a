// Upstream's own readers of OpenAPI documents, each over all documents of a server. Prints TAP.
//
//	openapi FOLDER
//
// The folder has v2.json and v2.pb, and in v3/ a .json and a .pb for each document; objects.json is a list of objects that the
// server has answered with.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// What the server has sent.
type documents struct {
	v2     []byte
	v2pb   *openapi_v2.Document
	v3     map[string][]byte
	v3pb   map[string]*openapi_v3.Document
	spec2  *spec.Swagger
	spec3  map[string]*spec3.OpenAPI
	all    map[string]*spec.Schema // of all documents of version 3
	object []map[string]any
}

func must(err error) {
	if err != nil {
		fmt.Println("Bail out!", err)
		os.Exit(1)
	}
}

func read(path string) []byte {
	bytes, err := os.ReadFile(path)
	must(err)
	return bytes
}

func load(folder string) *documents {
	d := &documents{v3: map[string][]byte{}, v3pb: map[string]*openapi_v3.Document{}, spec3: map[string]*spec3.OpenAPI{},
		all: map[string]*spec.Schema{}, v2pb: &openapi_v2.Document{}, spec2: &spec.Swagger{}}
	d.v2 = read(filepath.Join(folder, "v2.json"))
	must(utiljson.Unmarshal(read(filepath.Join(folder, "objects.json")), &d.object)) // Whole numbers are int64.
	must(json.Unmarshal(d.v2, d.spec2))
	must(proto.Unmarshal(read(filepath.Join(folder, "v2.pb")), d.v2pb))
	paths, err := filepath.Glob(filepath.Join(folder, "v3", "*.json"))
	must(err)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		d.v3[name] = read(path)
		d.spec3[name] = &spec3.OpenAPI{}
		must(json.Unmarshal(d.v3[name], d.spec3[name]))
		d.v3pb[name] = &openapi_v3.Document{}
		must(proto.Unmarshal(read(strings.TrimSuffix(path, ".json")+".pb"), d.v3pb[name]))
		if d.spec3[name].Components == nil {
			continue
		}
		for key, schema := range d.spec3[name].Components.Schemas {
			d.all[key] = schema
		}
	}
	return d
}

// same says whether two JSON texts have the same values, and where they first differ.
func same(a, b []byte) error {
	var left, right any
	if err := json.Unmarshal(a, &left); err != nil {
		return err
	}
	if err := json.Unmarshal(b, &right); err != nil {
		return err
	}
	return differ("", left, right)
}

func differ(path string, a, b any) error {
	left, isMap := a.(map[string]any)
	right, areMaps := b.(map[string]any)
	if !isMap || !areMaps {
		if !reflect.DeepEqual(a, b) {
			return fmt.Errorf("%s: %.200v is %.200v", path, a, b)
		}
		return nil
	}
	keys := map[string]bool{}
	for key := range left {
		keys[key] = true
	}
	for key := range right {
		keys[key] = true
	}
	sorted := make([]string, 0, len(keys))
	for key := range keys {
		sorted = append(sorted, key)
	}
	sort.Strings(sorted)
	for _, key := range sorted {
		if err := differ(path+"/"+key, left[key], right[key]); err != nil {
			return err
		}
	}
	return nil
}

// A check returns how much it has seen, in words.
type check struct {
	name string
	run  func(d *documents) (string, error)
}

func main() {
	d, failed := load(os.Args[1]), false
	for i, check := range checks {
		seen, err := check.run(d)
		if err != nil {
			failed = true
			fmt.Printf("not ok %d - %s\n# %v\n", i+1, check.name, err)
			continue
		}
		fmt.Printf("ok %d - %s\n# %s\n", i+1, check.name, seen)
	}
	fmt.Printf("1..%d\n", len(checks))
	if failed {
		os.Exit(1)
	}
}
