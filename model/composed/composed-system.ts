/**
 * Level 2: two callers of one handle, the client, wires that lose, delay and repeat, the platform, the daemon's
 * bootstrap with a process that races for it, and a client that dies at any point and goes on from its journal.
 *
 * Every part is a machine that runs in production, compiled to tables. What is written here is only what lies between
 * them: who talks to whom, and what can get lost on the way.
 */
import { commandTypes, vmStates, type CallKind, type PlatformOptions } from '../../machines/index.ts';
import { callKinds } from '../sandbox/events.ts';
import type { SandboxMachine } from '../sandbox/system.ts';
import type { Composition, CompositionRule, CompositionTable } from '../composition.ts';
import { bootstrapPart, platformPart, type BootstrapPart, type PlatformPart } from './platform-part.ts';
import {
  callerCommands,
  clientPart,
  firstStateResult,
  resultOf,
  results,
  showClient,
  type ClientPart,
} from './client-part.ts';
import { composedProperties } from './composed-properties.ts';

/** Bounds and variants of the composed system. */
export interface ComposedOptions {
  /** How many requests or answers the wire may lose or repeat. */
  readonly faults?: number;
  /** How often the client's process may die. */
  readonly crashes?: number;
  /** Callers may also keep their launch's token, and repeat the launch. */
  readonly keptLaunches?: boolean;
  /** The platform wakes a suspended VM for traffic. */
  readonly autoResume?: boolean;
  readonly platform?: Partial<PlatformOptions>;
  /** A variant of the lifecycle machine, with a guard off or a fault seeded. */
  readonly machine?: SandboxMachine;
  /** A fault of the host: the journal is never written. */
  readonly forgetJournal?: boolean;
}

/** The defaults of `vmchart check`. */
export const composedDefaults = { faults: 1, crashes: 1, keptLaunches: false, autoResume: true } as const;

/** The parts of a composed system, compiled. */
export interface ComposedParts {
  readonly client: ClientPart;
  readonly platform: PlatformPart;
  readonly bootstrap: BootstrapPart;
}

/** Calls that change something: the wire carries them out even when nobody waits for their answer any more. */
const mutating: readonly CallKind[] = ['launch', 'suspend', 'resume', 'terminate'];

/** What each wait takes for an answer: the others poll on. */
const waitEnds: Readonly<Partial<Record<CallKind, readonly string[]>>> = {
  read: vmStates,
  awaitRunning: ['RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED'],
  awaitSuspended: ['SUSPENDED', 'TERMINATED'],
  awaitResumed: ['RUNNING', 'TERMINATING', 'TERMINATED'],
  awaitTerminated: ['TERMINATED'],
};

/** The first value of `wire` that stands for an answer; 0 is quiet, 1 a request on its way. */
const firstAnswer = 2;

function reportName(report: number): string {
  if (report === 0) return 'none';
  return `${vmStates[(report - 1) % vmStates.length]}${report > vmStates.length ? ', as it was before' : ''}`;
}

const kindNumber = (kind: CallKind): number => 1 + callKinds.indexOf(kind);

function table(name: string, sizes: readonly number[], data: Int32Array | readonly number[]): CompositionTable {
  return { name, sizes, data: data instanceof Int32Array ? data : Int32Array.from(data) };
}

/** A row of its own in front, for "there is no VM". */
function withoutVm(width: number, data: Int32Array, shift: number): number[] {
  return [...Array.from({ length: width }, () => -1), ...Array.from(data, (value) => (value < 0 ? -1 : value + shift))];
}

