// weft.h: everything, for programs that do not want to choose.
#pragma once

#include <weft/cancel.h>
#include <weft/chan.h>
#include <weft/debug.h>
#include <weft/error.h>
#include <weft/future.h>
#include <weft/go.h>
#include <weft/mutex.h>
#include <weft/runtime.h>
#include <weft/scope.h>
#include <weft/select.h>
#include <weft/select_set.h>
#include <weft/time.h>
#include <weft/wait_group.h>
