/** How the bytes of a tunnel become frames: as they are, or sealed (`agentd-protocol.md` 14.2 and 15). */
import { NoiseFailure } from '../../noise.ts';
import type { NoiseTransport } from '../../noise.ts';

/** What a frame of the caller means. */
export type Decoded =
  | { readonly kind: 'bytes'; readonly data: Buffer }
  | { readonly kind: 'end' }
  /** It does not authenticate, or is of the wrong kind: the tunnel breaks without a word. */
  | { readonly kind: 'broken' };

/** See {@link plainCodec} and {@link verifiedCodec}. */
export interface TunnelCodec {
  readonly maxFrameBytes: number;
  decode(frame: Buffer, isBinary: boolean): Decoded;
  encode(data: Buffer): Buffer;
  /** The frame that says that nothing follows; `null` where there is no such frame. */
  endFrame(): Buffer | null;
  /** Whether the guest's connection has to be reset when the caller leaves without saying that nothing follows. */
  readonly resetsWithoutEnd: boolean;
}

/** Frames are slices of the stream; text counts as its bytes. */
export const plainCodec: TunnelCodec = {
  maxFrameBytes: 65_536,
  decode: (data) => ({ kind: 'bytes', data }),
  encode: (data) => data,
  endFrame: () => null,
  resetsWithoutEnd: false,
};

/**
 * One transport message in each frame; an empty one ends the stream.
 *
 * @param peerProvesEnd - whether the caller said that it sends an end of stream
 */
export function verifiedCodec(transport: NoiseTransport, peerProvesEnd: boolean): TunnelCodec {
  return {
    maxFrameBytes: 32_768,
    decode(frame, isBinary) {
      if (!isBinary) return { kind: 'broken' };
      try {
        const data = transport.open(frame);
        return data.length === 0 ? { kind: 'end' } : { kind: 'bytes', data };
      } catch (error) {
        if (error instanceof NoiseFailure) return { kind: 'broken' };
        throw error;
      }
    },
    encode: (data) => transport.seal(data),
    endFrame: () => transport.seal(Buffer.alloc(0)),
    resetsWithoutEnd: peerProvesEnd,
  };
}
