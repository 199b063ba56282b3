/**
 * The VMs of a service, each followed by a lifecycle machine of this process: what the platform reports moves the
 * machine, and a command from the page is answered by it, as for any other client.
 */
import { createActor, type Actor } from 'xstate';
import { controlPlaneActors, ControlPlane, Sandbox, VmchartError } from '../../effects/index.ts';
import type { Ports, RunRequest, Session } from '../../effects/index.ts';
import { adopt, answerTo, initialSnapshot, parseVmState, sandboxEvents, sandboxMachine } from '../../machines/index.ts';
import type { MicrovmDescription, SandboxEvents, SandboxSnapshot } from '../../machines/index.ts';
import type { Tell } from '../trace/entry.ts';
import { inspectInto } from '../trace/inspection.ts';
import type { CommandReply, PageCommand } from './wire.ts';

/** The actor that follows a VM. */
interface Followed {
  readonly actor: Pick<Actor<typeof sandboxMachine>, 'send' | 'getSnapshot' | 'stop'>;
  readonly sandbox: Sandbox | null;
  session: Session | null;
}

/** All VMs that are known, by the names of their lives. */
export class ClientFleet {
  readonly plane: ControlPlane;
  readonly #ports: Ports;
  readonly #source: string;
  readonly #machine: typeof sandboxMachine;
  readonly #events: SandboxEvents;
  readonly #lives = new Map<string, Followed>();
  readonly #names = new Map<string, string>();
  readonly #launching = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #tell: Tell = () => undefined;
  #launched = 0;

  constructor(ports: Ports, source: string) {
    this.#ports = ports;
    this.#source = source;
    this.plane = new ControlPlane(ports);
    this.#machine = sandboxMachine.provide({ actors: controlPlaneActors(ports, { plane: this.plane }) });
    let commands = 0;
    this.#events = sandboxEvents({ now: () => ports.clock.now(), nextId: () => `page-${(commands += 1)}` });
  }

  start(tell: Tell): void {
    this.#tell = tell;
  }

  has(life: string): boolean {
    return this.#lives.has(life);
  }

  /** The life of a VM, once it is known. */
  nameOf(microvmId: string): string | null {
    return this.#names.get(microvmId) ?? null;
  }

  /** The life that a launch with this token began, or `null`. */
  nameOfLaunch(clientToken: string): string | null {
    for (const [name, { actor }] of this.#lives) {
      if (actor.getSnapshot().context.launch?.clientToken === clientToken) return name;
    }
    return null;
  }

