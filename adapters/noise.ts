/**
 * `Noise_KK_25519_ChaChaPoly_BLAKE2s`, the protocol of verified tunnels, for both ends (`agentd-protocol.md` 15).
 *
 * Both sides know each other's static public key beforehand. Two messages of one binary frame each, then a cipher
 * for each direction whose nonces are counted and never sent.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  randomBytes,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const protocolName = 'Noise_KK_25519_ChaChaPoly_BLAKE2s';
const keyBytes = 32;
const tagBytes = 16;
const privatePrefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
const publicPrefix = Buffer.from('302a300506032b656e032100', 'hex');

/** Longest plaintext of one transport message, in bytes: a message is at most 65535 with its tag. */
export const maxNoisePlaintextBytes = 65_519;

/** A message that does not authenticate, or keys that cannot be used. Tells nothing about why. */
export class NoiseFailure extends Error {
  override readonly name = 'NoiseFailure';
}

function privateKey(secret: Uint8Array): KeyObject {
  if (secret.length !== keyBytes) throw new NoiseFailure('a secret key is 32 bytes');
  return createPrivateKey({ key: Buffer.concat([privatePrefix, secret]), format: 'der', type: 'pkcs8' });
}

function publicKey(bytes: Uint8Array): KeyObject {
  if (bytes.length !== keyBytes) throw new NoiseFailure('a public key is 32 bytes');
  return createPublicKey({ key: Buffer.concat([publicPrefix, bytes]), format: 'der', type: 'spki' });
}

/** The x25519 public key that belongs to a secret of 32 bytes. */
export function noisePublicKey(secret: Uint8Array): Buffer {
  const exported = createPublicKey(privateKey(secret)).export({ format: 'der', type: 'spki' });
  return exported.subarray(publicPrefix.length);
}

function agree(secret: Uint8Array, remote: Uint8Array): Buffer {
  try {
    return diffieHellman({ privateKey: privateKey(secret), publicKey: publicKey(remote) });
  } catch {
    // A point of low order, for one.
    throw new NoiseFailure('keys do not agree');
  }
}

const hash = (...parts: readonly Uint8Array[]): Buffer => {
  const state = createHash('blake2s256');
  for (const part of parts) state.update(part);
  return state.digest();
};

