/** The viewer: which page is shown, whether the server is heard, and the keys. */
import type { Client } from "../src/client/client.js";
import { connect, ErrorCode, InterweaveError } from "../src/index.js";
import { ageText, h, notice, segmentTitle, setText } from "./dom.js";
import { parseAddress } from "./address.js";
import { isDialogOpen } from "./dialog.js";
import { showKeys } from "./keys.js";
import { segmentPage, type Page } from "./segment_page.js";
import { segmentsPage, type ListPage } from "./segments.js";
import { askStatus, serverUrlOf, showIdentity, type Status } from "./status.js";

const LOOK_MS = 1000;
const AGE_MS = 200;
const QUIET_MS = 5000;
const AWAITED: number[] = [ErrorCode.NO_SEGMENT, ErrorCode.REMOVED];
/** Another attempt may help, for example when another server has taken the segment over. */
const PASSING: number[] = [
  ErrorCode.UNREACHABLE,
  ErrorCode.TIMED_OUT,
  ErrorCode.STOPPING,
  ErrorCode.REDIRECTED,
  ErrorCode.STORE_FULL,
  ErrorCode.STORE_ALONE,
  ErrorCode.STORE_AWAY,
  ErrorCode.NO_MEMORY,
];

const main = document.getElementById("main") as HTMLElement;
const connection = document.getElementById("connection") as HTMLElement;

/** The reason that a server gave. A server that is gone gives none. */
function reasonOf({ failure }: Client): string {
  return failure === null || failure.code === ErrorCode.UNREACHABLE ? "" : `: ${failure.message}`;
}

class Viewer {
  private client: Client | null = null;
  private page: Page | null = null;
  /** As people left it: what is folded, filtered and sorted. */
  private list: ListPage | null = null;
  private status: Status | null = null;
  private readonly began = performance.now();
  /** The reason that a server that is there does not let this page in. */
  private refusal: string | null = null;
  /** Counts addresses: what was opened for an earlier one is not shown any more. */
  private turn = 0;

