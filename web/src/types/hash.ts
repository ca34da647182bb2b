/** FNV-1a of 64 bits [TYPE-3], in two halves because numbers are exact only to 2^53. */

const utf8 = new TextEncoder();

export class Hash {
  private low = 0x84222325;
  private high = 0xcbf29ce4;

  private bytes(bytes: Iterable<number>): void {
    let { low, high } = this;
    for (const byte of bytes) {
      low = (low ^ byte) >>> 0;
      // The prime is 2^40 + 0x1b3.
      const product = low * 0x1b3;
      high = (high * 0x1b3 + Math.floor(product / 2 ** 32) + ((low << 8) >>> 0)) % 2 ** 32;
      low = product % 2 ** 32;
    }
    this.low = low;
    this.high = high;
  }

  u8(value: number): this {
    this.bytes([value]);
    return this;
  }

  u32(value: number): this {
    this.bytes([value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, value >>> 24]);
    return this;
  }

  u64(value: bigint): this {
    return this.u32(Number(value & 0xffffffffn)).u32(Number(value >> 32n));
  }

  text(text: string): this {
    const bytes = utf8.encode(text);
    this.u32(bytes.length);
    this.bytes(bytes);
    return this;
  }

  get value(): bigint {
    return (BigInt(this.high) << 32n) | BigInt(this.low >>> 0);
  }
}
