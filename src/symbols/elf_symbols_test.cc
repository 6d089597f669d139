// elf_symbols_test.cc: functions of this program are found; damaged files are harmless.
#include "symbols/elf_symbols.h"

#include <cstdint>
#include <fstream>
#include <string>

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

TEST(ElfSymbols, FindsAFunctionThatIsNotExported) {
    const elf_symbols program(os::program_file());
    const char* name = program.find(address_of(&a_function_of_this_file));
    ASSERT_NE(name, nullptr);
    EXPECT_NE(std::string(name).find("a_function_of_this_file"), std::string::npos);
    EXPECT_EQ(program.find(address_of(&a_function_of_this_file) + 1), name) << "an address inside";
}

TEST(ElfSymbols, FindsNothingWhereNoFunctionIs) {
    const elf_symbols program(os::program_file());
    EXPECT_EQ(program.find(0), nullptr);
    EXPECT_EQ(program.find(UINT64_MAX), nullptr);
}

TEST(ElfSymbols, HasNothingOfAFileThatIsMissingOrNotElf) {
    EXPECT_EQ(elf_symbols("/no/such/file").find(1), nullptr);
    EXPECT_EQ(elf_symbols("/proc/self/status").find(1), nullptr);
    EXPECT_EQ(elf_symbols("/").find(1), nullptr);
}

// Offsets, sizes and counts in the headers are replaced by random ones.
TEST(ElfSymbols, ADamagedFileIsNotReadBeyondItsEnd) {
    std::ifstream in(os::program_file(), std::ios::binary);
    std::string head(512 * 1024, '\0');
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    const test::temp_folder folder;
    const std::string path = folder / "damaged";
    test::prng random(test::announced_seed());
    for (int round = 0; round < 50; ++round) {
        std::string damaged = head.substr(0, random.next() % head.size() + 1);
        for (int i = 0; i < 4; ++i) {
            // The end of the file's header, where the tables are described.
            const std::size_t at = 32 + random.next() % 32;
            if (at < damaged.size()) damaged[at] = static_cast<char>(random.next());
        }
        std::ofstream(path, std::ios::binary) << damaged;
        static_cast<void>(elf_symbols(path.c_str()).find(random.next() % head.size()));
    }
}

}  // namespace
}  // namespace weft::detail
