#include "system/environment.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "system/environment_block.h"

namespace openimb::system {

namespace {

/** Whether a variable of this name may hold a secret, which records must not have. */
bool is_secret(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  constexpr std::string_view marks[] = {"KEY", "TOKEN", "AUTH", "PASS", "SECRET", "COOKIE", "CREDENTIAL"};
  return std::ranges::any_of(marks,
                             [&](std::string_view mark) { return upper.find(mark) != std::string::npos; });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> mpi_environment() {
  constexpr std::string_view prefixes[] = {"OMPI_MCA_",
                                           "PRTE_MCA_",
                                           "PMIX_MCA_",
                                           "MPICH_",
                                           "MPIR_CVAR_",
                                           "I_MPI_",
                                           "UCX_",
                                           "FI_",
                                           "OMP_NUM_THREADS",
                                           "CUDA_VISIBLE_DEVICES",
                                           "ROCR_VISIBLE_DEVICES",
                                           "HIP_VISIBLE_DEVICES"};
  std::vector<std::pair<std::string, std::string>> variables;
  char** entry = environment_block();
  for (; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const auto equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, equals);
    if (std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); })) {
      variables.emplace_back(name, is_secret(name) ? "(hidden)" : variable.substr(equals + 1));
    }
  }
  std::ranges::sort(variables);
  return variables;
}

}  // namespace openimb::system
