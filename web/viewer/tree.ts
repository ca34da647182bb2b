/** The rows of a list of paths: filtered, sorted, and folded by the parts of the paths. Pure. */

/** The keys by which rows can be sorted. */
export interface Leaf {
  readonly path: string;
  /** By the name of a column. */
  readonly values: Readonly<Record<string, number>>;
}

export interface LeafRow<T extends Leaf> {
  readonly kind: "leaf";
  readonly path: string;
  readonly name: string;
  /** 0 at the top. */
  readonly depth: number;
  readonly leaf: T;
}

export interface FolderRow {
  readonly kind: "folder";
  /** Ends with "/". */
  readonly path: string;
  readonly name: string;
  readonly depth: number;
  readonly isOpen: boolean;
  readonly count: number;
  /** The sums of what is inside. */
  readonly values: Readonly<Record<string, number>>;
}

export type Row<T extends Leaf> = LeafRow<T> | FolderRow;

export interface Order {
  /** "": by path. */
  readonly column: string;
  readonly isDown: boolean;
}

interface Folder<T extends Leaf> {
  readonly path: string;
  readonly folders: Map<string, Folder<T>>;
  readonly leaves: T[];
}

/** Those whose path has all the words. */
export function filtered<T extends Leaf>(leaves: readonly T[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...leaves];
  return leaves.filter(({ path }) => words.every((word) => path.toLowerCase().includes(word)));
}

const byName = new Intl.Collator("en", { numeric: true });

function comparison(order: Order) {
  const sign = order.isDown ? -1 : 1;
  return (a: Leaf, b: Leaf): number => {
    const value = order.column;
    const by = value === "" ? 0 : (a.values[value] ?? 0) - (b.values[value] ?? 0);
    return by !== 0 ? sign * by : (value === "" ? sign : 1) * byName.compare(a.path, b.path);
  };
}

export function flatRows<T extends Leaf>(leaves: readonly T[], order: Order): LeafRow<T>[] {
  return [...leaves].sort(comparison(order)).map((leaf) => {
    return { kind: "leaf", path: leaf.path, name: leaf.path, depth: 0, leaf };
  });
}

function folderOf<T extends Leaf>(leaves: readonly T[]): Folder<T> {
  const root: Folder<T> = { path: "/", folders: new Map(), leaves: [] };
  for (const leaf of leaves) {
    const parts = leaf.path.slice(1).split("/");
    let folder = root;
    for (const part of parts.slice(0, -1)) {
      let next = folder.folders.get(part);
      if (next === undefined) {
        next = { path: `${folder.path}${part}/`, folders: new Map(), leaves: [] };
        folder.folders.set(part, next);
      }
      folder = next;
    }
    folder.leaves.push(leaf);
  }
  return root;
}

function sumOf<T extends Leaf>({
  folders,
  leaves,
}: Folder<T>): {
  count: number;
  values: Record<string, number>;
} {
  const values: Record<string, number> = {};
  let count = leaves.length;
  const add = (more: Readonly<Record<string, number>>) => {
    for (const [name, value] of Object.entries(more)) values[name] = (values[name] ?? 0) + value;
  };
  for (const leaf of leaves) add(leaf.values);
  for (const folder of folders.values()) {
    const inner = sumOf(folder);
    count += inner.count;
    add(inner.values);
  }
  return { count, values };
}

/**
 * A folder with one thing in it is not shown by itself: its name is a part of what is in it.
 * `isOpen` says of a folder's path and depth whether what is inside is shown.
 */
export function treeRows<T extends Leaf>(
  leaves: readonly T[],
  order: Order,
  isOpen: (path: string, depth: number) => boolean,
): Row<T>[] {
  const rows: Row<T>[] = [];
  const compare = comparison(order);
  const walk = (folder: Folder<T>, prefix: string, depth: number): void => {
    const items: { path: string; values: Leaf["values"]; put: () => void }[] = [];
    for (const leaf of folder.leaves) {
      const name = leaf.path.slice(prefix.length);
      const row: LeafRow<T> = { kind: "leaf", path: leaf.path, name, depth, leaf };
      items.push({ path: leaf.path, values: leaf.values, put: () => rows.push(row) });
    }
    for (let inner of folder.folders.values()) {
      while (inner.leaves.length === 0 && inner.folders.size === 1)
        inner = [...inner.folders.values()][0] as Folder<T>;
      const { path } = inner;
      const { count, values } = sumOf(inner);
      const put = () => {
        if (count === 1) return walk(inner, prefix, depth);
        const name = path.slice(prefix.length);
        const open = isOpen(path, depth);
        rows.push({ kind: "folder", path, name, depth, isOpen: open, count, values });
        if (open) walk(inner, path, depth + 1);
      };
      items.push({ path, values, put });
    }
    items.sort(compare);
    for (const { put } of items) put();
  };
  // At the top, paths stand as they are.
  walk(folderOf(leaves), "", 0);
  return rows;
}

/** Folders of a smaller depth may be open at first, so that there are at most so many rows. */
export function depthFor<T extends Leaf>(leaves: readonly T[], most: number): number {
  const order = { column: "", isDown: false };
  for (let depth = 0; ; ++depth) {
    const rows = treeRows(leaves, order, (_, of) => of <= depth);
    if (rows.length > most) return depth;
    if (rows.every((row) => row.kind === "leaf" || row.isOpen)) return Infinity;
  }
}

/** The folder in which a row stands; null: it stands at the top. */
export function parentOf<T extends Leaf>(rows: readonly Row<T>[], index: number): number | null {
  const depth = rows[index]?.depth ?? 0;
  for (let i = index - 1; i >= 0; --i) if ((rows[i] as Row<T>).depth < depth) return i;
  return null;
}
