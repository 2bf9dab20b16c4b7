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

void Interleave::take(bool row) {
  lost_ = lost_ || !connection_->send(row ? "r" : "p") || !connection_->receive();
}

}  // namespace openimb::system
