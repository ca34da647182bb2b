/** What this program was told of one segment: `listen` and `told` of the conformance agent. */
import { now } from "../src/client/clock.js";
import { Condition } from "../src/client/condition.js";
import { ErrorCode, InterweaveError, type ConnectionState, type Segment } from "../src/node.js";

export class Listening {
  private newest = 0;
  private connection: ConnectionState | null = null;
  private failure: unknown = null;
  private readonly heard = new Condition();

  constructor(private readonly segment: Segment) {
    segment.onConnection((state) => {
      this.connection = state;
      this.heard.notify();
    });
    void this.follow();
  }

  private async follow(): Promise<void> {
    try {
      for await (const version of this.segment) {
        this.newest = version;
        this.heard.notify();
      }
    } catch (error) {
      this.failure = error;
      this.heard.notify();
    }
  }

  /** Of that version or a newer one, which it gives; or that the connection is so. */
  async told(what: string, seconds: number): Promise<number | undefined> {
    const deadline = now() + 1000 * seconds;
    const isVersion = /^[0-9]+$/.test(what);
    while (isVersion ? this.newest < Number(what) : this.connection !== what) {
      // Versions end with an error, which is not to come later than the word of the connection.
      if (isVersion && this.failure !== null) throw this.failure;
      if (!isVersion && this.connection === "lost") {
        throw new InterweaveError(ErrorCode.SEGMENT_LOST, "the connection's listener was told so");
      }
      if (!(await this.heard.wait(deadline))) {
        throw new InterweaveError(ErrorCode.TIMED_OUT, "not told");
      }
    }
    return isVersion ? this.newest : undefined;
  }
}
