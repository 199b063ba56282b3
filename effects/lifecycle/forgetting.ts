/** What a life leaves behind, and how it is removed: secrets when its end is seen, the record when its owner says so. */
import type { SandboxContext, SealedLaunch } from '../../machines/index.ts';
import { VmchartError } from '../errors.ts';
import type { Ports, Secrets } from '../ports.ts';
import { secretRefs } from './sealed-secrets.ts';

/** Removes the secrets of a launch, or of an adoption where there was none. What is not there is no failure. */
export async function forgetSecrets(
  secrets: Secrets,
  { sandboxId, launch }: { readonly sandboxId: string; readonly launch: { readonly request: SealedLaunch } | null },
): Promise<void> {
  const adopted = secretRefs(sandboxId, 'adopted').agentToken;
  const { agentTokenRef = adopted, launchEnvRef = null, identityRef = null } = launch?.request ?? {};
  for (const ref of [agentTokenRef, launchEnvRef, identityRef]) if (ref !== null) await secrets.remove(ref);
}

/**
 * Removes the record of a life, and its secrets first: a process that dies between the two finds the record again.
 *
 * @throws VmchartError `Precondition` (`reason: 'not-ended'`) for a life that may have a VM
 */
export async function forgetLife(ports: Pick<Ports, 'journal' | 'secrets'>, context: SandboxContext): Promise<void> {
  const { sandboxId, microvmId, launch, lifecycle } = context;
  const madeNothing = microvmId === null && launch === null;
  if (lifecycle !== 'TERMINATED' && !madeNothing) {
    const what =
      microvmId === null ? 'a launch that is under way or unresolved' : `${microvmId}, which is ${lifecycle}`;
    throw new VmchartError('Precondition', `This sandbox has ${what}: its record is needed until the end is seen.`, {
      reason: 'not-ended',
      microvmId,
      suggestions: ['Wait for the end first: await sandbox.terminate({ waitForTerminated: true }).'],
    });
  }
  await forgetSecrets(ports.secrets, context);
  await ports.journal.remove(sandboxId);
}
