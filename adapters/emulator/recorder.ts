/** What came in: for tests that count calls, and for people who wonder. Secrets are left out. */
import { operationNames } from './control-plane/routes.ts';

/** What a request asked for: an operation, a request through an endpoint, or a path that nobody knows. */
export const recordedOperations = [...operationNames, 'Endpoint', 'Unknown'] as const;

/** One of them. */
export type RecordedOperation = (typeof recordedOperations)[number];

/** One request. */
export interface RecordedRequest {
  readonly operation: RecordedOperation;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** The decoded body without secrets; null without one, or when it could not be decoded. */
  readonly body: unknown;
  readonly region: string | null;
  readonly microvmId: string | null;
  /** Monotonic milliseconds on the emulator's clock. */
  readonly at: number;
  readonly requestId: string;
  /** The fault that was injected, if any. */
  fault: string | null;
  /** The status of the answer; null while there is none, or when it was lost. */
  status: number | null;
}

/** The record of requests. */
export interface Recorder {
  /** The latest ones, oldest first; fewer of them when they were large. */
  readonly requests: readonly RecordedRequest[];
  /** How many came in all, also those that are no longer kept. Without an operation: all of the control plane. */
  count(operation?: RecordedOperation): number;
  /** Forgets all. */
  clear(): void;
}

/** Members that hold secrets, whatever the operation. */
const secretMembers = new Set(['runHookPayload', 'environmentVariables', 'authToken']);

/** A body without what must not be shown. */
export function redact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, secretMembers.has(name) ? '<redacted>' : redact(member)]),
  );
}

/** The recorder as the emulator itself uses it. */
export interface RecordKeeper extends Recorder {
  /** Adds a request, whose body came with so many bytes, and returns it, for its outcome to be filled in. */
  record(request: RecordedRequest, bodyBytes?: number): RecordedRequest;
}

/** How much of paths and bodies is kept: a flood of large requests must not fill the memory. */
const mostKept = 32 * 1024 * 1024;

/** Makes a recorder that keeps the latest `limit` requests. */
export function makeRecorder(limit: number): RecordKeeper {
  const requests: RecordedRequest[] = [];
  const weights: number[] = [];
  let kept = 0;
  const dropOldest = (count: number) => {
    requests.splice(0, count);
    for (const weight of weights.splice(0, count)) kept -= weight;
  };
  const counts = new Map<RecordedOperation, number>();
  /** Drops the oldest until a quarter of the room is free. */
  const makeRoom = () => {
    let count = 0;
    for (let left = kept; left > (mostKept * 3) / 4 && count < weights.length; count += 1) left -= weights[count] ?? 0;
    dropOldest(count);
  };
  return {
    get requests() {
      return requests.slice(-limit);
    },
    count(operation) {
      if (operation !== undefined) return counts.get(operation) ?? 0;
      let all = 0;
      for (const [name, count] of counts) if (name !== 'Endpoint') all += count;
      return all;
    },
    clear() {
      dropOldest(requests.length);
      counts.clear();
    },
    record(request, bodyBytes = 0) {
      counts.set(request.operation, (counts.get(request.operation) ?? 0) + 1);
      requests.push(request);
      weights.push(request.path.length + bodyBytes);
      kept += request.path.length + bodyBytes;
      // Trimmed now and then, not with every request.
      if (requests.length >= 2 * limit) dropOldest(requests.length - limit);
      if (kept > mostKept) makeRoom();
      return request;
    },
  };
}
