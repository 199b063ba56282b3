/** The host's half of a kept VM's tunnel identity: secret, beside its token. */
import type { Secrets, TunnelIdentity } from '../../../effects/index.ts';

const refOf = (name: string) => `${name}/tunnel-identity`;

/** Keeps it. */
export async function keepIdentity(secrets: Secrets, name: string, identity: TunnelIdentity): Promise<void> {
  await secrets.put(refOf(name), JSON.stringify(identity));
}

/** The kept one, or `null` when the launch delivered none. */
export async function identityOf(secrets: Secrets, name: string): Promise<TunnelIdentity | null> {
  const text = await secrets.get(refOf(name));
  return text === null ? null : (JSON.parse(text) as TunnelIdentity);
}
