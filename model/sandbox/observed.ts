/**
 * The lifecycle machine with somebody watching: how often it went round, and whether a proxy token is in the cache of
 * its session. The watcher is not part of the machine; it says that what should happen sometimes does
 * (`client-behaviour.md` 5.4).
 */
import { proxyTokenMachine, type SandboxEvent, type SandboxSnapshot } from '../../machines/index.ts';
import { initialTransition, type SnapshotFrom } from 'xstate';
import { doneEvent, stepperOf, type MachineEffects } from '../machine-system.ts';
import type { Property } from '../property.ts';
import type { Step, TransitionSystem } from '../transition-system.ts';
import { answersOf, isIn, stateOf } from './steps.ts';
import { sandboxSystem, type SandboxMachine, type SandboxSystemOptions, type SandboxStep } from './system.ts';

type ProxyTokenSnapshot = SnapshotFrom<typeof proxyTokenMachine>;

/** A life and what was seen of it. */
export interface ObservedState {
  readonly life: SandboxSnapshot;
  /** The session's own machine for its proxy token. */
  readonly proxyToken: ProxyTokenSnapshot;
  /** Completed suspend and resume cycles; two and more are one class. */
  readonly cycles: number;
  /** A proxy token was minted since the last resume. */
  readonly mintedSinceResume: boolean;
}

type ObservedStep = Step<ObservedState, SandboxEvent, MachineEffects>;

/** The system of {@link ObservedState}. */
export type ObservedSystem = TransitionSystem<ObservedState, SandboxEvent, MachineEffects>;

/** A property of it. */
export type ObservedProperty = Property<ObservedState, SandboxEvent, MachineEffects>;

const requestLabel = 'a request goes to the VM';
const nothing: MachineEffects = { started: [], stopped: [], emitted: [] };
const takeProxyToken = stepperOf(proxyTokenMachine);

function tell(snapshot: ProxyTokenSnapshot, event: object): ProxyTokenSnapshot {
  return takeProxyToken(snapshot, { label: '', by: '', event: event as never }).after;
}

/** A request needs a token: the one held, or one minted for it. */
function useToken(snapshot: ProxyTokenSnapshot): ProxyTokenSnapshot {
  const asked = tell(snapshot, { type: 'NEED', id: 1, port: 9000, at: 0 });
  if (!asked.matches('Minting')) return asked;
  return tell(asked, doneEvent('mint', { op: asked.context.op, askedAt: 0, at: 0, ok: true }));
}

/** The lifecycle machine as level 1 explores it, watched. */
export function observedSystem(options: SandboxSystemOptions = {}, machine?: SandboxMachine): ObservedSystem {
  const system = sandboxSystem(options, machine);
  const [proxyToken] = initialTransition(proxyTokenMachine, { sessionPort: 9000 });
  return {
    initial: () => system.initial().map((life) => ({ life, proxyToken, cycles: 0, mintedSinceResume: false })),
    actions: ({ life, proxyToken: token }) => [
      ...system.actions(life),
      ...(stateOf(life) === 'RUNNING' && token.matches('Empty')
        ? [{ by: 'caller', label: requestLabel, event: { type: requestLabel } as unknown as SandboxEvent }]
        : []),
    ],
    step: (before, action) => {
      if (action.label === requestLabel) {
        const after = { ...before, proxyToken: useToken(before.proxyToken), mintedSinceResume: before.cycles > 0 };
        return { before, action, after, effects: nothing };
      }
      const { after: life, effects } = system.step(before.life, action);
      const dropped = effects.emitted.some(({ type }) => type === 'PROXY_TOKEN_DROPPED');
      const resumed = stateOf(before.life) === 'SUSPENDED' && stateOf(life) === 'RUNNING';
      const after: ObservedState = {
        life,
        proxyToken: dropped ? tell(before.proxyToken, { type: 'INVALIDATE', at: 0 }) : before.proxyToken,
        cycles: Math.min(before.cycles + Number(resumed), 2),
        mintedSinceResume: before.mintedSinceResume && !resumed,
      };
      return { before, action, after, effects };
    },
    project: ({ life, proxyToken: token, cycles, mintedSinceResume }) => ({
      ...system.project(life),
      proxyToken: String(token.value),
      cycles,
      mintedSinceResume,
    }),
    isSilent: system.isSilent,
    describe: ({ life, proxyToken: token, cycles }) =>
      `${system.describe(life)}; ${cycles} cycles, proxy token ${String(token.value)}`,
    describeEffects: system.describeEffects,
  };
}

