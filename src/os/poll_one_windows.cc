// poll_one_windows.cc: see poll_one.h. Nothing here waits for one descriptor.
