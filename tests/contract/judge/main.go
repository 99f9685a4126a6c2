// Judge tells what a Kubernetes API server would refuse, by the server's own code.
//
// It reads a stream of YAML or JSON documents. A CustomResourceDefinition is judged by itself, and
// every custom resource after it by the definition of its kind: unknown fields, types and limits,
// keys of lists, and rules in CEL. What is refused is printed, a line each, and ends with status 1.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	sigs "sigs.k8s.io/yaml"
)

// kind is what one version of a definition says about custom resources.
type kind struct {
	schema *structural.Structural
	types  validation.SchemaValidator
	rules  *cel.Validator
}

type judge struct {
	scheme *runtime.Scheme
	kinds  map[string]kind // by API version and kind
}

func main() {
	j := judge{runtime.NewScheme(), map[string]kind{}}
	install.Install(j.scheme)
	reader := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	refused, judged := 0, 0
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		var object map[string]interface{}
		if err := sigs.UnmarshalStrict(text, &object); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		if object == nil {
			continue // a document of comments alone
		}
		judged++
		for _, problem := range j.problems(text, object) {
			fmt.Println(problem)
			refused++
		}
	}
	fmt.Fprintf(os.Stderr, "judged %d\n", judged)
	if refused > 0 {
		os.Exit(1)
	}
}

func (j judge) problems(text []byte, object map[string]interface{}) []string {
	if object["kind"] == "CustomResourceDefinition" {
		return j.definition(text)
	}
	return j.resource(object)
}

// definition judges a definition, and remembers it for the resources that follow.
func (j judge) definition(text []byte) []string {
	given := &v1.CustomResourceDefinition{}
	if err := sigs.UnmarshalStrict(text, given); err != nil {
		return []string{err.Error()}
	}
	j.scheme.Default(given)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := j.scheme.Convert(given, internal, nil); err != nil {
		return []string{fmt.Sprintf("%s: %v", given.Name, err)}
	}
	var told []string
	for _, problem := range definitions.ValidateCustomResourceDefinition(context.Background(), internal) {
		told = append(told, fmt.Sprintf("%s: %v", given.Name, problem))
	}
	for _, version := range internal.Spec.Versions {
		known, err := compiled(internal, version)
		if err != nil {
			told = append(told, fmt.Sprintf("%s: %s: %v", given.Name, version.Name, err))
			continue
		}
		j.kinds[internal.Spec.Group+"/"+version.Name+" "+internal.Spec.Names.Kind] = known
	}
	return told
}

func compiled(
	definition *apiextensions.CustomResourceDefinition, version apiextensions.CustomResourceDefinitionVersion,
) (kind, error) {
	// A schema that all versions share stands beside them.
	schema := definition.Spec.Validation
	if schema == nil {
		schema = version.Schema
	}
	form, err := structural.NewStructural(schema.OpenAPIV3Schema)
	if err != nil {
		return kind{}, err
	}
	types, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
	if err != nil {
		return kind{}, err
	}
	return kind{form, types, cel.NewValidator(form, true, celconfig.PerCallLimit)}, nil
}

func (j judge) resource(object map[string]interface{}) []string {
	metadata, _ := object["metadata"].(map[string]interface{})
	who := fmt.Sprintf("%v %v", object["kind"], metadata["name"])
	known, found := j.kinds[fmt.Sprintf("%v %v", object["apiVersion"], object["kind"])]
	if !found {
		return []string{fmt.Sprintf("%s: no definition of %v was given", who, object["apiVersion"])}
	}
	var told []string
	unknown := pruning.PruneWithOptions(object, known.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		told = append(told, fmt.Sprintf("%s: %s: unknown field", who, path))
	}
	defaulting.Default(object, known.schema)
	errs := validation.ValidateCustomResource(nil, object, known.types)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, known.schema, object)...)
	if known.rules != nil {
		broken, _ := known.rules.Validate(
			context.Background(), nil, known.schema, object, nil, celconfig.RuntimeCELCostBudget,
		)
		errs = append(errs, broken...)
	}
	for _, problem := range errs {
		told = append(told, fmt.Sprintf("%s: %v", who, problem))
	}
	return told
}
