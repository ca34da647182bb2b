package astroflow.viewer;

import astroflow.shared.flow_status;

/** One version of the simulation, copied out of the segment. Arrays begin at the bottom left. */
record Frame(long version, long number, long lastNumber, int problem, int status, double time,
    double endTime, double cfl, double[][] arrays) {
  /** Cells on a side. */
  static final int SIDE = astroflow.shared.astroflow_x.FLOW_CELLS;

  double[] array(Quantity quantity) {
    return arrays[quantity.ordinal()];
  }

  boolean isFinished() {
    return status == flow_status.FLOW_FINISHED;
  }

  boolean isPaused() {
    return status == flow_status.FLOW_PAUSED;
  }

  /** FNV-1a over the bits of all numbers, as the simulators' summaries have it. */
  String checksum() {
    long sum = 0xcbf29ce484222325L;
    for (double[] array : arrays) {
      for (double each : array) sum = (sum ^ Double.doubleToRawLongBits(each)) * 0x100000001b3L;
    }
    return String.format("%016x", sum);
  }
}
