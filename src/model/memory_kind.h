// -memory, -gpu, -gpu_check and -load: where message buffers are, on which GPU, and what the MPI reports
// about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/names.h"
#include "model/spec.h"

namespace openimb {

/// pinned: on the host, page-locked by a GPU's driver; ..._managed: migrates between host and GPU.
enum class MemoryKind { host, pinned, cuda, cuda_managed, rocm, rocm_managed };
template <>
inline constexpr Names<6> names_of<MemoryKind> = {"host",         "pinned", "cuda",
                                                  "cuda_managed", "rocm",   "rocm_managed"};

/// Whether only a GPU and its driver can access it.
constexpr bool is_device_memory(MemoryKind kind) {
  return kind == MemoryKind::cuda || kind == MemoryKind::rocm;
}
constexpr bool is_managed(MemoryKind kind) {
  return kind == MemoryKind::cuda_managed || kind == MemoryKind::rocm_managed;
}

/// The vendor's programming interface: NVIDIA's or AMD's.
enum class GpuApi { cuda, rocm };
template <>
inline constexpr Names<2> names_of<GpuApi> = {"cuda", "rocm"};
/// As text calls it.
constexpr const char* title_of(GpuApi api) { return api == GpuApi::cuda ? "CUDA" : "ROCm"; }
/// As records call it: the prefix of the driver's functions.
constexpr const char* driver_name(GpuApi api) { return api == GpuApi::cuda ? "cuda" : "hip"; }
/// Nothing for host and pinned, which both interfaces have.
constexpr std::optional<GpuApi> api_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::cuda:
    case MemoryKind::cuda_managed:
      return GpuApi::cuda;
    case MemoryKind::rocm:
    case MemoryKind::rocm_managed:
      return GpuApi::rocm;
    case MemoryKind::host:
    case MemoryKind::pinned:
      break;
  }
  return std::nullopt;
}
/// The same kind of memory with `api`.
MemoryKind kind_for_api(MemoryKind kind, GpuApi api);

/// -gpu: which of the GPUs that it sees a rank uses.
enum class GpuChoice {
  local_rank,   ///< the rank on its host, modulo their number
  round_robin,  ///< the rank of the launch, modulo their number
  number        ///< MemoryChoice::gpu_number, for all ranks
};
template <>
inline constexpr Names<3> names_of<GpuChoice> = {"local_rank", "round_robin", "number"};

/// -gpu_check: whether the MPI is asked if it handles memory of GPUs.
enum class GpuCheck { query, trust };
template <>
inline constexpr Names<2> names_of<GpuCheck> = {"query", "trust"};

/// -load: where benchmarks with overlap compute.
enum class LoadPlace { cpu, device };
template <>
inline constexpr Names<2> names_of<LoadPlace> = {"cpu", "device"};

struct MemoryChoice {
  MemoryKind send = MemoryKind::host;
  MemoryKind receive = MemoryKind::host;
  bool any_api = false;  ///< D, M or pinned: the kinds are CUDA's until resolve/gpu.cpp has chosen the API
  GpuChoice gpu = GpuChoice::local_rank;
  int gpu_number = 0;
  GpuCheck check = GpuCheck::query;
  LoadPlace load = LoadPlace::cpu;
  bool limited_mpi = false;  ///< the MPI supports memory of GPUs in only some calls, and is not trusted

  bool trusts_mpi() const { return check == GpuCheck::trust; }
  bool is_host() const { return send == MemoryKind::host && receive == MemoryKind::host; }
  bool needs_gpu() const { return !is_host() || load == LoadPlace::device; }
  bool uses_device() const { return is_device_memory(send) || is_device_memory(receive); }
  bool is_managed() const { return openimb::is_managed(send) || openimb::is_managed(receive); }
  /// What windows of a benchmark expose. Benchmarks that create windows themselves expose the receive buffer.
  MemoryKind window_memory(const Spec& spec) const;
  /// "cuda", or "cuda,host".
  std::string names() const;
  bool operator==(const MemoryChoice&) const = default;
};

/// A GPU and the ranks that use it.
struct GpuFacts {
  std::string host;
  int index = 0;
  std::string name;
  GpuApi api = GpuApi::cuda;
  std::string driver;  ///< version
  std::string bus_address;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;  ///< 0: unknown
  std::vector<int> ranks;
};

/// Whether the MPI supports memory of GPUs. `source`: the call, key or setting that reports it. `remedy`:
/// what to change where the answer is no.
struct GpuSupport {
  enum class Answer { yes, no, unknown };
  Answer answer = Answer::unknown;
  std::string source;
  std::string remedy;
};
template <>
inline constexpr Names<3> names_of<GpuSupport::Answer> = {"yes", "no", "unknown"};

}  // namespace openimb
