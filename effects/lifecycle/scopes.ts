/** Scopes around a sandbox: nothing runs in a VM that sleeps, and nothing is left behind when a scope ends. */
import { VmchartError, toVmchartError } from '../errors.ts';
import type { Ports } from '../ports.ts';
import type { Session } from '../session/session.ts';
import type { RunRequest } from './launch-preparation.ts';
import { Sandbox } from './sandbox.ts';
import type { SandboxOptions } from './sandbox.ts';
import type { WaitOptions } from './sandbox-observer.ts';
import { leaked } from './teardown.ts';
import type { TeardownReport, TerminateOptions } from './teardown.ts';

/**
 * Makes sure that the VM runs, by the service's word: a suspended one is resumed, one that runs is left alone.
 *
 * @throws VmchartError of the resume that failed; nothing is then sent to the VM (FC-037)
 */
export async function ensureRunning(sandbox: Sandbox, options: WaitOptions = {}): Promise<Session> {
  await sandbox.refresh({ signal: options.signal });
  if (sandbox.lifecycle === 'SUSPENDING') await sandbox.waitFor(['SUSPENDED', 'RUNNING', 'TERMINATED'], options);
  if (sandbox.lifecycle === 'SUSPENDED') return sandbox.resume(options);
  if (sandbox.lifecycle === 'RUNNING' && sandbox.session !== null) return sandbox.session;
  return sandbox.waitUntilReady(options);
}

/**
 * Runs something inside the VM, waking it first. When that fails for want of an answer, the service is asked:
 * a VM that is gone is said to be gone, with the first failure as the cause (FC-044).
 *
 * @example
 * const result = await useSandbox(sandbox, (session) => session.run('make test'));
 */
export async function useSandbox<T>(
  sandbox: Sandbox,
  body: (session: Session) => Promise<T>,
  options: WaitOptions = {},
): Promise<T> {
  const session = await ensureRunning(sandbox, options);
  try {
    return await body(session);
  } catch (thrown) {
    throw await explained(sandbox, toVmchartError(thrown));
  }
}

async function explained(sandbox: Sandbox, error: VmchartError): Promise<VmchartError> {
  const answeredByVm = error.status !== null && error.status < 500;
  if (answeredByVm || sandbox.microvmId === null) return error;
  try {
    await sandbox.refresh();
  } catch {
    // The service could not be asked either: the first failure is all that is known.
    return error;
  }
  if (sandbox.isLive) return error;
  return new VmchartError('Platform', `${sandbox.microvmId} is gone (${sandbox.stateReason ?? 'no stateReason'})`, {
    reason: 'gone',
    microvmId: sandbox.microvmId,
    cause: error,
  });
}

/** Settings of {@link withSandbox}. */
export interface ScopeOptions extends SandboxOptions {
  readonly signal?: AbortSignal;
  readonly teardown?: Omit<TerminateOptions, 'signal'>;
  /** Told of a teardown that left something behind; it cannot be told by an error, because the body's comes first. */
  readonly onLeak?: (report: TeardownReport) => void;
}

/**
 * A VM for as long as a function runs: launched before, terminated after, whatever happens between (FC-004, FC-059).
 * The first failure is the one that is thrown.
 *
 * @example
 * const text = await withSandbox(ports, { imageIdentifier: 'agentd' }, async (session) => (await session.run('date')).stdout);
 */
export async function withSandbox<T>(
  ports: Ports,
  request: RunRequest,
  body: (session: Session, sandbox: Sandbox) => Promise<T>,
  options: ScopeOptions = {},
): Promise<T> {
  const { signal, teardown, onLeak, ...sandboxOptions } = options;
  const sandbox = new Sandbox(ports, sandboxOptions);
  try {
    const session = await sandbox.run(request, { signal });
    return await body(session, sandbox);
  } finally {
    const report = await sandbox.terminate(teardown);
    if (leaked(report)) onLeak?.(report);
  }
}
