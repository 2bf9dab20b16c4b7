// Counters of this thread and host, with a simulated /proc and /sys, and with the real ones while countable
// events happen.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "system/counter_reader.h"
#include "system/sleep.h"
#include "temporary.h"

using namespace openimb::system;
using openimb::testing::Folder;
using Strings = std::vector<std::string>;

namespace {

/// A simulated /proc and /sys.
class Tree {
 public:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void make_folder(const std::string& name) const { std::filesystem::create_directories(folder_ / name); }
  void remove(const std::string& name) const { std::filesystem::remove_all(folder_ / name); }
  void write_port(const std::string& device, const std::string& port, const std::string& sent,
                  const std::string& received) const {
    const std::string counters = "sys/class/infiniband/" + device + "/ports/" + port + "/counters/port_";
    write(counters + "xmit_data", sent);
    write(counters + "rcv_data", received);
  }
  CounterSources sources(std::vector<int> cpus = {}) const {
    return {folder_ / "proc", folder_ / "sys", std::move(cpus)};
  }

 private:
  Folder folder_;
};

const std::string net_heading =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
    "carrier compressed\n";

std::string net_line(const std::string& name, long long sent, long long received) {
  return "  " + name + ": " + std::to_string(received) + "    7    0    0    0     0          0         0 " +
         std::to_string(sent) + "    9    0    0    0     0       0          0\n";
}

std::vector<double> traffic_of(CounterReader& evidence) {
  std::vector<double> bytes(2 * evidence.interfaces().size(), -1);
  evidence.traffic(bytes);
  return bytes;
}

/// Makes the scheduler switch to another thread, after which run delay is read again. A short sleep may end
/// before it has begun. Returns false if the kernel counts no switches.
bool let_others_run() {
  const auto switches = [] {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw + used.ru_nivcsw;
  };
  const long before = switches();
  for (int i = 0; i < 100; ++i) {
    pause_for(1e-4);
    if (switches() != before) return true;
  }
  return false;
}

/// Longer than a reading of steal time is kept.
void let_steal_expire() { pause_for(0.025); }

}  // namespace

TEST_CASE("network interfaces with bytes sent and received") {
  Tree tree;
  tree.write("proc/net/dev", net_heading + net_line("lo", 500, 500) + net_line("eth0", 12345678901234, 17));
  CounterReader evidence(true, tree.sources());
  CHECK(evidence.interfaces() == Strings{"lo", "eth0"});
  CHECK(traffic_of(evidence) == std::vector<double>{500, 500, 12345678901234.0, 17});
  tree.write("proc/net/dev", net_heading + net_line("lo", 600, 700) + net_line("eth0", 12345678901235, 18));
  CHECK(traffic_of(evidence) == std::vector<double>{600, 700, 12345678901235.0, 18});
}

TEST_CASE("a number may follow its name without a blank") {
  Tree tree;
  tree.write("proc/net/dev", "eth0:11 2 3 4 5 6 7 8 99 10 11 12 13 14 15 16\n");
  CounterReader evidence(true, tree.sources());
  CHECK(traffic_of(evidence) == std::vector<double>{99, 11});
}

TEST_CASE("RDMA ports count in units of four bytes") {
  Tree tree;
  tree.write("proc/net/dev", net_heading + net_line("lo", 1, 2));
  tree.write_port("mlx5_1", "1", "1000\n", "2000\n");
  tree.write_port("mlx5_1", "2", "5\n", "6\n");
  tree.write_port("mlx5_0", "1", "10\n", "20\n");
  tree.make_folder("sys/class/infiniband/rxe0/ports/1/hw_counters");  // no counters of this kind
  CounterReader evidence(true, tree.sources());
  CHECK(evidence.interfaces() == Strings{"lo", "mlx5_0", "mlx5_1:1", "mlx5_1:2"});
  CHECK(traffic_of(evidence) == std::vector<double>{1, 2, 40, 80, 4000, 8000, 20, 24});
  tree.write_port("mlx5_0", "1", "11\n", "22\n");
  CHECK(traffic_of(evidence) == std::vector<double>{1, 2, 44, 88, 4000, 8000, 20, 24});
}

