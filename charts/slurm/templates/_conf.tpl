{{/* Text that Slurm reads. */}}

{{/* One value: (list PATH VALUE). Numbers are written as JSON writes them, because Go would print 1000000 as 1e+06. */}}
{{- define "slurm.confValue" -}}
{{- $where := index . 0 -}}
{{- $value := index . 1 -}}
{{- if kindIs "string" $value -}}
{{-   if contains "\n" $value -}}
{{-     fail (printf "%s: a value must be one line." $where) -}}
{{-   end -}}
{{-   $value -}}
{{- else if or (kindIs "map" $value) (kindIs "slice" $value) -}}
{{-   fail (printf "%s: a value must be text, a number, true, false or a list of these." $where) -}}
{{- else -}}
{{-   toJson $value -}}
{{- end -}}
{{- end -}}

{{/*
A map as "key=value", sorted by key: (list PATH MAP SEPARATOR). Lists are joined with commas; 0 and false are written. Null and "" leave the key
out: Slurm's parser takes "Key=" for an error, and slurmctld would not start.
*/}}
{{- define "slurm.confMap" -}}
{{- $where := index . 0 -}}
{{- $items := list -}}
{{- range $key, $value := index . 1 -}}
{{-   $path := printf "%s.%s" $where $key -}}
{{-   $text := "" -}}
{{-   if kindIs "slice" $value -}}
{{-     $parts := list -}}
{{-     range $part := $value -}}
{{-       $parts = append $parts (include "slurm.confValue" (list $path $part)) -}}
{{-     end -}}
{{-     $text = join "," $parts -}}
{{-   else if not (kindIs "invalid" $value) -}}
{{-     $text = include "slurm.confValue" (list $path $value) -}}
{{-   end -}}
{{-   if ne $text "" -}}
{{-     $items = append $items (printf "%s=%s" $key $text) -}}
{{-   end -}}
{{- end -}}
{{- join (index . 2) $items -}}
{{- end -}}

{{/* Several lines: the text if there is one, else the map. (dict "where" PATH "text" TEXT "map" MAP) */}}
{{- define "slurm.confLines" -}}
{{- if .text -}}
{{-   .text | trimSuffix "\n" -}}
{{- else -}}
{{-   include "slurm.confMap" (list .where .map "\n") -}}
{{- end -}}
{{- end -}}

{{/* The same in one line, for a node or a partition; line ends of the text become blanks. */}}
{{- define "slurm.confOneLine" -}}
{{- if .text -}}
{{-   regexReplaceAll "\\s*\\n\\s*" (trim .text) " " -}}
{{- else -}}
{{-   include "slurm.confMap" (list .where .map " ") -}}
{{- end -}}
{{- end -}}
