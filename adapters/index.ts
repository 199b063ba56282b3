/** The ports made real, and the hosts. */
export { manualClock, systemClock } from './clock.ts';
export type { ManualClock } from './clock.ts';
export { seededEntropy, systemEntropy } from './entropy.ts';
export { awsPorts } from './aws-ports.ts';
export type { AwsPortsOptions } from './aws-ports.ts';
export {
  cachedCredentials,
  chainCredentials,
  defaultCredentials,
  environmentCredentials,
  profileCredentials,
  staticCredentials,
} from './credentials.ts';
export type { CacheOptions, ProfileOptions } from './credentials.ts';
export { gotHttp } from './http.ts';
export type { GotHttpOptions } from './http.ts';
export { memoryJournal } from './journal.ts';
export { fileJournal } from './file-journal.ts';
export type { FileJournal, UnreadableRecord } from './file-journal.ts';
export { fileSecrets } from './file-secrets.ts';
export { memorySecrets } from './secrets.ts';
export { sigV4Signer } from './signing.ts';
export type { SigV4Options } from './signing.ts';
export { localFiles } from './local-files/index.ts';
export { forwardPort } from './sockets/port-forward.ts';
export type { ForwardOptions, ForwardReport, PortForward } from './sockets/port-forward.ts';
export type { ListenOptions, StopReason } from './sockets/serve-loop.ts';
export { Tunnel, openTunnel, verifyIdentity } from './sockets/tunnel.ts';
export type { TunnelEnd, TunnelOptions, VerifyOptions } from './sockets/tunnel.ts';
export { serveTunnel } from './sockets/serve-tunnel.ts';
export type { ServeTunnelOptions, TunnelReport, TunnelServer } from './sockets/serve-tunnel.ts';
export { inspectAll, inspectTo, statelyInspector } from './inspect.ts';
export type { InspectToOptions, Inspector } from './inspect.ts';
export { inspectInto } from './trace/inspection.ts';
export type { InspectionOptions } from './trace/inspection.ts';
export { readReplay, recordTo } from './trace/file.ts';
export type { Recording, Replay } from './trace/file.ts';
export type { TraceEntry } from './trace/entry.ts';
