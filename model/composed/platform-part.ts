/**
 * The service's side of the composed system: the platform machine with a guest that answers at once, and the daemon's
 * bootstrap.
 *
 * The guest is not free to do as it likes: it freezes, thaws and goes when it is told to. What it is free to do is to
 * fail a hook, to end, and to let a process inside race for the bootstrap.
 */
import { initialTransition, type SnapshotFrom } from 'xstate';
import {
  bootstrapMachine,
  defaultPlatformOptions,
  platformMachine,
  reportedState,
  vmStates,
  type CallAnswer,
  type PlatformEffect,
  type PlatformEvent,
  type PlatformOptions,
  type PlatformSnapshot,
} from '../../machines/index.ts';
import { compileMachine, type CompiledMachine } from '../compile.ts';
import { machineSystem, statePath, stepperOf, type MachineEffects } from '../machine-system.ts';
import type { Action, Step, TransitionSystem } from '../transition-system.ts';

/** The deadlines that can be the next to come. */
const deadlines = ['lifetime', 'window', 'idle', 'step'] as const;

const deadlineLabels: Readonly<Record<(typeof deadlines)[number], string>> = {
  lifetime: 'its maximum duration is over',
  window: 'its suspended window is over',
  idle: 'it was idle for too long',
  step: 'its step under way is done, or takes too long',
};

type PlatformStep = Step<PlatformSnapshot, PlatformEvent, MachineEffects>;

const take = stepperOf(platformMachine);

/** Any deadline that counts down may be the next one: how long things take is not ours to know. */
function timeless(snapshot: PlatformSnapshot): PlatformSnapshot {
  const { lifetime, window, idle, step } = snapshot.context.deadlines;
  const ahead = (at: number | null): number | null => (at === null ? null : 1);
  const shifted = { lifetime: ahead(lifetime), window: ahead(window), idle: ahead(idle), step: ahead(step) };
  return platformMachine.resolveState({ value: snapshot.value, context: { ...snapshot.context, deadlines: shifted } });
}

/** What the guest does about an effect, when it does it well; `null` where nothing is asked of it. */
function guestAnswer(effect: PlatformEffect, hookStatus: number): PlatformEvent | null {
  switch (effect.type) {
    case 'FREEZE':
      return { type: 'GUEST.FROZEN', at: 0 };
    case 'THAW':
      return { type: 'GUEST.THAWED', at: 0 };
    case 'DESTROY':
      return { type: 'GUEST.DESTROYED', at: 0 };
    case 'CALL_HOOK':
      // The run hook is the daemon's bootstrap, a part of its own.
      return effect.hook === 'run'
        ? null
        : { type: 'GUEST.HOOK_ANSWERED', hook: effect.hook, status: hookStatus, at: 0 };
    default:
      return null;
  }
}

/** An event and all that the guest does about it. */
function settled(snapshot: PlatformSnapshot, event: PlatformEvent, hookStatus: number) {
  const emitted: PlatformEffect[] = [];
  const events = [event];
  let state = snapshot;
  for (const next of events) {
    const { after, effects } = take(state, { label: next.type, by: 'platform', event: next });
    state = after;
    for (const effect of effects.emitted as readonly PlatformEffect[]) {
      emitted.push(effect);
      const answer = guestAnswer(effect, hookStatus);
      if (answer !== null) events.push(answer);
    }
  }
  return { after: timeless(state), emitted };
}

const failing = ', and its hook fails';

function platformActions(snapshot: PlatformSnapshot): Action<PlatformEvent>[] {
  const runHook = statePath(snapshot.value) === 'PENDING.runHook';
  const base: Action<PlatformEvent>[] = [
    ...(['SUSPEND', 'RESUME', 'TERMINATE'] as const).map((type) => ({
      by: 'wire',
      label: type,
      event: { type, at: 0 },
    })),
    ...deadlines
      .filter((name) => snapshot.context.deadlines[name] !== null)
      .map((name) => ({ by: 'platform', label: deadlineLabels[name], event: { type: 'TICK' as const, at: 0 } })),
    { by: 'traffic', label: 'a request comes to its endpoint', event: { type: 'TRAFFIC.REQUEST', at: 0 } },
    { by: 'guest', label: 'its main process ends', event: { type: 'GUEST.EXITED', exitCode: 1, at: 0 } },
    ...(runHook
      ? [200, 409].map((status) => ({
          by: 'guest',
          label: `its run hook is answered ${status}`,
          event: { type: 'GUEST.HOOK_ANSWERED' as const, hook: 'run' as const, status, at: 0 },
        }))
      : []),
  ];
  return [...base, ...base.map((action) => ({ ...action, label: `${action.label}${failing}` }))];
}

/** Lets exactly this deadline be due. */
function onlyDue(snapshot: PlatformSnapshot, label: string): PlatformSnapshot {
  const due = deadlines.find((name) => label.startsWith(deadlineLabels[name]));
  if (due === undefined) return snapshot;
  const context = { ...snapshot.context, deadlines: { ...snapshot.context.deadlines, [due]: 0 } };
  return platformMachine.resolveState({ value: snapshot.value, context });
}

