// leaks.h: for tests that leak on purpose.
#pragma once

namespace weft::test {

// Silences the leak checker, if any, at process exit. A stopped runtime never unwinds the frames of
// abandoned green threads, so what they own leaks.
void leak_on_purpose() noexcept;

}  // namespace weft::test
