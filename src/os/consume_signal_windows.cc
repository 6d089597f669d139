// consume_signal_windows.cc: see sigpipe.h. The system has no SIGPIPE.
