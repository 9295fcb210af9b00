module example.org/go_verifier

go 1.19
