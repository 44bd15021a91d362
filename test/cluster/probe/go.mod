module capstan.dev/test/probe

go 1.25.0
