/**
 * A list of any length of which only the rows in view are in the document. Rows are all of one
 * height. The row that has the focus, or would get it, stays in the document wherever it is.
 */

export interface Rows<E extends HTMLElement> {
  count(): number;
  /** The key that tells one row from another, whatever their order. */
  key(index: number): string;
  make(index: number): E;
  /** Shows a row anew, because its content and its place may have changed. */
  update(element: E, index: number): void;
}

/** Rows beyond the edges of the view, so that slow scrolling finds them. */
const SPARE = 6;

export class VirtualRows<E extends HTMLElement> {
  private elements = new Map<string, E>();
  private active = 0;

  /** `view` scrolls, and `body` inside has the rows. */
  constructor(
    private readonly view: HTMLElement,
    private readonly body: HTMLElement,
    private readonly height: () => number,
    private readonly rows: Rows<E>,
  ) {
    view.addEventListener("scroll", () => this.show());
  }

  /** Of the row that the keys work on. */
  get index(): number {
    return Math.max(0, Math.min(this.active, this.rows.count() - 1));
  }

  /** How many rows are in view. */
  get page(): number {
    return Math.max(1, Math.floor(this.view.clientHeight / this.height()) - 1);
  }

  show(): void {
    const { view, body, rows } = this;
    const height = this.height();
    body.style.height = `${rows.count() * height}px`;
    const first = Math.max(0, Math.floor(view.scrollTop / height) - SPARE);
    const last = Math.min(
      rows.count(),
      Math.ceil((view.scrollTop + view.clientHeight) / height) + SPARE,
    );
    const shown = new Map<string, E>();
    const put = (index: number) => {
      const key = rows.key(index);
      const element = this.elements.get(key) ?? rows.make(index);
      element.style.top = `${index * height}px`;
      element.style.height = `${height}px`;
      rows.update(element, index);
      shown.set(key, element);
    };
    if (this.index < first && rows.count() > 0) put(this.index);
    for (let index = first; index < last; ++index) put(index);
    if (this.index >= last && rows.count() > 0) put(this.index);
    for (const [key, element] of this.elements) if (shown.get(key) !== element) element.remove();
    this.elements = shown;
    this.arrange([...shown.values()]);
  }

  /** In the order of the list, moving only what stands elsewhere: a moved element loses focus. */
  private arrange(elements: readonly E[]): void {
    let next = this.body.firstElementChild;
    for (const element of elements) {
      if (element === next) next = next.nextElementSibling;
      else this.body.insertBefore(element, next);
    }
  }

  /** Makes a row the active one, and brings it into view. */
  activate(index: number): E | undefined {
    if (this.rows.count() === 0) return undefined;
    this.active = Math.max(0, Math.min(index, this.rows.count() - 1));
    this.reveal(this.active);
    this.show();
    return this.elements.get(this.rows.key(this.active));
  }

  /** Another row is the active one, without scrolling. */
  note(index: number): void {
    this.active = index;
  }

  reveal(index: number): void {
    const { view } = this;
    const height = this.height();
    const top = index * height;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + height > view.scrollTop + view.clientHeight)
      view.scrollTop = top + height - view.clientHeight;
  }

  /** Where a key leads from the active row; null: it is not for lists. */
  target(key: string): number | null {
    const { index, page } = this;
    const count = this.rows.count();
    switch (key) {
      case "ArrowDown":
        return Math.min(count - 1, index + 1);
      case "ArrowUp":
        return Math.max(0, index - 1);
      case "PageDown":
        return Math.min(count - 1, index + page);
      case "PageUp":
        return Math.max(0, index - page);
      case "Home":
        return 0;
      case "End":
        return count - 1;
      default:
        return null;
    }
  }
}
