/** One exec: its process and output, driven by the exec machine. */
import { createActor } from 'xstate';
import { execMachine, execPhase, nextExecDeadline } from '../../../machines/index.ts';
import type { ExecEffect, ExecOutcome, ExecPhase, ExecTerms } from '../../../machines/index.ts';
import type { Gate } from '../guest/gate.ts';
import type { LaunchRequest, VmProcess, VmProcesses } from '../guest/vm-processes.ts';
import type { Alarms } from './alarms.ts';
import { escalate } from './escalation.ts';
import type { DaemonSettings } from './options.ts';
import { createOutputLog } from './output-log.ts';
import type { OutputLog, StreamKind } from './output-log.ts';

/** What the records of one daemon share. */
export interface ExecWorld {
  readonly settings: DaemonSettings;
  readonly slowReaders: 'gap' | 'hold';
  readonly alarms: Alarms;
  /** Closed while the VM is frozen. */
  readonly gate: Gate;
  readonly processes: VmProcesses;
}

/** The result with its output, as polls and acknowledgements show it. */
export interface ExecResult extends ExecOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
}

/** See {@link createExecRecord}. */
export interface ExecRecord {
  readonly execId: string;
  readonly reap: boolean;
  /** Unix seconds of the spawn. */
  readonly startedAt: number;
  readonly output: OutputLog;
  /** Whether it was started with a writable standard input. */
  readonly takesStdin: boolean;
  readonly process: VmProcess | null;
  readonly phase: ExecPhase | null;
  /** The outcome once it is published, also after an acknowledgement. */
  readonly outcome: ExecOutcome | null;
  /** Spawns the child. Rejects when the system refuses; the record is then not there. */
  start(request: LaunchRequest): Promise<void>;
  /** The outcome with the held output, or `null` unless it is ready and held. */
  result(): ExecResult | null;
  /** Takes the output. */
  ack(): ExecResult | 'still_running' | 'already_acked' | 'unknown';
  /** Signals the group. */
  kill(): Promise<boolean>;
  /** Lets time act: an acknowledged record may go. */
  tick(): void;
  /** Calls back once the outcome is published; at once when it is. Returns how to cancel. */
  whenPublished(listener: () => void): () => void;
}

/** How far an attached reader may be behind before a held child waits, in bytes. */
const holdAboveBytes = 2_097_152;

/** A record that nobody has started yet. */
export function createExecRecord(
  execId: string,
  reap: boolean,
  timeoutMs: number | null,
  world: ExecWorld,
): ExecRecord {
  const { settings, alarms, gate } = world;
  const terms: ExecTerms = {
    timeoutMs,
    reapGroupOnExit: reap,
    lingerMs: settings.outputLingerMs,
    retentionMs: settings.execTtlMs,
  };
  const actor = createActor(execMachine, { input: terms });
  const output = createOutputLog({
    replayBytes: settings.streamReplayBytes,
    capacity: settings.streamChannelCapacity,
    maxOutputBytes: settings.maxOutputBytes,
  });
  const listeners = new Set<() => void>();
  let process: VmProcess | null = null;
  let outcome: ExecOutcome | null = null;
  let ackOutcome: Extract<ExecEffect, { type: 'ACK.ANSWERED' }>['outcome'] = 'unknown';
  let cancelAlarm = (): void => undefined;

  const send = (event: Parameters<typeof actor.send>[0]): void => {
    actor.send(event);
    cancelAlarm();
    const deadline = nextExecDeadline(actor.getSnapshot());
    cancelAlarm =
      deadline === null
        ? () => undefined
        : alarms.set(deadline - alarms.now(), () => send({ type: 'TICK', at: Math.max(deadline, alarms.now()) }));
  };

  /** The deadline came while the child was still being started. */
  let overdue = false;
  const endGroup = (child: VmProcess): void => {
    void escalate(child, settings.killGraceMs, alarms, gate).then(() =>
      send({ type: 'ESCALATION.ENDED', at: alarms.now() }),
    );
  };
  actor.on('ESCALATE', () => {
    if (process === null) overdue = true;
    else endGroup(process);
  });
  actor.on('PUBLISH', ({ exitCode, signal, timedOut, writersMayBeAlive }) => {
    outcome = { exitCode, signal, timedOut, writersMayBeAlive };
    process?.stdin?.close();
    for (const listener of listeners) listener();
    listeners.clear();
  });
  actor.on('ACK.ANSWERED', (answer) => {
    ackOutcome = answer.outcome;
  });
  actor.start();

  /** Reads a pipe into the log; with `hold`, no faster than the slowest attached reader. */
  const collect = (child: VmProcess, kind: StreamKind): Promise<void> => {
    const pipe = child[kind];
    return new Promise((resolve) => {
      pipe.read((data) => {
        output.append(kind, data);
        if (world.slowReaders !== 'hold' || output.slowest <= holdAboveBytes) return;
        pipe.pause();
        output.whenCaughtUp(holdAboveBytes, pipe.resume);
      }, resolve);
    });
  };

  const result = (): ExecResult | null =>
    outcome === null
      ? null
      : { ...outcome, stdout: output.text('stdout'), stderr: output.text('stderr'), truncated: output.truncated };

  let startedAt = 0;
  let takesStdin = false;
  return {
    execId,
    reap,
    output,
    get takesStdin() {
      return takesStdin;
    },
    get startedAt() {
      return startedAt;
    },
    get process() {
      return process;
    },
    get phase() {
      return execPhase(actor.getSnapshot());
    },
    get outcome() {
      return outcome;
    },
    async start(request) {
      startedAt = alarms.wallSeconds();
      takesStdin = request.stdin;
      send({ type: 'START', at: alarms.now() });
      let child: VmProcess;
      try {
        child = await world.processes.launch(request);
      } catch (error) {
        send({ type: 'SPAWN.FAILED', at: alarms.now() });
        throw error;
      }
      process = child;
      if (overdue) endGroup(child);
      void Promise.all([collect(child, 'stdout'), collect(child, 'stderr')]).then(() =>
        send({ type: 'PIPES.CLOSED', at: alarms.now() }),
      );
      void child.exit.then((exit) => send({ type: 'CHILD.EXITED', at: alarms.now(), ...exit }));
    },
    result: () => (execPhase(actor.getSnapshot()) === 'exited' ? result() : null),
    ack() {
      const held = result();
      send({ type: 'ACK', at: alarms.now() });
      if (ackOutcome !== 'released') return ackOutcome;
      output.releaseText();
      return held as ExecResult;
    },
    kill: async () => process !== null && (await escalate(process, settings.killGraceMs, alarms, gate)),
    tick: () => send({ type: 'TICK', at: alarms.now() }),
    whenPublished(listener) {
      if (outcome !== null) {
        listener();
        return () => undefined;
      }
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
