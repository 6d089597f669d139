// scheduler.h: in models a scheduler is what park.h has of it.
#pragma once

#include "sched/park.h"