  async begin(): Promise<void> {
    setInterval(() => this.showAge(), AGE_MS);
    while (this.client === null) {
      this.status = await askStatus();
      if (this.status !== null) showIdentity(this.status);
      try {
        const url = new URL("ws", location.href.replace(/^http/, "ws").replace(/[?#].*/, "")).href;
        const serverUrl = serverUrlOf(this.status);
        this.client = await connect(url, {
          label: "viewer",
          timeoutMs: 5000,
          ...(serverUrl === undefined ? {} : { serverUrl }),
        });
      } catch (error) {
        const isHeard = error instanceof InterweaveError && error.code !== ErrorCode.UNREACHABLE;
        this.refusal = isHeard ? error.message : null;
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    }
    addEventListener("hashchange", () => void this.show());
    document.addEventListener("keydown", (event) => this.key(event));
    setInterval(() => void this.look(), LOOK_MS);
    await this.show();
  }

  /** `isAgain`: what the last attempt said stays until this one has an outcome. */
  private async show(isAgain = false): Promise<void> {
    const client = this.client as Client;
    const target = parseAddress(location.hash.slice(1));
    const turn = ++this.turn;
    if (target !== null && this.page?.segment.path === target.path) return this.page.show(target);
    const isBack = this.page !== null;
    this.page?.close();
    this.page = null;
    document.title = target === null ? "InterWeave" : `${target.path} – InterWeave`;
    if (target === null) {
      this.list ??= segmentsPage(client, () => this.status);
      main.replaceChildren(this.list.element);
      await this.look();
      if (isBack && turn === this.turn) this.list.focus();
      return;
    }
    if (!isAgain) main.replaceChildren(h("p", { class: "empty" }, `Opening ${target.path} …`));
    try {
      const page = await segmentPage(client, target);
      if (turn !== this.turn) return page.close();
      this.page = page;
      main.replaceChildren(page.element);
      if (document.activeElement === document.body) main.focus();
      void this.follow(page);
      void this.look();
    } catch (error) {
      if (turn === this.turn) this.cannotShow(target.path, error as Error);
    }
  }

  /**
   * A segment may end while it is looked at: it is removed, or the server comes back without what
   * was shown. That is not left standing as if it were live: what the server has
   * now is opened anew.
   */
  private async follow(page: Page): Promise<void> {
    try {
      await page.run();
    } catch (error) {
      if (page !== this.page) return;
      const { path, version } = page.segment;
      page.close();
      this.page = null;
      if (error instanceof InterweaveError && error.code === ErrorCode.SEGMENT_LOST) {
        notice(`The server lost version ${version} of ${path}; what it has now is shown.`, true);
        return this.show();
      }
      notice((error as Error).message, true);
      this.cannotShow(path, error as Error);
    }
  }

  /**
   * A segment that is not there may come: a program that is about to make it says where to look.
   */
  private cannotShow(path: string, error: Error): void {
    const isOneOf = (codes: number[]) =>
      error instanceof InterweaveError && codes.includes(error.code);
    const isAwaited = isOneOf(AWAITED);
    const text = isAwaited
      ? `There is no segment ${path} yet. It is shown as soon as there is.`
      : error.message;
    main.replaceChildren(
      segmentTitle(path),
      h("p", { class: isAwaited ? "empty" : "empty bad" }, text),
    );
    const { turn } = this;
    if (isAwaited || isOneOf(PASSING))
      setTimeout(() => turn === this.turn && void this.show(true), LOOK_MS);
  }

  private async look(): Promise<void> {
    if (document.hidden) return;
    try {
      // Also without a connection: the login may have ended, and the connection with it.
      this.status = (await askStatus(this.page?.segment.path)) ?? this.status;
      if (this.client?.isConnected !== true) return;
      if (this.page === null) await this.list?.update();
      this.page?.tell(this.status);
    } catch {
      // The connection's state is shown by itself.
    }
  }

  /**
   * Whether the servers are heard, and how old what is shown is. The server of this page may pass
   * the connection on to another one, which has the segment.
   */
  private showAge(): void {
    const { client, page } = this;
    const isHere = client?.isConnected === true;
    const isConnected = isHere && page?.segment.isConnected !== false;
    const awayHere = client === null ? performance.now() - this.began : client.silentForMs;
    const away = isHere ? Math.max(awayHere, page?.segment.silentForMs ?? 0) : awayHere;
    const isQuiet = isConnected && away > QUIET_MS;
    connection.classList.toggle("lost", !isConnected || isQuiet);
    document.body.classList.toggle("is-lost", !isConnected);
    const age =
      page === null ? "" : `version ${page.segment.version}, ${ageText(page.segment.staleness)}`;
    if (isConnected && !isQuiet)
      setText(connection, page === null ? "connected" : `connected · ${age}`);
    else if (client === null)
      setText(connection, away < 1500 ? "connecting …" : `${this.whyNot}; trying again`);
    else {
      const shown = page === null ? "" : ` · shown: ${age}`;
      const isOther = isHere && awayHere <= QUIET_MS;
      const what = isQuiet
        ? `Nothing heard of the ${isOther ? "segment's server" : "server"} for`
        : `Connection ${isOther ? "to the segment's server " : ""}lost for`;
      const seconds = Math.round(away / 1000);
      const why = isHere ? "" : reasonOf(client);
      setText(connection, `${what} ${seconds} s${why}; trying again${shown}`);
    }
  }

  private get whyNot(): string {
    return this.refusal ?? "the server is not there";
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape" && (event.target as HTMLElement).id === "filter") {
      (event.target as HTMLElement).blur();
    }
    const isTyping =
      event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (isTyping || isDialogOpen() || event.ctrlKey || event.metaKey || event.altKey) return;
    const isPressed =
      event.target instanceof HTMLButtonElement || event.target instanceof HTMLAnchorElement;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("filter")?.focus();
    } else if (event.key === " " && !isPressed && this.page !== null) {
      event.preventDefault();
      this.page.toggle();
    } else if (event.key === "Escape" && location.hash.length > 1) {
      location.hash = "";
    } else if (event.key === "?") {
      showKeys();
    }
  }
}

void new Viewer().begin();
