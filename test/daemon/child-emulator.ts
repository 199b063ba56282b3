/**
 * An emulator's process of its own, for tests that kill it or run it as somebody else: starts VMs with commands that
 * sleep for a given time, freezes the last, says what it saw as one line of JSON, and stays until it is ended.
 */
import { startGuest } from './guest-harness.ts';
import type { Harness } from './guest-harness.ts';

const [isolation, directory = '', seconds = '1', count = '1'] = process.argv.slice(2);

const vms: Harness[] = [];
for (let index = 0; index < Number(count); index += 1) {
  const vm = await startGuest({ isolation: isolation === 'plain' ? 'plain' : 'auto', directory });
  const command = `sleep ${seconds} & setsid sleep ${seconds} & sleep ${seconds}`;
  await vm.call('/v1/exec/start', { json: { exec_id: 'long', command: [command], shell: true } });
  vms.push(vm);
}
const first = vms[0];
if (first === undefined) throw new Error('no VM');
const put = await first.call('/v1/fs/file?path=/workspace/put&mode=600', { method: 'PUT', body: 'put' });
const seen = {
  notice: first.notice,
  id: (await first.run('id -u; cat /workspace/put; ls -ln /workspace/put | cut -d" " -f1,3; echo own > /etc/own'))[
    'stdout'
  ],
  asRoot: (await first.run('id -u', { user: 0 }))['stdout'],
  asOther: (await first.call('/v1/exec/start', { json: { exec_id: 'o', command: ['id'], user: 1234 } })).status,
  put: put.status,
  own: (await first.call('/v1/fs/file?path=/etc/own')).text,
  count: (await first.run('ls /proc | grep -c "^[0-9]"'))['stdout'],
  pids: ((await first.call('/v1/procs')).json()['procs'] as { pids: number[] }[])[0]?.pids,
};
await vms.at(-1)?.guest.freeze();
process.stdout.write(`${JSON.stringify(seen)}\n`);
process.stdin.resume();
process.stdin.once('end', () => {
  void Promise.all(vms.map((vm) => vm.close())).then(() => process.exit(0));
});