TEST_CASE("interfaces that come, go or change places between readings") {
  Tree tree;
  const std::string lo = net_line("lo", 1, 2), a = net_line("a", 3, 4), b = net_line("b", 5, 6);
  tree.write("proc/net/dev", net_heading + lo + a + b);
  tree.write_port("mlx5_0", "1", "10\n", "20\n");
  CounterReader evidence(true, tree.sources());
  CHECK(traffic_of(evidence) == std::vector<double>{1, 2, 3, 4, 5, 6, 40, 80});

  tree.write("proc/net/dev", net_heading + net_line("b", 50, 60) + net_line("new", 7, 8) + lo);
  tree.remove("sys/class/infiniband/mlx5_0");
  CHECK(traffic_of(evidence) == std::vector<double>{1, 2, 3, 4, 50, 60, 40, 80});
  CHECK(evidence.interfaces() == Strings{"lo", "a", "b", "mlx5_0"});

  tree.write("proc/net/dev", "");
  CHECK(traffic_of(evidence) == std::vector<double>{1, 2, 3, 4, 50, 60, 40, 80});
}

TEST_CASE("if a counter cannot be read, its last value stays") {
  Tree tree;
  tree.write("proc/net/dev", net_heading + net_line("lo", 1, 2) + "  bad: x y z\n  short: 5 6\n: 1 2 3\n");
  tree.write_port("mlx5_0", "1", "10\n", "N/A (no PMA)\n");
  CounterReader evidence(true, tree.sources());
  REQUIRE(evidence.interfaces() == Strings{"lo", "bad", "short", "mlx5_0"});
  const auto first = traffic_of(evidence);
  CHECK(first[0] == 1);
  CHECK(first[1] == 2);
  CHECK(std::isnan(first[2]));
  CHECK(std::isnan(first[3]));
  CHECK(std::isnan(first[4]));
  CHECK(first[5] == 5);
  CHECK(first[6] == 40);
  CHECK(std::isnan(first[7]));

  for (const std::string& garbage : {std::string{}, std::string("-5\n"), std::string("12x\n"),
                                     std::string("99999999999999999999999\n"), std::string(1, '\0')}) {
    tree.write_port("mlx5_0", "1", garbage, garbage);
    std::string lines = net_heading;
    lines.append("lo: ").append(garbage).append("\n").append(20000, '7');
    tree.write("proc/net/dev", lines);
    const auto then = traffic_of(evidence);
    CHECK(then[0] == 1);
    CHECK(then[1] == 2);
    CHECK(then[6] == 40);
    CHECK(std::isnan(then[7]));
  }
}

TEST_CASE("a list of interfaces that needs several reads") {
  Tree tree;
  std::string lines = net_heading;
  std::vector<double> expected;
  for (int i = 0; i < static_cast<int>(CounterReader::max_interfaces); ++i) {
    lines += net_line("interface-" + std::to_string(i) + std::string(200, 'x'), i, 100 + i);
    expected.insert(expected.end(), {1.0 * i, 100.0 + i});
  }
  tree.write("proc/net/dev", lines);
  CounterReader evidence(true, tree.sources());
  CHECK(traffic_of(evidence) == expected);
}

TEST_CASE("of too many interfaces only the physical ones and the ones with traffic are read") {
  Tree tree;
  std::string lines = net_heading;
  for (int i = 0; i < 40; ++i) lines += net_line("veth" + std::to_string(i), i, i);
  lines += net_line("lo", 0, 0) + net_line("eth0", 0, 0);
  for (int i = 40; i < 80; ++i) lines += net_line("veth" + std::to_string(i), i, i);
  tree.write("proc/net/dev", lines);
  tree.make_folder("sys/class/net/eth0/device");
  tree.write_port("mlx5_0", "1", "0\n", "3\n");
  CounterReader evidence(true, tree.sources());
  const Strings& names = evidence.interfaces();
  REQUIRE(names.size() == CounterReader::max_interfaces);  // 3, and the last 61 of 80
  CHECK(names.front() == "veth19");
  CHECK(names.back() == "mlx5_0");
  CHECK(std::ranges::count(names, "lo") == 1);
  CHECK(std::ranges::count(names, "eth0") == 1);
  const auto bytes = traffic_of(evidence);
  CHECK(bytes.front() == 19);
  CHECK(bytes[2 * 62] == 79);
  CHECK(bytes.back() == 12);
}

TEST_CASE("a shorter span gets the first counters, and the rest of a longer one does not change") {
  Tree tree;
  tree.write("proc/net/dev", net_line("lo", 1, 2) + net_line("eth0", 3, 4));
  CounterReader evidence(true, tree.sources());
  std::vector<double> bytes(6, -1);
  evidence.traffic(std::span(bytes).first(3));
  CHECK(bytes == std::vector<double>{1, 2, 3, -1, -1, -1});
  evidence.traffic(bytes);
  CHECK(bytes == std::vector<double>{1, 2, 3, 4, -1, -1});
  evidence.traffic({});
}

