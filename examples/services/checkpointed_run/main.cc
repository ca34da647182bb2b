// checkpointed-run: a computation that survives kill -9 of all its processes.
#include "checkpointed_run/run.h"
#include "program/program.h"
#include "space/space.h"

namespace {

using namespace checkpointed_run;
using command_line::StopSignal;
using services::Arguments;
using services::Misuse;
using services::say;

constexpr char kHelp[] =
    "Usage: checkpointed-run [OPTION]...\n"
    "Heat along a rod, computed by several processes that exchange their edges through shared "
    "memory\n"
    "and write checkpoints together. Kill any or all of them and start it again, with as many\n"
    "processes or more or less: it continues at the newest whole checkpoint, and the result is\n"
    "the same to the bit.\n"
    "\n"
    "  --processes N   (2)\n"
    "  --cells N       of the rod (100000)\n"
    "  --steps N       (1000)\n"
    "  --every N       steps from checkpoint to checkpoint (100)\n"
    "  --folder DIR    for the checkpoints (checkpoints)\n"
    "  --hold-at STEP  stops at this step, to be killed; at one of a checkpoint, with all parts of "
    "it\n"
    "                  written but one\n"
    "\n"
    "Examples:\n"
    "  checkpointed-run --folder /tmp/a                          prints the result\n"
    "  checkpointed-run --folder /tmp/b --hold-at 555            kill -9 it when it says so\n"
    "  checkpointed-run --folder /tmp/b --processes 4            ... the same result\n";

int obey(const Arguments& arguments, const StopSignal& stop) {
  const Plan plan = Plan::read(arguments);
  if (arguments.command() == "process" && arguments.words().size() == 2) {
    const services::Space space = services::Space::join(arguments.text("--join"));
    run_process(plan, arguments.word_as_number(1, 0, plan.processes - 1));
    return 0;
  }
  if (!arguments.words().empty()) throw Misuse{"'" + arguments.command() + "' is not an option"};
  const std::uint64_t result = run_all("/proc/self/exe", plan, stop, say);
  say(services::format("result %016llx after %llu steps", static_cast<unsigned long long>(result),
                       static_cast<unsigned long long>(plan.steps)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> options = Plan::options();
  options.push_back("--join");
  return services::run({"checkpointed-run", kHelp, options, obey}, argc, argv);
}
