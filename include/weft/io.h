// io.h: what programs do with streams of bytes: read lines, collect small writes, copy, and connect
// two green threads by a pipe in memory. For sockets, TLS, files, pipes, the bodies of HTTP
// requests and replies, and your own types.
//
// See: docs/io.md
#pragma once

#include <weft/detail/require.h>
#include <weft/io/buffered_reader.h>
#include <weft/io/buffered_writer.h>
#include <weft/io/copy.h>
#include <weft/io/memory_pipe.h>
#include <weft/io/stream_concepts.h>