TEST_CASE("steal time of the requested CPUs") {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  Tree tree;
  const std::string all = "cpu  9 9 9 9 9 9 9 999999 0 0\n";
  const std::string rest = "intr 1 2 3\ncpu1 1 1 1 1 1 1 1 70000 0 0\n";
  tree.write("proc/stat", all + "cpu0 1 2 3 4 5 6 7 100 8 9\ncpu1 1 1 1 1 1 1 1 50 0 0\n" +
                              "cpu12 1 1 1 1 1 1 1 3000 0 0\n" + rest);
  CounterReader evidence(true, tree.sources({12, 0, 12}));
  CHECK(evidence.steal_seconds() == Approx(3100 * tick));

  SECTION("it grows") {
    tree.write("proc/stat", all + "cpu0 1 2 3 4 5 6 7 101\ncpu12 1 1 1 1 1 1 1 3020 0 0\n" + rest);
    let_steal_expire();
    CHECK(evidence.steal_seconds() == Approx(3121 * tick));
  }
  SECTION("a CPU that goes offline keeps its share") {
    tree.write("proc/stat", all + "cpu0 1 2 3 4 5 6 7 105\n" + rest);
    let_steal_expire();
    CHECK(evidence.steal_seconds() == Approx(3105 * tick));
  }
  SECTION("garbage changes nothing") {
    for (const char* garbage : {"", "cpu", "cpu0", "cpu0 1 2 3\n", "cpux 1 1 1 1 1 1 1 8\n", "\n\n",
                                "cpu0 1 2 3 4 5 6 7 -8\ncpu99999999999999999999 1 1 1 1 1 1 1 1\n"}) {
      tree.write("proc/stat", garbage);
      let_steal_expire();
      CHECK(evidence.steal_seconds() == Approx(3100 * tick));
    }
  }
}

TEST_CASE("steal time is not read again at once") {
  Tree tree;
  tree.write("proc/stat", "cpu0 0 0 0 0 0 0 0 100\n");
  CounterReader evidence(true, tree.sources({0}));
  let_steal_expire();
  const auto start = std::chrono::steady_clock::now();
  const double before = evidence.steal_seconds();
  tree.write("proc/stat", "cpu0 0 0 0 0 0 0 0 200\n");
  const double after = evidence.steal_seconds();
  const bool in_time = std::chrono::steady_clock::now() - start < std::chrono::milliseconds(20);
  if (in_time) CHECK(after == before);  // else this machine was too busy to tell
  let_steal_expire();
  CHECK(evidence.steal_seconds() == Approx(2 * before));
}

TEST_CASE("a CPU that comes online later does not count") {
  Tree tree;
  tree.write("proc/stat", "cpu0 0 0 0 0 0 0 0 100\n");
  CounterReader evidence(true, tree.sources({0, 1}));
  const double before = evidence.steal_seconds();
  tree.write("proc/stat", "cpu0 0 0 0 0 0 0 0 200\ncpu1 0 0 0 0 0 0 0 999999\n");
  let_steal_expire();
  CHECK(evidence.steal_seconds() == Approx(2 * before));
}

TEST_CASE("time waiting for a CPU comes from schedstat") {
  Tree tree;
  tree.write("proc/thread-self/schedstat", "123 1500000000 7\n");
  const CounterReader evidence(false, tree.sources());
  CHECK(evidence.thread().run_delay_seconds == Approx(1.5));
  tree.write("proc/thread-self/schedstat", "124 1750000000 8\n");
  if (!let_others_run()) {
    WARN("no switches are counted here");
    return;
  }
  CHECK(evidence.thread().run_delay_seconds == Approx(1.75));
  for (const char* unknown : {"", "0 0 0\n", "1 2\n", "1 x 3\n", "nothing"}) {
    tree.write("proc/thread-self/schedstat", unknown);
    REQUIRE(let_others_run());
    CHECK(std::isnan(evidence.thread().run_delay_seconds));
  }
}

