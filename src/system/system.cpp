#include "system/system.h"

#include <sched.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string_view>

// POSIX leaves this declaration to the program; glibc makes it too.
extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace openimb::system {

Machine machine() {
  utsname names{};
  if (uname(&names) != 0) return {};
  return {names.machine, names.sysname, names.release, names.version};
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string allowed_cpus() {
#ifdef __linux__
  std::ifstream status("/proc/self/status");
  constexpr std::string_view key = "Cpus_allowed_list:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    const auto value = line.find_first_not_of(" \t", key.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
#endif
  return "";
}

Cache last_level_cache() {
  Cache cache;
#ifdef __linux__
  int highest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), size_file(folder + "size"),
        line_file(folder + "coherency_line_size");
    int level = 0, line = 0;
    std::int64_t size = 0;
    char unit = ' ';
    if (!(level_file >> level) || level < highest || !(size_file >> size)) continue;
    if (size_file >> unit) size *= unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1;
    line_file >> line;
    highest = level;
    cache = {size, line};
  }
#endif
#ifdef _SC_LEVEL1_DCACHE_LINESIZE
  if (cache.size == 0)
    cache.size = std::max({0L, sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE)});
  if (cache.line == 0) cache.line = static_cast<int>(std::max(0L, sysconf(_SC_LEVEL1_DCACHE_LINESIZE)));
#endif
  return cache;
}

std::vector<std::pair<std::string, std::string>> mpi_environment() {
  constexpr std::string_view prefixes[] = {"OMPI_MCA_", "PRTE_MCA_",  "PMIX_MCA_",
                                           "MPICH_",    "MPIR_CVAR_", "I_MPI_",
                                           "UCX_",      "FI_",        "OMP_NUM_THREADS"};
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const auto equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, equals);
    if (std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); })) {
      found.emplace_back(name, variable.substr(equals + 1));
    }
  }
  std::ranges::sort(found);
  return found;
}

void pause_for(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

namespace {

constexpr std::pair<int, const char*> stop_signals[] = {
    {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};

std::atomic<int> arrived{0};
double grace = 0;

struct LastWords {
  std::array<char, 512> text{};
  std::size_t length = 0;
};
// One text per signal, in two sets: the handler reads the set that is not being written.
std::array<std::array<LastWords, std::size(stop_signals)>, 2> last_words;
std::atomic<int> current_set{-1};
int words_descriptor = -1;

[[noreturn]] void leave() {
  const int set = current_set.load();
  for (std::size_t i = 0; set >= 0 && i < std::size(stop_signals); ++i) {
    const LastWords& words = last_words[set][i];
    if (stop_signals[i].first != arrived.load()) continue;
    [[maybe_unused]] const auto written = write(words_descriptor, words.text.data(), words.length);
  }
  _exit(128 + arrived.load());
}

void on_alarm(int) { leave(); }

void on_stop(int signal) {
  int none = 0;
  if (!arrived.compare_exchange_strong(none, signal)) leave();
  if (grace <= 0) return;
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(grace);
  timer.it_value.tv_usec =
      static_cast<suseconds_t>((grace - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void catch_stop_signals(double grace_seconds) {
  grace = grace_seconds;
  std::signal(SIGPIPE,
              SIG_IGN);  // a closed pipe fails the write, which is said once, and does not end the run
  struct sigaction action{};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_stop;
  for (const auto& [signal, name] : stop_signals) sigaction(signal, &action, nullptr);
}

std::string stop_signal() {
  for (const auto& [signal, name] : stop_signals) {
    if (signal == arrived.load()) return name;
  }
  return "";
}

void set_last_words(std::FILE* file, const std::function<std::string(const char* signal)>& words) {
  if (file == nullptr) {
    current_set.store(-1);
    return;
  }
  const int set = current_set.load() == 0 ? 1 : 0;
  for (std::size_t i = 0; i < std::size(stop_signals); ++i) {
    const std::string text = words(stop_signals[i].second);
    LastWords& prepared = last_words[set][i];
    prepared.length = std::min(text.size(), prepared.text.size());
    std::memcpy(prepared.text.data(), text.data(), prepared.length);
  }
  words_descriptor = fileno(file);
  current_set.store(set);
}

}  // namespace openimb::system
