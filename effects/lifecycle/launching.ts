/** From "run this" to a launch that the machine carries out: judged first, then prepared, and stopped if it must be. */
import type { SandboxEvents } from '../../machines/index.ts';
import { answerTo } from '../../machines/sandbox-view.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { VmchartError, fromRecord } from '../errors.ts';
import type { Ports } from '../ports.ts';
import type { CommandDesk, SandboxActor } from './command-desk.ts';
import type { Inside } from './inside.ts';
import { forgetSecrets } from './forgetting.ts';
import { prepareLaunch } from './launch-preparation.ts';
import type { PreparedLaunch, RunRequest } from './launch-preparation.ts';

/** What {@link Launching} works with. */
export interface LaunchingParts {
  readonly sandboxId: string;
  readonly ports: Ports;
  readonly plane: ControlPlane;
  readonly actor: SandboxActor;
  readonly events: SandboxEvents;
  readonly desk: CommandDesk;
  readonly inside: Inside;
  /** The image of a request that names none. */
  readonly builtImage: () => string | null;
}

/** The launches of one sandbox. */
export class Launching {
  readonly #parts: LaunchingParts;
  readonly #preparing = new Set<AbortController>();
  #lastRequest: RunRequest | null = null;
  #imageArn: string | null = null;

  constructor(parts: LaunchingParts) {
    this.#parts = parts;
  }

  /** The image that the launch named, resolved. */
  get imageArn(): string | null {
    return this.#imageArn;
  }

  /**
   * Launches, or sends an unresolved launch again when the request is the same. Resolves when the machine's wait has
   * ended.
   */
  async launch(request: RunRequest, signal: AbortSignal | undefined): Promise<void> {
    const { actor, events } = this.#parts;
    const snapshot = actor.getSnapshot();
    const { launch } = snapshot.context;
    const unresolved = snapshot.matches({ PENDING: 'unresolved' }) && launch !== null;
    if (unresolved && (await import('node:util')).isDeepStrictEqual(this.#lastRequest, request)) {
      await this.carryOut(launch, signal);
      return;
    }
    // A launch that would be refused is so before anything is resolved, sealed or drawn. A kept token may be the very
    // intent that is unresolved; whether it is, the machine says.
    const keepsIntent = unresolved && request.clientToken === launch.clientToken;
    const answer = keepsIntent ? null : answerTo(actor.getSnapshot(), events.run(trialRun));
    if (answer?.refusal) throw fromRecord(answer.refusal);
    await this.#prepareAndCarryOut(request, signal);
  }

  async #prepareAndCarryOut(request: RunRequest, signal: AbortSignal | undefined): Promise<void> {
    const { plane, ports, sandboxId, inside, builtImage } = this.#parts;
    const stop = new AbortController();
    this.#preparing.add(stop);
    try {
      const prepared = await prepareLaunch(request, {
        plane,
        ports,
        sandboxId,
        builtImage: builtImage(),
        signal: signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
      });
      stop.signal.throwIfAborted();
      this.#lastRequest = request;
      this.#imageArn = prepared.imageArn;
      inside.posture = prepared.egressPosture;
      await this.carryOut(prepared.command, signal, stop);
    } finally {
      this.#preparing.delete(stop);
    }
  }

  /** Hands a prepared launch to the machine, unless it was stopped by then. */
  async carryOut(
    command: PreparedLaunch['command'],
    signal: AbortSignal | undefined,
    stop?: AbortController,
  ): Promise<void> {
    const { actor, events, desk, inside } = this.#parts;
    await inside.learnToken(command.request.agentTokenRef);
    stop?.signal.throwIfAborted();
    // From here on the machine knows of it, and stops it itself.
    if (stop !== undefined) this.#preparing.delete(stop);
    try {
      await desk.carryOut(events.run(command), signal);
    } finally {
      const { microvmId, launch } = actor.getSnapshot().context;
      // Refused, here or by the service: no VM has these secrets.
      if (launch?.clientToken !== command.clientToken) await this.#forget(command);
      // Accepted is delivered, whatever became of the wait.
      else if (microvmId !== null) await inside.keepIdentity(command.request);
    }
  }

  async #forget(command: PreparedLaunch['command']): Promise<void> {
    const { ports, sandboxId } = this.#parts;
    // The refusal is worth more than what went wrong after it.
    await forgetSecrets(ports.secrets, { sandboxId, launch: command }).catch(() => {});
  }

  /** Stops the launches that the machine does not know of yet: nothing is sent for them (FC-047). */
  stop(): void {
    const preparing = [...this.#preparing];
    this.#preparing.clear();
    for (const stop of preparing) {
      stop.abort(
        new VmchartError('Interrupted', 'the launch was stopped before it was sent', { reason: 'terminated' }),
      );
    }
  }
}

/** Stands for any launch when the machine is asked whether it would take one. */
const trialRun = {
  request: {
    imageIdentifier: '',
    suspendedSec: 0,
    options: {},
    agentTokenRef: '',
    launchEnvRef: null,
    identityRef: null,
  },
  clientToken: '',
  callerKept: false,
  wait: true,
  timeoutMs: 0,
} as const;
