/** The clients of one segment: which program, where it runs, whether it writes, how far it is. */
import { durationText, h } from "./dom.js";
import { readerText, type Reader, type Runs, type SegmentStatus } from "./status.js";

/** The end of a program's path, as people call it. */
function programName(program: string): string {
  return program.split(/[/\\]/).pop() ?? program;
}

/** `astroflow-simulator (C++) · node7 · 4711`, of what is known. */
export function clientText(label: string, runs: Runs | null): string {
  const program = programName(runs?.program ?? "");
  const where = [runs?.host ?? "", runs?.pid == null ? "" : `pid ${runs.pid}`].filter(Boolean);
  const name = nameOf(label, program);
  const more = program === "" || program === name ? [] : [program];
  return [name, ...more, ...where].join(" · ");
}

/** The name that a program gives itself; a library's own name says less than the program's. */
function nameOf(label: string, program: string): string {
  const isLibrary = label === "" || /interweave/i.test(label);
  return (isLibrary ? program : "") || label || "(no name)";
}

function idOf(label: string, runs: Runs | null): string {
  return JSON.stringify([label, runs?.program ?? "", runs?.host ?? "", runs?.pid ?? 0]);
}

export class ClientList {
  readonly element = h("ul", { class: "readers" });
  /** When a client was last seen with the writer lock. */
  private readonly wrote = new Map<string, number>();

  /** undefined: the server of this page knows none, as of a segment that another one has. */
  update(status: SegmentStatus | undefined, at: number): void {
    if (status === undefined) {
      this.element.replaceChildren(h("li", { class: "soft" }, "not known to this server"));
      return;
    }
    const { writer, writer_runs, readers, waiting } = status;
    const holder = writer === null ? null : idOf(writer, writer_runs);
    if (holder !== null) this.wrote.set(holder, at);
    const ids = readers.map(({ client, runs }) => idOf(client, runs));
    // Those that write come first.
    const order = readers
      .map((reader, i) => ({ reader, id: ids[i] as string }))
      .sort((a, b) => Number(this.wrote.has(b.id)) - Number(this.wrote.has(a.id)));
    const isElsewhere = writer !== null && holder !== null && !ids.includes(holder);
    this.element.replaceChildren(
      ...(isElsewhere ? [item(clientText(writer, writer_runs), writer, "writes", "")] : []),
      ...order.map(({ reader, id }) => this.client(reader, id, id === holder, waiting, at)),
    );
    if (this.element.childElementCount === 0)
      this.element.append(h("li", { class: "soft" }, "nobody has it open"));
  }

  private client(reader: Reader, id: string, holds: boolean, waiting: string[], at: number) {
    const wrote = this.wrote.get(id);
    const role = holds
      ? "writes"
      : waiting.includes(reader.client)
        ? "waits"
        : wrote === undefined
          ? ""
          : `wrote ${durationText((at - wrote) / 1000)} ago`;
    return item(clientText(reader.client, reader.runs), reader.client, role, readerText(reader));
  }
}

/** `text` is the client's, its name first. The role comes and goes, and moves nothing else. */
function item(text: string, label: string, role: string, copy: string): HTMLElement {
  const [name = "", ...where] = text.split(" · ");
  return h(
    "li",
    { title: label },
    h("b", {}, name),
    h("span", { class: "soft" }, copy),
    where.length === 0 ? null : h("span", { class: "soft where" }, where.join(" · ")),
    role === "" ? null : h("span", { class: "role" }, role),
  );
}
