/**
 * Everything that may happen to the lifecycle machine in a state: each command, each ending of the call in flight,
 * late endings of calls that are over, each report of the platform, at each moment that matters.
 */
import {
  vmStates,
  type CallKind,
  type SandboxContext,
  type SandboxEvent,
  type SandboxSnapshot,
} from '../../machines/index.ts';
import { doneEvent, errorEvent } from '../machine-system.ts';
import type { Action } from '../transition-system.ts';
import { description, endingsOf, unknownState } from './outcomes.ts';
import { later, moments, windowSec } from './times.ts';

/** An event that the machine may get, from a caller or from XState itself. */
export type SandboxAction = Action<SandboxEvent>;

/** The kinds of calls and waits, which are also the ids of the machine's actors. */
export const callKinds: readonly CallKind[] = [
  'launch',
  'suspend',
  'resume',
  'terminate',
  'read',
  'awaitRunning',
  'awaitSuspended',
  'awaitResumed',
  'awaitTerminated',
];

const waitMs = 300_000;

function launchOf({ clientToken = 'run-explored-1', image = 'explored', callerKept = false, wait = true } = {}) {
  return {
    clientToken,
    callerKept,
    wait,
    timeoutMs: waitMs,
    request: {
      imageIdentifier: image,
      suspendedSec: windowSec,
      options: {},
      agentTokenRef: 'token-1',
      launchEnvRef: null,
      identityRef: null,
    },
  };
}

/** Variants of RUN that a state can tell apart. */
function launches({ launch, microvmId: known }: SandboxContext): [string, ReturnType<typeof launchOf>][] {
  if (launch === null && known === null) {
    return [
      ['RUN', launchOf()],
      ['RUN without waiting', launchOf({ wait: false })],
      ['RUN with a token of its own', launchOf({ callerKept: true })],
      ['RUN with a token of its own, without waiting', launchOf({ callerKept: true, wait: false })],
    ];
  }
  const { callerKept = false, wait = true, clientToken = 'run-explored-1' } = launch ?? {};
  return [
    ['RUN with the same intent', launchOf({ callerKept, wait, clientToken })],
    ['RUN with another token', launchOf({ callerKept, wait, clientToken: 'run-explored-2' })],
    ['RUN with another body', launchOf({ callerKept, wait, clientToken, image: 'another' })],
  ];
}

/** Commands at one moment. The id is fresh: no command before can have had it. */
function commands(context: SandboxContext, at: number): [string, SandboxEvent][] {
  const commandId = `c${Number(context.waiting.at(-1)?.commandId.slice(1) ?? 0) + 1}`;
  const stamp = { commandId, at };
  return [
    ...launches(context).map(([label, launch]): [string, SandboxEvent] => [
      label,
      { type: 'RUN', ...stamp, ...launch },
    ]),
    ['SUSPEND', { type: 'SUSPEND', ...stamp, timeoutMs: waitMs }],
    ['RESUME', { type: 'RESUME', ...stamp, timeoutMs: waitMs }],
    ['TERMINATE', { type: 'TERMINATE', ...stamp, timeoutMs: null }],
    ['TERMINATE and wait', { type: 'TERMINATE', ...stamp, timeoutMs: waitMs }],
  ];
}

/** The ids of the actors that run in a state: the machine never has more than one. */
function running(snapshot: SandboxSnapshot): readonly CallKind[] {
  return callKinds.filter((kind) => snapshot.children[kind] !== undefined);
}

function untimedCommands(context: SandboxContext): SandboxAction[] {
  return commands(context, Number.NaN)
    .filter(([label]) => ['RUN', 'RUN with the same intent', 'SUSPEND', 'RESUME', 'TERMINATE'].includes(label))
    .map(([label, event]) => ({ by: 'caller', label: `${label} without a time`, event }));
}

function outcomes(snapshot: SandboxSnapshot): SandboxAction[] {
  const { context } = snapshot;
  const [current] = running(snapshot);
  const op = context.call?.op ?? context.op;
  const late = callKinds.map((kind) => ({
    by: 'service',
    label: `late: ${kind} of an operation that is over succeeds and says RUNNING`,
    event: doneEvent(kind, {
      ...endingsOf(kind)[0]?.outcome(op - 1, later(context)),
      description: description('RUNNING'),
    }) as unknown as SandboxEvent,
  }));
  if (current === undefined) return late;
  const threw = {
    by: 'host',
    label: `${current} throws`,
    event: errorEvent(current, { message: 'a bug' }) as unknown as SandboxEvent,
  };
  const lateThrow = {
    by: 'host',
    label: `late: ${current} of an operation that is over throws`,
    event: errorEvent(current, { op: op - 1 }) as unknown as SandboxEvent,
  };
  const ends = moments(context).flatMap(({ moment, at }) =>
    endingsOf(current).map(({ label, outcome }) => ({
      by: 'service',
      label: `${label}, ${moment}`,
      event: doneEvent(current, outcome(op, at)) as unknown as SandboxEvent,
    })),
  );
  return [...ends, threw, lateThrow, ...late];
}

function reports({ context }: SandboxSnapshot): SandboxAction[] {
  const report = (state: string, at: number, askedAt: number): SandboxEvent => ({
    type:
      state === unknownState
        ? 'OBSERVED.UNKNOWN'
        : state === 'gone'
          ? 'OBSERVED.TERMINATED'
          : `OBSERVED.${state as 'PENDING'}`,
    at,
    askedAt,
    description: state === 'gone' ? null : description(state),
  });
  const states = [...vmStates, unknownState, 'gone'];
  const fresh = moments(context).flatMap(({ moment, at }) =>
    states.map((state) => ({
      by: 'platform',
      label: `reported ${state}, ${moment}`,
      event: report(state, at, Math.max(at, context.acceptedAt ?? at)),
    })),
  );
  if (context.acceptedAt === null) return fresh;
  const { acceptedAt } = context;
  const at = later(context);
  return [
    ...fresh,
    ...states.map((state) => ({
      by: 'platform',
      label: `reported ${state}, asked before our last accepted call`,
      event: report(state, at, acceptedAt - 1),
    })),
  ];
}

/** Every event that may come in a state. */
export function sandboxActions(snapshot: SandboxSnapshot): readonly SandboxAction[] {
  return [
    ...moments(snapshot.context).flatMap(({ moment, at }) =>
      commands(snapshot.context, at).map(([label, event]) => ({ by: 'caller', label: `${label}, ${moment}`, event })),
    ),
    ...untimedCommands(snapshot.context),
    ...outcomes(snapshot),
    ...reports(snapshot),
  ];
}
