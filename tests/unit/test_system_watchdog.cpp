// The thread that notices if a call of the main thread does not return.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "system/watchdog.h"

using openimb::system::Watchdog;
using namespace std::chrono_literals;

namespace {

constexpr double seconds = 0.1;

// Waits as long as a busy machine may need.
bool reaches(const std::atomic<int>& alarms, int wanted) {
  for (int i = 0; i < 1000 && alarms < wanted; ++i) std::this_thread::sleep_for(10ms);
  return alarms == wanted;
}

}  // namespace

TEST_CASE("a watchdog raises one alarm for each period that is too long") {
  std::atomic<int> alarms = 0;
  Watchdog watchdog(seconds, [&] { ++alarms; });
  watchdog.set(true);
  CHECK(reaches(alarms, 1));
  std::this_thread::sleep_for(300ms);
  CHECK(alarms == 1);
  watchdog.set(false);
  watchdog.set(true);
  CHECK(reaches(alarms, 2));
}

TEST_CASE("a watchdog raises no alarm while it is not set, and ends at once") {
  std::atomic<int> alarms = 0;
  {
    Watchdog watchdog(seconds, [&] { ++alarms; });
    std::this_thread::sleep_for(300ms);
    watchdog.set(true);
    watchdog.set(false);
    std::this_thread::sleep_for(300ms);
  }
  const auto start = std::chrono::steady_clock::now();
  {
    Watchdog watchdog(1000, [&] { ++alarms; });
    watchdog.set(true);
  }
  CHECK(std::chrono::steady_clock::now() - start < 50s);
  CHECK(alarms == 0);
}

TEST_CASE("an alarm and what the main thread changes exclude each other") {
  for (const bool sets : {true, false}) {
    std::atomic<bool> begun = false, ended = false;
    bool changed = false;
    Watchdog watchdog(seconds, [&] {
      begun = true;
      std::this_thread::sleep_for(50ms);
      ended = true;
    });
    watchdog.set(true);
    while (!begun) std::this_thread::yield();
    if (sets) {
      watchdog.set(false);
    } else {
      watchdog.change([&] { changed = true; });
    }
    CHECK(ended);
    CHECK(changed != sets);
  }
}

TEST_CASE("many short periods do not raise an alarm") {
  std::atomic<int> alarms = 0;
  Watchdog watchdog(20, [&] { ++alarms; });
  for (int i = 0; i < 1000; ++i) {
    watchdog.set(true);
    watchdog.set(false);
  }
  CHECK(alarms == 0);
}
