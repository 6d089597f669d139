// windows_api.h: the declarations of Windows, for files of that system only.
#pragma once

#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00  // Windows 10
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif

// In this order: <windows.h> alone would declare the older sockets.
// clang-format off
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
// clang-format on

#undef small
#undef interface
#undef near
#undef far
