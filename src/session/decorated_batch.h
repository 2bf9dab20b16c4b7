// Decorators of a Batch do something before or after each call of a point's batch.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "session/batch.h"
#include "session/resources.h"

namespace openimb {

/// Forwards all calls to a batch. Calls that run MPI calls under test go through run_call().
class DecoratedBatch : public Batch {
 public:
  explicit DecoratedBatch(std::unique_ptr<Batch> batch) : batch_(std::move(batch)) {}
  void prepare() final {
    run_call([&] { batch_->prepare(); });
  }
  void conclude(std::int64_t repetitions) override { batch_->conclude(repetitions); }
  double run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) final {
    double seconds = 0;
    run_call([&] { seconds = batch_->run(repetitions, timing, repetition_seconds); });
    return seconds;
  }
  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds,
                       LoadUse& load) final {
    double seconds = 0;
    run_call([&] { seconds = batch_->run_with_load(repetitions, timing, repetition_seconds, load); });
    return seconds;
  }
  std::int64_t check(std::int64_t repetitions) final {
    std::int64_t wrong = 0;
    run_call([&] { wrong = batch_->check(repetitions); });
    return wrong;
  }
  std::span<const double> thread_seconds() const final { return batch_->thread_seconds(); }
  std::span<const double> thread_waiting() const final { return batch_->thread_waiting(); }
  bool takes_part() const final { return batch_->takes_part(); }
  std::string take_error() final { return batch_->take_error(); }
  Hints hints() const final { return batch_->hints(); }

 private:
  virtual void run_call(const std::function<void()>& call) = 0;

  std::unique_ptr<Batch> batch_;
};

/// Sets the variables of the table's variant during each call.
class VariantBatch final : public DecoratedBatch {
 public:
  VariantBatch(OpenTable& table, std::unique_ptr<Batch> batch)
      : DecoratedBatch(std::move(batch)), table_(table) {}

 private:
  void run_call(const std::function<void()>& call) override {
    const VariantScope variant(table_);
    call();
  }

  OpenTable& table_;
};

/// Makes all ranks agree after each call whether there was an error. `agree` gets this rank's error or an
/// empty text. It throws on all ranks if any rank has an error.
class ErrorAgreementBatch final : public DecoratedBatch {
 public:
  ErrorAgreementBatch(std::function<void(const std::string& mine)> agree, std::unique_ptr<Batch> batch)
      : DecoratedBatch(std::move(batch)), agree_(std::move(agree)) {}
  void conclude(std::int64_t repetitions) override {
    DecoratedBatch::conclude(repetitions);
    agree_(take_error());
  }

 private:
  void run_call(const std::function<void()>& call) override {
    call();
    agree_(take_error());
  }

  std::function<void(const std::string& mine)> agree_;
};

}  // namespace openimb
