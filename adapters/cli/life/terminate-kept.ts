/** The end of a kept VM, and of what is remembered of it. */
import { VmchartError } from '../../../effects/index.ts';
import { CliError, toCliError } from '../cli-error.ts';
import type { CommandContext, Outcome } from '../command.ts';
import { notListening } from '../platform/loopback.ts';
import { openKept, registryOf } from '../registry/kept-vm.ts';
import { failureOf } from './conclude.ts';
import { tearDown } from './teardown.ts';

/** How it is ended. */
export interface TerminateKeptOptions {
  readonly region?: string | undefined;
  /** Forget the name whatever comes of the call. */
  readonly forget: boolean;
}

/** Terminates; the name is given up once the service has accepted, or when it is to be forgotten anyway. */
export async function terminateKept(
  name: string,
  context: CommandContext,
  options: TerminateKeptOptions,
): Promise<Outcome> {
  const registry = registryOf(context);
  // What is to be forgotten is what stands there now, and not what takes its place meanwhile.
  const listed = options.forget ? (await registry.list()).find((each) => each.name === name) : undefined;
  try {
    return await terminateAndRemove(name, context, options);
  } catch (error) {
    if (!options.forget) throw withForgetHint(error, name);
    if (listed === undefined) throw error;
    await (listed.entry === null ? registry.removeUnreadable(name) : registry.remove(listed.entry));
    const { message } = toCliError(error);
    context.terminal.note(`The name ${name} is given up. If its VM is still there, it was not ended: ${message}`);
    const data = { name, outcome: 'forgotten', forgotten: true, teardown: null, reason: message };
    return { data, text: `${name}  forgotten` };
  }
}

/** Nothing listens where the VM's service was: most likely an emulator that has ended, and the VM with it. */
function withForgetHint(error: unknown, name: string): unknown {
  if (!VmchartError.is(error) || error.reason !== notListening) return error;
  return new CliError(error.kind, error.message, {
    suggestions: [
      ...error.suggestions,
      `If it has ended for good, its VMs have too: vmchart terminate ${name} --forget`,
    ],
    cause: error,
  });
}

async function terminateAndRemove(
  name: string,
  context: CommandContext,
  options: TerminateKeptOptions,
): Promise<Outcome> {
  const { terminal, interrupts } = context;
  await using kept = await openKept(name, context, options);
  const { sandbox, registry, entry } = kept;
  // Looked at by the restore: the service has no such VM any more, or tells that it has ended.
  const gone = sandbox.isTerminal;
  const report = await tearDown(sandbox, terminal, interrupts);
  const teardown = gone ? { ...report, terminateAccepted: false } : report;
  // What was accepted ends by itself, whether or not anybody waited for it.
  const ending = teardown.undeleted.length === 0;
  const remembered = ending ? registry.remove(entry) : kept.save();
  const unwritten = await remembered.then(
    () => null,
    (error: unknown) => toCliError(error),
  );
  const data = {
    name,
    microvmId: sandbox.microvmId,
    region: entry.region,
    outcome: !ending ? 'failed' : gone ? 'already-gone' : teardown.lifecycle === 'TERMINATED' ? 'ended' : 'ending',
    forgotten: ending && unwritten === null,
    teardown: { ...teardown },
  };
  const failed = failureOf({ failure: null, execFailure: null, teardown, data, region: entry.region, interrupts });
  if (failed !== null) {
    const { kind, message, suggestions } = failed;
    if (unwritten !== null) terminal.note(unwritten.message);
    const hint = ending ? [] : [`If the VM is gone with its emulator: vmchart terminate ${name} --forget`];
    throw new CliError(kind, message, { suggestions: [...suggestions, ...hint], data, cause: failed });
  }
  if (unwritten !== null) {
    const { kind, message, suggestions } = unwritten;
    const vm = sandbox.microvmId ?? 'what was launched';
    const what = gone ? 'was gone already' : teardown.lifecycle === 'TERMINATED' ? 'was ended' : 'is ending';
    throw new CliError(kind, `${vm} ${what}. ${message}`, { suggestions, data, cause: unwritten });
  }
  return {
    data,
    text: `${name}  ${sandbox.microvmId ?? 'nothing launched'}  ${gone ? 'gone already' : teardown.lifecycle}`,
  };
}
