// symbol_table_test.cc: functions of this program are found; damaged files are harmless.
#include "symbols/symbol_table.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "os/symbols.h"
#include "support/random.h"
#include "support/temp_folder.h"

namespace weft::detail {
namespace {

[[gnu::noinline]] void a_function_of_this_file() { asm volatile("" ::: "memory"); }

uint64_t address_of(void (*function)()) {
    os::code_place place{};
    EXPECT_TRUE(os::find_code(reinterpret_cast<const void*>(function), place));
    return place.address;
}

TEST(SymbolTable, FindsAFunctionThatIsNotExported) {
    const symbol_table program(os::program_file());
    const std::string_view name = program.find(address_of(&a_function_of_this_file));
    EXPECT_NE(name.find("a_function_of_this_file"), std::string_view::npos) << name;
    EXPECT_EQ(program.find(address_of(&a_function_of_this_file) + 1), name) << "an address inside";
}

TEST(SymbolTable, FindsNothingWhereNoFunctionIs) {
    const symbol_table program(os::program_file());
    EXPECT_EQ(program.find(0), "");
    EXPECT_EQ(program.find(UINT64_MAX), "");
}

TEST(SymbolTable, HasNothingOfAFileThatIsMissingOrNoProgram) {
    EXPECT_EQ(symbol_table("/no/such/file").find(1), "");
    EXPECT_EQ(symbol_table("/proc/self/status").find(1), "");
    EXPECT_EQ(symbol_table("/").find(1), "");
}

// Offsets, sizes and counts in the headers are replaced by random ones.
TEST(SymbolTable, ADamagedFileIsNotReadBeyondItsEnd) {
    std::ifstream in(os::program_file(), std::ios::binary);
    std::string head(512 * 1024, '\0');
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    const test::temp_folder folder;
    const std::string path = folder / "damaged";
    test::prng random(test::announced_seed());
    for (int round = 0; round < 50; ++round) {
        std::string damaged = head.substr(0, random.next() % head.size() + 1);
        for (int i = 0; i < 16; ++i) {
            // Where the tables are described, in files of ELF and of Windows.
            const std::size_t at = 32 + random.next() % 256;
            if (at < damaged.size()) damaged[at] = static_cast<char>(random.next());
        }
        std::ofstream(path, std::ios::binary) << damaged;
        static_cast<void>(symbol_table(path.c_str()).find(random.next() % head.size()));
    }
}

}  // namespace
}  // namespace weft::detail