function platformSystem(
  options: PlatformOptions,
  autoResume: boolean,
): TransitionSystem<PlatformSnapshot, PlatformEvent, MachineEffects> {
  const anyMs = 1;
  const [start] = initialTransition(platformMachine, {
    at: 0,
    terms: {
      idlePolicy: { maxIdleMs: anyMs, suspendedWindowMs: anyMs, autoResume },
      maximumDurationMs: anyMs,
      hookTimeoutMs: { run: anyMs, suspend: anyMs, resume: anyMs, terminate: anyMs },
      delays: {
        launchDelayMs: anyMs,
        suspendDelayMs: anyMs,
        resumeDelayMs: anyMs,
        terminateDelayMs: anyMs,
        exitDelayMs: anyMs,
      },
      options,
    },
  });
  return {
    ...machineSystem(platformMachine, { snapshots: [], inputs: [], events: platformActions }),
    initial: () => [timeless(start)],
    step: (before, action) => {
      const hookStatus = action.label.endsWith(failing) ? 500 : 200;
      const { after, emitted } = settled(onlyDue(before, action.label), action.event, hookStatus);
      return { before, action, after, effects: { started: [], stopped: [], emitted } };
    },
    project: (snapshot) => ({
      state: statePath(snapshot.value),
      // Who suspended it matters only as long as it is suspended.
      explicitSuspend: snapshot.context.explicitSuspend && statePath(snapshot.value).startsWith('SUSPEND'),
      requestsHeld: snapshot.context.requestsHeld,
      deadlines: deadlines.filter((name) => snapshot.context.deadlines[name] !== null).join(),
    }),
  };
}

const answers: readonly CallAnswer[] = ['ok', 'conflict', 'validation'];

/** The platform's tables. Row 0 stands for "no VM"; the machine's own states follow. */
export interface PlatformPart {
  readonly compiled: CompiledMachine<PlatformSnapshot, PlatformEvent>;
  /** Columns of the client's calls: suspend, resume, terminate. */
  readonly callColumns: Int32Array;
  /** Columns of what happens by itself. */
  readonly ownColumns: Int32Array;
  /** Columns of the run hook's answers: 200 and 409. */
  readonly hookColumns: Int32Array;
}

/** Compiles the platform machine for the composed system. */
export function platformPart({
  options = {},
  autoResume = true,
}: { options?: Partial<PlatformOptions>; autoResume?: boolean } = {}): PlatformPart {
  const compiled = compileMachine(platformSystem({ ...defaultPlatformOptions, ...options }, autoResume), {
    name: 'platform',
    derive: {
      /** 1 for ok, 2 for a conflict, 3 for a refusal; 0 where no call was answered. */
      answer: ({ effects }: PlatformStep) => {
        const effect = (effects.emitted as readonly PlatformEffect[]).find(({ type }) => type === 'ANSWER');
        return effect?.type === 'ANSWER' ? 1 + answers.indexOf(effect.answer) : 0;
      },
    },
    describe: {
      reported: (snapshot) => vmStates.indexOf(reportedState(snapshot)),
      inRunHook: ({ value }) => Number(statePath(value) === 'PENDING.runHook'),
      /** Whether processes run inside, so that one of them could race for the bootstrap. */
      running: ({ value }) => Number(['PENDING.runHook', 'RUNNING.serving'].includes(statePath(value))),
    },
  });
  const calls = ['SUSPEND', 'RESUME', 'TERMINATE'];
  const hook = (status: number): string => `its run hook is answered ${status}`;
  return {
    compiled,
    callColumns: Int32Array.from(calls, (label) => compiled.column(label)),
    hookColumns: Int32Array.from([200, 409], (status) => compiled.column(hook(status))),
    ownColumns: Int32Array.from(
      compiled.actions.flatMap((label, column) => {
        const called = calls.some((call) => label.startsWith(call));
        return called || label.startsWith('its run hook is answered 200') ? [] : [column];
      }),
    ),
  };
}

/** The daemon's bootstrap as tables: 0 is open. */
export interface BootstrapPart {
  readonly compiled: CompiledMachine<
    SnapshotFrom<typeof bootstrapMachine>,
    { type: 'INSTALL'; tokenRef: string; at: number }
  >;
  readonly ours: number;
  readonly intruders: number;
}

/** Compiles the bootstrap machine for the composed system. */
export function bootstrapPart(machine: typeof bootstrapMachine = bootstrapMachine): BootstrapPart {
  const install = (tokenRef: string) => ({ type: 'INSTALL' as const, tokenRef, at: 0 });
  const compiled = compileMachine(
    machineSystem(machine, {
      events: () => [
        { by: 'platform', label: 'installs our token', event: install('ours') },
        { by: 'intruder', label: 'installs a token of its own', event: install('intruder') },
      ],
      project: ({ value, context }) => ({
        state: statePath(value),
        token: context.tokenRef,
        installations: Math.min(context.installations, 2),
      }),
    }),
    {
      name: 'bootstrap',
      derive: {
        status: ({ effects }) => (effects.emitted[0] as { status?: number } | undefined)?.status ?? 0,
      },
      describe: {
        holder: ({ context }) => (context.tokenRef === null ? 0 : context.tokenRef === 'ours' ? 1 : 2),
        installations: ({ context }) => context.installations,
      },
    },
  );
  return {
    compiled,
    ours: compiled.column('installs our token'),
    intruders: compiled.column('installs a token of its own'),
  };
}
