// Package deploy_test holds the manifests of deploy/ to the types of Kubernetes and to the flags of fletch.
package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const folder = "../../deploy"

// objects reads a manifest strictly: a field that Kubernetes does not have, or has twice, is an error.
func objects(t *testing.T, file string) (out []metav1.Object) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var o metav1.Object
		switch kind.APIVersion + " " + kind.Kind {
		case "v1 Service":
			o = &corev1.Service{}
		case "apps/v1 Deployment":
			o = &appsv1.Deployment{}
		case "apps/v1 StatefulSet":
			o = &appsv1.StatefulSet{}
		case "policy/v1 PodDisruptionBudget":
			o = &policyv1.PodDisruptionBudget{}
		case "networking.k8s.io/v1 NetworkPolicy":
			o = &networkingv1.NetworkPolicy{}
		default:
			t.Fatalf("%s: %+v is not expected", file, kind)
		}
		if err := yaml.UnmarshalStrict(document, o); err != nil {
			t.Fatalf("%s: %s: %v", file, kind.Kind, err)
		}
		if o.GetName() == "" {
			t.Errorf("%s: a %s without a name", file, kind.Kind)
		}
		out = append(out, o)
	}
	return out
}

// workload is what the manifests say of one kind of pod.
type workload struct {
	name     string
	labels   map[string]string
	selector *metav1.LabelSelector
	pod      corev1.PodSpec
}

func workloads(t *testing.T) (out []workload, all []metav1.Object) {
	t.Helper()
	all = slices.Concat(objects(t, "workers.yaml"), objects(t, "coordinators.yaml"))
	for _, o := range all {
		switch o := o.(type) {
		case *appsv1.Deployment:
			out = append(out, workload{o.Name, o.Spec.Template.Labels, o.Spec.Selector, o.Spec.Template.Spec})
		case *appsv1.StatefulSet:
			out = append(out, workload{o.Name, o.Spec.Template.Labels, o.Spec.Selector, o.Spec.Template.Spec})
		}
	}
	if len(out) != 2 {
		t.Fatalf("%d workloads", len(out))
	}
	return out, all
}

// Selectors select the pods that they are about, ports are those that are listened on, and every volume is there.
func TestManifestsFitTogether(t *testing.T) {
	pods, all := workloads(t)
	selects := func(what string, selector map[string]string) *corev1.PodSpec {
		for _, p := range pods {
			if selector["app"] != "" && p.labels["app"] == selector["app"] {
				return &p.pod
			}
		}
		t.Errorf("%s selects %v: nobody", what, selector)
		return nil
	}
	for _, p := range pods {
		if selects(p.name, p.selector.MatchLabels) == nil {
			continue
		}
		c := p.pod.Containers[0]
		if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe == nil || c.LivenessProbe.HTTPGet.Path != "/healthz" {
			t.Errorf("%s: the probes are %v, %v", p.name, c.ReadinessProbe, c.LivenessProbe)
		}
		for _, probe := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe} {
			if !slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool { return port.Name == probe.HTTPGet.Port.String() }) {
				t.Errorf("%s: a probe of port %v", p.name, probe.HTTPGet.Port)
			}
		}
		if !slices.Contains(c.Args, fmt.Sprintf("--listen=0.0.0.0:%d", c.Ports[0].ContainerPort)) {
			t.Errorf("%s: port %d is not in %v", p.name, c.Ports[0].ContainerPort, c.Args)
		}
		for _, m := range c.VolumeMounts {
			if !slices.ContainsFunc(p.pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
				t.Errorf("%s: no volume %s", p.name, m.Name)
			}
		}
	}
	for _, o := range all {
		switch o := o.(type) {
		case *corev1.Service:
			if pod := selects("service "+o.Name, o.Spec.Selector); pod != nil && pod.Containers[0].Ports[0].ContainerPort != o.Spec.Ports[0].Port {
				t.Errorf("service %s: port %d", o.Name, o.Spec.Ports[0].Port)
			}
			if o.Spec.ClusterIP != corev1.ClusterIPNone || !o.Spec.PublishNotReadyAddresses {
				t.Errorf("service %s does not give the addresses of all pods", o.Name)
			}
		case *policyv1.PodDisruptionBudget:
			selects("budget "+o.Name, o.Spec.Selector.MatchLabels)
		case *networkingv1.NetworkPolicy:
			selects("policy "+o.Name, o.Spec.PodSelector.MatchLabels)
			for _, from := range o.Spec.Ingress[0].From {
				selects("policy "+o.Name, from.PodSelector.MatchLabels)
			}
		case *appsv1.StatefulSet:
			if !slices.ContainsFunc(all, func(s metav1.Object) bool {
				_, is := s.(*corev1.Service)
				return is && s.GetName() == o.Spec.ServiceName
			}) {
				t.Errorf("no service %s", o.Spec.ServiceName)
			}
		}
	}
}

// What a pod has to end in is longer than what fletch takes to drain.
func TestPodsHaveTimeToDrain(t *testing.T) {
	pods, _ := workloads(t)
	for _, p := range pods {
		drain := int64(30) // a coordinator's
		if slices.Contains(p.pod.Containers[0].Args, "--drain-timeout=5m") {
			drain = 300
		}
		if grace := p.pod.TerminationGracePeriodSeconds; grace == nil || *grace < drain+10 {
			t.Errorf("%s drains for up to %d s", p.name, drain)
		}
	}
}

// The version of the workers comes from their image's tag, at the place where the pod reads it.
func TestWorkersHaveAVersion(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		Resources    []string
		Replacements []struct {
			Source  struct{ Kind, Name, FieldPath string }
			Targets []struct {
				Select     struct{ Kind, Name string }
				FieldPaths []string
			}
		}
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	pods, _ := workloads(t)
	worker := pods[0].pod.Containers[0]
	r := k.Replacements[0]
	if r.Source.Name != pods[0].name || r.Targets[0].Select.Name != pods[0].name ||
		r.Source.FieldPath != fmt.Sprintf("spec.template.spec.containers.[name=%s].image", worker.Name) ||
		r.Targets[0].FieldPaths[0] != fmt.Sprintf("spec.template.spec.containers.[name=%s].env.[name=FLETCH_WORKER_VERSION].value", worker.Name) ||
		!slices.ContainsFunc(worker.Env, func(e corev1.EnvVar) bool { return e.Name == "FLETCH_WORKER_VERSION" }) {
		t.Errorf("%+v", r)
	}
	for _, name := range k.Resources {
		objects(t, name)
	}
}

// The arguments are ones that fletch has.
func TestArgumentsAreFlags(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "fletch")
	build := exec.Command("go", "build", "-o", bin, "./services/cmd/fletch")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pods, _ := workloads(t)
	for _, p := range pods {
		args := p.pod.Containers[0].Args
		if out, err := exec.Command(bin, append(slices.Clone(args), "--help")...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if out, err := exec.Command(bin, append(slices.Clone(args), "--no-such-flag", "--help")...).CombinedOutput(); err == nil || !strings.Contains(string(out), "no-such-flag") {
			t.Errorf("a flag that there is not is taken: %s", out)
		}
	}
}
