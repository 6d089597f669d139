// heap_profile.h: which code has allocated the memory in use, as the allocator knows it.
//
// Part of the component weft::observe, which samples no allocations itself: it asks jemalloc or
// gperftools, if the program is linked with one of them.
//
//     weft::observe::write_heap_profile("heap.out");   // jeprof PROGRAM heap.out
//
// See: docs/profiling.md#memory
#pragma once

#include <string>

#include <weft/detail/require.h>

namespace weft::observe {

/// Writes the heap profile of the allocator to a file, in the allocator's format: that of jeprof
/// (jemalloc, which must profile: MALLOC_CONF=prof:true), or of pprof (gperftools' heap profiler,
/// which must run: HEAPPROFILE=PREFIX, or HeapProfilerStart). Blocks the calling thread. Any
/// thread. Throws std::system_error, which says what is missing: with std::errc::not_supported if
/// neither allocator is there or it cannot profile, std::errc::operation_not_permitted if it does
/// not, and otherwise with the error of the file.
void write_heap_profile(const std::string& path);

}  // namespace weft::observe