const hmac = (key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer => {
  const state = createHmac('blake2s256', key);
  for (const part of parts) state.update(part);
  return state.digest();
};

/** Two keys out of a chaining key and new material. */
function derive(chainingKey: Uint8Array, material: Uint8Array): readonly [Buffer, Buffer] {
  const secret = hmac(chainingKey, material);
  const first = hmac(secret, Uint8Array.of(1));
  return [first, hmac(secret, first, Uint8Array.of(2))];
}

/** One direction: a key and the number of the next message. */
class CipherState {
  readonly #key: Buffer;
  readonly #nonce = Buffer.alloc(12);
  #count = 0n;

  constructor(key: Buffer) {
    this.#key = key;
  }

  #next(): Buffer {
    this.#nonce.writeBigUInt64LE(this.#count, 4);
    this.#count += 1n;
    return this.#nonce;
  }

  seal(plaintext: Uint8Array, associated: Uint8Array): Buffer {
    const cipher = createCipheriv('chacha20-poly1305', this.#key, this.#next(), { authTagLength: tagBytes });
    cipher.setAAD(associated, { plaintextLength: plaintext.length });
    const sealed = cipher.update(plaintext);
    cipher.final();
    return Buffer.concat([sealed, cipher.getAuthTag()]);
  }

  open(ciphertext: Uint8Array, associated: Uint8Array): Buffer {
    const end = ciphertext.length - tagBytes;
    if (end < 0) throw new NoiseFailure('the message is too short');
    const cipher = createDecipheriv('chacha20-poly1305', this.#key, this.#next(), { authTagLength: tagBytes });
    cipher.setAAD(associated, { plaintextLength: end });
    cipher.setAuthTag(ciphertext.subarray(end));
    const plaintext = cipher.update(ciphertext.subarray(0, end));
    try {
      cipher.final();
    } catch {
      throw new NoiseFailure('the message does not authenticate');
    }
    return plaintext;
  }
}

/** The hash and keys that both sides build up while they shake hands. */
class SymmetricState {
  chainingKey: Buffer;
  transcript: Buffer;
  #cipher: CipherState | null = null;

  constructor(prologue: Uint8Array, initiatorKey: Uint8Array, responderKey: Uint8Array) {
    this.chainingKey = hash(Buffer.from(protocolName));
    this.transcript = this.chainingKey;
    for (const part of [prologue, initiatorKey, responderKey]) this.mixHash(part);
  }

  mixHash(data: Uint8Array): void {
    this.transcript = hash(this.transcript, data);
  }

  mixKey(material: Uint8Array): void {
    const [chainingKey, key] = derive(this.chainingKey, material);
    this.chainingKey = chainingKey;
    this.#cipher = new CipherState(key);
  }

  seal(plaintext: Uint8Array): Buffer {
    const sealed = (this.#cipher as CipherState).seal(plaintext, this.transcript);
    this.mixHash(sealed);
    return sealed;
  }

  open(ciphertext: Uint8Array): Buffer {
    const plaintext = (this.#cipher as CipherState).open(ciphertext, this.transcript);
    this.mixHash(ciphertext);
    return plaintext;
  }

  /** Keys for initiator to responder, and for the other direction. */
  split(): readonly [Buffer, Buffer] {
    return derive(this.chainingKey, new Uint8Array(0));
  }
}

/** An established channel. Messages must be opened in the order in which they were sealed. */
export interface NoiseTransport {
  /** Seals up to {@link maxNoisePlaintextBytes}; an empty message is 16 bytes. */
  seal(plaintext: Uint8Array): Buffer;
  /** Throws {@link NoiseFailure} for a lost, repeated, reordered or altered message. Give up then: never skip. */
  open(message: Uint8Array): Buffer;
  /** The hash of the whole handshake, equal on both sides. */
  readonly handshakeHash: Buffer;
}

const nothing = new Uint8Array(0);

function transport(handshakeHash: Buffer, sendKey: Buffer, receiveKey: Buffer): NoiseTransport {
  const sending = new CipherState(sendKey);
  const receiving = new CipherState(receiveKey);
  return {
    handshakeHash,
    seal(plaintext) {
      if (plaintext.length > maxNoisePlaintextBytes) throw new NoiseFailure('the message is too long');
      return sending.seal(plaintext, nothing);
    },
    open: (message) => receiving.open(message, nothing),
  };
}

/** What one side brings to a handshake. */
export interface NoiseParty {
  /** Its static secret, 32 bytes. */
  readonly secret: Uint8Array;
  /** The static public key that it expects of the other, 32 bytes. */
  readonly remotePublicKey: Uint8Array;
  /** Both sides must have the same. Empty by default. */
  readonly prologue?: Uint8Array;
  /** What its message carries besides keys. */
  readonly payload: Uint8Array;
  /** For test vectors only; fresh randomness by default. */
  readonly ephemeralSecret?: Uint8Array;
}

/** The side that speaks first: the client of a tunnel. */
export interface NoiseInitiator {
  readonly message1: Buffer;
  /** Takes the other side's answer. Throws {@link NoiseFailure} when it is not whom it should be. */
  finish(message2: Uint8Array): { readonly payload: Buffer; readonly transport: NoiseTransport };
}

/** Begins a handshake as the initiator. */
export function noiseInitiator(party: NoiseParty): NoiseInitiator {
  const { secret, remotePublicKey, prologue = nothing } = party;
  const ephemeral = party.ephemeralSecret ?? randomBytes(keyBytes);
  const ephemeralKey = noisePublicKey(ephemeral);
  const state = new SymmetricState(prologue, noisePublicKey(secret), remotePublicKey);
  state.mixHash(ephemeralKey);
  state.mixKey(agree(ephemeral, remotePublicKey));
  state.mixKey(agree(secret, remotePublicKey));
  const message1 = Buffer.concat([ephemeralKey, state.seal(party.payload)]);
  return {
    message1,
    finish(message2) {
      if (message2.length < keyBytes + tagBytes) throw new NoiseFailure('the message is too short');
      const remoteEphemeral = message2.subarray(0, keyBytes);
      state.mixHash(remoteEphemeral);
      state.mixKey(agree(ephemeral, remoteEphemeral));
      state.mixKey(agree(secret, remoteEphemeral));
      const payload = state.open(message2.subarray(keyBytes));
      const [forth, back] = state.split();
      return { payload, transport: transport(state.transcript, forth, back) };
    },
  };
}

/** Answers a handshake as the responder: the daemon's side. Throws {@link NoiseFailure} for a stranger. */
export function noiseRespond(
  party: NoiseParty,
  message1: Uint8Array,
): { readonly payload: Buffer; readonly message2: Buffer; readonly transport: NoiseTransport } {
  const { secret, remotePublicKey, prologue = nothing } = party;
  if (message1.length < keyBytes + tagBytes) throw new NoiseFailure('the message is too short');
  const ephemeral = party.ephemeralSecret ?? randomBytes(keyBytes);
  const ephemeralKey = noisePublicKey(ephemeral);
  const state = new SymmetricState(prologue, remotePublicKey, noisePublicKey(secret));
  const remoteEphemeral = message1.subarray(0, keyBytes);
  state.mixHash(remoteEphemeral);
  state.mixKey(agree(secret, remoteEphemeral));
  state.mixKey(agree(secret, remotePublicKey));
  const payload = state.open(message1.subarray(keyBytes));
  state.mixHash(ephemeralKey);
  state.mixKey(agree(ephemeral, remoteEphemeral));
  state.mixKey(agree(ephemeral, remotePublicKey));
  const message2 = Buffer.concat([ephemeralKey, state.seal(party.payload)]);
  const [forth, back] = state.split();
  return { payload, message2, transport: transport(state.transcript, back, forth) };
}
