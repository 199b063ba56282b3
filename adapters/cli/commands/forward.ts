/** `vmchart forward`: a local port that leads into a kept VM. */
import { flag, text } from '../arguments/argument.ts';
import { keptOptions } from '../arguments/kept.ts';
import { givenName } from '../arguments/vm-name.ts';
import { usageError } from '../cli-error.ts';
import { command } from '../command.ts';

/** Serves until it is stopped. */
export const forwardCommand = command({
  name: 'forward',
  summary: 'Lead a local port into a kept VM until stopped.',
  description:
    'LOCAL is a port on 127.0.0.1, 0 for a free one; REMOTE is a port that a program in the VM listens on. By default\n' +
    'HTTP and WebSockets go through the endpoint proxy, and each request is a line on stderr. --tcp takes any protocol,\n' +
    'through the daemon; --verified also proves the VM and encrypts from end to end, by the identity that\n' +
    'vmchart run --keep --identity gives it. Ctrl-C is the normal end: exit code 0.',
  positionals: [
    {
      key: 'ports',
      argument: text({
        summary: 'The two ports, such as 8080:80; one port stands for both.',
        placeholder: 'LOCAL:REMOTE',
      }),
      required: true,
    },
  ],
  options: {
    ...keptOptions,
    tcp: flag({ summary: 'Any protocol over TCP, through the daemon.' }),
    verified: flag({ summary: 'Over TCP, verified: refuses to speak to any other VM than the one launched.' }),
  },
  examples: [
    ['vmchart forward 8080:80 --name box', "The VM's web server at http://127.0.0.1:8080."],
    ['vmchart forward 0:8000 --name box', 'On a free port, which is printed.'],
    ['vmchart forward 5432 --tcp --name box', 'Its database, at 127.0.0.1:5432.'],
    ['vmchart forward 2222:22 --verified --name box', 'To this VM and no other.'],
  ],
  async run(values, context) {
    const ports = readPorts(values.positional['ports'] ?? '');
    if (values.tcp && values.verified) throw usageError('--verified is over TCP anyway.', ['Leave out --tcp.']);
    const name = givenName({ name: values.name, positional: {} }, 'forward');
    const { forward } = await import('../life/forward.ts');
    const mode = values.verified ? 'verified' : values.tcp ? 'tcp' : 'http';
    await forward({ ...ports, mode, name, region: values.region }, context);
  },
});

function readPorts(word: string): { readonly localPort: number; readonly guestPort: number } {
  const [local = '', remote = local, ...more] = word.split(':');
  const [localPort, guestPort] = [local, remote].map((port) => (/^\d{1,5}$/.test(port) ? Number(port) : Number.NaN));
  const fits = (port: number | undefined, least: number) => port !== undefined && port >= least && port <= 65_535;
  if (more.length === 0 && fits(localPort, 0) && fits(guestPort, 1)) {
    return { localPort: localPort ?? 0, guestPort: guestPort ?? 0 };
  }
  throw usageError(`LOCAL:REMOTE takes two ports up to 65535; got ${JSON.stringify(word)}.`, [
    'Write it as 8080:80, or 0:80 to take a free local port.',
  ]);
}
