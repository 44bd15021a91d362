{{/* Names, labels, and what both Deployments have in common. */}}

{{- define "slurm-bridge.fullname" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $name := .Release.Name -}}
{{- if .Values.fullnameOverride -}}
{{-   $name = .Values.fullnameOverride -}}
{{- else if not (contains $chart .Release.Name) -}}
{{-   $name = printf "%s-%s" .Release.Name $chart -}}
{{- end -}}
{{- /* Names of 63 characters at most are made of it, with "-controllers" behind. */ -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "slurm-bridge.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "slurm-bridge.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: slurm-bridge
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Nothing that changes with a version may stand here: a Deployment's selector is immutable. (dict "root" $ "of" "admission") */}}
{{- define "slurm-bridge.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Values.nameOverride | default .root.Chart.Name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .of }}
{{- end -}}

{{- define "slurm-bridge.image" -}}
{{- $image := (index .root.Values .of).image -}}
{{- $repository := $image.repository | default (printf "%s/capstan" (.root.Values.imagePrefix | trimSuffix "/")) -}}
{{- $tag := $image.tag | default .root.Chart.AppVersion -}}
{{- printf "%s:%s" $repository (kindIs "string" $tag | ternary $tag (toJson $tag)) -}}
{{- end -}}

{{- define "slurm-bridge.config" -}}
schedulerName: {{ .Values.schedulerConfig.schedulerName | quote }}
targetSchedulerName: {{ .Values.targetSchedulerName | quote }}
slurmRestApi: {{ .Values.sharedConfig.slurmRestApi | quote }}
{{- if .Values.admission.managedNamespaceSelector }}
managedNamespaceSelector:
  {{- toYaml .Values.admission.managedNamespaceSelector | nindent 2 }}
{{- else }}
managedNamespaces:
  {{- toYaml .Values.admission.managedNamespaces | nindent 2 }}
{{- end }}
mcsLabel: {{ .Values.schedulerConfig.mcsLabel | quote }}
sharing: {{ .Values.schedulerConfig.sharing }}
partition: {{ .Values.schedulerConfig.partition | quote }}
jobIds: {{ .Values.sharedConfig.jobIds | quote }}
bindTimeout: {{ int .Values.bindTimeout }}
nodeTaint: {{ .Values.nodes.taint.effect }}
nodeReserveCpu: {{ .Values.nodes.reserve.cpu | quote }}
nodeReserveMemory: {{ .Values.nodes.reserve.memory | quote }}
policyRequired: {{ .Values.policy.required }}
policyAllowIdentity: {{ .Values.policy.allowIdentity }}
takeOver: {{ .Values.takeOver }}
ungate: {{ .Values.ungate }}
{{- end -}}

{{/* The pod's spec but for what is particular to one; with the container up to its arguments' end. */}}
{{- define "slurm-bridge.pod" -}}
{{- $values := index .root.Values .of -}}
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "slurm-bridge.container" -}}
{{- $values := index .root.Values .of -}}
image: {{ include "slurm-bridge.image" . }}
imagePullPolicy: {{ $values.image.pullPolicy }}
livenessProbe:
  httpGet: {path: /healthz, port: health}
  initialDelaySeconds: 15
  periodSeconds: 20
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 5
{{- with $values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- define "slurm-bridge.pdb" -}}
{{- $pdb := (index .root.Values .of).pdb -}}
{{- /* With one replica a budget would only block the draining of its node. */}}
{{- if and $pdb.enabled (gt (int (index .root.Values .of).replicas) 1) }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "slurm-bridge.fullname" .root }}-{{ .of }}
  namespace: {{ include "slurm-bridge.namespace" .root }}
  labels:
    {{- include "slurm-bridge.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .of }}
spec:
  {{- if not (kindIs "invalid" $pdb.maxUnavailable) }}
  maxUnavailable: {{ $pdb.maxUnavailable | toJson }}
  {{- else if kindIs "invalid" $pdb.minAvailable }}
  {{- fail (printf "%s.pdb: a disruption budget needs minAvailable or maxUnavailable." .of) }}
  {{- else }}
  minAvailable: {{ $pdb.minAvailable | toJson }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "slurm-bridge.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end -}}
