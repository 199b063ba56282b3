/** Ids of commands: minted by the caller, so that a start can be repeated without a second child. */
import type { Clock } from '../ports.ts';

const wrap = 2n ** 64n;

let minted = 0n;

/**
 * `x-` and 16 hex digits: Unix nanoseconds, with a counter folded into the upper bits.
 * Made for uniqueness, not for secrecy (`client-behaviour.md` 4.8).
 */
export function execIdAt(unixNanoseconds: bigint, counter: bigint): string {
  const bits = (unixNanoseconds % wrap) ^ ((counter << 40n) % wrap);
  return `x-${bits.toString(16).padStart(16, '0')}`;
}

/** Mints the next id of this process. The monotonic reading supplies the digits below a millisecond. */
export function mintExecId(clock: Clock): string {
  const belowMillisecond = BigInt(Math.floor((clock.now() % 1) * 1e6));
  const unixNanoseconds = BigInt(Math.trunc(clock.wallNow())) * 1_000_000n + belowMillisecond;
  const counter = minted;
  minted += 1n;
  return execIdAt(unixNanoseconds, counter);
}
