/**
 * The shell text that turns a fresh process inside a VM into the wanted program.
 *
 * The environment travels in this text and not in an argument list, which every user of the host could read for a
 * moment. Only names that a shell cannot carry, or would act upon, go through the arguments of `env`.
 */
import type { LaunchRequest } from './vm-processes.ts';
import type { Tools } from './tools.ts';

/**
 * What root keeps inside a VM: enough to administer it, not enough to mount, make devices, load modules or
 * look into processes of more rights. The same set as common container runtimes, without `mknod`.
 */
const keptCapabilities = [
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'net_bind_service',
  'net_raw',
  'setfcap',
  'setgid',
  'setpcap',
  'setuid',
  'sys_chroot',
  'audit_write',
];

/** Names that shells set, refuse or obey themselves, and those that the dynamic loader and the C library read. */
const notForShells =
  /^(_|PWD|OLDPWD|SHLVL|E?UID|PPID|IFS|ENV|PS[0-4]|OPT(IND|ARG|ERR)|LINENO|RANDOM|SRANDOM|SECONDS|EPOCH.*|HIST.*|DIRSTACK|FUNCNAME|GROUPS|POSIXLY_CORRECT|(BASH|SHELLOPTS).*|L(ANG|ANGUAGE|C_.*|D_.*|OCPATH)|MALLOC_.*|GCONV_PATH|GLIBC_TUNABLES|NLSPATH|MUSL_.*)$/;

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** `setpriv` options that leave a program the rights it has inside a VM, and the wanted user. */
function rights({ uid, gid }: LaunchRequest, ownUsers: boolean): string[] {
  const options = [
    `--bounding-set=-all,${keptCapabilities.map((name) => `+${name}`).join(',')}`,
    '--inh-caps=-all',
    '--ambient-caps=-all',
  ];
  // With users of its own a VM has root only, and whoever runs is root already.
  if (ownUsers) return options;
  if (uid !== null) options.push(`--reuid=${uid}`);
  if (gid !== null) options.push(`--regid=${gid}`);
  if (uid !== null || gid !== null) options.push('--clear-groups');
  return options;
}

/** The descriptor on which a program with a writable standard input finds it before it starts. */
export const stdinDescriptor = 4;

/**
 * The text. It is read from standard input, reports its process id on descriptor 3, waits there for a line, and
 * becomes the program.
 *
 * A writable standard input is an empty here-document, which is a pipe, so that only the program itself holds its
 * read end. Whoever launches it opens the other end while it waits.
 *
 * @param ownUsers - whether the users of the VM are its own
 */
export function launchScript(request: LaunchRequest, tools: Tools, ownUsers: boolean): string {
  const entries = Object.entries(request.env);
  const carried = entries.filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !notForShells.test(name));
  const others = entries.filter((entry) => !carried.includes(entry));
  const command = [
    tools.env,
    ...['_', 'PWD', 'OLDPWD', 'SHLVL'].flatMap((name) => ['-u', name]),
    ...others.map(([name, value]) => `${name}=${value}`),
    // After `env`, so that a program whose name holds an equals sign is not taken for a variable.
    tools.setpriv,
    ...rights(request, ownUsers),
    '--',
    ...request.argv,
  ];
  return [
    `cd ${quote(request.cwd)} 2>/dev/null || { echo cwd >&3; exit 1; }`,
    'umask 022',
    ...carried.map(([name, value]) => `export ${name}=${quote(value)}`),
    request.stdin ? `exec ${stdinDescriptor}<<'END'\nEND` : `exec ${stdinDescriptor}</dev/null`,
    'echo "$$" >&3; read -r go <&3 || exit 1; exec 3>&-',
    `exec ${command.map(quote).join(' ')} <&${stdinDescriptor} ${stdinDescriptor}<&-`,
    '',
  ].join('\n');
}
