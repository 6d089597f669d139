// program_name.h: how this program was called.
#pragma once

namespace weft::test {

[[nodiscard]] const char* program_name() noexcept;

}  // namespace weft::test
