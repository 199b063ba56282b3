/** The inside of a sandbox's VM: its one session, and the secrets that open it. */
import type { SealedLaunch, VmState } from '../../machines/index.ts';
import type { EgressPosture } from '../control-plane/connectors.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { VmchartError } from '../errors.ts';
import type { Ports } from '../ports.ts';
import { Session } from '../session/session.ts';
import type { TunnelIdentity } from './identity.ts';
import type { LaunchIdentity } from './sealed-secrets.ts';

/** What the session needs to know of the life around it. */
export interface Surroundings {
  readonly microvmId: string | null;
  readonly endpoint: string | null;
  /** Nothing of ours is under way and the VM runs: a keep-awake may poll. */
  readonly isQuietlyRunning: () => boolean;
}

/** Opens the session once, points it at the VM again after a resume, and closes it when the VM ends. */
export class Inside {
  readonly #ports: Ports;
  readonly #plane: ControlPlane;
  readonly #port: number | undefined;
  #session: Session | null = null;
  #agentToken: string | null = null;
  #identity: TunnelIdentity | null = null;
  /** What the launch promised about the VM's way out. */
  posture: EgressPosture = 'unsealed';

  constructor(ports: Ports, plane: ControlPlane, port: number | undefined) {
    this.#ports = ports;
    this.#plane = plane;
    this.#port = port;
  }

  get session(): Session | null {
    return this.#session;
  }

  /** Secret. */
  get agentToken(): string | null {
    return this.#agentToken;
  }

  /** Secret. */
  get identity(): TunnelIdentity | null {
    return this.#identity;
  }

  /** Reads the bearer from behind its reference. */
  async learnToken(ref: string): Promise<void> {
    this.#agentToken = await this.#ports.secrets.get(ref);
  }

  /** The host keeps its own half and the VM's public key, and forgets the VM's secret (`client-behaviour.md` 2.14). */
  async keepIdentity({ identityRef }: SealedLaunch): Promise<void> {
    const text = identityRef === null ? null : await this.#ports.secrets.get(identityRef);
    if (identityRef === null || text === null) return;
    const { hostSeed, vmPublicKey } = JSON.parse(text) as LaunchIdentity;
    this.#identity = { hostSeed, vmPublicKey };
    await this.#ports.secrets.remove(identityRef);
  }

  /** The session, opened when there is none. @throws VmchartError `Precondition` without a VM or its token */
  open({ microvmId, endpoint, isQuietlyRunning }: Surroundings): Session {
    if (this.#session !== null) return this.#session;
    if (microvmId === null || endpoint === null || this.#agentToken === null) {
      throw new VmchartError('Precondition', 'there is no VM whose inside could be reached', { reason: 'no-vm' });
    }
    const { http, clock, localFiles } = this.#ports;
    this.#session = new Session({
      endpoint,
      agentToken: this.#agentToken,
      http,
      clock,
      minter: this.#plane.minterFor(microvmId),
      egressPosture: this.posture,
      vmState: async (signal) => (await this.#plane.getMicrovm(microvmId, { signal })).state,
      isRunning: isQuietlyRunning,
      ...(localFiles === undefined ? {} : { localFiles }),
      ...(this.#port === undefined ? {} : { port: this.#port }),
    });
    return this.#session;
  }

  /** STATE-8: the proxy token of before the suspend is not used again. */
  rebind(endpoint: string | null): void {
    if (endpoint !== null) this.#session?.rebind(endpoint);
  }

  /** While the VM sleeps the session holds still: a poll could wake it. */
  heed(state: VmState): void {
    if (state === 'SUSPENDING' || state === 'SUSPENDED') this.#session?.pause();
    else if (state === 'RUNNING') this.#session?.unpause();
  }

  /** Rejects what is in flight and whatever comes later. */
  close(reason?: VmchartError): void {
    this.#session?.close(reason);
    this.#session = null;
  }
}
