/**
 * A campaign of lives under faults: two callers of one handle, commands in random order, a service and a wire that
 * misbehave, processes that die and are restored. At the end no VM may be alive that the client does not know.
 */
import { Sandbox, awsPorts, restore, specVariables } from 'vmchart';
import type { Ports, SpecVariables } from 'vmchart';
import { acceleratedClock, startEmulator } from 'vmchart/emulator';
import type { Emulator, FaultKind } from 'vmchart/emulator';
import { chanceOf } from './chance.ts';

/** How a campaign is run. */
export interface CampaignOptions {
  readonly lives: number;
  readonly seed: number;
  /** Lives under way at a time. */
  readonly concurrency?: number;
  /** The share of calls that is hit by a fault. */
  readonly faultRate?: number;
  /** Told how many lives are over, now and then. */
  readonly onProgress?: (done: number) => void;
}

/** What a campaign found. `violations` is empty when all is well. */
export interface CampaignReport {
  readonly seed: number;
  readonly lives: number;
  readonly launched: number;
  readonly commands: number;
  readonly refused: number;
  readonly failed: number;
  readonly restarts: number;
  readonly calls: number;
  readonly violations: readonly string[];
}

const kinds: readonly FaultKind[] = [
  'lost-answer',
  'lost-request',
  'throttle',
  'throttle-as-400',
  'quota',
  'internal',
  'capacity',
  'gateway',
  'conflict',
  'garbage',
  'empty',
];

// A 404 is the platform's word that a VM is gone, so it comes only where it is no lie: right after a launch.

/** Runs the campaign on an emulator of its own. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const { lives, seed, concurrency = 16, faultRate = 0.15 } = options;
  const violations: string[] = [];
  const unhandled = (reason: unknown) => void violations.push(`unhandled rejection: ${String(reason)}`);
  process.on('unhandledRejection', unhandled);
  // The service's minutes pass in moments for both sides, so retries and waits take their real course.
  const clock = acceleratedClock(60);
  await using emulator = await startEmulator({
    clock,
    endedEndpointsKept: 0,
    recordedRequests: 10,
    readableDelayMs: 500,
  });
  emulator.faults.random({ seed, rate: faultRate, kinds });
  const counters = { launched: 0, commands: 0, refused: 0, failed: 0, restarts: 0 };
  const chance = chanceOf(seed);
  const seeds = Array.from({ length: lives }, () => Math.floor(chance() * 2 ** 32));
  const survivors: Life[] = [];
  let next = 0;
  let done = 0;
  const worker = async () => {
    for (let index = next++; index < lives; index = next++) {
      const life = new Life(`life-${index}`, emulator, clock, chanceOf(seeds[index] ?? 1), counters, violations);
      await life.live();
      survivors.push(life);
      done += 1;
      if (done % 100 === 0) options.onProgress?.(done);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));

  // The weather clears, and every caller ends what it holds.
  emulator.faults.clear();
  for (const life of survivors) await life.end();
  for (const vm of emulator.vms()) {
    if (vm.state !== 'TERMINATED') violations.push(`${vm.microvmId} is ${vm.state} and no client knows it`);
  }
  if (emulator.vms().length > lives) violations.push(`${emulator.vms().length} VMs of ${lives} intents`);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  process.off('unhandledRejection', unhandled);
  return { seed, lives, ...counters, calls: emulator.recorder.count(), violations };
}

interface Counters {
  launched: number;
  commands: number;
  refused: number;
  failed: number;
  restarts: number;
}

/** One handle, its two callers, and the journal that outlives it. */
class Life {
  readonly #id: string;
  readonly #ports: Ports;
  readonly #emulator: Emulator;
  readonly #chance: () => number;
  readonly #counters: Counters;
  readonly #violations: string[];
  #sandbox: Sandbox;

