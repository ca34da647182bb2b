package astroflow.viewer;

import astroflow.shared.flow_header;

/** What a user asks of the simulator, which obeys at its next frame. */
interface Wish {
  double LOWEST_CFL = 0.05;
  double HIGHEST_CFL = 0.8;
  double CFL_STEP = 0.05;

  void put(flow_header header);

  static Wish pause() {
    return header -> header.want_pause = !header.want_pause;
  }

  /** In whole steps, so that up and down again ends where it began. */
  static Wish cflSteps(int steps) {
    return header -> {
      double wanted = (Math.round(header.want_cfl / CFL_STEP) + steps) * CFL_STEP;
      header.want_cfl = Math.max(LOWEST_CFL, Math.min(wanted, HIGHEST_CFL));
    };
  }

  static Wish problem(int problem) {
    return header -> {
      header.want_problem = problem;
      header.want_restart = true;
      header.want_pause = false;
    };
  }
}
