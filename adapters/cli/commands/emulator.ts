/** `vmchart emulator`: the platform for other programs, until it is stopped. */
import { choice, text, wholeNumber } from '../arguments/argument.ts';
import { checkRegionName } from '../arguments/target.ts';
import { CliError } from '../cli-error.ts';
import { untilStopped } from '../signals.ts';
import type { CommandContext } from '../command.ts';
import { command } from '../command.ts';
import { table } from '../output/table.ts';
import type { Emulator } from '../../emulator/index.ts';

/** Where the clock, the faults and the record of requests can be reached by HTTP. */
const adminPrefix = '/_emulator/';

/** An hour: longer than any delay that somebody waits for. */
const longestDelayMs = 3_600_000;

const delay = (what: string, ms: number) =>
  wholeNumber(
    { summary: `How long ${what} takes.`, placeholder: 'MS', defaultText: String(ms) },
    { min: 0, max: longestDelayMs },
  );

/** Serves the emulated service on this machine. */
export const emulatorCommand = command({
  name: 'emulator',
  summary: 'Serve the emulated service on this machine until stopped.',
  description:
    'Speaks the control plane, the endpoint proxy and the daemon on 127.0.0.1, for vmchart in another terminal,\n' +
    'for the AWS command line and for the SDKs. Its VMs really run commands, and end when the emulator stops.\n' +
    'It prints a key pair and an admin token, with --json too: both are made to be passed on to other programs, and\n' +
    'are worth nothing anywhere else.',
  options: {
    port: wholeNumber(
      { summary: 'The port of the control plane.', defaultText: 'a free one' },
      { min: 0, max: 65_535 },
    ),
    region: text(
      { summary: 'The region of the default image.', placeholder: 'REGION', defaultText: 'us-east-1' },
      (region) => checkRegionName(region, null),
    ),
    clock: choice(
      {
        summary: 'How time passes: fast is 60 times real time, manual moves by the admin routes.',
        defaultText: 'real',
      },
      ['real', 'fast', 'manual'],
    ),
    launchDelay: delay('a launch', 20),
    suspendDelay: delay('a suspend', 20),
    resumeDelay: delay('a resume', 20),
    terminateDelay: delay('a terminate', 20),
    appReadyDelay: wholeNumber(
      { summary: 'How long after RUNNING the daemon begins to answer.', placeholder: 'MS', defaultText: '0' },
      { min: 0, max: longestDelayMs },
    ),
  },
  examples: [
    ['vmchart emulator --port 9100', 'Serve on a port that is known beforehand.'],
    ['vmchart run --keep --name box --endpoint-url http://127.0.0.1:9100', 'Then, in another terminal.'],
    ['vmchart emulator --clock fast', 'An hour passes in a minute.'],
    ['vmchart emulator --launch-delay 3000', 'Launches take three seconds, as they may on AWS.'],
  ],
  async run(values, context) {
    const { startEmulator } = await import('../../emulator/index.ts');
    const delays = {
      launchDelayMs: values.launchDelay,
      suspendDelayMs: values.suspendDelay,
      resumeDelayMs: values.resumeDelay,
      terminateDelayMs: values.terminateDelay,
      appReadyDelayMs: values.appReadyDelay,
    };
    const given = { port: values.port, region: values.region, clock: values.clock, ...delays };
    const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const emulator = await startEmulator(chosen).catch((error: unknown) => {
      throw portError(error, values.port);
    });
    try {
      await context.announce({ data: describe(emulator), text: introduction(emulator, context) });
      await untilStopped(context.interrupts.signal);
    } finally {
      await emulator.close();
    }
    context.terminal.note('The emulator has stopped; all its VMs have ended.');
  },
});

function describe(emulator: Emulator) {
  const { endpoint, region, credentials, imageArn, notice, adminToken } = emulator;
  return {
    endpoint,
    region,
    credentials: { accessKeyId: credentials.accessKeyId, secretAccessKey: credentials.secretAccessKey },
    imageArn,
    notice,
    environment: emulator.environment(),
    admin: { url: `${endpoint}${adminPrefix}`, header: 'x-emulator-token', token: adminToken },
  };
}

function introduction(emulator: Emulator, context: CommandContext): string {
  const { strong, quiet, accent } = context.terminal.paintOut;
  const variables = Object.entries(emulator.environment()).map(([name, value]) => `  export ${name}=${value}`);
  return [
    `${strong('Emulated AWS Lambda MicroVMs')} at ${accent(emulator.endpoint)}`,
    table(
      [
        ['region', emulator.region],
        ['image', emulator.imageArn],
        ['VMs', emulator.notice],
        ['admin', `${emulator.endpoint}${adminPrefix}, header x-emulator-token: ${emulator.adminToken}`],
      ],
      { indent: '  ' },
    ),
    '',
    'For vmchart, the AWS command line and SDKs in another terminal (the key pair is a published example):',
    ...variables,
    '',
    quiet('Stop it with Ctrl-C.'),
  ].join('\n');
}

function portError(error: unknown, port: number | undefined): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  const why = { EADDRINUSE: 'is in use', EACCES: 'may not be used by this user' }[code ?? ''];
  if (why === undefined) return error;
  return new CliError('Precondition', `Port ${port} ${why}.`, {
    suggestions: ['Choose another one with --port, or leave it out to take a free one.'],
    cause: error,
  });
}
