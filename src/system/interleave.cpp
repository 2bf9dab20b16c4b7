#include "system/interleave.h"

#include <stdexcept>

#include "system/connection.h"

namespace openimb::system {

Interleave::Interleave(const std::string& host, const std::string& port, const std::string& token) try
    : connection_(connect_tcp(host, port, token + "\n")) {
} catch (const std::runtime_error& error) {
  throw std::runtime_error(std::string("-turns: ") + error.what());
}

Interleave::~Interleave() = default;

void Interleave::wait_after(const char* request) {
  lost_ = lost_ || !connection_->send(request) || !connection_->receive();
}

void Interleave::wait_for_row() { wait_after("r"); }

void Interleave::wait_for_segment() { wait_after("p"); }

}  // namespace openimb::system
