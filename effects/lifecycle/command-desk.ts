/** Hands commands to the machine and keeps their callers' promises: one answer at once, one end later. */
import type { Actor } from 'xstate';
import type { Answered, SandboxCommand, Settled, sandboxMachine } from '../../machines/index.ts';
import { fromRecord } from '../errors.ts';
import type { VmchartError } from '../errors.ts';

/** The running lifecycle machine. */
export type SandboxActor = Actor<typeof sandboxMachine>;

interface Pending {
  answer: Answered | null;
  settle: ((error: VmchartError | null) => void) | null;
  settled: VmchartError | null | undefined;
}

/** Pairs the machine's answers with the commands they belong to. */
export class CommandDesk {
  readonly #actor: SandboxActor;
  readonly #pending = new Map<string, Pending>();

  constructor(actor: SandboxActor) {
    this.#actor = actor;
    actor.on('ANSWERED', (event) => this.#answered(event));
    actor.on('SETTLED', (event) => this.#settled(event));
  }

  /**
   * Sends a command and resolves when it has ended.
   *
   * Aborting ends the caller's wait and never the intent: the machine goes on with what it started.
   *
   * @throws VmchartError of the refusal or of the failure; the signal's reason when aborted
   */
  async carryOut(command: SandboxCommand, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const pending: Pending = { answer: null, settle: null, settled: undefined };
    this.#pending.set(command.commandId, pending);
    try {
      this.#actor.send(command);
      // The machine answers while it takes the event.
      const { answer } = pending;
      if (answer?.verdict === 'no-op') return;
      if (answer?.refusal) throw fromRecord(answer.refusal);
      const error = pending.settled === undefined ? await this.#end(pending, signal) : pending.settled;
      if (error !== null) throw error;
    } finally {
      this.#pending.delete(command.commandId);
    }
  }

  #end(pending: Pending, signal: AbortSignal | undefined): Promise<VmchartError | null> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal?.reason as Error);
      signal?.addEventListener('abort', abort, { once: true });
      pending.settle = (error) => {
        signal?.removeEventListener('abort', abort);
        resolve(error);
      };
    });
  }

  #answered(event: Answered): void {
    const pending = this.#pending.get(event.commandId);
    if (pending !== undefined) pending.answer = event;
  }

  #settled(event: Settled): void {
    const pending = this.#pending.get(event.commandId);
    if (pending === undefined) return;
    pending.settled = event.error === null ? null : fromRecord(event.error);
    pending.settle?.(pending.settled);
  }
}
