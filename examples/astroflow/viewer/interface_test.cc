// Keys, the status line, both command lines, summaries.
#include <gtest/gtest.h>

#include <cmath>

#include "reporting/summary.h"
#include "simulator/options.h"
#include "solver/solver.h"
#include "viewer/options.h"
#include "viewer/status_line.h"
#include "viewer/steering.h"

namespace astroflow {
namespace {

TEST(Steering, PauseTogglesAndAProblemKeyRestartsAndGoesOn) {
  Wants wants{false, false, 1, 0.4};
  apply_key('p', wants);
  EXPECT_TRUE(wants.pause);
  apply_key('4', wants);
  EXPECT_FALSE(wants.pause);
  EXPECT_TRUE(wants.restart);
  EXPECT_EQ(wants.problem, 4);
}

TEST(Steering, CflGoesUpAndDownInStepsWithinItsRange) {
  Wants wants{false, false, 1, 0.4};
  apply_key('+', wants);
  EXPECT_DOUBLE_EQ(wants.cfl, 0.45);
  apply_key('-', wants);
  EXPECT_DOUBLE_EQ(wants.cfl, 0.4);
  for (int i = 0; i < 50; ++i) apply_key('+', wants);
  EXPECT_EQ(wants.cfl, kHighestCfl);
  for (int i = 0; i < 50; ++i) apply_key('-', wants);
  EXPECT_EQ(wants.cfl, kLowestCfl);
}

TEST(Steering, OtherKeysAskForNothing) {
  for (const char key : std::string("qs5 x\x1b")) EXPECT_FALSE(is_steering_key(key));
  for (const char key : std::string("p+=-1234")) EXPECT_TRUE(is_steering_key(key));
}

TEST(StatusLine, TellsWhatIsShownAndHowOldItIs) {
  ViewStatus status;
  status.problem = "lw3";
  status.version = 7;
  status.frame = 5;
  status.last_frame = 300;
  status.time = 0.005;
  status.end_time = 0.3;
  status.cfl = 0.4;
  status.frames_per_s = 29.97;
  status.bytes_per_s = 1.5e6;
  status.bytes_received = 12;
  status.staleness_s = 0.042;
  EXPECT_EQ(status_line(status),
            "lw3 v7 frame 5/300 t 0.0050/0.3 30.0 fps 1.5 MB/s 12 B 42 ms old CFL 0.40");
  status.paused = true;
  status.message = "server silent";
  EXPECT_EQ(status_line(status).substr(0, 22), "server silent | lw3 v7");
  EXPECT_NE(status_line(status).find(" paused "), std::string::npos);
}

TEST(StatusLine, BytesReadWell) {
  EXPECT_EQ(readable_bytes(0), "0 B");
  EXPECT_EQ(readable_bytes(999), "999 B");
  EXPECT_EQ(readable_bytes(1000), "1.0 kB");
  EXPECT_EQ(readable_bytes(99960), "100 kB");
  EXPECT_EQ(readable_bytes(3145728), "3.1 MB");
  EXPECT_EQ(readable_bytes(5e15), "5000 TB");
}

TEST(RateMeter, CountsTheLastSecondOnly) {
  RateMeter meter;
  EXPECT_EQ(meter.per_second(), 0);
  for (int i = 0; i <= 100; ++i) meter.note(i * 0.1, i < 50 ? 0 : (i - 50) * 3.0);
  EXPECT_NEAR(meter.per_second(), 30, 0.01);
}

// Arguments as main() gets them; argv[0] included.
class Arguments {
 public:
  Arguments(std::initializer_list<std::string> words) : words_(words) {
    words_.insert(words_.begin(), "program");
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  int count() const { return static_cast<int>(words_.size()); }
  char** values() { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

SimulatorCommand simulator(Arguments arguments) {
  return parse_simulator_command(arguments.count(), arguments.values());
}

ViewerCommand viewer(Arguments arguments) {
  return parse_viewer_command(arguments.count(), arguments.values());
}

TEST(CommandLine, SimulatorTakesItsOptions) {
  const auto command =
      simulator({"--problem", "kh", "--cfl", "0.3", "--frames=12", "--url", "h/x"});
  ASSERT_FALSE(command.exit_status);
  EXPECT_EQ(command.options.simulation.problem, ProblemKind::kKelvinHelmholtz);
  EXPECT_EQ(command.options.simulation.cfl, 0.3);
  EXPECT_EQ(command.options.simulation.frames_per_run, 12);
  EXPECT_EQ(command.options.frames, 12u);
  EXPECT_EQ(command.options.url, "h/x");
}

TEST(CommandLine, SimulatorRefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(simulator({"--problem", "noh"}).exit_status, 2);
  EXPECT_EQ(simulator({"--frames", "0"}).exit_status, 2);
  EXPECT_EQ(simulator({"--frames", "-3"}).exit_status, 2);
  EXPECT_EQ(simulator({"--frames", "3x"}).exit_status, 2);
  EXPECT_EQ(simulator({"--cfl", "1.5"}).exit_status, 2);
  EXPECT_EQ(simulator({"--cfl", "nan"}).exit_status, 2);
  EXPECT_EQ(simulator({"--max-fps", "0"}).exit_status, 2);
  EXPECT_EQ(simulator({"--no-such-option"}).exit_status, 2);
  EXPECT_EQ(simulator({"stray"}).exit_status, 2);
  EXPECT_EQ(simulator({"--help"}).exit_status, 0);
}

TEST(CommandLine, ViewerTakesItsOptions) {
  using Model = command_line::CoherenceChoice::Model;
  EXPECT_EQ(viewer({}).options.coherence, (command_line::CoherenceChoice{Model::kTemporal, 0.2}));
  EXPECT_EQ(viewer({"--coherence", "temporal:1.5"}).options.coherence,
            (command_line::CoherenceChoice{Model::kTemporal, 1.5}));
  EXPECT_EQ(viewer({"--coherence", "delta:3"}).options.coherence,
            (command_line::CoherenceChoice{Model::kDelta, 3}));
  EXPECT_EQ(viewer({"--coherence", "full"}).options.coherence,
            (command_line::CoherenceChoice{Model::kFull, 0}));
  const auto command = viewer({"--headless", "--png", "d", "--until-finished", "--colour", "256"});
  ASSERT_FALSE(command.exit_status);
  EXPECT_TRUE(command.options.headless);
  EXPECT_TRUE(command.options.until_finished);
  EXPECT_EQ(command.options.png_directory, "d");
  EXPECT_EQ(command.options.colour, ColourMode::k256);
}

TEST(CommandLine, ViewerRefusesWhatItDoesNotUnderstand) {
  for (const char* model : {"temporal", "temporal:", "temporal:-1", "temporal:inf", "delta:1.5",
                            "delta:x", "full:1", "null", "sloppy", ""}) {
    EXPECT_EQ(viewer({"--coherence", model}).exit_status, 2) << model;
  }
  EXPECT_EQ(viewer({"--colour", "sepia"}).exit_status, 2);
  EXPECT_EQ(viewer({"--help"}).exit_status, 0);
}

TEST(Samples, QuantilesAreSamples) {
  Samples samples;
  EXPECT_EQ(samples.median(), 0);
  for (int i = 10; i >= 1; --i) samples.add(i);
  EXPECT_EQ(samples.median(), 5);
  EXPECT_EQ(samples.p90(), 9);
}

TEST(Summary, IsValidJson) {
  Summary summary;
  summary.add("name", std::string_view("a \"b\"\n"));
  summary.add("count", uint64_t{18446744073709551615u});
  summary.add("error", 0.5);
  summary.add("missing", std::optional<double>());
  summary.add("infinite", INFINITY);
  EXPECT_EQ(summary.as_json(),
            "{\"name\": \"a \\\"b\\\"\\u000a\", \"count\": 18446744073709551615, \"error\": 0.5, "
            "\"missing\": null, \"infinite\": null}");
}

TEST(Summary, SaysWhichFileCouldNotBeWritten) {
  const auto why = write_summary(Summary(), "/nowhere/at/all.json");
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("/nowhere/at/all.json"), std::string::npos);
}

}  // namespace
}  // namespace astroflow
