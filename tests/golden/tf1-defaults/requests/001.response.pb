
D
scores:
0óİÁ^§aÁh/ÌÀ\ÙÀ©@…†ÂÀô¬ÀJŞ@AåÁŠQğÀí)@A
)
tagged
2d:none2d:none2d:none