// symbol_service.cc: see symbol_service.h.
#include "symbols/symbol_service.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "os/process_calls.h"
#include "os/symbol_process.h"
#include "os/symbols.h"
#include "symbols/debug_information.h"
#include "symbols/names.h"
#include "symbols/symbol_table.h"

#pragma weak weft_find_in_debug_information

namespace weft::detail::symbol_service {

namespace {

// Line ends and tabs separate fields, and a file's name may contain them.
std::string field(std::string text, std::size_t longest) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < ' ') c = '?';
    }
    if (text.size() <= longest) return text;
    constexpr std::string_view cut = "…";
    return std::string(cut) + text.substr(text.size() - (longest - cut.size()));  // a path's end says more
}

class service {
public:
    explicit service(FILE* output) : output_(output) {}

    void answer(const std::string& path, uint64_t address) {
        const char* file = path.empty() ? os::program_file() : path.c_str();
        const bool known = &weft_find_in_debug_information != nullptr &&
                           weft_find_in_debug_information(file, address, &service::found, this);
        if (!known) {
            const std::string name(tables_.try_emplace(file, file).first->second.find(address));
            if (!name.empty()) write(name.c_str(), nullptr, 0, false);
        }
        std::fputc('\n', output_);
        std::fflush(output_);
    }

private:
    static void found(void* closure, const char* function, const char* file, unsigned line, bool inlined) {
        static_cast<service*>(closure)->write(function, file, line, inlined);
    }

    // The names of lambdas, and with -g1 of all inlined functions, may lack their scope.
    static symbol_kind kind_at(std::string_view function, const char* file) noexcept {
        const symbol_kind kind = kind_of(function);
        const bool is_of_weft =
            function.substr(0, 2) != "_Z" && file != nullptr && std::strstr(file, "include/weft/") != nullptr;
        return kind == symbol_kind::program && is_of_weft ? symbol_kind::runtime : kind;
    }

    void write(const char* function, const char* file, unsigned line, bool inlined) {
        constexpr std::size_t longest_file = 300;
        static_assert(longest_name + longest_file + 32 < longest_line);
        std::fprintf(output_, "%c\t%c\t%s\t%s\t%u\n", static_cast<char>(kind_at(function, file)), inlined ? 'i' : '-',
                     field(readable_name(function), longest_name).c_str(),
                     file == nullptr ? "" : field(file, longest_file).c_str(), line);
    }

    FILE* output_;
    std::map<std::string, symbol_table> tables_;
};

}  // namespace

void serve(int input, int output) {
    FILE* from = ::fdopen(input, "r");
    FILE* to = ::fdopen(output, "w");
    if (from == nullptr || to == nullptr) return;
    service s(to);
    std::string request;
    for (int c = 0; (c = std::getc(from)) != EOF;) {
        if (c != '\n') {
            request += static_cast<char>(c);
            continue;
        }
        char* rest = nullptr;
        const uint64_t address = std::strtoull(request.c_str(), &rest, 16);
        s.answer(*rest == ' ' ? rest + 1 : "", address);
        request.clear();
    }
}

namespace {

constinit bool has_constructor = false;

// Before all constructors of the program: those with a priority below 101 are the compiler's.
[[gnu::constructor(101)]] void become_service() {
    has_constructor = true;
    if (std::getenv(variable) == nullptr) return;  // NOLINT(concurrency-mt-unsafe): one thread
    // A program with more rights than its user reads no files for that user. Nor may it go on as if
    // it had been started as usual.
    if (os::has_extra_rights()) std::_Exit(1);
    constexpr int cpu_seconds = 10;
    os::limit_own_process(cpu_seconds);
    os::symbol_process::prepare_pipes();
    serve(0, 1);
    std::_Exit(0);
}

}  // namespace

// A process that has the variable would start another one, and so on.
bool can_start() noexcept {
    return has_constructor && os::runs_at_start() && std::getenv(variable) == nullptr;  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace weft::detail::symbol_service