// The file is changed through mapped memory: a system call might switch.
TEST_CASE("the file of run delay is read again only after a switch") {
  Tree tree;
  const std::string name = "proc/thread-self/schedstat", text = "123 1000000000 7\n";
  tree.write(name, text);
  const int file = open((tree.sources().proc + "/thread-self/schedstat").c_str(), O_RDWR);
  REQUIRE(file >= 0);
  void* const mapped = mmap(nullptr, text.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  REQUIRE(mapped != MAP_FAILED);
  volatile char& seconds = static_cast<volatile char*>(mapped)[text.find('1', 1)];
  const CounterReader evidence(false, tree.sources());
  int without_switch = 0;
  for (int i = 0; i < 1000 && without_switch < 3; ++i) {
    seconds = '1';
    if (!let_others_run()) {
      WARN("no switches are counted here");
      break;
    }
    const ThreadCounters first = evidence.thread();
    CHECK(first.run_delay_seconds == Approx(1));
    seconds = '2';
    const ThreadCounters then = evidence.thread();
    const bool switched = then.voluntary_switches != first.voluntary_switches ||
                          then.involuntary_switches != first.involuntary_switches;
    CHECK(then.run_delay_seconds == Approx(switched ? 2 : 1));
    if (!switched) ++without_switch;
  }
  munmap(mapped, text.size());
  CHECK(without_switch == 3);
}

TEST_CASE("another thread gets no run delay") {
  Tree tree;
  tree.write("proc/thread-self/schedstat", "123 1500000000 7\n");
  const CounterReader evidence(false, tree.sources());
  ThreadCounters other;
  std::thread([&] { other = evidence.thread(); }).join();
  CHECK(std::isnan(other.run_delay_seconds));
  CHECK(other.minor_faults >= 0);
}

TEST_CASE("without /proc and /sys, counters are unknown") {
  Tree tree;
  CounterReader evidence(true, tree.sources());
  CHECK(evidence.interfaces().empty());
  evidence.traffic({});
  CHECK(std::isnan(evidence.steal_seconds()));
  CHECK(std::isnan(evidence.thread().run_delay_seconds));
  CHECK(evidence.thread().voluntary_switches >= 0);
}

TEST_CASE("a process that does not read the host has no interfaces and no steal time") {
  Tree tree;
  tree.write("proc/net/dev", net_line("lo", 1, 2));
  tree.write("proc/stat", "cpu0 0 0 0 0 0 0 0 100\n");
  CounterReader evidence(false, tree.sources({0}));
  CHECK(evidence.interfaces().empty());
  std::vector<double> bytes(2, -1);
  evidence.traffic(bytes);
  CHECK(bytes == std::vector<double>{-1, -1});
  CHECK(evidence.steal_seconds() == 0);
}

TEST_CASE("without free file descriptors, counters are unknown") {
  Tree tree;
  tree.write("proc/thread-self/schedstat", "123 1500000000 7\n");
  tree.write("proc/net/dev", net_line("lo", 1, 2));
  tree.write("proc/stat", "cpu0 0 0 0 0 0 0 0 100\n");
  tree.write_port("mlx5_0", "1", "10\n", "20\n");
  const CounterSources sources = tree.sources({0});
  const pid_t child = openimb::testing::start_child([&] {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
    CounterReader evidence(true, sources);
    if (!std::isnan(evidence.thread().run_delay_seconds)) return 2;
    if (!evidence.interfaces().empty()) return 3;
    return std::isnan(evidence.steal_seconds()) ? 0 : 4;
  });
  CHECK(openimb::testing::wait_for_child(child) == 0);
}

TEST_CASE("files are closed in the end, and are not inherited") {
  Tree tree;
  tree.write("proc/net/dev", net_line("lo", 1, 2));
  tree.write_port("mlx5_0", "1", "10\n", "20\n");
  const auto open_files = [] {
    int count = 0;
    for (int file = 0; file < 256; ++file) count += fcntl(file, F_GETFD) != -1 ? 1 : 0;
    return count;
  };
  const auto inherited = [] {
    int count = 0;
    for (int file = 0; file < 256; ++file) {
      const int flags = fcntl(file, F_GETFD);
      count += flags != -1 && (flags & FD_CLOEXEC) == 0 ? 1 : 0;
    }
    return count;
  };
  const int before = open_files(), inherited_before = inherited();
  {
    CounterReader evidence(true, tree.sources());
    CHECK(open_files() > before);
    CHECK(inherited() == inherited_before);
    CounterReader moved = std::move(evidence);
    CHECK(traffic_of(moved) == std::vector<double>{1, 2, 40, 80});
  }
  CHECK(open_files() == before);
}

#ifdef __linux__

TEST_CASE("a thread that touches new pages has as many minor faults") {
  const CounterReader evidence(false);
  constexpr int pages = 500;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = pages * page;
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  madvise(mapped, bytes, MADV_NOHUGEPAGE);
  const double before = evidence.thread().minor_faults;
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(mapped)[i * page] = 1;
  const double after = evidence.thread().minor_faults;
  munmap(mapped, bytes);
  CHECK(after - before >= pages);
  CHECK(after - before < pages + 500);
}

TEST_CASE("a thread that sleeps switches voluntarily") {
  const CounterReader evidence(false);
  const double before = evidence.thread().voluntary_switches;
  for (int i = 0; i < 10; ++i) pause_for(0.001);
  CHECK(evidence.thread().voluntary_switches - before >= 10);
}

TEST_CASE("the CPU is one of the allowed ones") {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  const CounterReader evidence(false);
  for (int i = 0; i < 100; ++i) {
    const int cpu = evidence.thread().cpu;
    REQUIRE(cpu >= 0);
    CHECK(CPU_ISSET(cpu, &allowed));
  }
}

TEST_CASE("two busy threads on one CPU wait for each other, involuntarily") {
  const int cpu = sched_getcpu();
  const auto bind = [cpu] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  };
  std::atomic<bool> ended = false;
  bool bound = false, switched = false, waited = false, is_known = false;
  std::thread other([&] {
    bind();
    while (!ended) continue;
  });
  std::thread measured([&] {
    bound = bind();
    const CounterReader evidence(false);
    const ThreadCounters before = evidence.thread();
    is_known = !std::isnan(before.run_delay_seconds);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    do {
      const ThreadCounters now = evidence.thread();
      switched = now.involuntary_switches - before.involuntary_switches >= 3;
      waited = now.run_delay_seconds - before.run_delay_seconds >= 0.005;
    } while (bound && !(switched && (waited || !is_known)) && std::chrono::steady_clock::now() < end);
    ended = true;
  });
  measured.join();
  other.join();
  if (!bound) {
    WARN("this process may not bind its threads to a CPU");
    return;
  }
  CHECK(switched);
  if (is_known) CHECK(waited);
}

