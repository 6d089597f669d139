// names_test.cc: linker's names become readable, and say whose function it is.
#undef interface  // a macro of <windows.h>, which GoogleTest includes

#include "symbols/names.h"

#include <string>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(ReadableName, IsDemangled) {
    EXPECT_EQ(readable_name("_Z5serveRKN4weft4chanIiEE"), "serve(weft::chan<int> const&)");
    EXPECT_EQ(readable_name("_ZZ4mainENKUlvE_clEv"), "main::{lambda()#1}::operator()() const");
    EXPECT_EQ(readable_name("_ZZ4mainENKUliE0_clEi"), "main::{lambda(int)#2}::operator()(int) const");
    EXPECT_EQ(readable_name("_Z3putSt6vectorIS_IiSaIiEESaIS1_EE").find("> >"), std::string::npos);
}

TEST(ReadableName, IsUnchangedIfItIsNotMangled) {
    EXPECT_EQ(readable_name("main"), "main");
    EXPECT_EQ(readable_name("_Zx"), "_Zx");
    EXPECT_EQ(readable_name(""), "");
}

TEST(ReadableName, HasShortNamesForStrings) {
    EXPECT_EQ(readable_name("_Z4sizeRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"),
              "size(std::string const&)");
    EXPECT_EQ(readable_name("_Z4sizeSt17basic_string_viewIcSt11char_traitsIcEE"), "size(std::string_view)");
}

TEST(ReadableName, DoesNotTellCopiesOfAFunctionApart) {
    EXPECT_EQ(readable_name("_ZN4weft5yieldEv.localalias"), "weft::yield()");
    EXPECT_EQ(readable_name("_Z5servei.part.0"), "serve(int)");
}

TEST(ReadableName, IsCut) {
    const std::string long_name(2 * longest_name, 'x');
    EXPECT_EQ(readable_name(long_name).size(), longest_name);
}

TEST(KindOf, IsThatOfTheFirstNamespace) {
    EXPECT_EQ(kind_of("_Z5serveRKN4weft4chanIiEE"), symbol_kind::program) << "weft in a parameter";
    EXPECT_EQ(kind_of("_ZNK4weft4chanIiE4recvEv"), symbol_kind::interface);
    EXPECT_EQ(kind_of("_ZN4weft6detail13switch_to_g0vE"), symbol_kind::runtime);
    EXPECT_EQ(kind_of("_ZZN4weft6detail3runEvENKUlvE_clEv"), symbol_kind::runtime) << "a local entity";
    EXPECT_EQ(kind_of("_ZN4weft2goIZ4mainEUlvE_EEvOT_"), symbol_kind::interface);
    EXPECT_EQ(kind_of("_ZZ4mainENKUlvE_clEv"), symbol_kind::program);
    EXPECT_EQ(kind_of("_ZN4weft4test3runEv"), symbol_kind::program) << "these tests themselves";
    EXPECT_EQ(kind_of("_ZN8weftlike3runEv"), symbol_kind::program);
    EXPECT_EQ(kind_of("_ZSt13__invoke_implIvRZ4mainEUlvE_JEET_St14__invoke_otherOT0_DpOT1_"), symbol_kind::glue);
    EXPECT_EQ(kind_of("_ZSt4sortIPiEvT_S1_"), symbol_kind::program);
    EXPECT_EQ(kind_of("run_context_switch"), symbol_kind::runtime);
    EXPECT_EQ(kind_of("main"), symbol_kind::program);
    EXPECT_EQ(kind_of(""), symbol_kind::program);
}

TEST(KindOf, ReadsNamesThatAreNotMangled) {
    EXPECT_EQ(kind_of("weft::detail::(anonymous namespace)::park"), symbol_kind::runtime);
    EXPECT_EQ(kind_of("weft::sleep_for"), symbol_kind::interface);
    EXPECT_EQ(kind_of("weft::test::run"), symbol_kind::program);
    EXPECT_EQ(kind_of("main::{lambda}::operator()"), symbol_kind::program);
}

}  // namespace
}  // namespace weft::detail
