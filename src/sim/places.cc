// places.cc: see places.h.
#include "sim/places.h"

#include <mutex>
#include <string_view>
#include <unordered_map>

#include "os/symbols.h"

namespace weft::sim {

namespace {

struct known_places {
    std::mutex lock;
    std::unordered_map<const void*, std::string> of;  // empty: not of the program
};

// Never destroyed: a test may fail while the process ends.
known_places& known() {
    static auto* const all = new known_places;
    return *all;
}

// The C++ library is between the program and weft: std::lock_guard.
bool is_of_program(const weft::detail::symbol& s) {
    return s.kind == weft::detail::symbol_kind::program && s.file != nullptr &&
           std::string_view(s.file).find("/c++/") == std::string_view::npos;
}

std::string text_of(const weft::detail::symbol& s) {
    std::string_view file = s.file;
    file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
    return std::string(file) + ":" + std::to_string(s.line);
}

}  // namespace

std::string place_finder::of(std::span<const void* const> frames) {
    const std::lock_guard held(known().lock);
    for (const void* frame : frames)
        if (const std::string& place = of_program(frame); !place.empty()) return place;
    return {};
}

const std::string& place_finder::of_program(const void* frame) {
    const auto [found, is_new] = known().of.try_emplace(frame);
    weft::detail::os::code_place place{};
    if (!is_new || !weft::detail::os::find_code(frame, place)) return found->second;
    --place.address;  // into the call
    std::string& text = found->second;
    names_.ask(place, nullptr, nullptr, [&text](const weft::detail::symbol& s) {
        if (text.empty() && is_of_program(s)) text = text_of(s);
    });
    return text;
}

}  // namespace weft::sim
