// Environment variables that configure MPI libraries and their transports.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace openimb::system {

/// Names and values, sorted by name. The value of a variable that may hold a secret is "(hidden)".
std::vector<std::pair<std::string, std::string>> mpi_environment();

}  // namespace openimb::system
