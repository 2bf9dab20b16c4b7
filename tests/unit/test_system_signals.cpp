// Stop signals, the record that is written when a run cannot end normally, and the exit timer. Each case runs
// in a child process, because it ends the process.
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "system/output_file.h"
#include "system/signals.h"
#include "system/sleep.h"
#include "temporary.h"

using namespace openimb::system;
using namespace openimb::testing;

namespace {

EndRecords numbered(int measured) {
  EndRecords records;
  for (const std::string& name : stop_signal_names()) {
    records.by_signal.push_back(name + " after " + std::to_string(measured) + "\n");
  }
  records.before_reason = "aborted by ";
  records.after_reason = " after " + std::to_string(measured) + "\n";
  return records;
}

struct Outcome {
  int status = 0;
  std::string text;
};

/// Runs `body` in a child process with a record file, and returns its exit status and the contents of the
/// file.
Outcome outcome_of(const std::function<int(std::FILE*)>& body) {
  const Folder folder;
  const std::string path = folder.file("records", "run\n");
  const pid_t child = start_child([&] {
    std::FILE* const file = std::fopen(path.c_str(), "a");
    return file == nullptr ? 99 : body(file);
  });
  return {wait_for_child(child), text_in(path)};
}

/// Whether this program was started with SIGHUP ignored, as under nohup: then its parent ignores it too.
bool starts_without_hangup() {
  std::ifstream status("/proc/" + std::to_string(getppid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigIgn:")) return std::stoull(line.substr(7), nullptr, 16) % 2 == 1;
  }
  return false;
}

}  // namespace

TEST_CASE("a stop signal is noted and does not end the process") {
  constexpr int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};
  const std::vector<std::string> names = stop_signal_names();
  REQUIRE(names.size() == std::size(signals));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (signals[i] == SIGHUP && starts_without_hangup()) continue;
    const Outcome outcome = outcome_of([&](std::FILE* file) {
      catch_stop_signals(30);
      prepare_end_record(file, numbered(1));
      if (!stop_signal().empty()) return 1;
      raise(signals[i]);
      return stop_signal() == names[i] ? 0 : 2;
    });
    INFO(names[i]);
    CHECK(outcome.status == 0);
    CHECK(outcome.text == "run\n");
  }
}

TEST_CASE("a SIGHUP that was ignored before, as under nohup, stays ignored") {
  const Outcome outcome = outcome_of([](std::FILE* file) {
    std::signal(SIGHUP, SIG_IGN);
    catch_stop_signals(0.02);
    prepare_end_record(file, numbered(1));
    raise(SIGHUP);
    pause_for(0.1);
    return stop_signal().empty() ? 7 : 1;
  });
  CHECK(outcome.status == 7);
  CHECK(outcome.text == "run\n");
}

TEST_CASE("if a stop takes too long, the process writes the prepared record and exits with 128 + signal") {
  const Outcome outcome = outcome_of([](std::FILE* file) {
    catch_stop_signals(0.05);
    prepare_end_record(file, numbered(1));
    prepare_end_record(file, numbered(2));
    prepare_end_record(file, numbered(3));
    raise(SIGTERM);
    pause_for(30);
    return 0;
  });
  CHECK(outcome.status == 128 + SIGTERM);
  CHECK(outcome.text == "run\nSIGTERM after 3\n");
}

TEST_CASE("without a grace period a stop may take as long as it likes") {
  const Outcome outcome = outcome_of([](std::FILE* file) {
    catch_stop_signals(0);
    prepare_end_record(file, numbered(1));
    raise(SIGTERM);
    pause_for(0.3);
    return 7;
  });
  CHECK(outcome.status == 7);
  CHECK(outcome.text == "run\n");
}

TEST_CASE("a second signal ends the process at once, with the record of the first") {
  const Outcome outcome = outcome_of([](std::FILE* file) {
    catch_stop_signals(30);
    prepare_end_record(file, numbered(5));
    raise(SIGUSR1);
    raise(SIGTERM);
    return 0;
  });
  CHECK(outcome.status == 128 + SIGUSR1);
  CHECK(outcome.text == "run\nSIGUSR1 after 5\n");
}

TEST_CASE("after an orderly end no timer ends the process and no record is written") {
  const Outcome outcome = outcome_of([](std::FILE* file) {
    catch_stop_signals(0.1);
    prepare_end_record(file, numbered(1));
    raise(SIGTERM);
    disarm_stop();
    pause_for(0.4);  // MPI_Finalize takes its time
    return stop_signal() == "SIGTERM" ? 3 : 1;
  });
  CHECK(outcome.status == 3);
  CHECK(outcome.text == "run\n");
}

TEST_CASE("a signal that arrives after an orderly end starts no timer; a second one ends the process") {
  const Outcome first = outcome_of([](std::FILE* file) {
    catch_stop_signals(0.05);
    prepare_end_record(file, numbered(1));
    disarm_stop();
    raise(SIGTERM);
    pause_for(0.3);
    return 3;
  });
  CHECK(first.status == 3);
  const Outcome second = outcome_of([](std::FILE* file) {
    catch_stop_signals(0.05);
    prepare_end_record(file, numbered(1));
    disarm_stop();
    raise(SIGINT);
    raise(SIGINT);
    return 0;
  });
  CHECK(second.status == 128 + SIGINT);
  CHECK(second.text == "run\n");
}

