// heap_profile.cc: see weft/observe/heap_profile.h.
//
// The functions of the allocators are weak symbols: they are there if the program, or LD_PRELOAD,
// links one.
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

#include <weft/blocking.h>
#include <weft/observe/heap_profile.h>

#include "observe/output.h"

extern "C" {
// jemalloc.
[[gnu::weak]] int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value, std::size_t size);

// gperftools, gperftools/heap-profiler.h.
[[gnu::weak]] int IsHeapProfilerRunning();
[[gnu::weak]] char* GetHeapProfile();
}

namespace weft::observe {

namespace {

[[noreturn]] void fail(std::errc why, const std::string& text) {
    throw std::system_error(std::make_error_code(why), "weft: no heap profile: " + text);
}

// False also if jemalloc does not know the name.
bool jemalloc_has(const char* name) {
    bool value = false;
    std::size_t size = sizeof(value);
    return mallctl(name, &value, &size, nullptr, 0) == 0 && value;
}

void write_of_jemalloc(const std::string& path) {
    if (!jemalloc_has("config.prof"))
        fail(std::errc::not_supported, "jemalloc was built without profiling; configure it with --enable-prof");
    if (!jemalloc_has("opt.prof"))
        fail(std::errc::operation_not_permitted,
             "jemalloc does not profile; start the program with MALLOC_CONF=prof:true");
    const char* name = path.c_str();
    if (const int error = mallctl("prof.dump", nullptr, nullptr, &name, sizeof(name)))
        throw std::system_error(error, std::generic_category(),
                                "weft: jemalloc cannot write a heap profile to " + path);
}

void write_of_gperftools(const std::string& path) {
    if (IsHeapProfilerRunning() == 0)
        fail(std::errc::operation_not_permitted,
             "gperftools' heap profiler does not run; start the program with HEAPPROFILE=PREFIX, or call "
             "HeapProfilerStart");
    const std::unique_ptr<char, void (*)(void*)> text(GetHeapProfile(), &std::free);
    if (text == nullptr) throw std::bad_alloc();
    detail::output file(path);
    file.append(text.get());
    file.close();
}

}  // namespace

void write_heap_profile(const std::string& path) {
    blocking([&] {
        if (&mallctl != nullptr) return write_of_jemalloc(path);
        if (&IsHeapProfilerRunning != nullptr && &GetHeapProfile != nullptr) return write_of_gperftools(path);
        fail(std::errc::not_supported,
             "the program is linked neither with jemalloc nor with gperftools (tcmalloc); link one, or start the "
             "program with LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true");
    });
}

}  // namespace weft::observe
