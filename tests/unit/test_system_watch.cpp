// The thread that notices when the main thread does not come back.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "system/watch.h"

using openimb::system::Watch;
using namespace std::chrono_literals;

namespace {

constexpr double seconds = 0.1;

// Waits for it as long as a crowded machine may take.
bool comes_to(const std::atomic<int>& alarms, int wanted) {
  for (int i = 0; i < 1000 && alarms < wanted; ++i) std::this_thread::sleep_for(10ms);
  return alarms == wanted;
}

}  // namespace

TEST_CASE("a watch alarms once for each time that is too long") {
  std::atomic<int> alarms = 0;
  Watch watch(seconds, [&] { ++alarms; });
  watch.set(true);
  CHECK(comes_to(alarms, 1));
  std::this_thread::sleep_for(300ms);
  CHECK(alarms == 1);
  watch.set(false);
  watch.set(true);
  CHECK(comes_to(alarms, 2));
}

TEST_CASE("a watch is quiet while it is not set, and ends at once") {
  std::atomic<int> alarms = 0;
  {
    Watch watch(seconds, [&] { ++alarms; });
    std::this_thread::sleep_for(300ms);
    watch.set(true);
    watch.set(false);
    std::this_thread::sleep_for(300ms);
  }
  const auto start = std::chrono::steady_clock::now();
  {
    Watch watch(1000, [&] { ++alarms; });
    watch.set(true);
  }
  CHECK(std::chrono::steady_clock::now() - start < 50s);
  CHECK(alarms == 0);
}

TEST_CASE("an alarm and what the main thread changes exclude each other") {
  for (const bool sets : {true, false}) {
    std::atomic<bool> begun = false, ended = false;
    bool changed = false;
    Watch watch(seconds, [&] {
      begun = true;
      std::this_thread::sleep_for(50ms);
      ended = true;
    });
    watch.set(true);
    while (!begun) std::this_thread::yield();
    if (sets) {
      watch.set(false);
    } else {
      watch.change([&] { changed = true; });
    }
    CHECK(ended);
    CHECK(changed != sets);
  }
}

TEST_CASE("many short times are not a long one") {
  std::atomic<int> alarms = 0;
  Watch watch(20, [&] { ++alarms; });
  for (int i = 0; i < 1000; ++i) {
    watch.set(true);
    watch.set(false);
  }
  CHECK(alarms == 0);
}
