#include "system/environment.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "system/environment_block.h"

namespace openimb::system {

namespace {

// Whether a variable of this name may hold a secret, which records must not contain. Compares the words
// between underscores, as the companion does (secrecy.py). A part of a word is not enough: UCX_IB_PKEY
// and MPICH_RMA_PASSIVE are settings to compare.
bool is_secret(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  const std::string_view whole(upper);
  constexpr std::string_view settings[] = {"CH4_OFI_ENABLE_MR_PROV_KEY", "CXI_PROV_KEY_CACHE",
                                           "MPI_AUTH_METHOD", "_PASS_LIBPATH", "_PASS_ENVIRON_MCA_PARAMS"};
  if (std::ranges::any_of(settings, [&](std::string_view end) { return whole.ends_with(end); })) return false;
  constexpr std::string_view parts[] = {"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "CREDENTIAL"};
  if (std::ranges::any_of(parts,
                          [&](std::string_view part) { return whole.find(part) != std::string_view::npos; }))
    return true;
  constexpr std::string_view words[] = {"KEY",           "KEYS",  "APIKEY", "PASS",   "AUTH",
                                        "AUTHORIZATION", "TOKEN", "TOKENS", "COOKIE", "COOKIES",
                                        "CRED",          "CREDS", "JWT"};
  for (std::string_view rest = whole; !rest.empty();) {
    const auto end = std::min(rest.find('_'), rest.size());
    if (std::ranges::find(words, rest.substr(0, end)) != std::end(words)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
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