function tablesOf({ client, platform, bootstrap }: ComposedParts): CompositionTable[] {
  const { compiled } = client;
  const states = compiled.states.length;
  const columns = compiled.actions.length;
  const vms = platform.compiled.states.length + 1;
  const vmColumns = platform.compiled.actions.length;
  const boots = bootstrap.compiled.states.length;
  const described = (part: { described: Readonly<Record<string, Int32Array>> }, fact: string): Int32Array =>
    part.described[fact] ?? new Int32Array(0);
  const commandBits = 1 << commandTypes.length;
  return [
    table('clientNext', [states, columns], compiled.next),
    ...Object.entries(compiled.derived).map(([fact, data]) => table(`step_${fact}`, [states, columns], data)),
    ...Object.entries(compiled.described).map(([fact, data]) => table(`client_${fact}`, [states], data)),
    table('restart', [states], client.restarts),
    table('recordedEnd', [columns], client.recordedEnds),
    table('commandColumn', [callerCommands.length], client.commandColumns),
    table(
      'commandNumber',
      [callerCommands.length],
      callerCommands.map(({ command }) => 1 + commandTypes.indexOf(command)),
    ),
    table('outcomeColumn', [callKinds.length + 1, results.length, 2], client.outcomeColumns),
    table('reportColumn', [1 + 2 * vmStates.length, 2], client.reportColumns),
    table('lateColumn', [callKinds.length], client.lateColumns),
    table('lateMatters', [states], client.lateMatters),
    table('isMutating', [callKinds.length + 1], [0, ...callKinds.map((kind) => Number(mutating.includes(kind)))]),
    table(
      'endsWait',
      [callKinds.length + 1, vmStates.length],
      [undefined, ...callKinds].flatMap((kind) =>
        vmStates.map((state) => Number(kind !== undefined && (waitEnds[kind]?.includes(state) ?? false))),
      ),
    ),
    // The caller of command c after the commands in a set of bits ended.
    table(
      'callerAfter',
      [commandBits, commandTypes.length + 1],
      Array.from({ length: commandBits }, (_, bits) =>
        [0, 1, 2, 3, 4].map((c) => (c > 0 && bits & (1 << (c - 1)) ? 0 : c)),
      ).flat(),
    ),
    table(
      'callerBits',
      [commandTypes.length + 1, commandTypes.length + 1],
      [0, 1, 2, 3, 4].flatMap((one) =>
        [0, 1, 2, 3, 4].map((other) => (one ? 1 << (one - 1) : 0) | (other ? 1 << (other - 1) : 0)),
      ),
    ),
    table('vmNext', [vms, vmColumns], withoutVm(vmColumns, platform.compiled.next, 1)),
    table(
      'vmAnswer',
      [vms, vmColumns],
      [...Array.from({ length: vmColumns }, () => 0), ...(platform.compiled.derived['answer'] ?? [])],
    ),
    ...['reported', 'inRunHook', 'running'].map((fact) =>
      table(`vm_${fact}`, [vms], [0, ...described(platform.compiled, fact)]),
    ),
    table('vmCallColumn', [4], [0, ...platform.callColumns]),
    table('vmOwnColumn', [platform.ownColumns.length], platform.ownColumns),
    // A mutating call by its kind, as the place in vmCallColumn.
    table('vmCall', [callKinds.length + 1], [0, ...callKinds.map((kind) => Math.max(0, mutating.indexOf(kind)))]),
    table('answerResult', [4], [resultOf('lost'), resultOf('ok'), resultOf('in conflict'), resultOf('refused')]),
    table('bootNext', [boots, 2], bootstrap.compiled.next),
    table('bootStatus', [boots, 2], bootstrap.compiled.derived['status'] ?? []),
    table('bootHolder', [boots], described(bootstrap.compiled, 'holder')),
    table('bootInstallations', [boots], described(bootstrap.compiled, 'installations')),
  ];
}

/**
 * What follows from the client taking the event in column `column`: its next state, the wire of its calls, the
 * journal, the callers and the pending report. `acting` names the caller whose command it is.
 */
function clientStep(forgetJournal: boolean, acting: 'caller1' | 'caller2' | null) {
  const taken = 'step_taken[client, column]';
  const mine = (who: string): string => (who === acting ? `(if ${taken} = 1 then commandNumber[command] else 0)` : who);
  const journal = forgetJournal
    ? {}
    : {
        // The intent is written before its call, an end worth more than it before the machine hears of it: a process
        // that dies later finds what was written last.
        journal:
          'if call > 0 then restart[next] else (if recordedEnd[column] >= 0 then clientNext[client, recordedEnd[column]] else journal)',
        journalToken: 'if call > 0 or recordedEnd[column] >= 0 then tokenAfter else journalToken',
      };
  return {
    let: {
      next: 'clientNext[client, column]',
      call: 'step_call[client, column]',
      settled: 'step_settles[client, column]',
      tokenAfter: 'if step_newToken[client, column] = 1 and client_knows[client] = 1 then 1 - token else token',
    },
    set: {
      client: 'next',
      token: 'tokenAfter',
      ...journal,
      wire: 'if call > 0 then REQUEST else (if client_call[next] = 0 then 0 else wire)',
      // A request that is given up on is still on its way.
      late: 'if wire = REQUEST and isMutating[client_call[client]] = 1 and late = 0 and (call > 0 or client_call[next] = 0) then client_call[client] else late',
      report:
        'if step_accepts[client, column] = 1 and report > 0 and report <= STATES then report + STATES else report',
      caller1: `callerAfter[settled, ${mine('caller1')}]`,
      caller2: `callerAfter[settled, ${mine('caller2')}]`,
    },
    judge: [
      {
        property: 'no-resume-after-end',
        premise: 'call = RESUME',
        check: 'client_ended[client] = 0 and client_ended[next] = 0',
      },
      { property: 'no-resume-past-window', premise: 'call = RESUME', check: 'step_lateResume[client, column] = 0' },
      { property: 'no-suspend-outside-running', premise: 'call = SUSPEND', check: 'client_state[client] = RUNNING' },
    ],
  };
}

