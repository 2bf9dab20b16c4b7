// What stands in for MPI between two ranks that are threads of one process: messages, and a barrier.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <queue>
#include <utility>
#include <vector>

// Messages by receiver and tag; blocking receives.
class Mail {
 public:
  void send(int to, int tag, std::vector<char> data) {
    {
      const std::lock_guard lock(mutex_);
      boxes_[{to, tag}].push(std::move(data));
    }
    arrived_.notify_all();
  }
  void receive(int at, int tag, std::vector<char>& data) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{at, tag}];
    arrived_.wait(lock, [&] { return !box.empty(); });
    data = std::move(box.front());
    box.pop();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::queue<std::vector<char>>> boxes_;
};

// A rank meets the other one.
class Meeting {
 public:
  void meet() {
    std::unique_lock lock(mutex_);
    const int round_partners = barriers_;
    if (++here_ == 2) {
      here_ = 0;
      ++barriers_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return barriers_ != round_partners; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  int here_ = 0, barriers_ = 0;
};
