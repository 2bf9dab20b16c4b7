#include "app/abort.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include "model/exit_status.h"
#include "report/row_label.h"
#include "system/abort_notice.h"
#include "system/signals.h"
#include "system/sleep.h"

namespace openimb {

namespace {

constexpr double abort_seconds = 0.5;  // an MPI_Abort that takes longer is considered hung
constexpr double notice_seconds = 1;   // rank 0 usually answers within a millisecond
constexpr double start_seconds = 5;    // an MPI_Init that takes longer is considered hung
// Open MPI's launcher loses output that arrives together with an abort.
constexpr double output_seconds = 0.1;

const char* program_name = "IMB";
std::atomic<bool> aborting{false};
std::atomic<std::thread::id> aborting_thread{};
std::atomic<bool> starting_mpi{false};
std::atomic<int> rank_of_process{-1};  // -1: MPI has not started
std::mutex activity_mutex;
Activity current_activity;

bool mpi_is_up() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

// Below MPI_THREAD_MULTIPLE, only the main thread may call MPI. The two calls here are allowed on any thread
// (MPI 4.1, section 11.6).
bool may_call_mpi() {
  int main_thread = 0, level = MPI_THREAD_SINGLE;
  MPI_Is_thread_main(&main_thread);
  MPI_Query_thread(&level);
  return main_thread != 0 || level == MPI_THREAD_MULTIPLE;
}

// A rank that exits before MPI_Init leaves the others waiting in it: MPICH's launcher does not end the job.
// So this rank calls MPI_Init, to call MPI_Abort after it.
void start_mpi_to_abort() {
  if (starting_mpi.load()) return;
  system::exit_after(start_seconds, exit_aborted);
  MPI_Init(nullptr, nullptr);
}

// Calls `function` with the text of the current exception, which is valid during the call only. Must not
// allocate, as the exception may be bad_alloc.
template <class Function>
void use_exception_text(Function function) {
  if (!std::current_exception()) return function("terminated without an exception");
  try {
    throw;
  } catch (const std::bad_alloc&) {
    function("out of memory");
  } catch (const std::exception& error) {
    function(error.what());
  } catch (...) {
    function("unknown exception");
  }
}

// Returns the reason after the current activity: "PingPong, 2 processes, 8 B: out of memory".
const char* reason_with_activity(const char* reason) {
  static std::array<char, 512> text;
  // Does not wait for the lock: this thread may hold it in note_activity().
  const std::unique_lock lock(activity_mutex, std::try_to_lock);
  if (!lock || current_activity.benchmark.empty()) return reason;
  std::array<char, 40> partner{};
  if (current_activity.partner) {
    std::snprintf(partner.data(), partner.size(), ", with endpoint %d", *current_activity.partner);
  }
  const std::size_t end = write_label(text, {current_activity.benchmark, current_activity.processes,
                                             current_activity.bytes, current_activity.variant});
  std::snprintf(text.data() + end, text.size() - end, "%s: %s", partner.data(), reason);
  return text.data();
}

void print_reason(const char* reason, const char* outcome = "; the run is aborted") {
  static std::array<char, 512> line;
  const int rank = rank_of_process.load();
  constexpr int max_reason = 400;
  const int length = rank >= 0 ? std::snprintf(line.data(), line.size(), "%s: rank %d: %.*s%s", program_name,
                                               rank, max_reason, reason, outcome)
                               : std::snprintf(line.data(), line.size(), "%s: %.*s%s", program_name,
                                               max_reason, reason, outcome);
  const std::size_t end =
      std::min<std::size_t>(static_cast<std::size_t>(std::max(0, length)), line.size() - 2);
  std::replace_if(
      line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c >= 0 && c < ' '; },
      ' ');
  line[end] = '\n';
  system::write_to_stderr(line.data(), end + 1);
}

// Reports the reason and ends the job. `call_with_reason(f)` calls f(text); the text need not outlive that
// call.
template <class CallWithReason>
[[noreturn]] void leave(CallWithReason call_with_reason) {
  // Only the first reason is reported. Another thread gives the first one time to abort. If the first thread
  // fails again here, it ends the process at once.
  if (aborting.exchange(true)) {
    if (aborting_thread.load() != std::this_thread::get_id()) system::pause_for(abort_seconds);
    system::exit_now(exit_aborted);
  }
  aborting_thread.store(std::this_thread::get_id());
  system::exit_after(abort_seconds, exit_aborted);
  const bool up = mpi_is_up();
  call_with_reason([&](const char* what) {
    const char* const reason = reason_with_activity(what);
    print_reason(reason);
    system::write_abort_record(reason);
    system::exit_after(notice_seconds + abort_seconds, exit_aborted);
    system::send_abort_notice(reason, notice_seconds);
  });
  if (!up) start_mpi_to_abort();
  if (mpi_is_up()) {
    system::pause_for(output_seconds);
    system::exit_after(abort_seconds, exit_aborted);
    const auto abort_job = []() noexcept { MPI_Abort(MPI_COMM_WORLD, exit_aborted); };
    if (may_call_mpi()) {
      abort_job();
    } else if (system::interrupt_main_thread(abort_job)) {
      system::pause_for(abort_seconds);
    }
  }
  system::exit_now(exit_aborted);
}

[[noreturn]] void on_terminate() {
  leave([](auto function) { use_exception_text(function); });
}

}  // namespace

void abort_run(const char* reason) {
  leave([reason](auto function) { function(reason); });
}

void share_aborts(ProcessGroup& world) {
  const auto take = [](const char* reason) noexcept {
    if (!system::write_abort_record(reason)) return false;
    system::exit_after(notice_seconds + abort_seconds, exit_aborted);  // the other rank may not abort
    return true;
  };
  std::string where;
  if (world.rank() == 0) where = system::receive_abort_notices(take);
  where = world.broadcast(where);
  if (world.rank() != 0) system::send_abort_notices_to(where);
}

void warn_of_blocked_call(const char* reason) { print_reason(reason_with_activity(reason), ""); }

void leave_without_others(int status) {
  constexpr double patience = 10;  // rank 0 ends the job earlier
  if (rank_of_process.load() != 0) {
    system::exit_after(patience, status);
    for (;;) system::pause_for(patience);
  }
  system::pause_for(output_seconds);
  system::exit_after(abort_seconds, status);
  MPI_Abort(MPI_COMM_WORLD, status);
  system::exit_now(status);
}

void note_activity(const Activity& activity) {
  const std::lock_guard lock(activity_mutex);
  current_activity = activity;
}

void note_start_of_mpi(bool starting) {
  starting_mpi.store(starting);
  if (starting || !mpi_is_up()) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rank_of_process.store(rank);
}

void abort_on_exceptions(const char* program) {
  program_name = program;
  system::prepare_exit_timer();
  std::set_terminate(on_terminate);
}

}  // namespace openimb
