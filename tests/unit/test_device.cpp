// Drivers of GPUs, with a library that records calls and fails on request (fake_driver.cpp).
#include "device/driver.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "device/vendors.h"
#include "engine/device_load.h"
#include "system/library.h"

using namespace openimb;

namespace {

constexpr const char* missing = "libopenimb-none.so.1";
constexpr std::array<const char*, 2> names = {missing, OPENIMB_TEST_DRIVER};

struct Driver {
  system::Library library{names};
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(library.find(name));
  }
  void fail(const std::string& name, int code) const {
    function<void(const char*, int)>("fake_reset")(name.c_str(), code);
  }
  void reset() const { fail("", 0); }
  /// Like fail(), but keeps the recorded calls.
  void fail_from_now(const char* name, int code) const {
    function<void(const char*, int)>("fake_fail")(name, code);
  }
  std::string calls() const { return function<const char*()>("fake_calls")(); }
  bool balanced() const { return function<int()>("fake_balance")() == 0; }
  int units() const { return function<int()>("fake_units")(); }
  void busy_for(int queries) const { function<void(int)>("fake_busy_for")(queries); }
};

using Open = std::unique_ptr<Device> (*)(LibraryNames, int);

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t end = text.find(' '); end != text.npos; end = text.find(' ', begin)) {
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string documented(const std::string& function) { return function.substr(0, function.find("_v2")); }

// Everything a run does with a device.
void use(Open open, bool load) {
  const std::unique_ptr<Device> device = open(names, 1);
  std::array<std::byte, 3> image{}, back{};
  for (const DeviceMemory kind : {DeviceMemory::device, DeviceMemory::managed, DeviceMemory::pinned}) {
    struct Allocation {
      Device& device;
      DeviceMemory kind;
      std::byte* at;
      ~Allocation() { device.deallocate(kind, at); }
    } made{*device, kind, device->allocate(kind, 64)};
    device->copy_in(made.at, image.data(), 3);
    device->copy_out(back.data(), made.at, 3);
  }
  if (!load) return;
  device->prepare_load();
  device->prepare_load();
  device->start_load(12);
  device->load_is_done();
  device->wait_for_load();
}

// Returns the calls whose failure caused no error with their name, or left something allocated.
std::vector<std::string> silent_failures(Open open, bool load) {
  const Driver driver;
  driver.reset();
  use(open, load);
  std::vector<std::string> wrong;
  for (const std::string& name : split_words(driver.calls())) {
    if (name.find("Free") != name.npos || name.find("(null)") != name.npos) continue;
    if (name.find("Release") != name.npos || name.find("Destroy") != name.npos) continue;
    if (name.find("Unload") != name.npos) continue;
    driver.fail(name, 999);
    try {
      use(open, load);
      wrong.push_back(name);
    } catch (const DeviceError& error) {
      const std::string text = error.what();
      if (!text.starts_with(documented(name) + ": ") || !text.ends_with(" (999)")) wrong.push_back(text);
    }
    if (!driver.balanced()) wrong.push_back(name + " leaks");
  }
  return wrong;
}

}  // namespace

TEST_CASE("a library is the first of the names that can be loaded") {
  const system::Library library(names);
  CHECK(library.name() == names[1]);
  CHECK(library.find("cuInit") != nullptr);
  CHECK(library.find("cuNone") == nullptr);
  CHECK(system::find_function("malloc") != nullptr);
  CHECK(system::find_function("openimb_none") == nullptr);
}

TEST_CASE("a driver that is missing, cannot be used, or is too old") {
  constexpr const char* first[] = {missing, "libopenimb-none.so"};
  CHECK_THROWS_WITH(count_cuda_devices(first), Catch::StartsWith("libopenimb-none.so.1: cannot open"));
  constexpr const char* no_library[] = {missing, __FILE__};
  CHECK_THROWS_WITH(count_hip_devices(no_library), Catch::StartsWith(__FILE__ ": "));
  constexpr const char* old[] = {OPENIMB_TEST_OLD_DRIVER};
  CHECK_THROWS_WITH(count_cuda_devices(old), Catch::EndsWith("no function cuStreamQuery; update the driver"));
  CHECK(count_hip_devices(old) == 8);
}

TEST_CASE("the driver that the process has comes before others") {
  const system::Library loaded(names);
  constexpr const char* not_loaded_first[] = {"libresolv.so.2", OPENIMB_TEST_DRIVER};
  CHECK(std::string(system::Library(not_loaded_first).name()) == OPENIMB_TEST_DRIVER);
  constexpr const char* none[] = {missing};
  CHECK_THROWS_AS(system::Library(none), system::LibraryError);
}

TEST_CASE("a driver that cannot be initialized gives its reason") {
  const Driver driver;
  driver.fail("cuInit", 803);
  CHECK_THROWS_WITH(count_cuda_devices(names), "cuInit: driver and library do not match (803)");
  driver.fail("cuInit", 100);
  CHECK_THROWS_WITH(count_cuda_devices(names), "cuInit: error (100)");
  driver.reset();
  CHECK(count_cuda_devices(names) == 3);
}

