R
wordsI
	2red2
blue "sky"2gr√ºn2none2red2gr√ºn2gr√ºn2red2
blue "sky"{
xv
	lM∂É>!ïá?qYZ>õë∂ºö(>ÚM÷Ω·6`=+∆<ø˛ê	æLlº?°è?¨9⁄øÆ1Xæì4R>Ñ}ø∂Ω&ø[» Ω]˛Å?¸≤ä?:ã}=àÕ[?8'†ΩdÎ”>àqBæwú¡øÊ≤)øhÃ>