function rulesOf(
  parts: ComposedParts,
  options: Required<Pick<ComposedOptions, 'faults' | 'crashes' | 'forgetJournal'>>,
): CompositionRule[] {
  const { platform } = parts;
  const step = clientStep(options.forgetJournal, null);
  const label = (text: string) => text;
  const moment = (past: number): string => (past === 1 ? ', too late' : '');
  const callers = (['caller1', 'caller2'] as const).map((who): CompositionRule => {
    const acting = clientStep(options.forgetJournal, who);
    return {
      by: who === 'caller1' ? 'caller 1' : 'caller 2',
      label: ({ command = 0 }) => callerCommands[command]?.label.replace(', in time', '') ?? '',
      choose: { command: callerCommands.length },
      let: { column: 'commandColumn[command]', ...acting.let },
      when: `${who} = 0 and column >= 0 and next >= 0`,
      set: acting.set,
      judge: acting.judge,
    };
  });
  const rules: CompositionRule[] = [
    ...callers,
    {
      by: 'wire',
      label: ({ wire = 0, past = 0 }) => `answers the client: ${results[wire - firstAnswer]}${moment(past)}`,
      choose: { past: 2 },
      let: { column: 'outcomeColumn[client_call[client], wire - ANSWER, past]', ...step.let },
      when: 'wire >= ANSWER and column >= 0 and next >= 0',
      set: step.set,
      judge: step.judge,
    },
    {
      by: 'wire',
      label: ({ kind = 0 }) => `brings a late answer to ${callKinds[kind]}`,
      choose: { kind: callKinds.length },
      let: { column: 'lateColumn[kind]', ...step.let },
      when: 'lateMatters[client] = 1 and column >= 0 and next >= 0 and next != client',
      set: step.set,
      judge: step.judge,
    },
    {
      by: 'host',
      label: label('asks where the VM is'),
      when: 'report = 0 and client_id[client] = 1 and vm > 0',
      set: { report: 'vm_reported[vm] + 1' },
    },
    {
      by: 'host',
      label: ({ report = 0, past = 0 }) => `tells the client: ${reportName(report)}${moment(past)}`,
      choose: { past: 2 },
      let: { column: 'reportColumn[report, past]', ...step.let },
      when: 'report > 0 and column >= 0 and next >= 0',
      set: { ...step.set, report: '0' },
      judge: step.judge,
    },
    // The launch arrives.
    {
      by: 'service',
      label: label('makes a VM for the launch'),
      when: 'wire = REQUEST and client_call[client] = LAUNCH and vm = 0',
      set: { vm: 'FIRST_VM', vmToken: 'token', wire: 'SAYS_PENDING' },
      judge: [{ property: 'one-vm-per-intent', premise: 'true', check: 'vm = 0' }],
    },
    {
      by: 'service',
      label: label('knows the launch: it made its VM before'),
      when: 'wire = REQUEST and client_call[client] = LAUNCH and vm > 0 and vmToken = token',
      set: { wire: 'SAYS_PENDING + vm_reported[vm]' },
    },
    {
      by: 'service',
      label: label('makes a second VM for the launch: its token is another one'),
      when: 'wire = REQUEST and client_call[client] = LAUNCH and vm > 0 and vmToken != token',
      set: { wire: 'SAYS_PENDING' },
      judge: [{ property: 'one-vm-per-intent', premise: 'true', check: 'vm = 0' }],
    },
    {
      // What is refused stays refused: a copy of the request that is still on its way changes nothing.
      by: 'service',
      label: label('refuses the launch'),
      when: 'wire = REQUEST and client_call[client] = LAUNCH and vm = 0',
      set: {
        wire: 'if client_resent[client] = 1 then ANSWER_LOST else ANSWER_REFUSED',
        late: 'if late = LAUNCH then 0 else late',
      },
    },
    {
      by: 'service',
      label: label('gets the late launch, and makes a VM'),
      when: 'late = LAUNCH and vm = 0',
      set: { vm: 'FIRST_VM', vmToken: 'token', late: '0' },
      judge: [{ property: 'one-vm-per-intent', premise: 'true', check: 'vm = 0' }],
    },
    { by: 'wire', label: label('drops the late request'), when: 'late > 0', set: { late: '0' } },
    // Calls about the VM arrive.
    {
      by: 'service',
      label: label("takes the client's call"),
      let: { called: 'vmCallColumn[vmCall[client_call[client]]]' },
      when: 'wire = REQUEST and vm > 0 and client_call[client] != LAUNCH and isMutating[client_call[client]] = 1',
      set: { vm: 'vmNext[vm, called]', wire: 'ANSWER + answerResult[vmAnswer[vm, called]]' },
    },
    {
      by: 'service',
      label: label('takes a late call'),
      let: { called: 'vmCallColumn[vmCall[late]]' },
      when: 'late > 0 and late != LAUNCH and vm > 0',
      set: { vm: 'vmNext[vm, called]', late: '0' },
    },
    {
      by: 'service',
      label: label('no longer knows the VM'),
      when: 'wire = REQUEST and vm > 0 and client_call[client] != LAUNCH and vm_reported[vm] = TERMINATED',
      set: { wire: 'ANSWER_GONE' },
    },
    {
      by: 'service',
      label: label('is read, and names the state'),
      when: 'wire = REQUEST and vm > 0 and endsWait[client_call[client], vm_reported[vm]] = 1',
      set: { wire: 'SAYS_PENDING + vm_reported[vm]' },
    },
    {
      by: 'client',
      label: label('gives up waiting'),
      when: 'wire = REQUEST and client_call[client] > READ',
      set: { wire: 'ANSWER_TIMED_OUT' },
    },
    // What goes wrong on the way.
    {
      by: 'wire',
      label: label('loses the request'),
      when: 'wire = REQUEST and faults > 0 and client_call[client] <= READ',
      set: { wire: 'ANSWER_LOST', faults: 'faults - 1' },
    },
    {
      by: 'wire',
      label: label('loses the answer'),
      when: 'wire >= ANSWER and wire != ANSWER_LOST and client_call[client] <= READ and faults > 0',
      set: { wire: 'ANSWER_LOST', faults: 'faults - 1' },
    },
    {
      by: 'wire',
      label: label('holds the request back, and the client hears nothing'),
      when: 'wire = REQUEST and faults > 0 and late = 0 and isMutating[client_call[client]] = 1',
      set: { wire: 'ANSWER_LOST', late: 'client_call[client]', faults: 'faults - 1' },
    },
    {
      by: 'wire',
      label: label('repeats the request'),
      when: 'wire = REQUEST and faults > 0 and late = 0 and isMutating[client_call[client]] = 1',
      set: { late: 'client_call[client]', faults: 'faults - 1' },
    },
    // The VM's own life.
    {
      by: 'platform',
      label: ({ own = 0 }) => platform.compiled.actions[platform.ownColumns[own] ?? 0] ?? '',
      choose: { own: platform.ownColumns.length },
      let: { after: 'vmNext[vm, vmOwnColumn[own]]' },
      when: 'vm > 0 and after >= 0 and after != vm',
      set: { vm: 'after' },
    },
    {
      by: 'daemon',
      label: label('gets the run hook'),
      let: { status: 'bootStatus[boot, OURS]' },
      when: 'vm_inRunHook[vm] = 1',
      set: {
        boot: 'bootNext[boot, OURS]',
        vm: 'if status = 200 then vmNext[vm, HOOK_PASSED] else vmNext[vm, HOOK_REFUSED]',
      },
      judge: [
        {
          property: 'one-installation',
          premise: 'true',
          check: "bootHolder[boot] = 0 or bootHolder[boot'] = bootHolder[boot]",
        },
      ],
    },
    {
      by: 'intruder',
      label: label('tries to bootstrap the daemon with a token of its own'),
      when: 'vm_running[vm] = 1',
      set: { boot: 'bootNext[boot, INTRUDERS]' },
      judge: [
        {
          property: 'one-installation',
          premise: 'true',
          check: "bootHolder[boot] = 0 or bootHolder[boot'] = bootHolder[boot]",
        },
      ],
    },
  ];
  // The process dies. Its callers die with it; a request that was on its way may still arrive.
  for (const arrives of [false, true]) {
    rules.push({
      by: 'host',
      label: label(
        arrives ? 'dies with a request on its way, and is restored' : 'dies, and is restored from its journal',
      ),
      when: `crashes > 0${arrives ? ' and wire = REQUEST and isMutating[client_call[client]] = 1 and late = 0' : ''}`,
      set: {
        client: 'journal',
        token: 'journalToken',
        wire: '0',
        report: '0',
        caller1: '0',
        caller2: '0',
        crashes: 'crashes - 1',
        ...(arrives ? { late: 'client_call[client]' } : {}),
      },
    });
  }
  return rules;
}

