// Facts about this machine and its environment. They differ between hosts, so the tests check what is always
// true.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "system/cpu_list.h"
#include "system/environment.h"
#include "system/machine.h"
#include "system/sleep.h"
#include "system/threads.h"

using namespace openimb::system;

namespace {

/// Simulates a machine of 2,048 CPUs on which this process may use CPUs 1 and 1500.
bool many_cpus = false;

}  // namespace

extern "C" int sched_getaffinity(pid_t process, std::size_t bytes, cpu_set_t* set) noexcept {
  if (!many_cpus)
    return static_cast<int>(
        std::min<long>(0, syscall(SYS_sched_getaffinity, process, bytes, std::memset(set, 0, bytes))));
  if (bytes < 2048 / 8) {
    errno = EINVAL;
    return -1;
  }
  std::memset(set, 0, bytes);
  CPU_SET_S(1, bytes, set);
  CPU_SET_S(1500, bytes, set);
  return 0;
}

extern "C" int sched_setaffinity(pid_t process, std::size_t bytes, const cpu_set_t* set) noexcept {
  if (!many_cpus) return static_cast<int>(syscall(SYS_sched_setaffinity, process, bytes, set));
  const bool usable = CPU_COUNT_S(bytes, set) == 1 && CPU_ISSET_S(1500, bytes, set);
  errno = EINVAL;
  return usable ? 0 : -1;
}

namespace {

/// Sets an environment variable during a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

const std::string* value_of(const std::vector<std::pair<std::string, std::string>>& all, const char* name) {
  const auto found = std::ranges::find(all, name, &std::pair<std::string, std::string>::first);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace

TEST_CASE("the machine has a name and a system") {
  const Machine here = machine();
  CHECK_FALSE(here.machine.empty());
  CHECK_FALSE(here.system.empty());
  CHECK_FALSE(here.release.empty());
  CHECK(machine().release == here.release);
  CHECK_FALSE(host_name().empty());
  CHECK(host_name().find('\n') == std::string::npos);
}

TEST_CASE("CPUs beyond the 1,024 of a cpu_set_t are found") {
  many_cpus = true;
  CHECK(usable_cpus() == std::vector{1, 1500});
  CHECK(pin_this_thread(1500));
  CHECK_FALSE(pin_this_thread(2));
  many_cpus = false;
  CHECK_FALSE(usable_cpus().empty());
}

TEST_CASE("lists of CPUs are written and read in the syntax of Linux") {
  const std::vector<int> cpus{0, 1, 2, 3, 8, 10, 11};
  CHECK(format_cpu_list(cpus) == "0-3,8,10-11");
  CHECK(parse_cpu_list("0-3,8,10-11") == cpus);
  CHECK(format_cpu_list({}).empty());
  CHECK(parse_cpu_list("").empty());
  CHECK(parse_cpu_list(format_cpu_list(usable_cpus())) == usable_cpus());
}

TEST_CASE("sizes of caches are plausible if they are known") {
  const Cache cache = last_level_cache();
  CHECK(cache.size >= 0);
  CHECK(cache.line >= 0);
  if (cache.size > 0) CHECK(cache.size >= 64 * 1024);
  if (cache.line > 0) CHECK((cache.line & (cache.line - 1)) == 0);
}

TEST_CASE("the environment of MPI libraries, sorted by name") {
  const Variable a("UCX_OPENIMB_TEST", "tcp,self"), b("OMPI_MCA_openimb_test", "a=b"),
      c("FI_OPENIMB_TEST", ""), other("OPENIMB_TEST", "not for MPI"), inside("MY_UCX_TEST", "no");
  const auto found = mpi_environment();
  REQUIRE(value_of(found, "UCX_OPENIMB_TEST") != nullptr);
  CHECK(*value_of(found, "UCX_OPENIMB_TEST") == "tcp,self");
  REQUIRE(value_of(found, "OMPI_MCA_openimb_test") != nullptr);
  CHECK(*value_of(found, "OMPI_MCA_openimb_test") == "a=b");
  REQUIRE(value_of(found, "FI_OPENIMB_TEST") != nullptr);
  CHECK(value_of(found, "FI_OPENIMB_TEST")->empty());
  CHECK(value_of(found, "OPENIMB_TEST") == nullptr);
  CHECK(value_of(found, "MY_UCX_TEST") == nullptr);
  CHECK(std::ranges::is_sorted(found));
}

TEST_CASE("every prefix of MPI libraries and transports is recorded") {
  for (const char* name : {"PRTE_MCA_openimb_test", "PMIX_MCA_openimb_test", "MPICH_OPENIMB_TEST",
                           "MPIR_CVAR_OPENIMB_TEST", "I_MPI_OPENIMB_TEST", "OMP_NUM_THREADS"}) {
    INFO(name);
    const char* const before = std::getenv(name);
    if (before != nullptr) continue;
    const Variable set(name, "1");
    const auto found = mpi_environment();
    REQUIRE(value_of(found, name) != nullptr);
    CHECK(*value_of(found, name) == "1");
  }
}

TEST_CASE("only the name of a variable that may hold a secret is recorded") {
  const Variable key("UCX_OPENIMB_KEY", "one"), token("FI_openimb_token", "two"),
      password("I_MPI_MYPASSWORD", "three"), pass("OMPI_MCA_pass_x", "four");
  const auto found = mpi_environment();
  for (const char* name : {"UCX_OPENIMB_KEY", "FI_openimb_token", "I_MPI_MYPASSWORD", "OMPI_MCA_pass_x"}) {
    INFO(name);
    REQUIRE(value_of(found, name) != nullptr);
    CHECK(*value_of(found, name) == "(hidden)");
  }
}

TEST_CASE("settings whose names look like secrets are recorded") {
  for (const char* name :
       {"UCX_IB_PKEY", "MPICH_RMA_PASSIVE", "FI_OFI_RXM_PASSTHRU", "FI_CXI_PROV_KEY_CACHE",
        "MPIR_CVAR_CH4_OFI_ENABLE_MR_PROV_KEY", "OMPI_MCA_btl_openib_pkey", "OMPI_MCA_plm_rsh_pass_libpath",
        "PRTE_MCA_plm_ssh_pass_environ_mca_params", "I_MPI_AUTH_METHOD"}) {
    INFO(name);
    const Variable set(name, "0x7fff");
    const auto found = mpi_environment();
    REQUIRE(value_of(found, name) != nullptr);
    CHECK(*value_of(found, name) == "0x7fff");
  }
}

TEST_CASE("a pause lasts as long as it should") {
  const auto start = std::chrono::steady_clock::now();
  pause_for(0.05);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(50));
  pause_for(0);
  pause_for(-1);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}
