// Command openapigen is a plugin of protoc that describes the API for clients without protobuf: OpenAPI 3.1, one operation per call, as
// Connect's JSON has them. It must never say more than the schemas do: every word in what it writes is a comment of theirs.
//
// What may come with a minor version is left open: objects may have further properties, and an enum is a string.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// apiMinor is the number of the file option that holds the API's minor version.
const apiMinor = 57102

func main() {
	protogen.Options{}.Run(func(p *protogen.Plugin) error {
		p.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		d := &document{paths: object{}, schemas: object{}}
		for _, f := range p.Files {
			d.version(f)
		}
		for _, f := range p.Files {
			if f.Proto.GetPackage() == d.pkg {
				d.file(f)
			}
		}
		text, err := d.text()
		if err != nil {
			return err
		}
		_, err = p.NewGeneratedFile("openapi.json", "").Write(text)
		return err
	})
}

// An object is a JSON object; its keys are written in order, so that the same schemas give the same bytes.
type object map[string]any

type document struct {
	pkg, about     string // the package that says the API's version, and its comment
	major          string
	minor          uint64
	tags           []object
	paths, schemas object
}

func (d *document) text() ([]byte, error) {
	d.schemas["Error"] = object{
		"type":        "object",
		"description": "An error as Connect has it. The details say more for programs: base64 of the message that the type names.",
		"properties": object{
			"code":    object{"type": "string", "description": "Code of the call: invalid_argument, not_found, unavailable and so on."},
			"message": object{"type": "string", "description": "One sentence for people."},
			"details": object{"type": "array", "items": object{"type": "object", "properties": object{
				"type":  object{"type": "string", "examples": []string{"fletch.api.v1.ErrorDetail"}},
				"value": object{"type": "string", "contentEncoding": "base64"},
				"debug": object{"description": "The same as JSON, for reading."},
			}}},
		},
		"required": []string{"code"},
	}
	slices.SortFunc(d.tags, func(a, b object) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(object{
		"openapi": "3.1.0",
		"info":    object{"title": "Fletch", "version": fmt.Sprintf("%s.%d", d.major, d.minor), "description": d.about},
		"tags":    d.tags,
		"paths":   d.paths,
		"components": object{
			"schemas": d.schemas,
			"parameters": object{
				"Version": object{
					"name": "Fletch-Api-Version", "in": "header", "required": false,
					"description": "The API version that the client was written for. Without it the client is served as one of any version.",
					"schema":      object{"type": "string", "pattern": `^[0-9]+\.[0-9]+$`},
				},
			},
			"responses": object{
				"Error": object{"description": "The call failed.", "content": object{"application/json": object{"schema": ref("Error")}}},
			},
			"headers": object{
				"Version": object{"description": "The API version of the server.", "schema": object{"type": "string"}},
				"Minimum": object{"description": "The least API version of a client that the server serves.", "schema": object{"type": "string"}},
			},
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "Where the server was started with a token."}},
		},
		"security": []object{{}, {"token": []string{}}},
	})
	return b.Bytes(), err
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// version takes the API's version from the file that says it.
func (d *document) version(f *protogen.File) {
	n, ok := minorOf(f.Proto.GetOptions())
	if !ok {
		return
	}
	d.minor, d.pkg = n, f.Proto.GetPackage()
	d.major = d.pkg[strings.LastIndexByte(d.pkg, '.')+1:]
	d.major = strings.TrimPrefix(d.major, "v")
	for _, loc := range f.Proto.GetSourceCodeInfo().GetLocation() {
		if slices.Equal(loc.GetPath(), []int32{2}) { // of the package statement
			d.about = prose(protogen.Comments(loc.GetLeadingComments()))
		}
	}
}

func (d *document) file(f *protogen.File) {
	for _, s := range f.Services {
		d.tags = append(d.tags, object{"name": string(s.Desc.Name()), "description": prose(s.Comments.Leading)})
		for _, m := range s.Methods {
			d.method(s, m)
		}
	}
	for _, m := range f.Messages {
		d.message(m)
	}
	for _, e := range f.Enums {
		d.enum(e)
	}
}

// minorOf finds the API's minor version among a file's options. The plugin knows the option by its number only.
func minorOf(o *descriptorpb.FileOptions) (minor uint64, ok bool) {
	o.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Number() == apiMinor && f.Kind() == protoreflect.Uint32Kind {
			minor, ok = v.Uint(), true
		}
		return !ok
	})
	return minor, ok
}

