/** Output events as bytes: many in one buffer, and buffers used again, since this is where the bytes go through. */
import { maxChunkBytes } from './output-log.ts';
import type { NextOutput } from './output-log.ts';

/** Size of a buffer. Larger writes are cheaper, smaller ones sooner there. */
const bufferBytes = 262_144;
/** Room that the longest event needs: base64, the frame and two long numbers. */
const longestEventBytes = Math.ceil(maxChunkBytes / 3) * 4 + 128;
/** How many unused buffers are kept. */
const spareBuffers = 8;

const spare: Buffer[] = [];

/** Some events as bytes, and what gives their buffer back once they are sent. */
export interface EncodedEvents {
  readonly bytes: Buffer;
  release(): void;
}

/** Encodes what `next` yields until it yields `null` or the buffer is full; `null` when there was nothing. */
export function encodeEvents(next: () => NextOutput | null): EncodedEvents | null {
  let output = next();
  if (output === null) return null;
  const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
  let size = 0;
  for (; output !== null; output = next()) {
    if ('to' in output) {
      size += buffer.write(`event: gap\ndata: {"from":${output.from},"to":${output.to}}\n\n`, size, 'latin1');
    } else {
      const { offset, stream, data } = output;
      size += buffer.write(`event: output\ndata: {"offset":${offset},"stream":"${stream}","output":"`, size, 'latin1');
      size += buffer.write(data.toString('base64'), size, 'latin1');
      size += buffer.write('"}\n\n', size, 'latin1');
    }
    if (size + longestEventBytes > bufferBytes) break;
  }
  return {
    bytes: buffer.subarray(0, size),
    release() {
      if (spare.length < spareBuffers) spare.push(buffer);
    },
  };
}
