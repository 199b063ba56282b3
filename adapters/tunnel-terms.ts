/** What both ends of a tunnel agree on beside the cipher (`agentd-protocol.md` 14.3 and 15). */

/** Close codes that the daemon gives. */
export const tunnelCloseCodes = {
  normal: 1_000,
  badPort: 4_400,
  noIdentity: 4_401,
  identityRefused: 4_403,
  relayFailed: 4_500,
  noListener: 4_502,
} as const;

/** Bit of the handshake payload: "I send and check the end of stream". */
export const endOfStreamFlag = 0x01;

/** First transport message of a client of the 1.x generation. */
export const tunnelConfirmation: Uint8Array = Buffer.from('microvms-tunnel-ready');

/** Which generation of verified tunnels is spoken: they cannot complete a handshake with each other. */
export type TunnelGeneration = '0.12' | '1.x';

/** Makes the prologue of a handshake from the guest port. */
export type TunnelPrologue = (port: number) => Uint8Array;

/**
 * The prologue of a generation. That of 1.x is known to be made of the route, a version and the guest port; its exact
 * bytes are not public, so both ends take it as a function that can be replaced.
 */
export function tunnelPrologue(generation: TunnelGeneration): TunnelPrologue {
  return (port) => Buffer.from(generation === '0.12' ? '' : `microvms-agentd /v1/tcp 1 ${port}`);
}
