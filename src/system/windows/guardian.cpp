#include "system/guardian_process.h"

#include <windows.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace openimb::system {

namespace {

// The hidden arguments of the guardian are this word and the numbers of the two pipe ends that it inherits.
constexpr const char* guardian_word = "--openimb-guardian";

class Handle {
 public:
  Handle() = default;
  explicit Handle(HANDLE handle) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { close(); }
  void close() {
    if (handle_ != nullptr) CloseHandle(handle_);
    handle_ = nullptr;
  }
  HANDLE get() const { return handle_; }
  HANDLE* at() { return &handle_; }

 private:
  HANDLE handle_ = nullptr;
};

class PipeConnection final : public Connection {
 public:
  PipeConnection(Handle from, Handle to) : from_(std::move(from)), to_(std::move(to)) {}
  ~PipeConnection() override {
    to_.close();
    from_.close();
    if (process_.get() != nullptr) WaitForSingleObject(process_.get(), INFINITE);
  }
  void set_process(Handle process) { process_ = std::move(process); }
  bool send(const std::string& text) override {
    DWORD count = 0;
    return WriteFile(to_.get(), text.data(), static_cast<DWORD>(text.size()), &count, nullptr) != 0 &&
           count == text.size();
  }
  std::optional<char> receive() override {
    char byte = 0;
    DWORD count = 0;
    const bool ok = ReadFile(from_.get(), &byte, 1, &count, nullptr) != 0 && count == 1;
    return ok ? std::optional(byte) : std::nullopt;
  }

 private:
  Handle from_, to_, process_;
};

/// Starts a process that inherits only the given handles, because the launcher waits for the end of all
/// processes that have its pipes.
class ProcessStarter {
 public:
  explicit ProcessStarter(std::array<HANDLE, 2>& handles) {
    SIZE_T size = 0;
    InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
    space_.resize(size);
    start_.StartupInfo.cb = sizeof start_;
    start_.lpAttributeList = reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(space_.data());
    if (InitializeProcThreadAttributeList(start_.lpAttributeList, 1, 0, &size) == 0) return;
    initialized_ = true;
    complete_ = UpdateProcThreadAttribute(start_.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                          handles.data(), sizeof handles, nullptr, nullptr) != 0;
  }
  ~ProcessStarter() {
    if (initialized_) DeleteProcThreadAttributeList(start_.lpAttributeList);
  }
  ProcessStarter(const ProcessStarter&) = delete;
  ProcessStarter& operator=(const ProcessStarter&) = delete;

  /// Returns the process; empty if it cannot be started.
  Handle run(const std::string& program, const std::string& line) {
    // Launchers end the processes of a job together. If a launcher does not allow a process to leave the job,
    // it also ends the guardian.
    for (const DWORD leave_job : {static_cast<DWORD>(CREATE_BREAKAWAY_FROM_JOB), DWORD{0}}) {
      std::string words = line;
      PROCESS_INFORMATION process{};
      if (complete_ && CreateProcessA(program.c_str(), words.data(), nullptr, nullptr, TRUE,
                                      leave_job | DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP |
                                          EXTENDED_STARTUPINFO_PRESENT,
                                      nullptr, nullptr, &start_.StartupInfo, &process) != 0) {
        CloseHandle(process.hThread);
        return Handle(process.hProcess);
      }
    }
    return {};
  }

 private:
  STARTUPINFOEXA start_{};
  std::vector<char> space_;
  bool initialized_ = false, complete_ = false;
};

std::string number_of(HANDLE handle) { return std::to_string(reinterpret_cast<std::uintptr_t>(handle)); }

Handle handle_from(std::string_view text) {
  std::uintptr_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return Handle(reinterpret_cast<HANDLE>(number));  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

std::unique_ptr<Connection> start_guardian(void (*)(Connection&)) {
  std::array<char, 32768> program{};
  const DWORD length = GetModuleFileNameA(nullptr, program.data(), static_cast<DWORD>(program.size()));
  if (length == 0 || length >= program.size()) return nullptr;
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  Handle theirs_in, ours_out, ours_in, theirs_out;
  if (CreatePipe(theirs_in.at(), ours_out.at(), &inherited, 0) == 0 ||
      CreatePipe(ours_in.at(), theirs_out.at(), &inherited, 0) == 0) {
    return nullptr;
  }
  for (const Handle* ours : {&ours_out, &ours_in}) SetHandleInformation(ours->get(), HANDLE_FLAG_INHERIT, 0);
  std::array<HANDLE, 2> theirs{theirs_in.get(), theirs_out.get()};
  auto connection = std::make_unique<PipeConnection>(std::move(ours_in), std::move(ours_out));
  Handle process =
      ProcessStarter(theirs).run(program.data(), "IMB " + std::string(guardian_word) + " " +
                                                     number_of(theirs[0]) + " " + number_of(theirs[1]));
  if (process.get() == nullptr) return nullptr;
  connection->set_process(std::move(process));
  return connection;
}

std::unique_ptr<Connection> connection_to_launch(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != guardian_word) return nullptr;
  std::set_terminate(
      [] { TerminateProcess(GetCurrentProcess(), 1); });  // the launch then continues without a guardian
  return std::make_unique<PipeConnection>(handle_from(argv[2]), handle_from(argv[3]));
}

}  // namespace openimb::system
