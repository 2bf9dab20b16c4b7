// What the fake drivers use of the guard.
#pragma once

#include <cstddef>

extern "C" {
/// Whole pages, which lose all access rights outside of openimb::guard::Open.
void fake_gpu_guard(void* begin, std::size_t bytes);
/// Before they are unmapped.
void fake_gpu_forget(void* begin);
}
