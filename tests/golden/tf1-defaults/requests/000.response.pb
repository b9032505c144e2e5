
4
scores*
 ­Aa£@e­ï?+Gp@¨Œ­@•|›ÀH]RÀÞÐ6@
!
tagged
2a:none2a:none