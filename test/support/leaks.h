// leaks.h: tests that leak on purpose.
#pragma once

namespace weft::test {

// What green threads own that a stopped runtime has abandoned is leaked: their frames are never unwound. From here on the leak checker, if
// there is one, is not to complain when the process ends.
void leak_on_purpose() noexcept;

}  // namespace weft::test
