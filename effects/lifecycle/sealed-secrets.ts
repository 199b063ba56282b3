/** The secrets of a launch: made once, kept behind references, opened only to build the payload. */
import type { SealedLaunch } from '../../machines/index.ts';
import type { PayloadSecrets } from '../control-plane/payload.ts';
import { VmchartError } from '../errors.ts';
import type { Entropy, Secrets } from '../ports.ts';

/** The tunnel identity of a launch. Both seeds are secret (`client-behaviour.md` 2.14). */
export interface LaunchIdentity {
  /** The VM's x25519 seed, standard base64. Forgotten by the host once the launch is accepted. */
  readonly vmSeed: string;
  readonly vmPublicKey: string;
  readonly hostSeed: string;
  readonly hostPublicKey: string;
}

/**
 * The references that the secrets of one launch intent are kept under. Safe to show. They name the
 * intent, so that a launch that is refused cannot replace the secrets of the one under way.
 */
export function secretRefs(sandboxId: string, clientToken: string) {
  const intent = `${sandboxId}/${clientToken}`;
  return {
    agentToken: `${intent}/agent-token`,
    launchEnv: `${intent}/launch-env`,
    identity: `${intent}/identity`,
  } as const;
}

/** Draws bytes, turning an unavailable pool into an error of ours: no VM is ever launched with a weak token. */
export function draw(entropy: Entropy, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  try {
    entropy.fill(bytes);
  } catch (cause) {
    throw new VmchartError('Unexpected', 'the entropy pool is unavailable', { reason: 'no-entropy', cause });
  }
  return bytes;
}

/** A fresh agent token: 32 random bytes as 64 lower-case hex characters. Secret. */
export function mintAgentToken(entropy: Entropy): string {
  return Buffer.from(draw(entropy, 32)).toString('hex');
}

/** Puts the secrets of a launch behind their references. */
export async function sealSecrets(
  secrets: Secrets,
  refs: ReturnType<typeof secretRefs>,
  values: {
    readonly agentToken: string;
    readonly launchEnv: Readonly<Record<string, string>>;
    readonly identity: LaunchIdentity | null;
  },
): Promise<Pick<SealedLaunch, 'agentTokenRef' | 'launchEnvRef' | 'identityRef'>> {
  const hasEnv = Object.keys(values.launchEnv).length > 0;
  await seal(secrets, refs.agentToken, values.agentToken);
  if (hasEnv) await seal(secrets, refs.launchEnv, JSON.stringify(values.launchEnv));
  if (values.identity !== null) await seal(secrets, refs.identity, JSON.stringify(values.identity));
  return {
    agentTokenRef: refs.agentToken,
    launchEnvRef: hasEnv ? refs.launchEnv : null,
    identityRef: values.identity === null ? null : refs.identity,
  };
}

/** An intent keeps its secrets: sent again with others it would be another launch (FC-124). */
async function seal(secrets: Secrets, ref: string, value: string): Promise<void> {
  const sealed = await secrets.get(ref);
  if (sealed !== null && sealed !== value) {
    throw new VmchartError(
      'InvalidArg',
      `${ref} is sealed with another value: a kept client token repeats one launch`,
      {
        reason: 'intent-conflict',
      },
    );
  }
  await secrets.put(ref, value);
}

/** Opens what a payload is made of. @throws VmchartError `Precondition` when a reference points at nothing. */
export async function unsealSecrets(secrets: Secrets, launch: SealedLaunch): Promise<PayloadSecrets> {
  const open = async (ref: string): Promise<string> => {
    const value = await secrets.get(ref);
    if (value !== null) return value;
    throw new VmchartError('Precondition', `the secret ${ref} of this launch is not in the store any more`, {
      reason: 'secret-missing',
    });
  };
  const identity = launch.identityRef === null ? null : (JSON.parse(await open(launch.identityRef)) as LaunchIdentity);
  return {
    agentToken: await open(launch.agentTokenRef),
    ...(launch.launchEnvRef === null
      ? {}
      : { launchEnv: JSON.parse(await open(launch.launchEnvRef)) as Record<string, string> }),
    identity: identity === null ? null : { seed: identity.vmSeed, hostPublicKey: identity.hostPublicKey },
  };
}
