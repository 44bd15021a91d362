{{/*
Slurm's name of a node set: (list KEY SET). The operator takes it from the pods' host name (its first word, without dashes at the ends), so a host
name of the user's own changes it.
*/}}
{{- define "slurm.nodesetConfName" -}}
{{- $hostname := dig "podSpec" "hostname" "" (index . 1) | default (index . 0) -}}
{{- regexFind "\\S+" $hostname | trimAll "-" -}}
{{- end -}}

{{/* The Nodes= list of one partition: (list NAME PARTITION NODESETS). Disabled partitions are checked for emptiness too, as they always were. */}}
{{- define "slurm.partitionNodes" -}}
{{- $name := index . 0 -}}
{{- $partition := index . 1 -}}
{{- $nodesets := index . 2 -}}
{{- if not $partition.nodesets -}}
{{-   fail (printf "partition %s must contain at least one NodeSet (or ALL): set partitions.%s.nodesets." $name $name) -}}
{{- end -}}
{{- $nodes := list -}}
{{- range $key := $partition.nodesets -}}
{{-   if eq $key "ALL" -}}
{{-     $nodes = append $nodes $key -}}
{{-   else if hasKey $nodesets $key -}}
{{-     $nodes = append $nodes (include "slurm.nodesetConfName" (list $key (get $nodesets $key))) -}}
{{-   else if $partition.enabled -}}
{{-     fail (printf "partition %s is referencing nodeset %s that does not exist or is disabled: add or enable nodesets.%s, or remove it from partitions.%s.nodesets." $name $key $key $name) -}}
{{-   end -}}
{{- end -}}
{{- $nodes | uniq | sortAlpha | join "," -}}
{{- end -}}

{{/* One line for each enabled partition. */}}
{{- define "slurm.partitionLines" -}}
{{- $nodesets := include "slurm.nodesets" . | fromJson -}}
{{- $lines := list -}}
{{- range $name, $partition := .Values.partitions -}}
{{-   if $partition -}}
{{-     $nodes := include "slurm.partitionNodes" (list $name $partition $nodesets) -}}
{{-     if $partition.enabled -}}
{{-       $where := printf "partitions.%s.configMap" $name -}}
{{-       $options := include "slurm.confOneLine" (dict "where" $where "text" $partition.config "map" $partition.configMap) -}}
{{-       $lines = append $lines (printf "PartitionName=%s Nodes=%s %s" $name $nodes $options | trim) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- join "\n" $lines -}}
{{- end -}}
