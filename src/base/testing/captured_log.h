// What is logged while this lives, for tests whose subject is the log line itself. Programs of tests keep the log off.
//
//   CapturedLog log;
//   ... what should log ...
//   EXPECT_THAT(log.Text(), HasSubstr("\"reason\":\"Expired\""));
//
// One at a time in a process; it captures all of standard error.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/log.h"

namespace capstan::testing {

class CapturedLog {
 public:
  CapturedLog() {
    while (before_ != log::Level::kOff && !log::Enabled(before_)) before_ = log::Level(int(before_) + 1);
    log::SetLevel(log::Level::kInfo);
    ::testing::internal::CaptureStderr();
  }
  ~CapturedLog() { Text(); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  // All lines so far; nothing is captured afterwards.
  const std::string& Text() {
    if (!ended_) {
      text_ = ::testing::internal::GetCapturedStderr();
      log::SetLevel(before_);
      ended_ = true;
    }
    return text_;
  }

 private:
  log::Level before_ = log::Level::kDebug;
  bool ended_ = false;
  std::string text_;
};

}  // namespace capstan::testing