function refusedBy(step: ObservedStep | null, command: string, requirement: string): boolean {
  if (step === null) return false;
  const lifeStep: SandboxStep = { ...step, before: step.before.life, after: step.after.life };
  return answersOf(lifeStep).some(
    (answer) => answer.command === command && answer.refusal?.requirement === requirement,
  );
}

/** What should happen sometimes, in the order of `client-behaviour.md` 5.4. */
export const sometimesProperties: readonly ObservedProperty[] = [
  {
    id: 'runs-with-token',
    requirement: 'STATE-2',
    says: 'The VM runs with its token installed.',
    kind: 'sometimes',
    check: ({ life }) => stateOf(life) === 'RUNNING' && life.context.tokenInstalled,
  },
  {
    id: 'one-cycle',
    requirement: 'STATE-7',
    says: 'One suspend and resume is completed.',
    kind: 'sometimes',
    check: ({ cycles }) => cycles >= 1,
  },
  {
    id: 'two-cycles',
    requirement: 'STATE-7',
    says: 'Two of them are completed.',
    kind: 'sometimes',
    check: ({ cycles }) => cycles >= 2,
  },
  {
    id: 'terminates',
    requirement: 'STATE-10',
    says: 'The VM is terminated.',
    kind: 'sometimes',
    check: ({ life }) => stateOf(life) === 'TERMINATED',
  },
  {
    id: 'resume-tried-after-terminate',
    requirement: 'STATE-11',
    says: 'A resume is tried after a terminate, and refused.',
    kind: 'sometimes',
    check: (_state, step) => refusedBy(step, 'RESUME', 'STATE-11'),
  },
  {
    id: 'resume-tried-past-window',
    requirement: 'STATE-12',
    says: 'A resume is tried past the window, and refused.',
    kind: 'sometimes',
    check: (_state, step) => refusedBy(step, 'RESUME', 'STATE-12'),
  },
  {
    id: 'suspend-tried-elsewhere',
    requirement: 'STATE-5',
    says: 'A suspend is tried outside of RUNNING, and refused.',
    kind: 'sometimes',
    check: (_state, step) => refusedBy(step, 'SUSPEND', 'STATE-5'),
  },
  {
    id: 'proxy-token-after-resume',
    requirement: 'STATE-8',
    says: 'A proxy token is minted after a resume.',
    kind: 'sometimes',
    check: ({ mintedSinceResume }) => mintedSinceResume,
  },
  {
    id: 'proxy-token-while-suspended',
    requirement: 'STATE-8',
    says: 'A proxy token is still cached when the VM is suspended.',
    kind: 'sometimes',
    check: ({ life, proxyToken }) => isIn(life, 'SUSPENDED') && proxyToken.matches('Held'),
  },
  {
    id: 'suspends',
    requirement: 'STATE-6',
    says: 'A suspend is completed.',
    kind: 'sometimes',
    check: ({ life }, step) => step !== null && isIn(life, 'SUSPENDED') && !isIn(step.before.life, 'SUSPENDED'),
  },
];

/** What the watcher demands at all times. */
export const observedProperties: readonly ObservedProperty[] = [
  {
    id: 'no-proxy-token-over-resume',
    requirement: 'STATE-8',
    says: 'Right after a resume the cache of proxy tokens is empty.',
    kind: 'step',
    premise: ({ before, after }) =>
      stateOf(before.life) === 'SUSPENDED' && stateOf(after.life) === 'RUNNING' && before.proxyToken.matches('Held'),
    check: ({ after }) => after.proxyToken.matches('Empty'),
  },
];
