/** The lifecycle machine as a part of the composed system: its tables, and which column stands for which event. */
import {
  commandTypes,
  recordAfter,
  sandboxMachine,
  substateOf,
  vmStates,
  type CallKind,
  type CommandType,
  type Outcome,
  type SandboxEvent,
  type SandboxSnapshot,
} from '../../machines/index.ts';
import { compileMachine, type CompiledMachine } from '../compile.ts';
import { ModelError } from '../model-error.ts';
import type { MachineEffects } from '../machine-system.ts';
import { callKinds, type SandboxAction } from '../sandbox/events.ts';
import { answersOf, settlementsOf, startedCall, stateOf } from '../sandbox/steps.ts';
import {
  restartLabel,
  restoredFrom,
  sandboxSystem,
  type SandboxMachine,
  type SandboxStep,
  type SandboxSystem,
} from '../sandbox/system.ts';

/** How a call or a wait can end on the composed system's wire, apart from naming a state. */
export const plainResults = ['ok', 'refused', 'in conflict', 'gone', 'lost', 'timed out'] as const;

/** All results: the plain ones, then one for each state that an answer can name. */
export const results: readonly string[] = [...plainResults, ...vmStates.map((state) => `says ${state}`)];

/** The place of a result in {@link results}. */
export function resultOf(name: (typeof plainResults)[number]): number {
  return results.indexOf(name);
}

/** The first of the results that name a state. */
export const firstStateResult = plainResults.length;

/** The commands that callers give, by label of the lifecycle machine's event. */
export const callerCommands: readonly { readonly label: string; readonly command: CommandType }[] = [
  { label: 'RUN, in time', command: 'RUN' },
  { label: 'RUN with a token of its own, in time', command: 'RUN' },
  { label: 'RUN with the same intent, in time', command: 'RUN' },
  { label: 'SUSPEND, in time', command: 'SUSPEND' },
  { label: 'RESUME, in time', command: 'RESUME' },
  { label: 'RESUME, too late', command: 'RESUME' },
  { label: 'TERMINATE, in time', command: 'TERMINATE' },
  { label: 'TERMINATE and wait, in time', command: 'TERMINATE' },
];

const late = 'late: ';
const asked = ', asked before our last accepted call';

function resultLabel(kind: CallKind, result: string, moment: string): string {
  if (result === 'ok') return `${kind} succeeds, ${moment}`;
  return result.startsWith('says ') ? `${kind} succeeds and ${result}, ${moment}` : `${kind} is ${result}, ${moment}`;
}

const momentNames = ['in time', 'too late'];

/** Begins the label of a restart from the record that the end of a call left behind. */
const afterEnd = 'the process dies with this on record: ';

/**
 * The restarts that the journal makes possible once a call has ended: the host records the end before the machine
 * hears of it, where it is worth more than the intent.
 */
function restartsAfter(machine: SandboxMachine, snapshot: SandboxSnapshot, actions: readonly SandboxAction[]) {
  return actions.flatMap((action) => {
    const { output } = action.event as { output?: Outcome };
    const { context } = snapshot;
    if (output === undefined || context.call === null || output.op !== context.call.op) return [];
    const record = recordAfter(context, output, 0);
    if (record === null) return [];
    return [
      { action: { ...action, label: afterEnd + action.label }, after: restoredFrom(machine, record, context.policy) },
    ];
  });
}

const nothing: MachineEffects = { started: [], stopped: [], emitted: [] };

/** Whether the composed system can bring an event about. */
function occurs({ label }: { readonly label: string }, kept: boolean): boolean {
  if (label === restartLabel || label.startsWith(late)) return true;
  if (callerCommands.some((command) => command.label === label)) return kept || !label.includes('a token of its own');
  const reported = vmStates.some((state) => label.startsWith(`reported ${state},`));
  if (reported) return label.endsWith(asked) || momentNames.some((moment) => label.endsWith(`, ${moment}`));
  return callKinds.some((kind) =>
    results.some((result) => momentNames.some((moment) => label === resultLabel(kind, result, moment))),
  );
}

/** Options of {@link clientPart}. */
export interface ClientPartOptions {
  readonly machine?: SandboxMachine;
  /** Callers may also keep their launch's token, and repeat the launch. */
  readonly keptLaunches?: boolean;
}

/** Facts about a step, as small numbers. */
const derive = {
  /** The call that begins: 1 and up in the order of `callKinds`, 0 for none. */
  call: (step: SandboxStep) => 1 + callKinds.findIndex((kind) => startedCall(step, kind) !== null),
  /** Whether the command in the event was taken up, so that its caller waits. */
  taken: (step: SandboxStep) =>
    Number(answersOf(step).some(({ verdict }) => verdict !== 'refused' && verdict !== 'no-op')),
  /** The commands that end, as bits in the order of `commandTypes`. */
  settles: (step: SandboxStep) =>
    settlementsOf(step).reduce((bits, { command }) => bits | (1 << commandTypes.indexOf(command)), 0),
  /** Whether a call of ours is now on record as accepted: reports asked before are out of date. */
  accepts: ({ before, after }: SandboxStep) => Number(after.context.acceptedAt !== before.context.acceptedAt),
  /** Whether a resume begins although its time minus the stamp exceeds the window. */
  lateResume: (step: SandboxStep) => {
    const input = startedCall(step, 'resume');
    if (input === null || stateOf(step.after) !== 'SUSPENDED') return 0;
    const { suspendedAt, suspendedWindowMs } = step.after.context;
    return Number(
      suspendedAt !== null && suspendedWindowMs !== null && input.call.at - suspendedAt > suspendedWindowMs,
    );
  },
  /** Whether a launch begins under another client token than the intent before it had, or is the first. */
  newToken: (step: SandboxStep) => {
    const input = startedCall(step, 'launch');
    return Number(input !== null && input.call.clientToken !== step.before.context.launch?.clientToken);
  },
  /** Whether a launch is the same intent once more. */
  again: (step: SandboxStep) => Number(startedCall(step, 'launch') !== null && step.before.context.launch !== null),
};

