package approval

var postgres = dialect{forUpdate: " FOR UPDATE", forShare: " FOR SHARE"}