TEST_CASE("bytes sent to this host count as traffic of the loopback interface") {
  CounterReader evidence(true);
  const auto lo = std::ranges::find(evidence.interfaces(), "lo");
  if (lo == evidence.interfaces().end()) {
    WARN("no loopback interface is reported");
    return;
  }
  const auto sent_at = static_cast<std::size_t>(lo - evidence.interfaces().begin()) * 2;

  const int listening = socket(AF_INET, SOCK_STREAM, 0), sending = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(bind(listening, name, length) == 0);
  REQUIRE(listen(listening, 1) == 0);
  REQUIRE(getsockname(listening, name, &length) == 0);
  REQUIRE(connect(sending, name, length) == 0);
  const int receiving = accept(listening, nullptr, nullptr);
  REQUIRE(receiving >= 0);

  const std::vector<char> message(1 << 20, 'x');
  const auto before = traffic_of(evidence);
  std::size_t received = 0;
  std::thread receiver([&] {
    std::vector<char> space(message.size());
    for (ssize_t got = 0; (got = recv(receiving, space.data(), space.size(), 0)) > 0;)
      received += static_cast<std::size_t>(got);
  });
  CHECK(send(sending, message.data(), message.size(), 0) == static_cast<ssize_t>(message.size()));
  close(sending);
  receiver.join();
  const auto after = traffic_of(evidence);
  close(receiving);
  close(listening);
  CHECK(received == message.size());
  CHECK(after[sent_at] - before[sent_at] >= static_cast<double>(message.size()));
  CHECK(after[sent_at + 1] - before[sent_at + 1] >= static_cast<double>(message.size()));
}

TEST_CASE("steal time counts for the CPUs on which the thread may run") {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  Tree tree;
  std::string lines;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) lines += "cpu" + std::to_string(cpu) + " 0 0 0 0 0 0 0 100\n";
  tree.write("proc/stat", lines);
  CounterReader evidence(true, tree.sources());
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  CHECK(evidence.steal_seconds() == Approx(100 * CPU_COUNT(&allowed) * tick));
}

TEST_CASE("steal time of this machine does not fall") {
  CounterReader evidence(true);
  const double before = evidence.steal_seconds();
  if (std::isnan(before)) {
    WARN("steal time is not reported");
    return;
  }
  CHECK(before >= 0);
  let_steal_expire();
  CHECK(evidence.steal_seconds() >= before);
}

#endif
