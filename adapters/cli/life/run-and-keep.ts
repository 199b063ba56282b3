/** Launches a VM that stays, and remembers it. */
import { randomUUID } from 'node:crypto';
import { Sandbox } from '../../../effects/index.ts';
import type { RunResult, Secrets } from '../../../effects/index.ts';
import { CliError, toCliError } from '../cli-error.ts';
import type { CommandContext, Outcome } from '../command.ts';
import type { NameEntry } from '../registry/name-entry.ts';
import type { NameRegistry } from '../registry/name-registry.ts';
import { platformOf, registryOf } from '../registry/kept-vm.ts';
import { keepIdentity } from '../registry/tunnel-identity.ts';
import { failureOf } from './conclude.ts';
import { launch } from './launch.ts';
import { LifecycleLog, pathData } from './lifecycle-log.ts';
import { PartialExec, execData, execFailure, runLine } from './run-line.ts';
import type { RunPlan } from './run-once.ts';
import { tearDown } from './teardown.ts';
import { watch } from './watch.ts';

/** What is to be done. */
export interface KeepPlan extends RunPlan {
  readonly name: string;
}

/**
 * Reserves the name, launches, runs the command if there is one, and leaves the VM. The name is written down
 * before the launch is sent, so that a process that dies in between leaves something to end the VM by.
 */
export async function runAndKeep(plan: KeepPlan, context: CommandContext): Promise<Outcome> {
  const { target, name } = plan;
  if (target.kind === 'embedded') throw new TypeError('the embedded platform keeps nothing');
  const registry = registryOf(context);
  const entry: NameEntry = {
    version: 1,
    name,
    sandboxId: randomUUID(),
    region: target.region,
    endpointUrl: target.endpointUrl,
    keptAtMs: Date.now(),
    record: null,
  };
  await registry.reserve(entry);
  let sandbox: Sandbox | null = null;
  try {
    await using platform = await platformOf(registry, entry, context);
    const watched = await watch(plan.watch);
    sandbox = new Sandbox(platform.ports, { ...watched.options, sandboxId: entry.sandboxId });
    try {
      return await launchAndKeep(plan, context, { registry, entry, sandbox, secrets: platform.secrets });
    } finally {
      // Nobody is left to warn: the VM is remembered under its name.
      sandbox.actor.stop();
      await watched.close();
    }
  } catch (error) {
    // Nothing was sent, or all of it is gone: then the name is free again.
    if (sandbox === null || sandbox.substate === 'PENDING.idle' || sandbox.isTerminal) {
      // Somebody else may have done so already, and the name may be another VM's by now.
      await registry.remove(entry).catch((second: unknown) => context.terminal.note(toCliError(second).message));
    }
    throw error;
  }
}

/** What is launched, and where it is to be remembered. */
interface Launched {
  readonly registry: NameRegistry;
  readonly entry: NameEntry;
  readonly sandbox: Sandbox;
  readonly secrets: Secrets;
}

/**
 * Writes down what was launched.
 *
 * @throws CliError when that cannot be done: a VM that nobody can find again is not left running
 */
async function remember({ registry, entry, sandbox, secrets }: Launched, name: string): Promise<void> {
  try {
    // The daemon has the variables now; only the token is needed from here on.
    const ref = sandbox.record().known.launch?.request.launchEnvRef ?? null;
    if (ref !== null) await secrets.remove(ref);
    if (sandbox.tunnelIdentity !== null) await keepIdentity(secrets, name, sandbox.tunnelIdentity);
    await registry.write({ ...entry, record: sandbox.record() });
  } catch (error) {
    const { kind, message } = toCliError(error);
    throw new CliError(kind, `${sandbox.microvmId} was not kept, and is ended again. ${message}`, {
      suggestions: ['vmchart ls shows what is kept.'],
      cause: error,
    });
  }
}

async function launchAndKeep(plan: KeepPlan, context: CommandContext, kept: Launched): Promise<Outcome> {
  const { entry, sandbox } = kept;
  const { terminal, interrupts } = context;
  const log = new LifecycleLog(sandbox, () => performance.now());
  const partial = new PartialExec();
  const data = (exec: RunResult | null) => ({
    platform: plan.target.kind,
    name: plan.name,
    kept: true,
    region: entry.region,
    microvmId: sandbox.microvmId,
    endpoint: sandbox.endpoint,
    image: sandbox.launchImageArn,
    lifecycle: log.states,
    path: pathData(log),
    exec: exec === null ? partial.data() : execData(exec),
  });
  let session;
  try {
    session = await launch(sandbox, plan.request, log, context);
    await remember(kept, plan.name);
  } catch (failure) {
    const teardown = await tearDown(sandbox, terminal, interrupts);
    await log.close();
    const known = { ...data(null), kept: false, teardown: { ...teardown } };
    throw failureOf({ failure, execFailure: null, teardown, data: known, region: entry.region, interrupts }) ?? failure;
  }
  terminal.progress(`kept as ${plan.name}; it bills until it ends: vmchart terminate ${plan.name}`);
  let result: RunResult | null = null;
  if (plan.line !== null) {
    const options = { ...plan.lineOptions, signal: interrupts.signal, killOnAbort: true, vm: plan.name, partial };
    try {
      result = await runLine(session, plan.line, terminal, options);
    } catch (error) {
      await log.close();
      const { kind, message, suggestions } = toCliError(interrupts.signal.aborted ? interrupts.signal.reason : error);
      throw new CliError(kind, `${message} The VM was kept as ${plan.name}.`, {
        suggestions: [...suggestions, `End it with vmchart terminate ${plan.name}`],
        data: data(null),
        cause: error,
      });
    }
  }
  await log.close();
  const failed = result === null ? null : execFailure(result, plan.execStatus, data(result));
  if (failed !== null) throw failed;
  const text = plan.line === null ? { text: `${plan.name}  ${sandbox.microvmId}  ${sandbox.lifecycle}` } : {};
  return { data: data(result), ...text };
}
