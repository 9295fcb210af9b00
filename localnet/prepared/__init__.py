"""Services whose imports are done: one process of a stack imports them once, and each start is a fork of it.

A stack is ten services, and a run of the suite starts thirty more by command; each would spend most of a second on
imports that all of them share. Every service is still a process of its own, with its own session, environment, folder,
descriptors, signals and exit status. One that runs as a variant imports the service's own modules anew, so that what
takes the place of a rule is there first; it shares the libraries alone. A process that was told anything else of
Python, or that stands in other namespaces than the stack, is started anew, and so is everything where the system knows
no descriptors of processes.
"""
