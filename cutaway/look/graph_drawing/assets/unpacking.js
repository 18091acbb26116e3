// What packing.py packed: base64, and inside it deflated bytes. Decoded by the browser itself, nothing is fetched.

export async function unpack(id) {
  const letters = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(letters, letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The graph, with the colours of all pictures in `graph.levels`.
export async function readGraph() {
  if (!("DecompressionStream" in window)) {
    document.getElementById("canvas").textContent = "This page needs a browser of 2023 or later.";
    throw new Error("no DecompressionStream");
  }
  const graph = JSON.parse(new TextDecoder().decode(await unpack("graph")));
  graph.levels = await unpack("levels");
  return graph;
}
