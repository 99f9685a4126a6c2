{{- define "closeknit.labels" -}}
app.kubernetes.io/name: closeknit
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "closeknit.selector" -}}
app.kubernetes.io/name: closeknit
app.kubernetes.io/component: {{ . }}
{{- end -}}

{{- /* The families that are managed, as a list in JSON; anything but managed or external is refused. */ -}}
{{- define "closeknit.managed" -}}
{{- $managed := list -}}
{{- range $family, $mode := .Values.families -}}
{{- if eq $mode "managed" -}}
{{- $managed = append $managed $family -}}
{{- else if ne $mode "external" -}}
{{- fail (printf "families.%s is %q. Allowed: managed, external." $family $mode) -}}
{{- end -}}
{{- end -}}
{{- toJson $managed -}}
{{- end -}}

{{- define "closeknit.external" -}}
{{- range $family, $mode := .Values.families }}
{{- if eq $mode "external" }}
- --external={{ $family }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* An immutable ConfigMap is never changed, so another content has another name. */ -}}
{{- define "closeknit.configurations" -}}
closeknit-operators-{{ .Values.operatorConfigurations | toJson | sha256sum | trunc 8 }}
{{- end -}}

{{- define "closeknit.operator" -}}
system:serviceaccount:{{ .Release.Namespace }}:closeknit-controllers
{{- end -}}
