{{- define "tiltyard.name" -}}
{{- if contains "tiltyard" .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-tiltyard" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tiltyard.selector" -}}
app.kubernetes.io/name: tiltyard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tiltyard.labels" -}}
{{ include "tiltyard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "tiltyard.secret" -}}
{{ .Values.adminKey.existingSecret | default (include "tiltyard.name" .) }}
{{- end }}
