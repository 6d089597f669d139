// scheduler.h: in models park.h has all of the scheduler.
#pragma once

#include "sched/park.h"
