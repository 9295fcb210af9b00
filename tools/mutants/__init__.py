"""The runner of mutants: one mistake at a time is put into a program, and something must notice it.

`python -m tools.mutants KIND [PATTERN]…` runs the mutants of one kind. All kinds are chosen in the same way, report
the same result, and end with the same exit codes.

| Kind | Where the mutants are | Changed program | What must notice |
| --- | --- | --- | --- |
| `named` | `mutants/*.toml` | the reference | exactly the requirements of the list |
| `generated` | made by rule from `reference/` | the reference | any requirement that reaches the place |
| `second` | `examples/second/*/mutants.toml` | the two servers of `examples/second` | the requirements as recorded |
| `tests` | `tests/mutants/*.toml` | suite, simulators, launcher, reference | any of the named tests |
"""