TEST_CASE("a process without a record file also ends") {
  const Outcome outcome = outcome_of([](std::FILE*) {
    catch_stop_signals(0.05);
    prepare_end_record(nullptr, numbered(1));
    raise(SIGINT);
    pause_for(30);
    return 0;
  });
  CHECK(outcome.status == 128 + SIGINT);
  CHECK(outcome.text == "run\n");
}

TEST_CASE("the record is complete while it is being replaced") {
  for (int repetition = 0; repetition < 5; ++repetition) {
    const Outcome outcome = outcome_of([](std::FILE* file) {
      catch_stop_signals(0.02);
      raise(SIGTERM);
      for (int measured = 0;; ++measured) prepare_end_record(file, numbered(measured));
      return 0;
    });
    CHECK(outcome.status == 128 + SIGTERM);
    REQUIRE(outcome.text.starts_with("run\nSIGTERM after "));
    CHECK(outcome.text.ends_with("\n"));
    CHECK(outcome.text.find_first_not_of("0123456789", std::strlen("run\nSIGTERM after ")) ==
          outcome.text.size() - 1);
  }
}

TEST_CASE("the record of an abort has the reason, as characters that JSON does not escape") {
  const Outcome plain = outcome_of([](std::FILE* file) {
    prepare_end_record(file, numbered(4));
    write_abort_record("out of memory");
    write_abort_record("a second reason");
    return 0;
  });
  CHECK(plain.text == "run\naborted by out of memory after 4\n");
  const Outcome strange = outcome_of([](std::FILE* file) {
    prepare_end_record(file, numbered(4));
    write_abort_record("a \"b\"\\\n\x01\xC3\xA9");
    return 0;
  });
  CHECK(strange.text == "run\naborted by a 'b'????? after 4\n");
}

TEST_CASE("a long reason is cut so that the record stays whole") {
  const Outcome outcome = outcome_of([](std::FILE* file) {
    prepare_end_record(file, numbered(4));
    write_abort_record(std::string(5000, 'x').c_str());
    return 0;
  });
  CHECK(outcome.text.size() == std::strlen("run\n") + 512);
  CHECK(outcome.text.ends_with("xxx after 4\n"));
}

TEST_CASE("without a prepared record an abort writes none") {
  const Outcome outcome = outcome_of([](std::FILE* file) {
    write_abort_record("early");
    prepare_end_record(file, numbered(1));
    prepare_end_record(nullptr, {});
    write_abort_record("late");
    return 0;
  });
  CHECK(outcome.text == "run\n");
}

TEST_CASE("a signal during an abort changes neither record nor status") {
  const Outcome outcome = outcome_of([](std::FILE* file) {
    catch_stop_signals(0.01);
    prepare_end_record(file, numbered(2));
    exit_after(0.2, 5);
    write_abort_record("out of memory");
    raise(SIGTERM);
    raise(SIGTERM);
    pause_for(30);
    return 0;
  });
  CHECK(outcome.status == 5);
  CHECK(outcome.text == "run\naborted by out of memory after 2\n");
}

TEST_CASE("the exit timer ends a process that hangs") {
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = outcome_of([](std::FILE*) {
    prepare_exit_timer();
    exit_after(0.1, 5);
    pause_for(30);
    return 0;
  });
  CHECK(outcome.status == 5);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  CHECK(outcome_of([](std::FILE*) -> int { exit_now(9); }).status == 9);
}

TEST_CASE("the exit timer works while another thread computes") {
  const Outcome outcome = outcome_of([](std::FILE*) {
    prepare_exit_timer();
    std::thread([] {
      for (std::atomic<int> spin = 0;; ++spin) continue;
    }).detach();
    exit_after(0.1, 5);
    for (;;) pause_for(1);
    return 0;
  });
  CHECK(outcome.status == 5);
}

TEST_CASE("a closed pipe fails the write instead of ending the process") {
  const Outcome outcome = outcome_of([](std::FILE*) {
    catch_stop_signals(0);
    int ends[2];
    if (pipe(ends) != 0) return 1;
    close(ends[0]);
    return write(ends[1], "x", 1) < 0 && errno == EPIPE ? 0 : 2;
  });
  CHECK(outcome.status == 0);
}

TEST_CASE("text for standard error is written completely") {
  const Folder folder;
  const std::string path = folder.file("errors");
  const std::string text(100000, 'e');
  const pid_t child = start_child([&] {
    if (std::freopen(path.c_str(), "w", stderr) == nullptr) return 1;
    write_to_stderr(text.data(), text.size());
    return 0;
  });
  CHECK(wait_for_child(child) == 0);
  CHECK(text_in(path) == text);
}
