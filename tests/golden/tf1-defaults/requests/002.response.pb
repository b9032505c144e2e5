
$
scores
X`@bì†¿cÀHU@

tagged
2d:none