// Unpacks and runs loader.js, which all widgets are sent with: this script is sent as it is, and that one packed.
const unpack = (packed) => new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')));
const load = async (packed) => import(URL.createObjectURL(new Blob([await unpack(packed).blob()], { type: 'text/javascript' })));

export default { render: async (widget) => (await load(widget.model.get('loader'))).render(widget, unpack, load) };
