
4
scores*
 +ñMAõšÀruÀÌ±æ@á+@’NÀ‘OÀ‘F•?
"
tagged
2a:left2a:right