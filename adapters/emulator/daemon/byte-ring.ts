/** The newest bytes of an unending sequence, by their offsets, in memory that is used again and again. */

/** See {@link createByteRing}. */
export interface ByteRing {
  /** Appends a copy of `data`. */
  append(data: Uint8Array): void;
  /** The bytes `[from, from + length)`, which must still be held. Valid until the next append. */
  view(from: number, length: number): Buffer;
}

const smallestBytes = 65_536;

/**
 * A ring that grows up to `maxBytes` as it is filled.
 *
 * @param maxBytes - how many of the newest bytes are held at least
 * @param maxAppendBytes - the most that one append brings
 */
export function createByteRing(maxBytes: number, maxAppendBytes: number): ByteRing {
  const largest = maxBytes + maxAppendBytes;
  let memory = Buffer.alloc(0);
  let total = 0;

  /** Copies `data` to where the bytes from `offset` on belong. */
  const place = (into: Buffer, offset: number, data: Uint8Array): void => {
    const at = offset % into.length;
    const fitting = Math.min(data.length, into.length - at);
    into.set(fitting === data.length ? data : data.subarray(0, fitting), at);
    if (fitting < data.length) into.set(data.subarray(fitting), 0);
  };
  const view = (from: number, length: number): Buffer => {
    if (length === 0) return memory.subarray(0, 0);
    const at = from % memory.length;
    if (at + length <= memory.length) return memory.subarray(at, at + length);
    const head = memory.subarray(at);
    return Buffer.concat([head, memory.subarray(0, length - head.length)]);
  };
  const grow = (needed: number): void => {
    const size = Math.min(largest, Math.max(smallestBytes, memory.length * 2, needed));
    if (size <= memory.length) return;
    const held = Math.min(total, memory.length);
    const next = Buffer.allocUnsafeSlow(size);
    place(next, total - held, view(total - held, held));
    memory = next;
  };

  return {
    append(data) {
      const wanted = Math.min(largest, total + data.length);
      if (wanted > memory.length) grow(wanted);
      place(memory, total, data);
      total += data.length;
    },
    view,
  };
}
