// weft.h: everything, for programs that do not want to choose.
#pragma once

#include <weft/barrier.h>
#include <weft/cancel.h>
#include <weft/chan.h>
#include <weft/condition_variable.h>
#include <weft/coroutine.h>
#include <weft/debug.h>
#include <weft/error.h>
#include <weft/event.h>
#include <weft/future.h>
#include <weft/go.h>
#include <weft/latch.h>
#include <weft/local.h>
#include <weft/mutex.h>
#include <weft/promise.h>
#include <weft/recursive_mutex.h>
#include <weft/runtime.h>
#include <weft/scope.h>
#include <weft/select.h>
#include <weft/select_set.h>
#include <weft/semaphore.h>
#include <weft/shared_mutex.h>
#include <weft/time.h>
#include <weft/timed_mutex.h>
#include <weft/timer.h>
#include <weft/wait_group.h>
