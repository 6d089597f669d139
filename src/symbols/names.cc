// names.cc: see names.h.
#include "symbols/names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace weft::detail {

namespace {

struct replacement {
    std::string_view from;
    std::string_view to;
};

// Long forms of types that a program has by the thousand.
constexpr replacement replacements[] = {
    {"> >", ">>"},
    {"std::__cxx11::", "std::"},
    {"std::__1::", "std::"},
    {"std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"},
    {"std::basic_string_view<char, std::char_traits<char>>", "std::string_view"},
    {"[abi:cxx11]", ""},
};

void replace_all(std::string& text, const replacement& r) {
    // From where it was: "> > >" becomes ">>>".
    for (std::size_t at = 0; (at = text.find(r.from, at)) != std::string::npos;) text.replace(at, r.from.size(), r.to);
}

// The index of the bracket that closes the one at text[at].
std::size_t closing(const std::string& text, std::size_t at) noexcept {
    for (int depth = 0; at < text.size(); ++at) {
        if (text[at] == '(') ++depth;
        if (text[at] == ')' && --depth == 0) return at;
    }
    return std::string::npos;
}

// LLVM's 'lambda'(int) and 'lambda0'(int) become {lambda(int)#1} and {lambda(int)#2}, as in GCC's
// names.
void rename_lambdas(std::string& text) {
    constexpr std::string_view start = "'lambda";
    for (std::size_t at = 0; (at = text.find(start, at)) != std::string::npos;) {
        const std::size_t quote = text.find('\'', at + 1);
        if (quote == std::string::npos || quote + 1 >= text.size() || text[quote + 1] != '(') return;
        const std::size_t end = closing(text, quote + 1);
        if (end == std::string::npos) return;
        const std::string digits = text.substr(at + start.size(), quote - at - start.size());
        const int number = digits.empty() ? 1 : std::atoi(digits.c_str()) + 2;  // NOLINT: digits
        const std::string renamed =
            "{lambda" + text.substr(quote + 1, end - quote) + "#" + std::to_string(number) + "}";
        text.replace(at, end + 1 - at, renamed);
        at += renamed.size();
    }
}

// Steps over the letters before the first name: _ZN for a nested name, K for const, Z for a
// function's local entity.
std::string_view first_name(std::string_view mangled) noexcept {
    if (mangled.substr(0, 2) != "_Z") return {};
    mangled.remove_prefix(2);
    while (!mangled.empty() && (mangled.front() == 'Z' || mangled.front() == 'N' || mangled.front() == 'K'))
        mangled.remove_prefix(1);
    return mangled;
}

bool begins_with(std::string_view text, std::string_view start) noexcept {
    return text.substr(0, start.size()) == start;
}

constexpr std::string_view glue[] = {
    "St8__invoke",        "St6invoke",
    "St5apply",           "St12__apply_impl",
    "St13__invoke_impl",  "St14__invoke_impl",
    "St8function",        "St17_Function_handler",
    "St13_Function_base", "St10__invoke_r",
    "St3__18__invoke",    "St3__16invoke",
    "St3__15apply",       "St8__detail9__variant",
};

// Functions of weft's assembly, which have C names.
constexpr std::string_view assembly = "run_context_";

}  // namespace

std::string readable_name(const std::string& linker_name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> demangled(
        abi::__cxa_demangle(linker_name.c_str(), nullptr, nullptr, &status), &std::free);
    std::string name = status == 0 && demangled != nullptr ? demangled.get() : linker_name;
    // As GCC's and LLVM's demanglers mark a copy.
    if (const std::size_t copy = std::min(name.find(" [clone "), name.find(" (.")); copy != std::string::npos)
        name.resize(copy);
    for (const replacement& r : replacements) replace_all(name, r);
    rename_lambdas(name);
    if (name.size() > longest_name) {
        constexpr std::string_view cut = "…";
        name.resize(longest_name - cut.size());
        name += cut;
    }
    return name;
}

symbol_kind kind_of(std::string_view name) noexcept {
    if (begins_with(name, assembly) || begins_with(name, "weft::detail::")) return symbol_kind::runtime;
    if (begins_with(name, "weft::"))
        return begins_with(name, "weft::test::") ? symbol_kind::program : symbol_kind::interface;
    const std::string_view first = first_name(name);
    if (begins_with(first, "4weft")) {
        const std::string_view inner = first.substr(5);
        if (begins_with(inner, "4test")) return symbol_kind::program;
        return begins_with(inner, "6detail") ? symbol_kind::runtime : symbol_kind::interface;
    }
    return std::any_of(std::begin(glue), std::end(glue), [first](std::string_view g) { return begins_with(first, g); })
               ? symbol_kind::glue
               : symbol_kind::program;
}

}  // namespace weft::detail
