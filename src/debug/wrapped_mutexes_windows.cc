// wrapped_mutexes_windows.cc: see per_g/held.h. Code that uses mutexes of Windows itself would not
// be seen, so locked mutexes are not noted.
