// wrapped_mutexes_darwin.cc: see per_g/held.h. The linker has no --wrap, so locked mutexes of the
// system are not noted.
