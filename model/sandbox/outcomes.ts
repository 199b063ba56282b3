/** How a call or a wait of the lifecycle machine can end: the classes that a real service and a real wire produce. */
import {
  vmStates,
  type CallKind,
  type ErrorKind,
  type ErrorRecord,
  type MicrovmDescription,
  type Outcome,
} from '../../machines/index.ts';
import { windowSec } from './times.ts';

/** The id of the one VM in the explored world. */
export const microvmId = 'microvm-1';

/** What the service says of the VM in a given state. */
export function description(state: string): MicrovmDescription {
  return {
    microvmId,
    state,
    endpoint: 'vm.example',
    imageArn: 'arn:aws:lambda:us-east-1:123456789012:microvm-image:explored',
    imageVersion: '1',
    stateReason: null,
    idlePolicy: { maxIdleSec: 600, suspendedSec: windowSec, autoResume: true },
    maximumDurationSec: 3600,
    startedAtMs: null,
    terminatedAtMs: null,
  };
}

/** A way to fail, as the effects report it. */
export interface FailureClass {
  readonly slug: string;
  readonly kind: ErrorKind;
  readonly status: number | null;
  /** The platform surely did not act. */
  readonly definite: boolean;
  readonly gone: boolean;
}

/** Every class of failure that an effect can return (`client-behaviour.md` 1.2, 1.5). */
export const failureClasses: readonly FailureClass[] = [
  { slug: 'refused', kind: 'Platform', status: 400, definite: true, gone: false },
  { slug: 'in conflict', kind: 'Platform', status: 409, definite: true, gone: false },
  { slug: 'throttled', kind: 'Retryable', status: 429, definite: true, gone: false },
  { slug: 'not permitted', kind: 'Credentials', status: 403, definite: true, gone: false },
  { slug: 'not understood', kind: 'Protocol', status: 200, definite: false, gone: false },
  { slug: 'lost', kind: 'Retryable', status: null, definite: false, gone: false },
  { slug: 'timed out', kind: 'Timeout', status: null, definite: false, gone: false },
  { slug: 'gone', kind: 'Platform', status: 404, definite: true, gone: true },
];

function errorRecord({ slug, kind, status }: FailureClass): ErrorRecord {
  return {
    kind,
    code: `ERR_${kind.toUpperCase()}`,
    message: slug,
    retryable: kind === 'Retryable',
    wireKind: null,
    reason: null,
    requirement: null,
    status,
  };
}

/** An ending of the operation `op`, but for its time. */
export interface Ending {
  readonly label: string;
  /** The outcome when it ends at `at`. */
  readonly outcome: (op: number, at: number) => Outcome;
}

function ending(label: string, facts: Omit<Outcome, 'op' | 'at' | 'askedAt'>): Ending {
  return { label, outcome: (op, at) => ({ op, at, askedAt: at, ...facts }) };
}

/** A state that the service names and nobody knows. */
export const unknownState = 'REBOOTING';

const known = new Map<CallKind, readonly Ending[]>();

/** All endings of one kind of operation. */
export function endingsOf(kind: CallKind): readonly Ending[] {
  const endings = known.get(kind) ?? allEndingsOf(kind);
  known.set(kind, endings);
  return endings;
}

function allEndingsOf(kind: CallKind): readonly Ending[] {
  const success = { error: null, definite: false, gone: false };
  const isWait = kind.startsWith('await');
  return [
    ...(isWait || kind === 'read' || kind === 'launch'
      ? []
      : [ending(`${kind} succeeds`, { ...success, description: null })]),
    ...[...vmStates, unknownState].map((state) =>
      ending(`${kind} succeeds and says ${state}`, { ...success, description: description(state) }),
    ),
    ...failureClasses.map((failure) =>
      ending(`${kind} is ${failure.slug}`, {
        description: null,
        error: errorRecord(failure),
        definite: failure.definite,
        gone: failure.gone,
      }),
    ),
    ...(isWait
      ? vmStates.map((state) =>
          ending(`${kind} is timed out, having last seen ${state}`, {
            description: description(state),
            error: errorRecord({ slug: 'timed out', kind: 'Timeout', status: null, definite: false, gone: false }),
            definite: false,
            gone: false,
          }),
        )
      : []),
  ];
}
