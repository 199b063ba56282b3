/** The emulator's fleet: its feed of changes, its record of requests, and VMs that can be launched from the page. */
import type { Ports } from '../../effects/index.ts';
import type { Emulator, RecordedRequest } from '../emulator/index.ts';
import type { Tell } from '../trace/entry.ts';
import { ClientFleet } from './client-fleet.ts';
import type { FleetSource } from './source.ts';
import type { CommandReply, PageCommand } from './wire.ts';

/** How often the record of requests is looked at, in milliseconds. */
const lookMs = 60;

/** Shows an emulator that runs in this process. Its ports are those of any client. */
export class EmulatorSource implements FleetSource {
  readonly #emulator: Emulator;
  readonly #fleet: ClientFleet;
  readonly #pending = new Set<RecordedRequest>();
  #seen = 0;
  #stop: () => void = () => undefined;
  #tell: Tell = () => undefined;

  constructor(emulator: Emulator, ports: Ports) {
    this.#emulator = emulator;
    this.#fleet = new ClientFleet(ports, 'emulator');
  }

  async start(tell: Tell): Promise<void> {
    this.#tell = tell;
    this.#fleet.start(tell);
    const unfollow = this.#emulator.events.on(
      ({ microvmId, to, stateReason }) => void this.#see(microvmId, to, stateReason),
    );
    const timer = setInterval(() => this.#readRequests(), lookMs);
    this.#stop = () => {
      unfollow();
      clearInterval(timer);
    };
    for (const { microvmId, state, stateReason } of this.#emulator.vms())
      await this.#see(microvmId, state, stateReason);
  }

  /** What the page cannot learn of one change it learns with the next. */
  async #see(microvmId: string, state: string, stateReason: string | null): Promise<void> {
    await this.#fleet.see(microvmId, { state, stateReason }).catch(() => undefined);
  }

  #readRequests(): void {
    const { recorder } = this.#emulator;
    const count = recorder.count() + recorder.count('Endpoint');
    if (count > this.#seen) {
      for (const request of recorder.requests.slice(this.#seen - count)) this.#pending.add(request);
      this.#seen = count;
    }
    for (const request of this.#pending) {
      if (request.status === null && request.fault === null) continue;
      this.#pending.delete(request);
      this.#tellCall(request);
    }
  }

  #tellCall({ operation, method, path, body, microvmId, status, fault, at }: RecordedRequest): void {
    const { clock } = this.#emulator;
    const { clientToken } = (body ?? {}) as { clientToken?: string };
    const life =
      microvmId === null
        ? clientToken === undefined
          ? null
          : this.#fleet.nameOfLaunch(clientToken)
        : this.#fleet.nameOf(microvmId);
    if (life === null) return;
    this.#tell({
      kind: 'call',
      at: Math.round(at + clock.wallNow() - clock.now()),
      life,
      layer: 'wire',
      operation: operation === 'Endpoint' ? `${method} ${path.replace(/\?.*$/, '')}` : operation,
      durationMs: null,
      ok: status !== null && status < 400,
      status,
      note: fault === null ? null : `injected: ${fault}`,
    });
  }

  has(life: string): boolean {
    return this.#fleet.has(life);
  }

  send(life: string, command: PageCommand): Promise<CommandReply> {
    return Promise.resolve(this.#fleet.send(life, command));
  }

  launch(): Promise<string> {
    return Promise.resolve(this.#fleet.launch({ imageIdentifier: this.#emulator.imageArn }));
  }

  run(life: string, line: string): Promise<void> {
    return this.#fleet.run(life, line);
  }

  close(): Promise<void> {
    this.#stop();
    this.#fleet.close();
    return Promise.resolve();
  }
}
