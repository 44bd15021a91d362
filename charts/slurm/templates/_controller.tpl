{{/* Parts of the Controller resource that need more than a line. */}}

{{/* slurm.conf lines of the user, then the partitions. */}}
{{- define "slurm.controllerExtraConf" -}}
{{- $own := include "slurm.confLines" (dict "where" "controller.extraConfMap" "text" .Values.controller.extraConf "map" .Values.controller.extraConfMap) -}}
{{- $partitions := include "slurm.partitionLines" . -}}
{{- compact (list $own $partitions) | join "\n" -}}
{{- end -}}

{{/*
ConfigMaps with files and scripts. For prolog scripts the inline ones come first, for the others the references; those of the chart for vendors
come last.
*/}}
{{- define "slurm.controllerFileRefs" -}}
{{- $v := .Values -}}
{{- $dcgm := $v.vendor.nvidia.dcgm.enabled -}}
{{- $refs := list
      (dict "field" "configFileRefs" "suffix" "config-extra" "files" $v.configFiles "last" (include "slurm.gresConfigMap" .))
      (dict "field" "prologScriptRefs" "suffix" "prolog-scripts" "files" $v.prologScripts "refs" $v.prologScriptRefs "filesFirst" true "last" (ternary "prolog-dcgm" "" $dcgm))
      (dict "field" "epilogScriptRefs" "suffix" "epilog-scripts" "files" $v.epilogScripts "refs" $v.epilogScriptRefs "last" (ternary "epilog-dcgm" "" $dcgm))
      (dict "field" "prologSlurmctldScriptRefs" "suffix" "prolog-slurmctld-scripts" "files" $v.prologSlurmctldScripts "refs" $v.prologSlurmctldScriptRefs)
      (dict "field" "epilogSlurmctldScriptRefs" "suffix" "epilog-slurmctld-scripts" "files" $v.epilogSlurmctldScripts "refs" $v.epilogSlurmctldScriptRefs) -}}
{{- $fields := list -}}
{{- range $refs -}}
{{-   $fields = append $fields (include "slurm.configMapRefs" (merge . (dict "root" $ "filesFirst" false))) -}}
{{- end -}}
{{- compact $fields | join "\n" -}}
{{- end -}}

{{/*
The claim of slurmctld's state. A storage class of "" or "-" is written as "", which asks for a volume without a class; null is left out, which asks
for the cluster's default.
*/}}
{{- define "slurm.persistence" -}}
{{- $given := .Values.controller.persistence -}}
{{- if not $given.enabled -}}
enabled: false
{{- else if $given.existingClaim -}}
enabled: true
existingClaim: {{ $given.existingClaim }}
{{- else -}}
{{-   $claim := omit $given "existingClaim" -}}
{{-   if eq (get $claim "storageClassName" | toString) "-" -}}
{{-     $_ := set $claim "storageClassName" "" -}}
{{-   end -}}
{{-   include "slurm.pruned" $claim -}}
{{- end -}}
{{- end -}}
