/** Archives that end where an archive ends. */
import { VmchartError } from '../../effects/errors.ts';

const blockBytes = 512;

/**
 * Passes an archive on, and fails at its end unless that is the block of zeros with which every archive closes:
 * one that was cut between two members looks whole to a reader.
 */
export async function* wholeArchive(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let zeros = 0;
  for await (const piece of archive) {
    const ending = trailingZeros(piece);
    zeros = ending === piece.length ? zeros + ending : ending;
    yield piece;
  }
  if (zeros < blockBytes) {
    throw new VmchartError('Protocol', 'The archive ended early: its closing block is missing.', {
      reason: 'truncated-archive',
    });
  }
}

/** Counts the zeros at the end of a piece; no more than a block of them matters. */
function trailingZeros(piece: Uint8Array): number {
  let count = 0;
  while (count < piece.length && count < blockBytes && piece[piece.length - 1 - count] === 0) count += 1;
  return count;
}
