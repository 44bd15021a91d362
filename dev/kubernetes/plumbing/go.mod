module capstan.dev/tools/plumbing

go 1.25.0
