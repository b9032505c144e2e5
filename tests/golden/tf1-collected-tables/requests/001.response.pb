
&
ids	
:ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ
*
names!
2two2other2other2other