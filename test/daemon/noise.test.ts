/** The cipher of verified tunnels against its published vector, and what it refuses. */
import { expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import {
  NoiseFailure,
  maxNoisePlaintextBytes,
  noiseInitiator,
  noisePublicKey,
  noiseRespond,
} from '../../adapters/noise.ts';
import type { NoiseParty } from '../../adapters/noise.ts';

const fill = (byte: number): Buffer => Buffer.alloc(32, byte);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const flags = Buffer.of(1);

const client: NoiseParty = {
  secret: fill(9),
  remotePublicKey: noisePublicKey(fill(7)),
  payload: flags,
  ephemeralSecret: fill(1),
};
const daemon: NoiseParty = {
  secret: fill(7),
  remotePublicKey: noisePublicKey(fill(9)),
  payload: flags,
  ephemeralSecret: fill(2),
};

test('15.2 the published vector comes out byte for byte', () => {
  expect(hex(noisePublicKey(fill(9)))).toBe('57db4b359f23ae5e146e4e2512056704722506348c150c14753d0c933d04d421');
  expect(hex(noisePublicKey(fill(7)))).toBe('13be4feaeaf204c7fd3358fc9c00721881d174278128227ec674f37f7fe97b6d');
  const initiator = noiseInitiator(client);
  expect(hex(initiator.message1)).toBe(
    'a4e09292b651c278b9772c569f5fa9bb13d906b46ab68c9df9dc2b4409f8a209f71b552433461787d67baa27d912f2fb46',
  );
  const responder = noiseRespond(daemon, initiator.message1);
  expect(hex(responder.message2)).toBe(
    'ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59a2b5c71ca2afeb529775f00e7a1ce322ac',
  );
  const { transport, payload } = initiator.finish(responder.message2);
  expect(hex(payload)).toBe('01');
  expect(hex(responder.payload)).toBe('01');
  const handshakeHash = '58c364328bf756bc3ba77ee1c6ce4011932b36c84e01db140b4fe52edcc2e931';
  expect([hex(transport.handshakeHash), hex(responder.transport.handshakeHash)]).toEqual([
    handshakeHash,
    handshakeHash,
  ]);
  expect(hex(transport.seal(Buffer.from('ping')))).toBe('aa2feb56f042fefd6c056a9cd6251b1f4fc66fae');
  expect(hex(transport.seal(Buffer.alloc(0)))).toBe('24b6d17cc9539f2a3696287ff08550ee');
  expect(hex(responder.transport.seal(Buffer.from('pong')))).toBe('81191e66ba883709603b8e1289d9ca4616e273e5');
  expect(responder.transport.open(Buffer.from('aa2feb56f042fefd6c056a9cd6251b1f4fc66fae', 'hex')).toString()).toBe(
    'ping',
  );
  expect(responder.transport.open(Buffer.from('24b6d17cc9539f2a3696287ff08550ee', 'hex'))).toHaveLength(0);
  expect(transport.open(Buffer.from('81191e66ba883709603b8e1289d9ca4616e273e5', 'hex')).toString()).toBe('pong');
});

test('15.2 strangers, other prologues and altered messages do not complete a handshake', () => {
  const { message1 } = noiseInitiator({ ...client, secret: fill(8) });
  expect(() => noiseRespond(daemon, message1)).toThrow(NoiseFailure);
  expect(() => noiseRespond({ ...daemon, prologue: flags }, noiseInitiator(client).message1)).toThrow(NoiseFailure);
  expect(() => noiseRespond(daemon, Buffer.alloc(48))).toThrow(NoiseFailure);
  expect(() => noiseRespond(daemon, Buffer.alloc(3))).toThrow(NoiseFailure);
  const initiator = noiseInitiator(client);
  const { message2 } = noiseRespond(daemon, initiator.message1);
  message2[40] = (message2[40] ?? 0) ^ 1;
  expect(() => initiator.finish(message2)).toThrow(NoiseFailure);
  expect(() => noisePublicKey(Buffer.alloc(31))).toThrow(NoiseFailure);
});

test('15.2 an empty payload makes a frame of 48 bytes', () => {
  const initiator = noiseInitiator({ ...client, payload: Buffer.alloc(0) });
  expect(initiator.message1).toHaveLength(48);
  expect(noiseRespond(daemon, initiator.message1).payload).toHaveLength(0);
});

test('15.4 repeated, reordered and altered messages do not open', () => {
  const connect = () => {
    const initiator = noiseInitiator({ ...client, ephemeralSecret: randomBytes(32) });
    const responder = noiseRespond(daemon, initiator.message1);
    return { near: initiator.finish(responder.message2).transport, far: responder.transport };
  };
  const repeated = connect();
  const once = repeated.near.seal(Buffer.from('a'));
  repeated.far.open(once);
  expect(() => repeated.far.open(once)).toThrow(NoiseFailure);
  const reordered = connect();
  reordered.near.seal(Buffer.from('a'));
  const second = reordered.near.seal(Buffer.from('b'));
  expect(() => reordered.far.open(second)).toThrow(NoiseFailure);
  const altered = connect();
  const message = altered.near.seal(Buffer.from('a'));
  message[0] = (message[0] ?? 0) ^ 1;
  expect(() => altered.far.open(message)).toThrow(NoiseFailure);
  expect(() => altered.near.seal(Buffer.alloc(maxNoisePlaintextBytes + 1))).toThrow(NoiseFailure);
  expect(altered.near.seal(Buffer.alloc(maxNoisePlaintextBytes))).toHaveLength(65_535);
});
