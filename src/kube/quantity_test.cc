#include "kube/quantity.h"

#include <gtest/gtest.h>

namespace capstan::kube {
namespace {

Quantity Q(std::string_view text) {
  const Result<Quantity> quantity = Quantity::Parse(text);
  if (!quantity) ADD_FAILURE() << quantity.error().message();
  return quantity.value_or(Quantity());
}

TEST(Quantity, HasOneCanonicalText) {
  const char* cases[][2] = {
      {"0", "0"},         {"0Gi", "0"},         {"1", "1"},         {"+1", "1"},       {"-1", "-1"},
      {"1.0", "1"},       {"0.5", "500m"},      {"1500m", "1500m"}, {"1.5", "1500m"},  {"2000m", "2"},
      {"1000", "1k"},     {"1024", "1024"},     {"1024Ki", "1Mi"},  {"4Gi", "4Gi"},    {"1.5Gi", "1536Mi"},
      {"0.5Ki", "512"},   {"1e3", "1e3"},       {"1000e0", "1e3"},  {"12E2", "1200"},  {"1E", "1E"},
      {"100n", "100n"},   {".5", "500m"},       {"5.", "5"},        {"1n", "1n"},      {"0.1n", "1n"},
      {"100Mi", "100Mi"}, {"1000Mi", "1000Mi"}, {"3e-3", "3e-3"},   {"1e-10", "1e-9"},
  };
  for (const auto& [text, canonical] : cases) {
    EXPECT_EQ(Q(text).ToString(), canonical) << text;
    EXPECT_EQ(Q(canonical), Q(text)) << text;
    EXPECT_EQ(Q(canonical).ToString(), canonical) << text;
  }
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text : {"", "Gi", "1 Gi", "1gi", "1Kib", "--1", "1.2.3", ".", "e3", "1e", "1e3Gi", "1e101", "0x1",
                           "99999999999999999999999999999999999999999", "1e30", "999999999999Ei"}) {
    EXPECT_FALSE(Quantity::Parse(text)) << text;
  }
  EXPECT_EQ(Quantity::Parse("4 GB").error().message(),
            "\"4 GB\" is not a quantity, must be like \"2\", \"500m\", \"4Gi\" or \"1e3\"");
}

TEST(Quantity, ComparesByValue) {
  EXPECT_EQ(Q("1Gi"), Q("1024Mi"));
  EXPECT_LT(Q("1G"), Q("1Gi"));
  EXPECT_GT(Q("1"), Q("999m"));
  EXPECT_LT(Q("-1"), Q("0"));
}

TEST(Quantity, AddsExactlyAndKeepsTheForm) {
  EXPECT_EQ((Q("1Gi") + Q("512Mi")).ToString(), "1536Mi");
  EXPECT_EQ((Quantity() + Q("1Gi")).ToString(), "1Gi");
  EXPECT_EQ((Q("1") - Q("900m")).ToString(), "100m");
  EXPECT_EQ(Quantity::OfMilli(1500) + Quantity::OfInteger(2), Q("3500m"));
}

TEST(Quantity, RoundsUpToWholeUnits) {
  EXPECT_EQ(Q("1500m").Ceiling(), 2);
  EXPECT_EQ(Q("-1500m").Ceiling(), -1);
  EXPECT_EQ(Q("4Gi").Ceiling(), int64_t{4} << 30);
  EXPECT_EQ(Q("0.0001").MilliCeiling(), 1);
  EXPECT_EQ(Q("2").MilliCeiling(), 2000);
  EXPECT_EQ(Q("100E").Ceiling(), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace capstan::kube
