/** The whole life: launched, used, suspended, resumed, ended; then told in a small table. */
import { Sandbox } from '../../../effects/index.ts';
import type { RunResult, Session } from '../../../effects/index.ts';
import type { CommandContext, Outcome } from '../command.ts';
import { beginStep } from '../output/progress.ts';
import { openPlatform } from '../platform/open-platform.ts';
import { failureOf } from './conclude.ts';
import { countCalls, demoSummary } from './demo-summary.ts';
import { launch } from './launch.ts';
import { LifecycleLog, pathData } from './lifecycle-log.ts';
import { execData, execFailure } from './run-line.ts';
import { tearDown } from './teardown.ts';

/** Slow enough to be followed by eye, in milliseconds. */
const pace = { launchDelayMs: 400, suspendDelayMs: 250, resumeDelayMs: 250, terminateDelayMs: 150 };

/** Runs the demonstration. */
export async function runDemo(line: string, context: CommandContext): Promise<Outcome> {
  const { terminal, interrupts, environment } = context;
  const { strong, quiet } = terminal.paint;
  terminal.progress(strong("One MicroVM's whole life, on the embedded platform"));
  const opening = beginStep(terminal, 'starting the platform');
  await using platform = await openPlatform({ kind: 'embedded' }, environment, { emulator: pace });
  const { ports, emulator } = platform;
  opening.done(`platform at ${ports.endpointUrl} ${quiet(`(${emulator?.notice ?? ''})`)}`);
  const sandbox = new Sandbox(ports);
  const log = new LifecycleLog(sandbox, () => ports.clock.now());
  let result: RunResult | null = null;
  let failure: unknown = null;
  try {
    const session = await launch(sandbox, { imageIdentifier: emulator?.imageArn ?? '' }, log, context);
    result = await runInVm(session, line, context);
    await sleepAndWake(sandbox, session, context);
  } catch (error) {
    failure = error;
  }
  const teardown = await tearDown(sandbox, terminal, interrupts);
  sandbox.actor.stop();
  await log.close();
  const calls = countCalls(emulator?.recorder.requests ?? []);
  const data = {
    microvmId: sandbox.microvmId,
    lifecycle: log.states,
    path: pathData(log),
    exec: result === null ? null : { command: line, ...execData(result) },
    teardown: { ...teardown },
    calls,
  };
  const failed = failureOf({
    failure,
    execFailure: result === null ? null : execFailure(result, false, data),
    teardown,
    data,
    region: ports.region,
    interrupts,
  });
  const summary = demoSummary({ microvmId: sandbox.microvmId, log, line, result, calls }, terminal.paintOut);
  if (failed === null) return { data, text: summary };
  // A command that failed has been through the whole life all the same, and that is worth seeing.
  if (failed.kind === 'ExecFailed' && !terminal.json) await terminal.out(`${summary}\n`);
  throw failed;
}

async function runInVm(session: Session, line: string, { terminal, interrupts }: CommandContext): Promise<RunResult> {
  const step = beginStep(terminal, 'running a command in it');
  try {
    const result = await session.run(line, { signal: interrupts.signal });
    step.done(`ran a command in it (exit ${result.posixExitCode})`);
    return result;
  } catch (error) {
    step.failed();
    throw error;
  }
}

/** Suspends and resumes, with a process in the VM that shows that it is the same VM afterwards. */
async function sleepAndWake(
  sandbox: Sandbox,
  session: Session,
  { terminal, interrupts: { signal } }: CommandContext,
): Promise<void> {
  const witness = await session.start(['sleep', '600'], { signal });
  const suspending = beginStep(terminal, 'suspending');
  try {
    await sandbox.suspend({ signal });
    suspending.done('suspended: every process in it is stopped');
  } catch (error) {
    suspending.failed();
    throw error;
  }
  const resuming = beginStep(terminal, 'resuming');
  try {
    const resumed = await sandbox.resume({ signal });
    const { phase } = await resumed.exec(witness.execId).poll({ signal });
    resuming.done(phase === 'running' ? 'resumed: what ran before goes on running' : 'resumed');
  } catch (error) {
    resuming.failed();
    throw error;
  }
}