TEST_CASE("facts of a GPU") {
  Driver().reset();
  CHECK(open_cuda_device(names, 2)->facts() == DeviceFacts{GpuApi::cuda, 2, "GPU 42", "12.8", "0000:17:00.0",
                                                           std::int64_t{1} << 37, 1 << 25, true, false});
  CHECK(open_hip_device(names, 2)->facts() == DeviceFacts{GpuApi::rocm, 2, "Accelerator", "6.3.42134",
                                                          "0000:c1:00.0", std::int64_t{1} << 36, 1 << 23,
                                                          false, true});
}

TEST_CASE("any call of a driver may fail, and everything is freed") {
  CHECK(silent_failures(open_cuda_device, true) == std::vector<std::string>{});
  CHECK(silent_failures(open_hip_device, false) == std::vector<std::string>{});
}

TEST_CASE("kinds of memory, and an allocation that is too large") {
  const Driver driver;
  const auto calls_of = [&](Device& device, DeviceMemory kind) {
    driver.reset();
    device.deallocate(kind, device.allocate(kind, 64));
    return driver.calls();
  };
  driver.reset();
  const auto cuda = open_cuda_device(names, 0), hip = open_hip_device(names, 0);
  CHECK(calls_of(*cuda, DeviceMemory::device) == "cuMemAlloc_v2 cuMemFree_v2 ");
  CHECK(calls_of(*cuda, DeviceMemory::managed) == "cuMemAllocManaged cuMemFree_v2 ");
  CHECK(calls_of(*cuda, DeviceMemory::pinned) == "cuMemHostAlloc cuMemFreeHost ");
  CHECK(calls_of(*hip, DeviceMemory::device) == "hipMalloc hipFree ");
  CHECK(calls_of(*hip, DeviceMemory::managed) == "hipMallocManaged hipFree ");
  CHECK(calls_of(*hip, DeviceMemory::pinned) == "hipHostMalloc hipHostFree ");
  for (const char* const name : {"cuMemAlloc_v2", "hipMalloc"}) {
    driver.fail(name, 2);
    CHECK_THROWS_AS((name[0] == 'c' ? cuda : hip)->allocate(DeviceMemory::device, 64), std::bad_alloc);
  }
  driver.reset();
}

