const e=t=>`${t} This was written down by the pilots.`;export{e as describe};
