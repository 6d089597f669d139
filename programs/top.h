// top.h: `weft top`: shows a running program in a terminal, read each second from its page or from
// outside.
//
// Threads: one.
#pragma once

#include <string>
#include <vector>

// Throws usage_error, std::runtime_error.
int top(const std::vector<std::string>& arguments);
