// Unpacks and runs loader.js, which all widgets are sent with: this script is sent as it is, and that one packed.
const unpack = (packed) => {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream, { headers: { 'content-type': 'text/javascript' } });
};
const load = async (packed) => import(URL.createObjectURL(await unpack(packed).blob()));

export default { render: async (widget) => (await load(widget.model.get('loader'))).render(widget, unpack, load) };