  constructor(
    id: string,
    emulator: Emulator,
    clock: Ports['clock'],
    chance: () => number,
    counters: Counters,
    violations: string[],
  ) {
    this.#id = id;
    this.#emulator = emulator;
    this.#chance = chance;
    this.#counters = counters;
    this.#violations = violations;
    this.#ports = awsPorts({
      endpointUrl: emulator.endpoint,
      region: emulator.region,
      credentials: emulator.credentials,
      clock,
    });
    this.#sandbox = this.#watch(new Sandbox(this.#ports, { sandboxId: id }));
  }

  /** Two callers at once, then perhaps a death and a restart, then two callers again. */
  async live(): Promise<void> {
    await Promise.all([this.#caller(true), this.#caller(false)]);
    if (this.#chance() < 0.3) await this.#dieAndRestart();
    await Promise.all([this.#caller(false), this.#caller(false)]);
  }

  /** Ends whatever this life holds; a launch whose answer was lost is asked for again. */
  async end(): Promise<void> {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const report = await this.#sandbox.terminate({ waitForTerminated: true });
      if (report.undeleted.length === 0 && report.failures.length === 0) break;
      await this.#sandbox.refresh().catch(() => {});
    }
    if (this.#sandbox.microvmId !== null && this.#sandbox.lifecycle !== 'TERMINATED') {
      this.#violations.push(`${this.#id} ended in ${this.#sandbox.substate}`);
    }
    this.#sandbox.actor.stop();
  }

  async #caller(launches: boolean): Promise<void> {
    const { clock } = this.#ports;
    if (launches) await this.#command(() => this.#run());
    for (let step = 0; step < 4; step += 1) {
      await clock.sleep(this.#chance() * 4_000);
      await this.#command(this.#pick());
    }
  }

  #pick(): () => Promise<unknown> {
    const sandbox = this.#sandbox;
    const at = this.#chance();
    if (at < 0.3) return () => sandbox.suspend({ timeoutMs: 20_000 });
    if (at < 0.6) return () => sandbox.resume({ timeoutMs: 20_000 });
    if (at < 0.75) return () => sandbox.refresh();
    if (at < 0.85) return () => this.#run();
    if (at < 0.92) return () => sandbox.suspend({ signal: AbortSignal.timeout(1) });
    return () => sandbox.terminate();
  }

  async #run(): Promise<void> {
    await this.#sandbox.run({
      imageIdentifier: this.#emulator.imageArn,
      readyTimeoutMs: 20_000,
      daemonTimeoutMs: 20_000,
    });
    this.#counters.launched += 1;
  }

  async #command(command: () => Promise<unknown>): Promise<void> {
    this.#counters.commands += 1;
    try {
      await command();
    } catch (error) {
      const { requirement } = error as { requirement?: string | null };
      if (requirement) this.#counters.refused += 1;
      else this.#counters.failed += 1;
    }
  }

  /** The process dies with whatever it had in flight; another one reads the journal. */
  async #dieAndRestart(): Promise<void> {
    this.#sandbox.actor.stop();
    const record = await this.#ports.journal.read(this.#id);
    if (record === null) {
      this.#sandbox = this.#watch(new Sandbox(this.#ports, { sandboxId: this.#id }));
      return;
    }
    this.#counters.restarts += 1;
    for (let attempt = 0; attempt < 20; attempt += 1) {
      try {
        this.#sandbox = this.#watch(await Sandbox.restore(this.#ports, record));
        return;
      } catch {
        // The first read met a fault; the record is still there.
      }
    }
    this.#violations.push(`${this.#id} could not be restored from ${restore(record).resume?.substate}`);
  }

  /** The invariants of the spec, on every snapshot of the machine that runs. */
  #watch(sandbox: Sandbox): Sandbox {
    sandbox.actor.subscribe((snapshot) => {
      for (const broken of brokenInvariants(specVariables(snapshot))) {
        this.#violations.push(`${this.#id}: ${broken} in ${JSON.stringify(snapshot.value)}`);
      }
    });
    return sandbox;
  }
}

function brokenInvariants(variables: SpecVariables): string[] {
  const { vm_state, token_installed, image_exists, was_terminated, bootstrap_count } = variables;
  return [
    ...(bootstrap_count > 1 ? ['STATE-3'] : []),
    ...(vm_state === 'SUSPENDING' && (was_terminated || !token_installed) ? ['STATE-5'] : []),
    ...(vm_state === 'RUNNING' && was_terminated ? ['STATE-11'] : []),
    ...(vm_state === 'RUNNING' && !token_installed ? ['STATE-2'] : []),
    ...(token_installed && !image_exists ? ['STATE-1'] : []),
  ];
}
