/** Faults on request: what a network, a gateway or a busy service does to a call. */
import type { RecordedOperation } from './recorder.ts';
import { recordedOperations } from './recorder.ts';

/** What goes wrong. */
export type FaultKind =
  /** The operation takes effect, then the connection breaks. */
  | 'lost-answer'
  /** The connection breaks before anything happened. */
  | 'lost-request'
  /** The answer comes later. */
  | 'delay'
  /** 429 ThrottlingException. */
  | 'throttle'
  /** ThrottlingException as a 400. */
  | 'throttle-as-400'
  /** 402 ServiceQuotaExceededException. */
  | 'quota'
  /** 500 InternalServerException. */
  | 'internal'
  /** 500 InsufficientCapacityException. */
  | 'capacity'
  /** 502 with a page of HTML; on an endpoint without a body. */
  | 'gateway'
  /** 503 without a body. */
  | 'unavailable'
  /** 404, as a service that is not yet consistent answers. */
  | 'not-found'
  /** 409 ConflictException. */
  | 'conflict'
  /** 403 without a message, as for an implied action that is denied. */
  | 'access-denied'
  /** 200 with a body that is no JSON, after the operation took effect. */
  | 'garbage'
  /** 200 with `{}`, after the operation took effect. */
  | 'empty';

/** Every kind, for campaigns. */
export const faultKinds: readonly FaultKind[] = [
  'lost-answer',
  'lost-request',
  'delay',
  'throttle',
  'throttle-as-400',
  'quota',
  'internal',
  'capacity',
  'gateway',
  'unavailable',
  'not-found',
  'conflict',
  'access-denied',
  'garbage',
  'empty',
];

/** One fault, for requests that fit. */
export interface Fault {
  readonly kind: FaultKind;
  /** `*` fits every operation of the control plane; `Endpoint` is a request through an endpoint. */
  readonly operation: RecordedOperation | '*';
  /** How many requests it hits. Default 1; `Infinity` for all. */
  readonly times?: number;
  /** How many fitting requests pass first. Default 0. */
  readonly after?: number;
  /** Hits only requests that name this VM. */
  readonly microvmId?: string;
  /** For `delay`, on the emulator's clock. Default 1000. */
  readonly delayMs?: number;
  /** For throttles and `internal`: the `Retry-After` header. Default 1 for throttles, none for `internal`. */
  readonly retryAfterSec?: number;
}

/** Faults that come by chance, the same ones for the same seed and the same requests. */
export interface RandomFaults {
  readonly seed: number;
  /** The share of requests that is hit, 0 to 1. */
  readonly rate: number;
  readonly kinds?: readonly FaultKind[];
  readonly operations?: readonly RecordedOperation[];
}

/** What a user of the emulator can do to it. */
export interface Faults {
  /**
   * Adds a fault behind those already there; the returned function takes it back.
   *
   * @throws TypeError for a kind, an operation or a number that means nothing
   */
  add(fault: Fault): () => void;
  /**
   * Adds faults by chance, until `clear`.
   *
   * @throws TypeError for a rate that is no share, or kinds or operations that nobody knows
   */
  random(faults: RandomFaults): void;
  /** Removes everything. */
  clear(): void;
  /** Those that are still to hit something. */
  readonly pending: readonly Fault[];
}

/** Numbers of [0, 1), xorshift32. */
function makeChance(seed: number): () => number {
  let state = seed >>> 0 || 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The set of faults as the emulator itself uses it. */
export interface FaultSource extends Faults {
  /** The fault that hits a request, if any; counts it. */
  take(operation: RecordedOperation, microvmId: string | null): Fault | null;
}

const isWhole = (value: number | undefined, least: number) =>
  value === undefined || (Number.isSafeInteger(value) && value >= least);

/** Refuses what would hit nothing, or something else than was meant. */
const isOperation = (name: unknown): name is RecordedOperation =>
  (recordedOperations as readonly unknown[]).includes(name);
const operationsText = `one of ${recordedOperations.join(', ')}`;

function checkFault({ kind, operation, times, after, delayMs, retryAfterSec }: Fault): void {
  if (!faultKinds.includes(kind)) throw new TypeError(`A fault's kind is one of ${faultKinds.join(', ')}.`);
  if (operation !== '*' && !isOperation(operation)) {
    throw new TypeError(`A fault's operation is *, or ${operationsText}.`);
  }
  if (times !== Infinity && !isWhole(times, 1)) throw new TypeError('A fault hits 1 request, or more, or Infinity.');
  if (!isWhole(after, 0)) throw new TypeError('A fault lets 0 requests pass first, or more.');
  if (delayMs !== undefined && !(delayMs >= 0 && delayMs < Infinity)) {
    throw new TypeError('A delay takes 0 ms, or more.');
  }
  if (!isWhole(retryAfterSec, 0)) throw new TypeError('Retry-After is a whole number of seconds.');
}

function checkRandom({ seed, rate, kinds = faultKinds, operations = [] }: RandomFaults): void {
  if (!Number.isFinite(seed)) throw new TypeError('The seed of faults is a number.');
  if (!(rate >= 0 && rate <= 1)) throw new TypeError('The rate of faults is a share between 0 and 1.');
  if (kinds.length === 0 || kinds.some((kind) => !faultKinds.includes(kind))) {
    throw new TypeError(`Faults by chance are some of ${faultKinds.join(', ')}.`);
  }
  if (!operations.every(isOperation)) throw new TypeError(`Each operation of faults by chance is ${operationsText}.`);
}

/** An empty set of faults. */
export function makeFaults(): FaultSource {
  let added: { readonly fault: Fault; skip: number; left: number }[] = [];
  let byChance: (RandomFaults & { readonly chance: () => number }) | null = null;

  const draw = (operation: RecordedOperation): Fault | null => {
    if (byChance === null || (byChance.operations !== undefined && !byChance.operations.includes(operation)))
      return null;
    if (operation === 'Endpoint' && byChance.operations === undefined) return null;
    if (byChance.chance() >= byChance.rate) return null;
    const kinds = byChance.kinds ?? faultKinds;
    const kind = kinds[Math.floor(byChance.chance() * kinds.length)];
    return kind === undefined ? null : { kind, operation };
  };

  return {
    get pending() {
      return added.map(({ fault }) => fault);
    },
    add(fault) {
      checkFault(fault);
      const entry = { fault, skip: fault.after ?? 0, left: fault.times ?? 1 };
      added.push(entry);
      return () => {
        added = added.filter((other) => other !== entry);
      };
    },
    random(faults) {
      checkRandom(faults);
      byChance = { ...faults, chance: makeChance(faults.seed) };
    },
    clear() {
      added = [];
      byChance = null;
    },
    take(operation, microvmId) {
      for (const entry of added) {
        const { fault } = entry;
        const fits = fault.operation === operation || (fault.operation === '*' && operation !== 'Endpoint');
        if (!fits || (fault.microvmId !== undefined && fault.microvmId !== microvmId)) continue;
        if (entry.skip > 0) {
          entry.skip -= 1;
          continue;
        }
        entry.left -= 1;
        if (entry.left <= 0) added = added.filter((other) => other !== entry);
        return fault;
      }
      return draw(operation);
    },
  };
}