func (d *document) method(s *protogen.Service, m *protogen.Method) {
	d.message(m.Input)
	d.message(m.Output)
	media := "application/json"
	about := prose(m.Comments.Leading)
	if m.Desc.IsStreamingServer() {
		media = "application/connect+json"
		about += "\n\nRequest and answers are framed: a byte of flags, four of the length, most significant first, then the JSON. Flag 2 marks the last answer, an object with the error, if there was one."
	}
	headers := object{"Fletch-Api-Version": object{"$ref": "#/components/headers/Version"}, "Fletch-Api-Minimum": object{"$ref": "#/components/headers/Minimum"}}
	operation := func(id string) object {
		return object{
			"tags": []string{string(s.Desc.Name())}, "operationId": id, "summary": firstSentence(about), "description": about,
			"parameters": []object{{"$ref": "#/components/parameters/Version"}},
			"responses": object{
				"200":     object{"description": prose(m.Output.Comments.Leading), "headers": headers, "content": object{media: object{"schema": ref(name(m.Output.Desc))}}},
				"default": object{"$ref": "#/components/responses/Error"},
			},
		}
	}
	id := string(s.Desc.Name()) + "." + string(m.Desc.Name())
	post := operation(id)
	post["requestBody"] = object{"required": true, "content": object{media: object{"schema": ref(name(m.Input.Desc))}}}
	item := object{"post": post}
	if options, ok := m.Desc.Options().(*descriptorpb.MethodOptions); ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
		get := operation(id + ".get")
		get["parameters"] = append(
			get["parameters"].([]object),
			object{"name": "encoding", "in": "query", "required": true, "schema": object{"type": "string", "const": "json"}},
			object{"name": "message", "in": "query", "required": true, "content": object{"application/json": object{"schema": ref(name(m.Input.Desc))}}},
		)
		item["get"] = get
	}
	d.paths[fmt.Sprintf("/%s/%s", s.Desc.FullName(), m.Desc.Name())] = item
}

// name is a message's or enum's name in the document: without the package, as all are of one.
func name(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), string(d.ParentFile().Package())+".")
}

func (d *document) message(m *protogen.Message) {
	n := name(m.Desc)
	if wellKnown(m.Desc) != nil || m.Desc.IsMapEntry() || d.schemas[n] != nil {
		return
	}
	properties := object{}
	schema := object{"type": "object", "description": prose(m.Comments.Leading), "properties": properties}
	d.schemas[n] = schema
	for _, f := range m.Fields {
		properties[f.Desc.JSONName()] = described(d.field(f), prose(f.Comments.Leading))
	}
	for _, o := range m.Oneofs {
		if o.Desc.IsSynthetic() {
			continue
		}
		var names []string
		for _, f := range o.Fields {
			names = append(names, f.Desc.JSONName())
		}
		schema["description"] = fmt.Sprintf("%s\n\nAt most one of %s is set. %s", schema["description"], strings.Join(names, ", "), prose(o.Comments.Leading))
	}
	for _, sub := range m.Messages {
		d.message(sub)
	}
	for _, e := range m.Enums {
		d.enum(e)
	}
}

// described is a schema with a comment; beside a reference one may stand.
func described(schema object, about string) object {
	if about != "" {
		schema["description"] = about
	}
	return schema
}

func (d *document) field(f *protogen.Field) object {
	switch {
	case f.Desc.IsMap():
		return object{"type": "object", "additionalProperties": d.value(f.Message.Fields[1])}
	case f.Desc.IsList():
		return object{"type": "array", "items": d.value(f)}
	}
	return d.value(f)
}

func (d *document) value(f *protogen.Field) object {
	switch f.Desc.Kind() {
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.StringKind:
		return object{"type": "string"}
	case protoreflect.BytesKind:
		return object{"type": "string", "contentEncoding": "base64"}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return object{"type": []string{"number", "string"}, "format": "double"}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return object{"type": "integer", "format": "int32"}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return object{"type": "integer", "minimum": 0}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return object{"type": "string", "format": "int64"}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return object{"type": "string", "format": "uint64"}
	case protoreflect.EnumKind:
		return ref(name(f.Enum.Desc))
	default:
		if known := wellKnown(f.Message.Desc); known != nil {
			return known
		}
		d.message(f.Message)
		return ref(name(f.Message.Desc))
	}
}

// wellKnown is the JSON of those of Google's messages that have one of their own, nil for any other message.
func wellKnown(m protoreflect.MessageDescriptor) object {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		return object{"type": "string", "format": "date-time"}
	case "google.protobuf.Duration":
		return object{"type": "string", "pattern": `^-?[0-9]+(\.[0-9]{1,9})?s$`}
	case "google.protobuf.Struct":
		return object{"type": "object"}
	case "google.protobuf.ListValue":
		return object{"type": "array"}
	case "google.protobuf.Value":
		return object{}
	}
	return nil
}

func (d *document) enum(e *protogen.Enum) {
	var values []string
	about := prose(e.Comments.Leading) + "\n\nIts values now; more may come with a minor version:"
	for _, v := range e.Values {
		values = append(values, string(v.Desc.Name()))
		about += fmt.Sprintf("\n- %s: %s", v.Desc.Name(), prose(v.Comments.Leading))
	}
	d.schemas[name(e.Desc)] = object{"type": "string", "description": about, "examples": values}
}

// prose is a comment without its line breaks, which are the editor's.
func prose(c protogen.Comments) string {
	var paragraphs []string
	for p := range strings.SplitSeq(strings.TrimSpace(string(c)), "\n\n") {
		paragraphs = append(paragraphs, strings.Join(strings.Fields(p), " "))
	}
	return strings.Join(paragraphs, "\n\n")
}

func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	s, _, _ = strings.Cut(s, "\n")
	return s
}
