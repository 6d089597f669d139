// symbol.h: the function at an address, and its place in the source.
#pragma once

namespace weft::detail {

// Whose code a function is. Reports fold the runtime's own frames into one line.
enum class symbol_kind : char {
    program = 'p',
    interface = 'i',  // a public function of weft
    runtime = 'r',    // any other function of weft
    glue = 'g',       // of the C++ library, between a caller and the function object that it calls
};

[[nodiscard]] constexpr const char* text(symbol_kind kind) noexcept {
    switch (kind) {
        case symbol_kind::program:
            return "program";
        case symbol_kind::interface:
            return "interface";
        case symbol_kind::runtime:
            return "runtime";
        case symbol_kind::glue:
            return "glue";
    }
    return "program";
}

// The texts are valid during the call that passes the symbol.
struct symbol {
    symbol_kind kind = symbol_kind::program;
    bool inlined = false;        // into the function of the next symbol
    const char* function = "";   // readable, never empty
    const char* file = nullptr;  // nullptr: unknown
    unsigned line = 0;           // 0: unknown
};

}  // namespace weft::detail
