/**
 * At which server a segment is asked for: that of its URL, or the owner to which servers have sent
 * the client on [SPACE-10..14].
 */
import { isSameSession, spaceOf } from "../session/connection.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import type { RedirectField } from "../wire/protocol/field.js";
import { now } from "./clock.js";
import { mayPass, type Link, type Listener, type Live } from "./link.js";
import { checkSpace, failedThere, isAway, MOST_HOPS, sentTooOften, type Owners } from "./owners.js";

export class Route {
  /** Where the segment is open, or is asked for now. */
  link: Link;
  /** Where a server last sent the segment; null: nowhere. */
  private owner: Link | null = null;
  /** Of the server that sent it there; null: that server did not say. */
  private space: Uint8Array | null = null;
  /** How often it was sent on in this opening. */
  private hops = 0;
  /** The session in which the segment was last open: a secret. */
  #session: Uint8Array | null = null;
  private isLeft = false;
  /** How often the client was sent on in vain, and why it last was. */
  private refusals = 0;
  private refusal: unknown = null;
  /** Of the last time that it was sent on too often. */
  private excess: unknown = null;
  /** The reason that the last attempt did not reach the owner; null: an owner was reached since. */
  private away: unknown = null;

  constructor(
    private readonly home: Link,
    private readonly owners: Owners,
    private readonly path: string,
    private readonly listener: Listener,
  ) {
    this.link = home;
    home.listeners.add(listener);
  }

  /** Whether another server than that of the URL was the last to have it. */
  get hasOwner(): boolean {
    return this.owner !== null;
  }

  /**
   * A connection to where the segment is to be asked for. If the owner that the segment had cannot
   * be reached, the server of the URL is asked, and the owner again if that cannot be reached. An
   * opening fails at once if the server of the URL cannot be reached [SPACE-55].
   */
  async reach(deadline: number): Promise<Live> {
    const before = this.refusals;
    for (;;) {
      const { link, home, owner } = this;
      if (owner === null) return link.connected(deadline);
      try {
        const live = await link.tried(deadline);
        if (this.link === link && !live.isLost) {
          if (link === owner) this.away = null;
          return live;
        }
        if (this.refusals !== before) throw this.refusal;
      } catch (error) {
        // Another task was quicker.
        if (this.refusals !== before) throw this.refusal;
        if (this.link !== link) continue;
        const isThere = link === owner;
        const isAwaited = this.#session !== null || (isThere && isAway(error));
        const isTold = !isAwaited || now() >= deadline || this.isLeft;
        const isRefused =
          error instanceof InterweaveError && !mayPass(error) && (!isThere || this.hops > 0);
        const told = isThere ? failedThere(link, home, error) : error;
        if (isThere) {
          this.away = told;
          this.turn(home);
        }
        if (isTold || isRefused) throw told;
        if (!isThere) this.turn(owner);
      }
    }
  }

  private turn(link: Link): void {
    this.hops = 0;
    this.moveTo(link);
  }

  /**
   * Whether a segment that was open is asked for again after a pause: servers may send it on to one
   * that has just started anew, until the claim of the one before ends [SPACE-14].
   */
  mayPass(error: unknown): boolean {
    return this.#session !== null && error === this.excess;
  }

  /** What the program is told at its deadline: rather that the owner is away, if it is. */
  atDeadline(error: unknown): unknown {
    const isLate = error instanceof InterweaveError && error.code === ErrorCode.TIMED_OUT;
    return isLate && this.away !== null ? this.away : error;
  }

  /** The server has sent the client on. REDIRECTED: it did so too often, or to nowhere. */
  sentOn(live: Live, to: RedirectField): void {
    try {
      if (++this.hops > MOST_HOPS) throw (this.excess = sentTooOften(this.path, to));
      const next = this.owners.enter(to);
      this.space = spaceOf(live.welcome);
      this.moveTo(next);
      this.ownerIs(next);
    } catch (error) {
      this.comeHome(error);
      throw error;
    }
  }

  /** REDIRECTED: the server is of another space than the one that has sent the client there. */
  checkSpace(live: Live): void {
    if (this.link === this.home) return;
    try {
      checkSpace(this.space, live, this.link);
    } catch (error) {
      this.comeHome(error);
      throw error;
    }
  }

  /** The segment is open at `link`. Whether the locks of its last session are not known there. */
  opened(): boolean {
    const { session } = this.link;
    const isOther = this.#session !== null && !isSameSession(this.#session, session);
    this.#session = session;
    this.hops = 0;
    this.away = null;
    if (this.link === this.home) this.ownerIs(null);
    return isOther;
  }

  /** No server is asked for the segment any more. */
  deafen(): void {
    this.isLeft = true;
    this.link.listeners.delete(this.listener);
  }

  /** And the owner's connection is not needed. */
  leave(): void {
    this.deafen();
    this.ownerIs(null);
  }

  private comeHome(why: unknown): void {
    this.refusals += 1;
    this.refusal = why;
    this.hops = 0;
    this.moveTo(this.home);
    this.ownerIs(null);
  }

  private moveTo(link: Link): void {
    this.link.listeners.delete(this.listener);
    this.link = link;
    if (!this.isLeft) link.listeners.add(this.listener);
  }

  /** The one before is left, also if it is the same, which was entered twice. */
  private ownerIs(owner: Link | null): void {
    const before = this.owner;
    this.owner = owner;
    if (before !== null) this.owners.leave(before);
  }
}
