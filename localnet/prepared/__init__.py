"""A fork server: one process of a stack imports the services once, and each start of a service is a fork of it.

A stack has ten services, and a run of the suite starts thirty more by command; each would spend most of a second on
imports that all of them share. Every service is still a separate process, with its own session, environment, folder,
descriptors, signals and exit status. A variant of a service imports the service's own modules again, so that the
replacement of a rule is loaded first; it shares only the libraries. Three kinds of processes are started without a
fork: those with other settings of Python, those in other namespaces than the stack, and all of them on systems without
process descriptors.
"""