/** Facts about a state. */
const describe = {
  state: (snapshot: SandboxSnapshot) => vmStates.indexOf(stateOf(snapshot)),
  call: ({ context }: SandboxSnapshot) => (context.call === null ? 0 : 1 + callKinds.indexOf(context.call.kind)),
  resent: ({ context }: SandboxSnapshot) => Number((context.call?.resent ?? 0) > 0),
  /** Whether the VM can be found: by its id, or by the intent that names it. */
  knows: ({ context }: SandboxSnapshot) => Number(context.microvmId !== null || context.launch !== null),
  id: ({ context }: SandboxSnapshot) => Number(context.microvmId !== null),
  ended: ({ context }: SandboxSnapshot) => Number(context.wasTerminated),
  token: ({ context }: SandboxSnapshot) => Number(context.tokenInstalled),
  waits: ({ context }: SandboxSnapshot) =>
    context.waiting.reduce((bits, { command }) => bits | (1 << commandTypes.indexOf(command)), 0),
};

/** The lifecycle machine's tables with their columns by meaning. */
export interface ClientPart {
  readonly compiled: CompiledMachine<SandboxSnapshot, SandboxEvent>;
  readonly system: SandboxSystem;
  readonly derive: typeof derive;
  /** Columns of the callers' commands, in the order of {@link callerCommands}; `-1` where none offers it. */
  readonly commandColumns: Int32Array;
  /** Column of each ending: by call kind (0 is none), result and moment. */
  readonly outcomeColumns: Int32Array;
  /** Column of each report: by its number (0 is none, then fresh ones, then ones out of date) and moment. */
  readonly reportColumns: Int32Array;
  /** Columns of late outcomes, by kind. */
  readonly lateColumns: Int32Array;
  /** Whether some late outcome changes a state: 0 for all, in a machine that is right. */
  readonly lateMatters: Int32Array;
  /** Where a life goes on that the journal holds as of a state; `-1` where nothing was written. */
  readonly restarts: Int32Array;
  /** Column of the restart from the record of a call's end, by the column of that end; `-1` where none is written. */
  readonly recordedEnds: Int32Array;
}

/** Compiles the lifecycle machine for the composed system. */
export function clientPart({ machine = sandboxMachine, keptLaunches = false }: ClientPartOptions = {}): ClientPart {
  const whole = sandboxSystem({ newLifeOnly: true }, machine);
  const offered = (state: SandboxSnapshot) => whole.actions(state).filter((action) => occurs(action, keptLaunches));
  const system: SandboxSystem = {
    ...whole,
    actions: (state) => {
      const actions = offered(state);
      return [...actions, ...restartsAfter(machine, state, actions).map(({ action }) => action)];
    },
    step: (before, action) => {
      if (!action.label.startsWith(afterEnd)) return whole.step(before, action);
      const ended = offered(before).filter(({ label }) => afterEnd + label === action.label);
      const after = restartsAfter(machine, before, ended)[0]?.after ?? before;
      return { before, action, after, effects: nothing };
    },
  };
  const compiled = compileMachine(system, { name: 'client', derive, describe });
  const column = (label: string): number => compiled.actions.indexOf(label);
  const width = compiled.actions.length;
  const lateColumns = Int32Array.from(callKinds, (kind) =>
    compiled.actions.findIndex((label) => label.startsWith(`${late}${kind} of`)),
  );
  const restart = column(restartLabel);
  if (restart < 0) throw new ModelError('invalid-model', 'the lifecycle machine never makes a call');
  return {
    compiled,
    system,
    derive,
    commandColumns: Int32Array.from(callerCommands, ({ label }) => column(label)),
    outcomeColumns: Int32Array.from(
      [undefined, ...callKinds].flatMap((kind) =>
        results.flatMap((result) =>
          momentNames.map((moment) => (kind === undefined ? -1 : column(resultLabel(kind, result, moment)))),
        ),
      ),
    ),
    reportColumns: Int32Array.from([
      -1,
      -1,
      ...vmStates.flatMap((state) => momentNames.map((moment) => column(`reported ${state}, ${moment}`))),
      ...vmStates.flatMap((state) => [column(`reported ${state}${asked}`), -1]),
    ]),
    lateColumns,
    lateMatters: Int32Array.from(compiled.states, (_state, index) =>
      Number(
        lateColumns.some((place) => place >= 0 && ![index, -1].includes(compiled.next[index * width + place] ?? -1)),
      ),
    ),
    recordedEnds: Int32Array.from(compiled.actions, (label) => column(afterEnd + label)),
    restarts: Int32Array.from(compiled.states, (_state, index) => compiled.next[index * width + restart] ?? -1),
  };
}

/** The substate behind a number, for scenarios. */
export function showClient({ compiled }: ClientPart, index: number): string {
  const snapshot = compiled.states[index];
  return snapshot === undefined ? String(index) : substateOf(snapshot);
}
