{{/*
Writes the second map over the first, in place: (list INTO FROM). Maps merge key by key, anything else replaces, null removes the key. Sprig's own
merge functions differ on false, 0 and "", which here count as given.
*/}}
{{- define "slurm.mergeInto" -}}
{{- $into := index . 0 -}}
{{- range $key, $value := index . 1 -}}
{{-   if kindIs "invalid" $value -}}
{{-     $_ := unset $into $key -}}
{{-   else if and (kindIs "map" $value) (kindIs "map" (get $into $key)) -}}
{{-     include "slurm.mergeInto" (list (get $into $key) $value) -}}
{{-   else -}}
{{-     $_ := set $into $key $value -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{/*
A map without its keys that are null, or an empty list or map, as YAML; nothing when no key is left. An empty list must not reach the custom
resource: some lists of a pod (tolerations) replace the operator's as a whole. False, 0 and "" stay.
*/}}
{{- define "slurm.pruned" -}}
{{- $kept := dict -}}
{{- range $key, $value := . -}}
{{-   $void := or (kindIs "invalid" $value) (and (or (kindIs "map" $value) (kindIs "slice" $value)) (empty $value)) -}}
{{-   if not $void -}}
{{-     $_ := set $kept $key $value -}}
{{-   end -}}
{{- end -}}
{{- if $kept -}}
{{-   toYaml $kept -}}
{{- end -}}
{{- end -}}

{{/* The enabled entries of a map of sets, each merged over its defaults, as one JSON map: (list SETS DEFAULTS). */}}
{{- define "slurm.enabledSets" -}}
{{- $defaults := index . 1 -}}
{{- $sets := dict -}}
{{- range $key, $given := index . 0 -}}
{{-   $set := deepCopy $defaults -}}
{{-   include "slurm.mergeInto" (list $set ($given | default dict)) -}}
{{-   if $set.enabled -}}
{{-     $_ := set $sets $key $set -}}
{{-   end -}}
{{- end -}}
{{- toJson $sets -}}
{{- end -}}

{{- define "slurm.nodesets" -}}
{{- include "slurm.enabledSets" (list .Values.nodesets .Values.nodesetDefaults) -}}
{{- end -}}

{{- define "slurm.loginsets" -}}
{{- include "slurm.enabledSets" (list .Values.loginsets .Values.loginsetDefaults) -}}
{{- end -}}