TEST_CASE("copies arrive, and are complete") {
  const Driver driver;
  for (const Open open : {open_cuda_device, open_hip_device}) {
    const auto device = open(names, 0);
    std::byte* const there = device->allocate(DeviceMemory::device, 8);
    const std::array<std::byte, 4> image{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    std::array<std::byte, 4> back{};
    driver.reset();
    device->copy_in(there + 2, image.data(), 4);
    CHECK(driver.calls().find("Synchronize") != std::string::npos);
    device->copy_out(back.data(), there + 2, 4);
    CHECK(back == image);
    device->deallocate(DeviceMemory::device, there);
  }
}

TEST_CASE("the load on a GPU is one kernel on its own stream") {
  const Driver driver;
  driver.reset();
  {
    const auto device = open_cuda_device(names, 0);
    device->prepare_load();
    device->start_load(1234);
    CHECK(driver.units() == 1234);
    driver.busy_for(1);
    CHECK_FALSE(device->load_is_done());
    CHECK(device->load_is_done());
  }
  CHECK(driver.balanced());
  CHECK_THROWS_WITH(open_hip_device(names, 0)->prepare_load(), "a load on the GPU needs CUDA");
}

TEST_CASE("a device is opened and closed in one order") {
  const Driver driver;
  driver.reset();
  open_cuda_device(names, 0);
  CHECK(split_words(driver.calls()) ==
        std::vector<std::string>{"cuInit", "cuDriverGetVersion", "cuDeviceGet", "cuDeviceGetName",
                                 "cuDeviceGetPCIBusId", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
                                 "cuDeviceGetAttribute", "cuDeviceGetAttribute", "cuDeviceGet",
                                 "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxSetCurrent",
                                 "cuCtxSetCurrent(null)", "cuDevicePrimaryCtxRelease_v2"});
}

TEST_CASE("the resources of the load are freed before the context") {
  const Driver driver;
  driver.reset();
  auto device = open_cuda_device(names, 0);
  device->prepare_load();
  driver.reset();
  device.reset();
  CHECK(split_words(driver.calls()) ==
        std::vector<std::string>{"cuCtxSetCurrent", "cuStreamDestroy_v2", "cuMemFree_v2", "cuModuleUnload",
                                 "cuCtxSetCurrent(null)", "cuDevicePrimaryCtxRelease_v2"});
}

TEST_CASE("a load that could not be prepared leaves nothing, and can be prepared again") {
  const Driver driver;
  driver.reset();
  {
    const auto device = open_cuda_device(names, 0);
    for (const char* const name : {"cuDeviceGetAttribute", "cuModuleLoadData", "cuModuleGetFunction",
                                   "cuMemAlloc_v2", "cuStreamCreate"}) {
      driver.fail_from_now(name, 700);
      CHECK_THROWS_AS(device->prepare_load(), DeviceError);
    }
    driver.fail_from_now("cuMemAlloc_v2", 2);
    CHECK_THROWS_AS(device->prepare_load(), std::bad_alloc);
    driver.fail_from_now("", 0);
    device->prepare_load();
    device->start_load(7);
    CHECK(driver.units() == 7);
  }
  CHECK(driver.balanced());
}

TEST_CASE("another thread of the process gets the device") {
  const Driver driver;
  for (const Open open : {open_cuda_device, open_hip_device}) {
    const auto device = open(names, 0);
    driver.reset();
    std::thread([&] { device->attach_thread(); }).join();
    CHECK((driver.calls() == "cuCtxSetCurrent " || driver.calls() == "hipSetDevice "));
    driver.fail(documented(split_words(driver.calls())[0]), 201);
    CHECK_THROWS_WITH(device->attach_thread(), Catch::EndsWith(" (201)"));
    driver.reset();
  }
}

TEST_CASE("freeing memory does not end a run, even if the device is lost") {
  const Driver driver;
  driver.reset();
  const auto cuda = open_cuda_device(names, 0), hip = open_hip_device(names, 0);
  const auto freed = [&](Device& device, DeviceMemory kind, const char* name) {
    std::byte* const memory = device.allocate(kind, 64);
    driver.fail_from_now(name, 719);
    device.deallocate(kind, memory);
    driver.fail_from_now("", 0);
    return split_words(driver.calls()).back() == name;
  };
  CHECK(freed(*cuda, DeviceMemory::device, "cuMemFree_v2"));
  CHECK(freed(*cuda, DeviceMemory::pinned, "cuMemFreeHost"));
  CHECK(freed(*hip, DeviceMemory::managed, "hipFree"));
  CHECK(freed(*hip, DeviceMemory::pinned, "hipHostFree"));
}

TEST_CASE("a lost device is an error of the call that finds it") {
  const Driver driver;
  driver.reset();
  const auto device = open_cuda_device(names, 0);
  device->prepare_load();
  const auto error_at = [&](const char* name, auto call) -> std::string {
    driver.fail_from_now(name, 700);
    try {
      call();
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "none";
  };
  CHECK(error_at("cuCtxSynchronize", [&] { device->synchronize(); }) == "cuCtxSynchronize: error (700)");
  CHECK(error_at("cuLaunchKernel", [&] { device->start_load(1); }) == "cuLaunchKernel: error (700)");
  CHECK(error_at("cuStreamQuery", [&] { device->load_is_done(); }) == "cuStreamQuery: error (700)");
  CHECK(error_at("cuStreamSynchronize", [&] { device->wait_for_load(); }) ==
        "cuStreamSynchronize: error (700)");
  driver.reset();
}

TEST_CASE("errors contain the driver's text if it has one") {
  CHECK(std::string(error_of_call("cuMemAlloc", "out of memory", 2).what()) ==
        "cuMemAlloc: out of memory (2)");
  CHECK(std::string(error_of_call("cuMemAlloc", nullptr, 4711).what()) == "cuMemAlloc: error (4711)");
}

namespace {

double clock_now = 0;
struct FakeClock {
  static double now() { return clock_now; }
};

// A GPU whose load takes one time for the launch and another for each unit.
class SlowDevice final : public Device {
 public:
  static constexpr double launch = 5e-6;
  double unit = 20e-9;
  const DeviceFacts& facts() const override { return facts_; }
  void attach_thread() override {}
  std::byte* allocate(DeviceMemory, std::int64_t) override { return nullptr; }
  void deallocate(DeviceMemory, std::byte*) noexcept override {}
  void copy_in(std::byte*, const std::byte*, std::int64_t) override {}
  void copy_out(std::byte*, const std::byte*, std::int64_t) override {}
  void synchronize() override {}
  void prepare_load() override {}
  void start_load(std::int64_t units) override { seconds_ = launch + static_cast<double>(units) * unit; }
  bool load_is_done() override { return false; }
  void wait_for_load() override { clock_now += seconds_; }

 private:
  DeviceFacts facts_;
  double seconds_ = 0;
};

}  // namespace

TEST_CASE("the calibration of a load on a GPU includes the launch of the kernel") {
  SlowDevice device;
  DeviceLoad load(device);
  CHECK_FALSE(load.calibrated());
  load.calibrate<FakeClock>(0.01);
  CHECK(load.calibrated());
  CHECK(std::abs(load.units_for(0.001) - 49750) <= 1);
  CHECK(load.units_for(SlowDevice::launch) == 0);
  CHECK(load.units_for(0) == 0);
  CHECK(load.seconds_for(0) == Approx(SlowDevice::launch));
  CHECK(load.seconds_for(50000) == Approx(0.001005));
  device.unit *= 1.5;
  CHECK(load.drift<FakeClock>(0.01) == Approx(0.5).epsilon(0.01));
  device.unit = 0;
  CHECK_THROWS_WITH(load.calibrate<FakeClock>(0.01), "the load on the GPU takes no time");
}
