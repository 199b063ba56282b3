/** The fleet of a service, read from its listing: of a running orchestrator, of an emulator elsewhere, or of AWS. */
import { toVmchartError, type Ports } from '../../effects/index.ts';
import type { Tell } from '../trace/entry.ts';
import { ClientFleet } from './client-fleet.ts';
import type { FleetSource } from './source.ts';
import type { CommandReply, PageCommand } from './wire.ts';

/** How often the listing is read, in milliseconds. */
const defaultEveryMs = 2_000;

/** Shows the VMs that a listing names. Reading wakes nothing. */
export class ServiceSource implements FleetSource {
  readonly #fleet: ClientFleet;
  readonly #ports: Ports;
  readonly #everyMs: number;
  readonly #states = new Map<string, string>();
  readonly #stop = new AbortController();
  #reading: Promise<void> = Promise.resolve();

  constructor(ports: Ports, options: { readonly everyMs?: number } = {}) {
    this.#ports = ports;
    this.#everyMs = options.everyMs ?? defaultEveryMs;
    this.#fleet = new ClientFleet(ports, 'service');
  }

  /** @throws VmchartError when the first listing fails for good, such as for credentials that are refused */
  async start(tell: Tell): Promise<void> {
    this.#fleet.start(tell);
    await this.#readListing();
    this.#reading = this.#goOn();
  }

  async #goOn(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#ports.clock.sleep(this.#everyMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      // What cannot be read now may be read the next time.
      await this.#readListing().catch((error: unknown) => toVmchartError(error));
    }
  }

  async #readListing(): Promise<void> {
    const { plane } = this.#fleet;
    const { signal } = this.#stop;
    const listed = await plane.listMicrovms({ signal });
    const changed = listed.filter(({ microvmId, state }) => this.#states.get(microvmId) !== state);
    const absent = [...this.#states.keys()].filter((microvmId) => !listed.some((vm) => vm.microvmId === microvmId));
    for (const { microvmId, state } of changed) {
      // A listing does not say why; the one read that does is worth it for a VM that changed.
      const description = this.#states.has(microvmId) ? await plane.getMicrovm(microvmId, { signal }) : null;
      await this.#fleet.see(microvmId, { state, stateReason: description?.stateReason ?? null });
      this.#states.set(microvmId, state);
    }
    for (const microvmId of absent) {
      this.#fleet.lose(microvmId);
      this.#states.delete(microvmId);
    }
  }

  has(life: string): boolean {
    return this.#fleet.has(life);
  }

  send(life: string, command: PageCommand): Promise<CommandReply> {
    return Promise.resolve(this.#fleet.send(life, command));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#reading;
    this.#fleet.close();
  }
}
