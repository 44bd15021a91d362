#include "kube/watch_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "json/codec.h"

namespace capstan::kube {
namespace {

using Lines = std::vector<std::string>;

// Feeds `text` in pieces of at most `piece` bytes and returns the lines that came out, or the error as a last
// line.
Lines Cut(LineBuffer& buffer, std::string_view text, size_t piece) {
  Lines lines;
  while (!text.empty()) {
    const auto space = buffer.Space();
    if (!space) {
      lines.push_back("error: " + space.error().message());
      return lines;
    }
    const size_t bytes = std::min({piece, text.size(), space->size()});
    std::copy_n(text.data(), bytes, space->data());
    buffer.Commit(bytes);
    text.remove_prefix(bytes);
    while (const auto line = buffer.Next()) lines.emplace_back(line->text);
  }
  return lines;
}

TEST(LineBuffer, CutsWhereverThePiecesEnd) {
  const std::string text = "first\n\nsecond line\n" + std::string(100, 'x') + "\nlast\nrest";
  const Lines expected = {"first", "second line", std::string(100, 'x'), "last"};
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    LineBuffer buffer({.line = 1000, .idle = 16});
    EXPECT_EQ(Cut(buffer, text, piece), expected) << "pieces of " << piece;
    EXPECT_EQ(buffer.pending(), 4u);
  }
}

TEST(LineBuffer, HasRoomToReadBehindEveryLine) {
  LineBuffer buffer({.line = 1000, .idle = 16});
  auto space = buffer.Space();
  std::string_view("0123456789abcd\nx").copy(space->data(), 16);
  buffer.Commit(16);
  const auto line = buffer.Next();
  ASSERT_TRUE(line);
  EXPECT_GE(line->readable, line->text.size() + json::Decoder::kPadding);
  EXPECT_EQ(std::string(line->text.data(), line->readable).substr(0, 3), "012");
}

TEST(LineBuffer, RefusesALineBeyondTheLimit) {
  LineBuffer buffer({.line = 64, .idle = 16});
  EXPECT_EQ(Cut(buffer, std::string(64, 'x') + "\n", 7), Lines{"error: a line of the watch is longer than 64 bytes"});
}

TEST(LineBuffer, TakesALineUpToTheLimit) {
  LineBuffer buffer({.line = 64, .idle = 16});
  EXPECT_EQ(Cut(buffer, std::string(63, 'x') + "\n", 7), Lines{std::string(63, 'x')});
}

TEST(LineBuffer, ShrinksAgainAfterALongLine) {
  LineBuffer buffer({.line = 1 << 20, .idle = 1024});
  Cut(buffer, std::string(500'000, 'x') + "\n", 4096);
  EXPECT_GT(buffer.capacity(), 500'000u);
  ASSERT_TRUE(buffer.Space());
  EXPECT_EQ(buffer.capacity(), 1024u);
}

TEST(LineBuffer, ClearForgetsTheUnfinishedLine) {
  LineBuffer buffer;
  Cut(buffer, "half of a li", 100);
  buffer.Clear();
  EXPECT_EQ(Cut(buffer, "whole\n", 100), Lines{"whole"});
}

TEST(LineBuffer, AnyTextInAnyPiecesComesOutWhole) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    Lines expected;
    for (uint64_t i = random.Below(20); i-- > 0;) {
      const std::string line(random.Below(200), char('a' + random.Below(26)));
      text += line + "\n";
      if (!line.empty()) expected.push_back(line);
    }
    LineBuffer buffer({.line = 256, .idle = 32});
    Lines lines;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view piece = rest.substr(0, 1 + random.Below(50));
      for (std::string& line : Cut(buffer, piece, 1 + random.Below(50))) lines.push_back(std::move(line));
      rest.remove_prefix(piece.size());
    }
    ASSERT_EQ(lines, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace capstan::kube
