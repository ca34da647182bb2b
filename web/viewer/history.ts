/**
 * The frames of one array that were received while it was shown, for looking back. Memory is
 * bounded: frames are kept as floats in buffers that are used again.
 */
const MOST_BYTES = 32 << 20;
const MOST_FRAMES = 240;

export interface Frame {
  version: number;
  values: Float32Array;
}

export class History {
  private readonly frames: Frame[] = [];
  private readonly most: number;

  constructor(private readonly length: number) {
    this.most = Math.max(1, Math.min(MOST_FRAMES, Math.floor(MOST_BYTES / (4 * length))));
  }

  get count(): number {
    return this.frames.length;
  }

  at(index: number): Frame | undefined {
    return this.frames[index];
  }

  get newest(): Frame | undefined {
    return this.frames[this.frames.length - 1];
  }

  add(version: number, values: ArrayLike<number | bigint>): void {
    if (this.newest?.version === version) return;
    const oldest = this.frames.length < this.most ? undefined : this.frames.shift();
    const kept = oldest?.values ?? new Float32Array(this.length);
    for (let i = 0; i < kept.length; ++i) kept[i] = Number(values[i]);
    this.frames.push({ version, values: kept });
  }
}
