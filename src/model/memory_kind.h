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

/// pinned: host memory that a GPU's driver has page-locked. ..._managed: memory that migrates between host
/// and GPU. cuda, rocm: memory of the GPU.
enum class MemoryKind { host, pinned, cuda, cuda_managed, rocm, rocm_managed };
template <>
inline constexpr Names<6> names_of<MemoryKind> = {"host",         "pinned", "cuda",
                                                  "cuda_managed", "rocm",   "rocm_managed"};

/// Whether the CPU cannot access the memory: only a GPU and its driver can.
constexpr bool is_device_memory(MemoryKind kind) {
  return kind == MemoryKind::cuda || kind == MemoryKind::rocm;
}
constexpr bool is_managed(MemoryKind kind) {
  return kind == MemoryKind::cuda_managed || kind == MemoryKind::rocm_managed;
}

/// The programming interface of the GPU's vendor: NVIDIA's CUDA or AMD's ROCm.
enum class GpuApi { cuda, rocm };
template <>
inline constexpr Names<2> names_of<GpuApi> = {"cuda", "rocm"};
/// Name in text.
constexpr const char* title_of(GpuApi api) { return api == GpuApi::cuda ? "CUDA" : "ROCm"; }
/// Name in records: the prefix of the driver's functions.
constexpr const char* driver_name(GpuApi api) { return api == GpuApi::cuda ? "cuda" : "hip"; }
/// Returns the API that a kind of memory needs; empty for host and pinned, which both APIs have.
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
/// Returns the kind that corresponds to `kind` in `api`.
MemoryKind kind_for_api(MemoryKind kind, GpuApi api);

/// -gpu: which of its visible GPUs a rank uses.
enum class GpuChoice {
  local_rank,   ///< number of the rank on its host, modulo the number of visible GPUs
  round_robin,  ///< world rank, modulo the number of visible GPUs
  number        ///< MemoryChoice::gpu_number, for all ranks
};
template <>
inline constexpr Names<3> names_of<GpuChoice> = {"local_rank", "round_robin", "number"};

/// -gpu_check: whether the suite asks the MPI if it supports GPU memory, or assumes it.
enum class GpuCheck { query, trust };
template <>
inline constexpr Names<2> names_of<GpuCheck> = {"query", "trust"};

/// -load: where the overlap benchmarks compute.
enum class LoadPlace { cpu, device };
template <>
inline constexpr Names<2> names_of<LoadPlace> = {"cpu", "device"};

/// The values of -memory, -gpu, -gpu_check and -load.
struct MemoryChoice {
  MemoryKind send = MemoryKind::host;
  MemoryKind receive = MemoryKind::host;
  bool any_api = false;  ///< -memory D, M or pinned: names CUDA's kinds until resolve/gpu.cpp chooses the API
  GpuChoice gpu = GpuChoice::local_rank;
  int gpu_number = 0;
  GpuCheck check = GpuCheck::query;
  LoadPlace load = LoadPlace::cpu;
  bool limited_mpi = false;  ///< -gpu_check query, and the MPI supports GPU memory in only some calls

  bool trusts_mpi() const { return check == GpuCheck::trust; }
  bool is_host() const { return send == MemoryKind::host && receive == MemoryKind::host; }
  bool needs_gpu() const { return !is_host() || load == LoadPlace::device; }
  bool uses_device() const { return is_device_memory(send) || is_device_memory(receive); }
  bool is_managed() const { return openimb::is_managed(send) || openimb::is_managed(receive); }
  /// Returns the kind of memory that the windows of a benchmark expose. Benchmarks that create windows
  /// themselves expose the receive buffer.
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

/// Whether the MPI supports GPU memory. `source`: the call, info key or setting that says so. `remedy`: what
/// to change if the answer is no.
struct GpuSupport {
  enum class Answer { yes, no, unknown };
  Answer answer = Answer::unknown;
  std::string source;
  std::string remedy;
};
template <>
inline constexpr Names<3> names_of<GpuSupport::Answer> = {"yes", "no", "unknown"};

}  // namespace openimb