  /** Takes in what the platform says of a VM; one that is not known yet is read once, and followed from now on. */
  async see(microvmId: string, said: { readonly state: string; readonly stateReason: string | null }): Promise<void> {
    // The answer to a launch of our own may be on its way: it is the same VM.
    if (this.nameOf(microvmId) === null) await Promise.all(this.#launching);
    const askedAt = this.#ports.clock.now();
    const life = this.nameOf(microvmId);
    const actor = life === null ? null : (this.#lives.get(life)?.actor ?? null);
    if (actor === null) return this.#follow(await this.plane.getMicrovm(microvmId));
    const { microvm } = actor.getSnapshot().context;
    if (microvm !== null) actor.send(this.#events.observed({ ...microvm, ...said }, askedAt));
  }

  /** Takes in that the service no longer knows a VM. */
  lose(microvmId: string): void {
    const life = this.nameOf(microvmId);
    if (life !== null) this.#lives.get(life)?.actor.send(this.#events.observed(null, this.#ports.clock.now()));
  }

  #follow(description: MicrovmDescription): void {
    const state = parseVmState(description.state);
    if (state === null) return;
    const { microvmId, endpoint } = description;
    const { region } = this.#ports;
    const input = adopt({ sandboxId: microvmId, region, microvmId, endpoint, state, description });
    this.#names.set(microvmId, microvmId);
    const actor = createActor(this.#machine, { input, snapshot: initialSnapshot(input), inspect: this.#inspect({}) });
    this.#lives.set(microvmId, { actor, sandbox: null, session: null });
    actor.start();
  }

  #inspect(more: { readonly takesLines?: boolean }) {
    const { clock } = this.#ports;
    return inspectInto((entry) => this.#tell(entry), {
      source: this.#source,
      takesCommands: true,
      wallOffsetMs: () => clock.wallNow() - clock.now(),
      ...more,
    });
  }

  /** Answers a command, and carries it out unless it is refused. */
  send(life: string, command: PageCommand): CommandReply {
    const { actor } = this.#known(life);
    const event = { SUSPEND: this.#events.suspend, RESUME: this.#events.resume, TERMINATE: this.#events.terminate }[
      command
    ]();
    const answer = answerTo(actor.getSnapshot(), event);
    // A refusal is sent too: the machine tells of it, and nothing else comes of it.
    actor.send(event);
    return {
      verdict: answer?.verdict ?? 'refused',
      requirement: answer?.refusal?.requirement ?? null,
      message: answer?.refusal?.message ?? null,
    };
  }

  /** Launches a VM; the life has its name at once, the VM comes later. */
  launch(request: RunRequest): string {
    this.#launched += 1;
    const name = `vm-${this.#launched}`;
    const sandbox = new Sandbox(this.#ports, { sandboxId: name, inspect: this.#inspect({ takesLines: true }) });
    const followed: Followed = { actor: sandbox.actor, sandbox, session: null };
    this.#lives.set(name, followed);
    const known = new Promise<void>((resolve) => {
      const subscription = sandbox.actor.subscribe((snapshot) => {
        const { microvmId } = snapshot.context;
        if (microvmId === null && !isOver(snapshot)) return;
        if (microvmId !== null) this.#names.set(microvmId, name);
        subscription.unsubscribe();
        resolve();
      });
    });
    this.#launching.add(known);
    void known.then(() => this.#launching.delete(known));
    sandbox.run(request, { signal: this.#closing.signal }).then(
      (session) => (followed.session = session),
      // The machine has told of it already.
      () => undefined,
    );
    return name;
  }

  /** Runs a shell line; what it prints is told as it comes. */
  async run(life: string, line: string): Promise<void> {
    const { session } = this.#known(life);
    if (session === null) {
      throw new VmchartError(
        'Precondition',
        `the daemon of ${life} does not take commands yet, or was not launched from here`,
        { reason: 'no-session' },
      );
    }
    const told = (stream: 'stdin' | 'stdout' | 'stderr' | 'end', text: string, bytes = text.length) =>
      this.#tell({ kind: 'output', at: Date.now(), life, stream, bytes, text });
    told('stdin', line);
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    session
      .run(line, {
        signal: this.#closing.signal,
        onOutput: ({ stream, data }) => told(stream, decoders[stream].decode(data, { stream: true }), data.length),
      })
      .then(
        ({ posixExitCode, signal }) =>
          told('end', signal === null ? `exit ${posixExitCode}` : `ended by signal ${signal}`, 0),
        (error: Error) => told('end', error.message, 0),
      );
    await Promise.resolve();
  }

  #known(life: string): Followed {
    const followed = this.#lives.get(life);
    if (followed === undefined)
      throw new VmchartError('InvalidArg', `nothing is known of ${life}`, { reason: 'unknown-life' });
    return followed;
  }

  /** Lets go of all VMs without ending them. */
  close(): void {
    this.#closing.abort(new VmchartError('Interrupted', 'the page is closing', { reason: 'closing' }));
    for (const { actor, sandbox } of this.#lives.values()) {
      // One without a live VM has nothing to give away.
      if (sandbox?.isLive === true && sandbox.microvmId !== null) sandbox.detach();
      else actor.stop();
    }
  }
}

/** A launch that came to nothing. */
function isOver(snapshot: SandboxSnapshot): boolean {
  return snapshot.context.launch === null && snapshot.context.lastError !== null;
}
