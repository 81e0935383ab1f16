// steady_time.hpp - a time that goes on at its pace when the server's clock is set. It means
// something within this process only.

#pragma once

#include "postgres.hpp"

#include "portability/instr_time.h"

namespace queue_ext {

// In microseconds.
inline int64
steady_now()
{
	instr_time time;
	INSTR_TIME_SET_CURRENT(time);
	return static_cast<int64>(INSTR_TIME_GET_MICROSEC(time));
}

} // namespace queue_ext