/** Compiles all parts. */
export function composedParts(options: ComposedOptions = {}): ComposedParts {
  const { keptLaunches = composedDefaults.keptLaunches, autoResume = composedDefaults.autoResume } = options;
  return {
    client: clientPart({ keptLaunches, ...(options.machine === undefined ? {} : { machine: options.machine }) }),
    platform: platformPart({ autoResume, options: options.platform ?? {} }),
    bootstrap: bootstrapPart(),
  };
}

/** The composed system as data. */
export function composedSystem(
  options: ComposedOptions = {},
  parts: ComposedParts = composedParts(options),
): Composition {
  const { faults = composedDefaults.faults, crashes = composedDefaults.crashes, forgetJournal = false } = options;
  const { client, platform, bootstrap } = parts;
  const start = client.compiled.initial[0] ?? 0;
  const showWire = (wire: number): string =>
    wire === 0 ? 'quiet' : wire === 1 ? 'a request' : `an answer: ${results[wire - firstAnswer]}`;
  const showCaller = (command: number): string => (command === 0 ? 'idle' : `waits for ${commandTypes[command - 1]}`);
  return {
    name: 'vmchart composed system',
    variables: [
      {
        name: 'client',
        max: client.compiled.states.length - 1,
        initial: start,
        show: (index) => showClient(client, index),
      },
      { name: 'vm', max: platform.compiled.states.length, initial: 0, show: (index) => showVm(platform, index) },
      {
        name: 'boot',
        max: bootstrap.compiled.states.length - 1,
        initial: 0,
        show: (index) => ['nobody', 'us', 'the intruder'][bootstrap.compiled.described['holder']?.[index] ?? 0] ?? '',
      },
      { name: 'wire', max: firstAnswer + results.length - 1, initial: 0, show: showWire },
      { name: 'late', max: callKinds.length, initial: 0, show: (kind) => callKinds[kind - 1] ?? 'nothing' },
      {
        name: 'report',
        max: 2 * vmStates.length,
        initial: 0,
        show: reportName,
      },
      {
        name: 'journal',
        max: client.compiled.states.length - 1,
        initial: start,
        show: (index) => showClient(client, index),
      },
      { name: 'caller1', max: commandTypes.length, initial: 0, show: showCaller },
      { name: 'caller2', max: commandTypes.length, initial: 0, show: showCaller },
      { name: 'token', max: 1, initial: 0 },
      { name: 'journalToken', max: 1, initial: 0 },
      { name: 'vmToken', max: 1, initial: 0 },
      { name: 'faults', max: Math.max(faults, 1), initial: faults },
      { name: 'crashes', max: Math.max(crashes, 1), initial: crashes },
    ],
    constants: {
      REQUEST: 1,
      ANSWER: firstAnswer,
      ANSWER_LOST: firstAnswer + resultOf('lost'),
      ANSWER_REFUSED: firstAnswer + resultOf('refused'),
      ANSWER_GONE: firstAnswer + resultOf('gone'),
      ANSWER_TIMED_OUT: firstAnswer + resultOf('timed out'),
      SAYS_PENDING: firstAnswer + firstStateResult,
      STATES: vmStates.length,
      RUNNING: vmStates.indexOf('RUNNING'),
      SUSPENDED: vmStates.indexOf('SUSPENDED'),
      TERMINATED: vmStates.indexOf('TERMINATED'),
      LAUNCH: kindNumber('launch'),
      SUSPEND: kindNumber('suspend'),
      RESUME: kindNumber('resume'),
      READ: kindNumber('read'),
      FIRST_VM: 1 + (platform.compiled.initial[0] ?? 0),
      HOOK_PASSED: platform.hookColumns[0] ?? 0,
      HOOK_REFUSED: platform.hookColumns[1] ?? 0,
      OURS: bootstrap.ours,
      INTRUDERS: bootstrap.intruders,
      OUR_TOKEN: 1,
    },
    tables: tablesOf(parts),
    rules: rulesOf(parts, { faults, crashes, forgetJournal }),
    properties: composedProperties,
  };
}

function showVm({ compiled }: PlatformPart, index: number): string {
  if (index === 0) return 'none';
  const state = compiled.states[index - 1];
  return state === undefined ? String(index) : (vmStates[compiled.described['reported']?.[index - 1] ?? 0] ?? '');
}
