module starter

go 1.22
